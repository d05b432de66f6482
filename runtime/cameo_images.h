/* Encoded images to pixels: the format by its first bytes, BMP and PNM here, the others by the
 * libraries of cameo_codecs.h. Bytes may be hostile: everything is bounded by what was given, and
 * an image of more than CAMEO_MAX_PIXELS is refused. */
#ifndef CAMEO_IMAGES_H
#define CAMEO_IMAGES_H

#include "cameo_image.h"

#ifndef CAMEO_NO_CODECS
#include "cameo_codecs.h"
#else /* whoever includes this has none of the libraries */
CAMEO_FN int cameo_jpeg_read(cameo_image *im)
{
    return cameo_image_fail(im, "JPEG", "only compiled programs decode it");
}

CAMEO_FN int cameo_png_read(cameo_image *im)
{
    return cameo_image_fail(im, "PNG", "only compiled programs decode it");
}

CAMEO_FN int cameo_webp_read(cameo_image *im)
{
    return cameo_image_fail(im, "WebP", "only compiled programs decode it");
}

CAMEO_FN int cameo_tiff_read(cameo_image *im)
{
    return cameo_image_fail(im, "TIFF", "only compiled programs decode it");
}

CAMEO_FN int cameo_jp2_read(cameo_image *im)
{
    return cameo_image_fail(im, "JPEG 2000", "only compiled programs decode it");
}
#endif

/* ---- PNM: PBM, PGM and PPM, as text and as bytes */

typedef struct cameo_pnm {
    const unsigned char *at, *end;
    int fault;
} cameo_pnm;

/* The next number, behind white space and comments. */
CAMEO_FN int64_t cameo_pnm_number(cameo_pnm *p, int one_digit)
{
    int64_t value = 0;
    while (p->at < p->end && *p->at && strchr("# \t\r\n\v\f", *p->at)) {
        if (*p->at++ == '#')
            while (p->at < p->end && *p->at != '\n' && *p->at != '\r')
                p->at++;
    }
    const unsigned char *start = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9' && value < CAMEO_MAX_PIXELS) {
        value = value * 10 + (*p->at++ - '0');
        if (one_digit)
            break;
    }
    p->fault |= p->at == start;
    return value;
}

/* One sample, 0 to 255: of text, of one or two bytes, or of a bit (1 is black). */
CAMEO_FN unsigned char cameo_pnm_sample(cameo_pnm *p, int kind, int64_t x, int64_t most)
{
    int64_t v = 0;
    if (kind <= 3) {
        v = cameo_pnm_number(p, kind == 1);
    } else if (p->end - p->at < (most > 255 ? 2 : 1)) {
        p->fault = 1;
    } else if (kind == 4) {
        v = *p->at >> (7 - x % 8) & 1;
        p->at += x % 8 == 7;
    } else {
        v = *p->at++;
        if (most > 255)
            v = v << 8 | *p->at++;
    }
    if (v > most)
        v = most;
    if (kind == 1 || kind == 4)
        return v ? 0 : 255;
    return (unsigned char)((v * 255 + most / 2) / most);
}

CAMEO_FN int cameo_pnm_read(cameo_image *im)
{
    cameo_pnm p = {im->at + 2, im->at + im->size, 0};
    int kind = im->at[1] - '0', channels = kind % 3 == 0 ? 3 : 1;
    int64_t width = cameo_pnm_number(&p, 0), height = cameo_pnm_number(&p, 0), most = 1;
    if (kind % 3 != 1)
        most = cameo_pnm_number(&p, 0);
    if (p.fault || most < 1 || most > 65535)
        return cameo_image_fail(im, "PNM", "its header cannot be read");
    p.at += p.at < p.end; /* one white space ends the header */
    if (cameo_image_sized(im, "PNM", width, height))
        return -1;
    if (!im->pixels)
        return 0;
    unsigned char *row = (unsigned char *)calloc((size_t)width, (size_t)channels);
    if (!row)
        return cameo_image_fail(im, "PNM", "no memory");
    for (int64_t y = 0; y < height && !p.fault; y++) {
        for (int64_t x = 0; x < width * channels && !p.fault; x++)
            row[x] = cameo_pnm_sample(&p, kind, x, most);
        p.at += kind == 4 && width % 8 != 0; /* rows of bits end with a byte */
        cameo_image_row(im, y, row, channels);
    }
    free(row);
    return p.fault ? cameo_image_fail(im, "PNM", "its pixels end early") : 0;
}

/* ---- BMP */

typedef struct cameo_bmp {
    int64_t width, height, pixels; /* where they begin */
    int bits, packing, top_down;
    const unsigned char *palette;
    int64_t colours, colour_size;
    uint32_t masks[3];
} cameo_bmp;

