/* JPEG, PNG, WebP, TIFF and JPEG 2000 by their libraries. Each function finds the size of the image
 * and, where they are asked for, its pixels (cameo_image); what a library allocates is given back
 * whatever happens. Alpha is left out, never blended. */
#ifndef CAMEO_CODECS_H
#define CAMEO_CODECS_H

#include "cameo_image.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>

#include <jpeglib.h>

#include <jerror.h>
#include <openjpeg-2.5/openjpeg.h>
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>

/* ---- JPEG: libjpeg-turbo */

typedef struct cameo_jpeg {
    struct jpeg_error_mgr errors; /* first: the library has a pointer to it */
    struct jpeg_progress_mgr progress;
    struct jpeg_decompress_struct d;
    jmp_buf out;
    unsigned char *row, *rgb;
    char text[JMSG_LENGTH_MAX];
} cameo_jpeg;

CAMEO_FN void cameo_jpeg_leave(j_common_ptr d)
{
    cameo_jpeg *j = (cameo_jpeg *)d->err;
    d->err->format_message(d, j->text);
    longjmp(j->out, 1);
}

/* Warnings that pixels are missing are errors. */
CAMEO_FN void cameo_jpeg_warn(j_common_ptr d, int level)
{
    int code = d->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
        cameo_jpeg_leave(d);
}

/* A few bytes can ask for any number of scans of a large image. */
CAMEO_FN void cameo_jpeg_progress(j_common_ptr d)
{
    cameo_jpeg *j = (cameo_jpeg *)d->err;
    if (((j_decompress_ptr)d)->input_scan_number > 500) {
        snprintf(j->text, sizeof j->text, "too many scans");
        longjmp(j->out, 1);
    }
}

/* CMYK as print programs write it: Adobe's is inverted. */
CAMEO_FN void cameo_jpeg_cmyk(const cameo_jpeg *j, int64_t n)
{
    int inverted = j->d.saw_Adobe_marker;
    for (int64_t x = 0; x < n; x++)
        for (int k = 0; k < 3; k++) {
            unsigned ink = j->row[4 * x + k], black = j->row[4 * x + 3];
            unsigned light = inverted ? ink * black : (255 - ink) * (255 - black);
            j->rgb[3 * x + k] = (unsigned char)((light + 127) / 255);
        }
}

CAMEO_FN int cameo_jpeg_rows(cameo_jpeg *j, cameo_image *im)
{
    int cmyk = j->d.num_components == 4;
    j->d.out_color_space = cmyk ? JCS_CMYK : j->d.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&j->d);
    j->row = (unsigned char *)malloc((size_t)im->width * 4);
    j->rgb = (unsigned char *)malloc((size_t)im->width * 3);
    if (!j->row || !j->rgb)
        return cameo_image_fail(im, "JPEG", "no memory");
    for (int64_t y = 0; y < im->height; y++) {
        JSAMPROW rows[1] = {j->row};
        jpeg_read_scanlines(&j->d, rows, 1);
        if (cmyk)
            cameo_jpeg_cmyk(j, im->width);
        cameo_image_row(im, y, cmyk ? j->rgb : j->row, cmyk ? 3 : j->d.num_components);
    }
    jpeg_finish_decompress(&j->d);
    return 0;
}

CAMEO_FN int cameo_jpeg_run(cameo_jpeg *j, cameo_image *im)
{
    if (setjmp(j->out))
        return cameo_image_fail(im, "JPEG", j->text);
    jpeg_create_decompress(&j->d);
    j->d.progress = &j->progress;
    jpeg_mem_src(&j->d, im->at, (unsigned long)im->size);
    jpeg_read_header(&j->d, TRUE);
    if (cameo_image_sized(im, "JPEG", j->d.image_width, j->d.image_height))
        return -1;
    return im->pixels ? cameo_jpeg_rows(j, im) : 0;
}

