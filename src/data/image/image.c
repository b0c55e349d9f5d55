/* Pictures in memory, and which format a file has. */
#include "data/image/image.h"

#include <stdio.h>
#include <string.h>

#include "base/file/file.h"
#include "base/mem.h"
#include "data/image/codec.h"

hd_status hd_image_check(int64_t width, int64_t height, const char *name, hd_err *err)
{
    if (width < 1 || height < 1)
        return hd_err_set(err, HD_EFORMAT, "%s: a picture of %jd x %jd pixels", name, (intmax_t)width,
                          (intmax_t)height);
    if (width > HD_IMAGE_MOST_SIDE || height > HD_IMAGE_MOST_SIDE || width * height > HD_IMAGE_MOST_PIXELS)
        return hd_err_set(err, HD_ELIMIT,
                          "%s: a picture of %jd x %jd pixels; the limit is %d on a side and %d in all: make "
                          "it smaller first",
                          name, (intmax_t)width, (intmax_t)height, HD_IMAGE_MOST_SIDE, HD_IMAGE_MOST_PIXELS);
    return HD_OK;
}

hd_status hd_image_make(hd_image *out, int width, int height, int channels, const char *name, hd_err *err)
{
    *out = (hd_image){.width = width, .height = height, .channels = channels};
    hd_status s = hd_image_check(width, height, name, err);
    if (s) return s;
    out->pixel = hd_mem_new(hd_image_bytes(out));
    return out->pixel ? HD_OK : hd_err_nomem(err, hd_image_bytes(out));
}

void hd_image_release(hd_image *im)
{
    hd_mem_free(im->pixel);
    *im = (hd_image){0};
}

/* -- formats -- */

typedef struct format {
    hd_codec_decode *decode; /* NULL: not read here */
    const char *name, *magic;
    size_t at, size; /* of the magic */
    const char *end; /* the last bytes; NULL: not known */
    size_t end_size;
    bool parts; /* it decodes them */
} format;

#define X(name, magic, end, title, parts) \
    {hd_codec_decode_##name, title, magic, 0, sizeof magic - 1, end, sizeof end - 1, parts},
#define FOREIGN(title, magic, at) {NULL, title, magic, at, sizeof magic - 1, NULL, 0, false},
static const format formats[] = {
    HD_CODEC_LIST(X) FOREIGN("GIF", "GIF8", 0) FOREIGN("BMP", "BM", 0) FOREIGN("WebP", "WEBP", 8)
        FOREIGN("TIFF", "II*\0", 0) FOREIGN("TIFF", "MM\0*", 0) FOREIGN("HEIF or AVIF", "ftyp", 4)
            FOREIGN("JPEG XL", "\xff\x0a", 0) FOREIGN("JPEG 2000", "jP  ", 4) FOREIGN("SVG", "<svg", 0)};
#undef FOREIGN
#undef X

static const format *format_of(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const format *f = &formats[i];
        if (size >= f->at + f->size && !memcmp(bytes + f->at, f->magic, f->size)) return f;
    }
    return NULL;
}

/* Of a picture that was decoded whole. */
static hd_status cut(hd_image *im, const hd_image_ask *ask, hd_err *err)
{
    const hd_image_part p = ask->part(ask->context, im->width, im->height);
    hd_image whole = *im;
    *im = (hd_image){0};
    hd_status s = hd_image_crop(im, &whole, p.x, p.y, p.width, p.height, err);
    hd_image_release(&whole);
    return s;
}

static hd_status decode(hd_image *out, const hd_codec_job *job, hd_err *err)
{
    char what[HD_FILE_BEGINS];
    *out = (hd_image){0};
    const format *f = format_of(job->bytes, job->size);
    if (!f) {
        hd_file_begins(what, job->bytes, job->size);
        return hd_err_set(err, HD_EFORMAT, "%s: no picture in PNG or JPEG: %s", job->name, what);
    }
    if (!f->decode)
        return hd_err_set(err, HD_EFORMAT, "%s: is a %s picture, which heed does not read: convert it to PNG",
                          job->name, f->name);
    hd_status s = f->decode(out, job, err);
    if (!s && job->ask && !f->parts) s = cut(out, job->ask, err);
    if (s) hd_image_release(out);
    return s;
}