CAMEO_FN uint32_t cameo_bmp_u16(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

CAMEO_FN uint32_t cameo_bmp_u32(const unsigned char *at)
{
    return cameo_bmp_u16(at) | cameo_bmp_u16(at + 2) << 16;
}

/* The header; 0, or what is wrong with it. */
CAMEO_FN const char *cameo_bmp_header(const cameo_image *im, cameo_bmp *b)
{
    const unsigned char *at = im->at;
    int64_t header = im->size < 26 ? 0 : (int64_t)cameo_bmp_u32(at + 14), behind = 14 + header;
    if ((header != 12 && (header < 40 || header > 1024)) || behind > im->size)
        return "its header cannot be read";
    int old = header == 12;
    b->width = old ? (int64_t)cameo_bmp_u16(at + 18) : (int32_t)cameo_bmp_u32(at + 18);
    b->height = old ? (int64_t)cameo_bmp_u16(at + 20) : (int32_t)cameo_bmp_u32(at + 22);
    b->top_down = b->height < 0;
    b->height = b->top_down ? -b->height : b->height;
    b->bits = (int)cameo_bmp_u16(at + (old ? 24 : 28));
    b->packing = old ? 0 : (int)(cameo_bmp_u32(at + 30) & 255);
    b->pixels = cameo_bmp_u32(at + 10);
    int masked = b->packing == 3 || b->packing == 6;
    if (masked && (b->bits == 16 || b->bits == 32)) {
        if (header == 40)
            behind += b->packing == 3 ? 12 : 16;
        if (im->size < 66)
            return "its masks are not there";
        for (int k = 0; k < 3; k++)
            b->masks[k] = cameo_bmp_u32(at + 54 + 4 * k);
    } else {
        int shift = b->bits == 16 ? 5 : 8;
        for (int k = 0; k < 3; k++)
            b->masks[k] = ((UINT32_C(1) << shift) - 1) << (2 - k) * shift;
    }
    int rle = (b->packing == 1 && b->bits == 8) || (b->packing == 2 && b->bits == 4);
    int plain = b->packing == 0 && (b->bits == 1 || b->bits == 4 || b->bits == 8 || b->bits == 24);
    if (!rle && !plain && !((masked || b->packing == 0) && (b->bits == 16 || b->bits == 32)))
        return "its pixels are packed in a way that is not known";
    if (b->bits <= 8) {
        int64_t said = old ? 0 : (int64_t)cameo_bmp_u32(at + 46);
        b->colours = said > 0 && said < 1 << b->bits ? said : 1 << b->bits;
        b->colour_size = old ? 3 : 4;
        b->palette = at + behind;
        if (behind + b->colours * b->colour_size > im->size)
            return "its palette is not there";
    }
    return b->pixels > im->size ? "its pixels are not there" : NULL;
}

/* A pixel's three channels from its number in the palette or by masks. */
CAMEO_FN void cameo_bmp_pixel(const cameo_bmp *b, uint32_t v, unsigned char *rgb)
{
    if (b->bits <= 8) {
        const unsigned char *c = b->palette + (v < b->colours ? v : 0) * b->colour_size;
        rgb[0] = c[2];
        rgb[1] = c[1];
        rgb[2] = c[0];
        return;
    }
    for (int k = 0; k < 3; k++) {
        uint64_t mask = b->masks[k], lowest = mask & (~mask + 1);
        rgb[k] = (unsigned char)(mask ? (v & mask) / lowest * 255 / (mask / lowest) : 0);
    }
}

/* The numbers of all pixels of a run-length encoding, bottom row first; 0 or -1. */
CAMEO_FN int cameo_bmp_unpack(const cameo_image *im, const cameo_bmp *b, unsigned char *to)
{
    const unsigned char *at = im->at + b->pixels, *end = im->at + im->size;
    int64_t x = 0, y = 0;
    while (end - at >= 2) {
        int n = *at++, v = *at++, literal = n == 0 && v > 2;
        if (n == 0 && v == 1)
            return 0;
        if (n == 0 && v == 0) {
            x = 0;
            y++;
        } else if (n == 0 && v == 2) {
            if (end - at < 2)
                return -1;
            x += *at++;
            y += *at++;
        } else {
            int64_t count = literal ? v : n, bytes = b->bits == 8 ? count : (count + 1) / 2;
            if (y >= b->height || (literal && end - at < bytes))
                return -1;
            for (int64_t i = 0; i < count && x < b->width; i++, x++) {
                int byte = literal ? at[b->bits == 8 ? i : i / 2] : v;
                to[y * b->width + x] = (unsigned char)(b->bits == 8 ? byte
                                                       : i % 2      ? byte & 15
                                                                    : byte >> 4);
            }
            if (literal)
                at += bytes + bytes % 2 <= end - at ? bytes + bytes % 2 : end - at;
        }
    }
    return -1;
}

CAMEO_FN void cameo_bmp_row(const cameo_bmp *b, const unsigned char *from, unsigned char *rgb)
{
    for (int64_t x = 0; x < b->width; x++, rgb += 3) {
        if (b->bits == 24) {
            rgb[0] = from[3 * x + 2];
            rgb[1] = from[3 * x + 1];
            rgb[2] = from[3 * x];
            continue;
        }
        uint32_t v = b->bits == 32   ? cameo_bmp_u32(from + 4 * x)
                     : b->bits == 16 ? cameo_bmp_u16(from + 2 * x)
                                     : (uint32_t)from[x * b->bits / 8];
        if (b->bits < 8)
            v = v >> (8 - b->bits - x * b->bits % 8) & ((1u << b->bits) - 1);
        cameo_bmp_pixel(b, v, rgb);
    }
}

CAMEO_FN int cameo_bmp_read(cameo_image *im)
{
    cameo_bmp b = {0};
    const char *fault = cameo_bmp_header(im, &b);
    if (fault)
        return cameo_image_fail(im, "BMP", fault);
    if (cameo_image_sized(im, "BMP", b.width, b.height))
        return -1;
    int64_t stride = (b.width * b.bits + 31) / 32 * 4;
    int packed = b.packing == 1 || b.packing == 2;
    if (!packed && b.height * stride - (stride - (b.width * b.bits + 7) / 8) > im->size - b.pixels)
        return cameo_image_fail(im, "BMP", "its pixels end early");
    if (!im->pixels)
        return 0;
    unsigned char *rgb = (unsigned char *)malloc((size_t)b.width * 3);
    unsigned char *all = (unsigned char *)calloc(packed ? (size_t)(b.width * b.height) : 1, 1);
    if (!rgb || !all)
        fault = "no memory";
    else if (packed && cameo_bmp_unpack(im, &b, all))
        fault = "its pixels end early";
    if (packed) {
        b.bits = 8;
        stride = b.width;
    }
    for (int64_t y = 0; y < b.height && !fault; y++) {
        int64_t row = b.top_down ? y : b.height - 1 - y;
        cameo_bmp_row(&b, (packed ? all : im->at + b.pixels) + row * stride, rgb);
        cameo_image_row(im, y, rgb, 3);
    }
    free(rgb);
    free(all);
    return fault ? cameo_image_fail(im, "BMP", fault) : 0;
}

/* ---- any format */

CAMEO_FN int cameo_image_starts(const cameo_image *im, int64_t at, const char *magic, size_t n)
{
    return im->size >= at + (int64_t)n && memcmp(im->at + at, magic, n) == 0;
}

/* Finds the format, then the image's size, and its pixels if they are asked for. */
CAMEO_FN int cameo_image_read(cameo_image *im)
{
    if (cameo_image_starts(im, 0, "\xff\xd8\xff", 3))
        return cameo_jpeg_read(im);
    if (cameo_image_starts(im, 0, "\x89PNG\r\n\x1a\n", 8))
        return cameo_png_read(im);
    if (cameo_image_starts(im, 0, "RIFF", 4) && cameo_image_starts(im, 8, "WEBP", 4))
        return cameo_webp_read(im);
    if (cameo_image_starts(im, 0, "II*\0", 4) || cameo_image_starts(im, 0, "MM\0*", 4) ||
        cameo_image_starts(im, 0, "II+\0", 4) || cameo_image_starts(im, 0, "MM\0+", 4))
        return cameo_tiff_read(im);
    if (cameo_image_starts(im, 0, "\0\0\0\x0cjP  \r\n\x87\n", 12) ||
        cameo_image_starts(im, 0, "\xff\x4f\xff\x51", 4))
        return cameo_jp2_read(im);
    if (cameo_image_starts(im, 0, "BM", 2))
        return cameo_bmp_read(im);
    if (im->size > 2 && im->at[0] == 'P' && im->at[1] >= '1' && im->at[1] <= '6')
        return cameo_pnm_read(im);
    return cameo_objects_fail(im->o, "the bytes are no image in a format that is known");
}

CAMEO_FN cameo_image cameo_image_of(cameo_objects *o, const cameo_view *v)
{
    cameo_image im = {o, (const unsigned char *)v->at, cameo_view_count(v), 0, 0, NULL, CAMEO_RGB};
    return im;
}

/* (encoded) => (height, width) */
CAMEO_FN int cameo_image_size(cameo_objects *o, const cameo_call *c)
{
    cameo_image im = cameo_image_of(o, &c->reads[0]);
    if (cameo_image_read(&im))
        return -1;
    *(int64_t *)(uintptr_t)c->writes[0].at = im.height;
    *(int64_t *)(uintptr_t)c->writes[1].at = im.width;
    return 0;
}

/* (encoded) => (pixels[height, width, channels]); order: of a pixel */
CAMEO_FN int cameo_image_decode(cameo_objects *o, const cameo_call *c)
{
    cameo_image im = cameo_image_of(o, &c->reads[0]);
    im.height = c->writes[0].dims[0];
    im.width = c->writes[0].dims[1];
    im.pixels = (unsigned char *)(uintptr_t)c->writes[0].at;
    im.order = (int)c->n[0];
    return cameo_image_read(&im);
}

#endif
