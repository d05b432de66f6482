/* An image on its way from encoded bytes to pixels. */
#ifndef CAMEO_IMAGE_H
#define CAMEO_IMAGE_H

#include "cameo_objects.h"

#define CAMEO_MAX_PIXELS (INT64_C(1) << 28)

enum { CAMEO_RGB, CAMEO_BGR, CAMEO_GRAYSCALE };

typedef struct cameo_image {
    cameo_objects *o; /* takes the error */
    const unsigned char *at;
    int64_t size;
    int64_t height, width; /* found; where pixels are asked for, as they were found before */
    unsigned char *pixels; /* height rows of width pixels; NULL: only its size is asked for */
    int order;             /* of a pixel: CAMEO_RGB, CAMEO_BGR, CAMEO_GRAYSCALE */
} cameo_image;

/* What a library says may hold bytes of the image: only those that print are kept. */
CAMEO_FN int cameo_image_fail(cameo_image *im, const char *format, const char *why)
{
    char text[160];
    size_t n = 0;
    for (; why[n] && n + 1 < sizeof text; n++)
        text[n] = why[n] >= ' ' && why[n] <= '~' ? why[n] : '?';
    text[n] = 0;
    return cameo_objects_fail(im->o, "%s image: %s", format, text);
}

/* The image has this size. 0; -1 with the error: it is none that can be decoded. */
CAMEO_FN int cameo_image_sized(cameo_image *im, const char *format, int64_t width, int64_t height)
{
    if (width <= 0 || height <= 0)
        return cameo_image_fail(im, format, "it has no pixels");
    if (width > CAMEO_MAX_PIXELS || height > CAMEO_MAX_PIXELS / width)
        return cameo_objects_fail(im->o, "%s image of %lld x %lld pixels: too large", format,
                                  (long long)width, (long long)height);
    if (im->pixels && (im->width != width || im->height != height))
        return cameo_image_fail(im, format, "its size is said twice");
    im->width = width;
    im->height = height;
    return 0;
}

/* A row of pixels of 1 (grey), 3 (RGB) or 4 channels (the last is not looked at). Grey is the luma
 * of ITU-R BT.601 in 16 bits, as Pillow has it. */
CAMEO_FN void cameo_image_row(cameo_image *im, int64_t y, const unsigned char *from, int channels)
{
    int64_t n = im->width;
    unsigned char *to = im->pixels + y * n * (im->order == CAMEO_GRAYSCALE ? 1 : 3);
    for (int64_t x = 0; x < n; x++, from += channels) {
        unsigned r = from[0], g = from[channels < 3 ? 0 : 1], b = from[channels < 3 ? 0 : 2];
        if (im->order == CAMEO_GRAYSCALE) {
            to[x] = (unsigned char)((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16);
        } else {
            to[3 * x] = (unsigned char)(im->order == CAMEO_RGB ? r : b);
            to[3 * x + 1] = (unsigned char)g;
            to[3 * x + 2] = (unsigned char)(im->order == CAMEO_RGB ? b : r);
        }
    }
}

#endif