CAMEO_FN int cameo_jpeg_read(cameo_image *im)
{
    cameo_jpeg *j = (cameo_jpeg *)calloc(1, sizeof *j);
    if (!j)
        return cameo_image_fail(im, "JPEG", "no memory");
    j->d.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = cameo_jpeg_leave;
    j->errors.emit_message = cameo_jpeg_warn;
    j->progress.progress_monitor = cameo_jpeg_progress;
    int status = cameo_jpeg_run(j, im);
    jpeg_destroy_decompress(&j->d);
    free(j->row);
    free(j->rgb);
    free(j);
    return status;
}

/* ---- PNG: libpng */

typedef struct cameo_png {
    png_structp png;
    png_infop info;
    jmp_buf out;
    unsigned char *rows;
    char text[128];
} cameo_png;

CAMEO_FN void cameo_png_leave(png_structp png, png_const_charp why)
{
    cameo_png *g = (cameo_png *)png_get_error_ptr(png);
    snprintf(g->text, sizeof g->text, "%s", why);
    longjmp(g->out, 1);
}

CAMEO_FN void cameo_png_warn(png_structp png, png_const_charp why)
{
    (void)png;
    (void)why;
}

CAMEO_FN void cameo_png_bytes(png_structp png, png_bytep to, size_t n)
{
    cameo_image *im = (cameo_image *)png_get_io_ptr(png);
    if ((int64_t)n > im->size)
        png_error(png, "it ends early");
    memcpy(to, im->at, n);
    im->at += n;
    im->size -= (int64_t)n;
}

CAMEO_FN int cameo_png_rows(cameo_png *g, cameo_image *im)
{
    png_set_expand(g->png);
    png_set_scale_16(g->png);
    png_set_strip_alpha(g->png);
    int passes = png_set_interlace_handling(g->png);
    png_read_update_info(g->png, g->info);
    int channels = png_get_channels(g->png, g->info);
    size_t stride = png_get_rowbytes(g->png, g->info);
    g->rows = (unsigned char *)malloc(stride * (passes > 1 ? (size_t)im->height : 1));
    if (!g->rows)
        return cameo_image_fail(im, "PNG", "no memory");
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < im->height; y++) {
            unsigned char *row = g->rows + (passes > 1 ? (size_t)y * stride : 0);
            png_read_row(g->png, row, NULL);
            if (pass == passes - 1)
                cameo_image_row(im, y, row, channels);
        }
    png_read_end(g->png, NULL);
    return 0;
}

CAMEO_FN int cameo_png_run(cameo_png *g, cameo_image *im)
{
    if (setjmp(g->out))
        return cameo_image_fail(im, "PNG", g->text);
    png_set_read_fn(g->png, im, cameo_png_bytes);
    png_read_info(g->png, g->info);
    if (cameo_image_sized(im, "PNG", png_get_image_width(g->png, g->info),
                          png_get_image_height(g->png, g->info)))
        return -1;
    return im->pixels ? cameo_png_rows(g, im) : 0;
}

CAMEO_FN int cameo_png_read(cameo_image *im)
{
    cameo_png *g = (cameo_png *)calloc(1, sizeof *g);
    int status = -1;
    if (g)
        g->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, g, cameo_png_leave, cameo_png_warn);
    if (g && g->png)
        g->info = png_create_info_struct(g->png);
    if (g && g->info)
        status = cameo_png_run(g, im);
    else
        cameo_image_fail(im, "PNG", "no memory");
    if (g) {
        png_destroy_read_struct(&g->png, &g->info, NULL);
        free(g->rows);
    }
    free(g);
    return status;
}

/* ---- WebP: libwebp. Of an animation there is no one image. */