hd_status hd_image_decode(hd_image *out, const uint8_t *bytes, size_t size, const char *name, hd_err *err)
{
    return decode(out, &(hd_codec_job){.bytes = bytes, .size = size, .name = name}, err);
}

hd_status hd_image_decode_scaled(hd_image *out, const uint8_t *bytes, size_t size, int side,
                                 const hd_image_ask *ask, const char *name, hd_err *err)
{
    return decode(out, &(hd_codec_job){.bytes = bytes, .size = size, .name = name, .side = side, .ask = ask},
                  err);
}

hd_status hd_image_header(hd_image *out, const uint8_t *bytes, size_t size, const char *name, hd_err *err)
{
    return decode(out, &(hd_codec_job){.bytes = bytes, .size = size, .name = name, .header = true}, err);
}

hd_status hd_image_probe(hd_image *out, const uint8_t *bytes, size_t size, const char *name, hd_err *err)
{
    enum { TAIL = 64 }; /* some programs leave a few bytes behind the end */
    hd_image whole;
    hd_status s = hd_image_header(out, bytes, size, name, err);
    if (s) return s;
    const format *f = format_of(bytes, size);
    size_t tail = size < TAIL ? size : TAIL;
    if (memmem(bytes + size - tail, tail, f->end, f->end_size)) return HD_OK;
    s = hd_image_decode(&whole, bytes, size, name, err);
    hd_image_release(&whole);
    return s;
}

hd_status hd_image_read(hd_image *out, const char *path, hd_err *err)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    *out = (hd_image){0};
    hd_status s = hd_file_read(&bytes, &size, path, HD_IMAGE_MOST_BYTES, err);
    if (!s) s = hd_image_decode(out, bytes, size, path, err);
    hd_mem_free(bytes);
    return s;
}

hd_status hd_image_write_png(const hd_image *im, const char *path, hd_err *err)
{
    hd_text file = {0};
    hd_status s = hd_image_encode_png(&file, im, err);
    if (!s) s = hd_save_bytes(path, file.data, file.size, err);
    hd_text_release(&file);
    return s;
}

/* -- channels, parts -- */

hd_status hd_image_channels(hd_image *im, int channels, hd_err *err)
{
    if (im->channels == channels) return HD_OK;
    hd_image to;
    hd_status s = hd_image_make(&to, im->width, im->height, channels, "picture", err);
    if (s) return s;
    size_t pixels = (size_t)im->width * (size_t)im->height;
    const uint8_t *from = im->pixel;
    for (size_t i = 0; channels == 3 && i < pixels; i++)
        to.pixel[3 * i] = to.pixel[3 * i + 1] = to.pixel[3 * i + 2] = from[i];
    for (size_t i = 0; channels == 1 && i < pixels; i++) /* Pillow's whole numbers, of 2 to the 16th */
        to.pixel[i] =
            (uint8_t)((from[3 * i] * 19595u + from[3 * i + 1] * 38470u + from[3 * i + 2] * 7471u + 0x8000u) >>
                      16);
    hd_image_release(im);
    *im = to;
    return HD_OK;
}

hd_status hd_image_crop(hd_image *out, const hd_image *in, int x, int y, int width, int height, hd_err *err)
{
    hd_status s = hd_image_make(out, width, height, in->channels, "part of a picture", err);
    if (s) return s;
    size_t c = (size_t)in->channels, row = (size_t)width * c;
    int64_t left = x < 0 ? 0 : x, right = (int64_t)x + width < in->width ? (int64_t)x + width : in->width;
    for (int j = 0; j < height; j++) {
        int64_t from = (int64_t)y + j;
        uint8_t *to = out->pixel + (size_t)j * row;
        memset(to, 0, row);
        if (from < 0 || from >= in->height || left >= right) continue;
        memcpy(to + (size_t)(left - x) * c, in->pixel + ((size_t)from * (size_t)in->width + (size_t)left) * c,
               (size_t)(right - left) * c);
    }
    return HD_OK;
}
