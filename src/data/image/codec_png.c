/* PNG through libpng. Easy to get wrong: an error of libpng is a longjmp, so whatever it may skip lives in a
   struct, and nothing between the setjmp and its end owns memory of its own. */
#include <png.h>
#include <setjmp.h>
#include <string.h>

#include "base/mem.h"
#include "data/image/codec.h"

enum { CHUNK_BYTES_MOST = 1 << 23, CHUNKS_MOST = 1000 };

typedef struct png_work {
    const hd_codec_job *job;
    size_t at; /* bytes read */
    hd_image *out;
    hd_text *to; /* what is written */
    png_structp png;
    png_infop info;
    hd_status status; /* of what failed here and not in libpng */
    hd_err *err;
    char why[128];
} png_work;

static png_voidp take(png_structp png, png_alloc_size_t size)
{
    void *block = hd_mem_new(size);
    png_work *w = png_get_mem_ptr(png);
    if (!block) w->status = hd_err_nomem(w->err, size);
    return block;
}

static void give(png_structp png, png_voidp block)
{
    (void)png;
    hd_mem_free(block);
}

static void on_error(png_structp png, png_const_charp text)
{
    png_work *w = png_get_error_ptr(png);
    strncpy(w->why, text, sizeof w->why - 1);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png, (void)text;
}

static void read_bytes(png_structp png, png_bytep to, size_t size)
{
    png_work *w = png_get_io_ptr(png);
    if (size > w->job->size - w->at) png_error(png, "the file is cut short");
    memcpy(to, w->job->bytes + w->at, size);
    w->at += size;
}

/* Whether the file can hold so many pixels at all: deflate makes data at most 1032 times smaller. A few bytes
   must not ask for all memory. */
static bool holds(const png_work *w, uint32_t width, uint32_t height)
{
    uint64_t bits = (uint64_t)width * png_get_bit_depth(w->png, w->info) * png_get_channels(w->png, w->info);
    return height * (bits + 7) / 8 / 1032 <= w->job->size;
}

/* What the rows are turned into: 8 bits a channel, grey or RGB. */
static void ask_for_bytes(png_work *w, int type)
{
    png_set_strip_16(w->png);
    png_set_packing(w->png);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(w->png);
    if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(w->png);
    png_set_strip_alpha(w->png); /* that of a palette as well */
}

static void read_header(png_work *w)
{
    png_set_read_fn(w->png, w, read_bytes);
    png_set_user_limits(w->png, 0x7fffffff, 0x7fffffff); /* ours come with the name of the file */
    png_set_chunk_malloc_max(w->png, CHUNK_BYTES_MOST);
    png_set_chunk_cache_max(w->png, CHUNKS_MOST);
    png_set_keep_unknown_chunks(w->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1); /* no text, no color profile */
    png_read_info(w->png, w->info);
    int type = png_get_color_type(w->png, w->info);
    uint32_t width = png_get_image_width(w->png, w->info), height = png_get_image_height(w->png, w->info);
    w->status = hd_image_check(width, height, w->job->name, w->err);
    *w->out =
        (hd_image){.width = (int)width,
                   .height = (int)height,
                   .channels = type == PNG_COLOR_TYPE_GRAY || type == PNG_COLOR_TYPE_GRAY_ALPHA ? 1 : 3};
    if (!w->status && !holds(w, width, height)) png_error(w->png, "the file is cut short");
    if (!w->status) ask_for_bytes(w, type);
}

static void read_rows(png_work *w)
{
    hd_image *im = w->out;
    size_t row = (size_t)im->width * (size_t)im->channels;
    int passes = png_set_interlace_handling(w->png);
    png_read_update_info(w->png, w->info);
    if (png_get_rowbytes(w->png, w->info) != row)
        png_error(w->png, "rows of another size than the header says");
    w->status = hd_image_make(im, im->width, im->height, im->channels, w->job->name, w->err);
    if (w->status) return;
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < im->height; y++) png_read_row(w->png, im->pixel + (size_t)y * row, NULL);
    png_read_end(w->png, NULL);
}

static void read_all(png_work *w)
{
    if (setjmp(png_jmpbuf(w->png))) {
        if (!w->status) w->status = HD_EFORMAT;
        return;
    }
    read_header(w);
    if (!w->status && !w->job->header) read_rows(w);
}

hd_status hd_codec_decode_png(hd_image *out, const hd_codec_job *job, hd_err *err)
{
    png_work w = {.job = job, .out = out, .err = err};
    w.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning, &w, take, give);
    w.info = w.png ? png_create_info_struct(w.png) : NULL;
    if (!w.info)
        w.status = hd_err_nomem(err, 0);
    else
        read_all(&w);
    png_destroy_read_struct(&w.png, &w.info, NULL);
    if (w.status == HD_EFORMAT) hd_err_set(err, HD_EFORMAT, "%s: damaged PNG: %s", job->name, w.why);
    return w.status;
}

/* -- writing -- */

static void write_bytes(png_structp png, png_bytep bytes, size_t size)
{
    png_work *w = png_get_io_ptr(png);
    hd_text_add(w->to, (const char *)bytes, size);
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

static void write_all(png_work *w, const hd_image *im)
{
    if (setjmp(png_jmpbuf(w->png))) {
        if (!w->status) w->status = HD_EFORMAT;
        return;
    }
    png_set_write_fn(w->png, w, write_bytes, flush_nothing);
    png_set_user_limits(w->png, 0x7fffffff, 0x7fffffff);
    png_set_IHDR(w->png, w->info, (uint32_t)im->width, (uint32_t)im->height, 8,
                 im->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    for (int y = 0; y < im->height; y++)
        png_write_row(w->png, im->pixel + (size_t)y * (size_t)im->width * (size_t)im->channels);
    png_write_end(w->png, w->info);
}

hd_status hd_image_encode_png(hd_text *to, const hd_image *im, hd_err *err)
{
    png_work w = {.to = to, .err = err};
    w.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning, &w, take, give);
    w.info = w.png ? png_create_info_struct(w.png) : NULL;
    if (!w.info)
        w.status = hd_err_nomem(err, 0);
    else
        write_all(&w, im);
    png_destroy_write_struct(&w.png, &w.info);
    if (w.status == HD_EFORMAT)
        hd_err_set(err, HD_EFORMAT, "the picture cannot be written as PNG: %s", w.why);
    return w.status ? w.status : hd_text_status(to, err);
}