CAMEO_FN int cameo_webp_read(cameo_image *im)
{
    WebPBitstreamFeatures f;
    if (WebPGetFeatures(im->at, (size_t)im->size, &f) != VP8_STATUS_OK)
        return cameo_image_fail(im, "WebP", "its header cannot be read");
    if (f.has_animation)
        return cameo_image_fail(im, "WebP", "it is an animation");
    if (cameo_image_sized(im, "WebP", f.width, f.height))
        return -1;
    if (!im->pixels)
        return 0;
    size_t size = (size_t)im->size, stride = (size_t)im->width * 3;
    size_t room = stride * (size_t)im->height;
    if (im->order == CAMEO_RGB || im->order == CAMEO_BGR) {
        const uint8_t *done = im->order == CAMEO_RGB
                                  ? WebPDecodeRGBInto(im->at, size, im->pixels, room, (int)stride)
                                  : WebPDecodeBGRInto(im->at, size, im->pixels, room, (int)stride);
        return done ? 0 : cameo_image_fail(im, "WebP", "its pixels cannot be decoded");
    }
    unsigned char *rgb = (unsigned char *)malloc(room);
    const char *fault = !rgb ? "no memory"
                        : !WebPDecodeRGBInto(im->at, size, rgb, room, (int)stride)
                            ? "its pixels cannot be decoded"
                            : NULL;
    for (int64_t y = 0; y < im->height && !fault; y++)
        cameo_image_row(im, y, rgb + (size_t)y * stride, 3);
    free(rgb);
    return fault ? cameo_image_fail(im, "WebP", fault) : 0;
}

/* ---- TIFF: libtiff, which reads from memory through these */

typedef struct cameo_tiff {
    cameo_image *im;
    int64_t at;
    char text[128];
} cameo_tiff;

CAMEO_FN tmsize_t cameo_tiff_bytes(thandle_t handle, void *to, tmsize_t n)
{
    cameo_tiff *t = (cameo_tiff *)handle;
    int64_t left = t->at < t->im->size ? t->im->size - t->at : 0;
    n = n < left ? n : (tmsize_t)left;
    if (n <= 0)
        return 0;
    memcpy(to, t->im->at + t->at, (size_t)n);
    t->at += n;
    return n;
}

CAMEO_FN tmsize_t cameo_tiff_no_write(thandle_t handle, void *from, tmsize_t n)
{
    (void)handle;
    (void)from;
    (void)n;
    return 0;
}

CAMEO_FN toff_t cameo_tiff_seek(thandle_t handle, toff_t to, int whence)
{
    cameo_tiff *t = (cameo_tiff *)handle;
    int64_t from = whence == SEEK_CUR ? t->at : whence == SEEK_END ? t->im->size : 0;
    if ((int64_t)to > INT64_MAX / 2 || (int64_t)to < -from)
        return (toff_t)-1;
    t->at = from + (int64_t)to;
    return (toff_t)t->at;
}

CAMEO_FN int cameo_tiff_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

CAMEO_FN toff_t cameo_tiff_size(thandle_t handle)
{
    return (toff_t)((cameo_tiff *)handle)->im->size;
}

CAMEO_FN int cameo_tiff_error(TIFF *tiff, void *user, const char *module, const char *format,
                              va_list args) __attribute__((format(printf, 4, 0)));
CAMEO_FN int cameo_tiff_error(TIFF *tiff, void *user, const char *module, const char *format,
                              va_list args)
{
    cameo_tiff *t = (cameo_tiff *)user;
    (void)tiff;
    (void)module;
    if (!t->text[0])
        vsnprintf(t->text, sizeof t->text, format, args);
    return 1;
}

CAMEO_FN int cameo_tiff_warn(TIFF *tiff, void *user, const char *module, const char *format,
                             va_list args) __attribute__((format(printf, 4, 0)));
CAMEO_FN int cameo_tiff_warn(TIFF *tiff, void *user, const char *module, const char *format,
                             va_list args)
{
    (void)tiff;
    (void)user;
    (void)module;
    (void)format;
    (void)args;
    return 1;
}

CAMEO_FN int cameo_tiff_rows(cameo_tiff *t, TIFF *tiff)
{
    cameo_image *im = t->im;
    size_t n = (size_t)(im->width * im->height);
    uint32_t *all = (uint32_t *)malloc(n * sizeof *all);
    unsigned char *row = (unsigned char *)malloc((size_t)im->width * 3);
    const char *fault = all && row ? NULL : "no memory";
    if (!fault && (!TIFFReadRGBAImageOriented(tiff, (uint32_t)im->width, (uint32_t)im->height, all,
                                              ORIENTATION_TOPLEFT, 1) ||
                   t->text[0]))
        fault = t->text[0] ? t->text : "its pixels cannot be decoded";
    for (int64_t y = 0; y < im->height && !fault; y++) {
        for (int64_t x = 0; x < im->width; x++) {
            uint32_t v = all[y * im->width + x];
            row[3 * x] = (unsigned char)TIFFGetR(v);
            row[3 * x + 1] = (unsigned char)TIFFGetG(v);
            row[3 * x + 2] = (unsigned char)TIFFGetB(v);
        }
        cameo_image_row(im, y, row, 3);
    }
    free(all);
    free(row);
    return fault ? cameo_image_fail(im, "TIFF", fault) : 0;
}

CAMEO_FN int cameo_tiff_read(cameo_image *im)
{
    cameo_tiff t = {im, 0, ""};
    uint32_t width = 0, height = 0;
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return cameo_image_fail(im, "TIFF", "no memory");
    TIFFOpenOptionsSetErrorHandlerExtR(options, cameo_tiff_error, &t);
    TIFFOpenOptionsSetWarningHandlerExtR(options, cameo_tiff_warn, &t);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)CAMEO_MAX_PIXELS * 8);
    TIFF *tiff =
        TIFFClientOpenExt("image", "rm", (thandle_t)&t, cameo_tiff_bytes, cameo_tiff_no_write,
                          cameo_tiff_seek, cameo_tiff_close, cameo_tiff_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    int status = -1;
    if (!tiff || !TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width) ||
        !TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height))
        cameo_image_fail(im, "TIFF", t.text[0] ? t.text : "its header cannot be read");
    else if (!cameo_image_sized(im, "TIFF", width, height))
        status = im->pixels ? cameo_tiff_rows(&t, tiff) : 0;
    if (tiff)
        TIFFClose(tiff);
    return status;
}

/* ---- JPEG 2000: libopenjp2 */

typedef struct cameo_jp2 {
    cameo_image *im;
    int64_t at;
    char text[128];
} cameo_jp2;

CAMEO_FN OPJ_SIZE_T cameo_jp2_bytes(void *to, OPJ_SIZE_T n, void *user)
{
    cameo_jp2 *j = (cameo_jp2 *)user;
    OPJ_SIZE_T left = (OPJ_SIZE_T)(j->im->size - j->at);
    n = n < left ? n : left;
    if (n == 0)
        return (OPJ_SIZE_T)-1;
    memcpy(to, j->im->at + j->at, n);
    j->at += (int64_t)n;
    return n;
}

CAMEO_FN OPJ_BOOL cameo_jp2_seek(OPJ_OFF_T to, void *user)
{
    cameo_jp2 *j = (cameo_jp2 *)user;
    if (to < 0 || to > j->im->size)
        return OPJ_FALSE;
    j->at = to;
    return OPJ_TRUE;
}

CAMEO_FN OPJ_OFF_T cameo_jp2_skip(OPJ_OFF_T n, void *user)
{
    cameo_jp2 *j = (cameo_jp2 *)user;
    if (n < -j->at || n > j->im->size - j->at)
        return -1;
    j->at += n;
    return n;
}

CAMEO_FN void cameo_jp2_error(const char *why, void *user)
{
    cameo_jp2 *j = (cameo_jp2 *)user;
    if (!j->text[0])
        snprintf(j->text, sizeof j->text, "%.*s", (int)strcspn(why, "\n"), why);
}

CAMEO_FN void cameo_jp2_warn(const char *why, void *user)
{
    (void)why;
    (void)user;
}

/* A sample as 8 bits without sign; components may have fewer samples than the image. */
CAMEO_FN int cameo_jp2_sample(const cameo_image *im, const opj_image_comp_t *c, int64_t y,
                              int64_t x)
{
    int64_t v = c->data[y * c->h / im->height * c->w + x * c->w / im->width];
    int64_t most = (INT64_C(1) << c->prec) - 1;
    if (c->sgnd)
        v += INT64_C(1) << (c->prec - 1);
    v = v < 0 ? 0 : v > most ? most : v;
    return (int)(c->prec > 8 ? v >> (c->prec - 8) : v * 255 / most);
}

CAMEO_FN unsigned char cameo_jp2_byte(double v)
{
    return (unsigned char)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
}

CAMEO_FN int cameo_jp2_rows(cameo_image *im, const opj_image_t *from)
{
    int channels = from->numcomps < 3 ? 1 : 3;
    int luma = channels == 3 && from->color_space == OPJ_CLRSPC_SYCC;
    unsigned char *row = (unsigned char *)malloc((size_t)im->width * 3);
    if (!row)
        return cameo_image_fail(im, "JPEG 2000", "no memory");
    for (int64_t y = 0; y < im->height; y++) {
        for (int64_t x = 0; x < im->width; x++) {
            unsigned char *to = row + channels * x;
            for (int k = 0; k < channels; k++)
                to[k] = (unsigned char)cameo_jp2_sample(im, &from->comps[k], y, x);
            if (luma) {
                double l = to[0], b = to[1] - 128.0, r = to[2] - 128.0;
                to[0] = cameo_jp2_byte(l + 1.402 * r);
                to[1] = cameo_jp2_byte(l - 0.344136 * b - 0.714136 * r);
                to[2] = cameo_jp2_byte(l + 1.772 * b);
            }
        }
        cameo_image_row(im, y, row, channels);
    }
    free(row);
    return 0;
}

CAMEO_FN int cameo_jp2_run(cameo_jp2 *j, opj_codec_t *codec, opj_stream_t *stream,
                           opj_image_t **image)
{
    cameo_image *im = j->im;
    opj_dparameters_t how;
    opj_set_default_decoder_parameters(&how);
    opj_set_error_handler(codec, cameo_jp2_error, j);
    opj_set_warning_handler(codec, cameo_jp2_warn, j);
    if (!opj_setup_decoder(codec, &how) || !opj_decoder_set_strict_mode(codec, OPJ_TRUE) ||
        !opj_read_header(stream, codec, image))
        return cameo_image_fail(im, "JPEG 2000",
                                j->text[0] ? j->text : "its header cannot be read");
    const opj_image_t *found = *image;
    if (found->numcomps < 1 || found->numcomps > 4)
        return cameo_image_fail(im, "JPEG 2000", "it has not one to four components");
    int64_t dx = found->comps[0].dx ? found->comps[0].dx : 1;
    int64_t dy = found->comps[0].dy ? found->comps[0].dy : 1;
    int64_t width = (found->x1 + dx - 1) / dx - (found->x0 + dx - 1) / dx;
    int64_t height = (found->y1 + dy - 1) / dy - (found->y0 + dy - 1) / dy;
    if (cameo_image_sized(im, "JPEG 2000", width, height))
        return -1;
    if (!im->pixels)
        return 0;
    if (!opj_decode(codec, stream, *image) || !opj_end_decompress(codec, stream) || j->text[0])
        return cameo_image_fail(im, "JPEG 2000",
                                j->text[0] ? j->text : "its pixels cannot be decoded");
    for (OPJ_UINT32 k = 0; k < found->numcomps; k++) {
        const opj_image_comp_t *c = &found->comps[k];
        if (!c->data || !c->w || !c->h || c->prec < 1 || c->prec > 31)
            return cameo_image_fail(im, "JPEG 2000", "a component cannot be decoded");
    }
    return cameo_jp2_rows(im, found);
}

CAMEO_FN int cameo_jp2_read(cameo_image *im)
{
    cameo_jp2 j = {im, 0, ""};
    opj_image_t *image = NULL;
    opj_codec_t *codec = opj_create_decompress(im->at[0] ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    opj_stream_t *stream = opj_stream_create(1 << 16, OPJ_TRUE);
    int status = -1;
    if (codec && stream) {
        opj_stream_set_user_data(stream, &j, NULL);
        opj_stream_set_user_data_length(stream, (OPJ_UINT64)im->size);
        opj_stream_set_read_function(stream, cameo_jp2_bytes);
        opj_stream_set_skip_function(stream, cameo_jp2_skip);
        opj_stream_set_seek_function(stream, cameo_jp2_seek);
        status = cameo_jp2_run(&j, codec, stream, &image);
    } else {
        cameo_image_fail(im, "JPEG 2000", "no memory");
    }
    if (image)
        opj_image_destroy(image);
    if (codec)
        opj_destroy_codec(codec);
    if (stream)
        opj_stream_destroy(stream);
    return status;
}

#endif
