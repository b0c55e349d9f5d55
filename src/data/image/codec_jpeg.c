/* JPEG through libjpeg-turbo, bit for bit as Pillow decodes it. Easy to get wrong: the library's own error
   handler exits, and of damaged data it only warns; an error here is a longjmp, so whatever it may skip lives
   in a struct. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/mem.h"
#include "data/image/codec.h"

enum { SCANS_MOST = 100 }; /* a small file can ask for thousands of passes over the picture */

typedef struct jpeg_work {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr error;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    const hd_codec_job *job;
    hd_image *out;
    uint8_t *line; /* of CMYK, or longer than those of the picture */
    hd_status status;
    hd_err *err;
} jpeg_work;

static void stop(jpeg_work *w, hd_status s, const char *why)
{
    w->status = s == HD_ENOMEM ? hd_err_nomem(w->err, 0)
                               : hd_err_set(w->err, s, "%s: damaged JPEG: %s", w->job->name, why);
    longjmp(w->back, 1);
}

static void on_error(j_common_ptr jpeg)
{
    jpeg_work *w = jpeg->client_data;
    char why[JMSG_LENGTH_MAX];
    w->error.format_message(jpeg, why);
    stop(w, w->error.msg_code == JERR_OUT_OF_MEMORY ? HD_ENOMEM : HD_EFORMAT, why);
}

/* Damage. Of the other warnings pictures in the wild are full: bytes between markers, odd versions. */
static const int damage[] = {JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE, JWRN_JPEG_EOF, JWRN_MUST_RESYNC,
                             JWRN_ARITH_BAD_CODE};

static void on_message(j_common_ptr jpeg, int level)
{
    jpeg_work *w = jpeg->client_data;
    for (size_t i = 0; level < 0 && i < sizeof damage / sizeof *damage; i++)
        if (w->error.msg_code == damage[i]) on_error(jpeg);
}

static void say_nothing(j_common_ptr jpeg)
{
    (void)jpeg;
}

static void on_progress(j_common_ptr jpeg)
{
    jpeg_work *w = jpeg->client_data;
    if (w->jpeg.input_scan_number > SCANS_MOST) stop(w, HD_EFORMAT, "too many scans");
}

/* Whether the file can hold so many pixels at all: Huffman codes take a bit or more for each block of 8 x 8.
   A few bytes must not ask for all memory. Several scans need all coefficients at once: libjpeg takes them
   from the system, so hd_mem is asked first. */
static void check_memory(jpeg_work *w)
{
    const j_decompress_ptr j = &w->jpeg;
    uint64_t coefficients = 0;
    for (int i = 0; i < j->num_components; i++)
        coefficients +=
            (uint64_t)j->comp_info[i].width_in_blocks * j->comp_info[i].height_in_blocks * DCTSIZE2;
    uint64_t first = (uint64_t)j->comp_info[0].width_in_blocks * j->comp_info[0].height_in_blocks;
    if (first / 8 > w->job->size) stop(w, HD_EFORMAT, "the file is cut short");
    if (w->job->header || !jpeg_has_multiple_scans(j)) return;
    size_t bytes = (size_t)coefficients * sizeof(JCOEF);
    void *room = hd_mem_new(bytes);
    if (!room) w->status = hd_err_nomem(w->err, bytes);
    hd_mem_free(room);
}

static void read_header(jpeg_work *w)
{
    j_decompress_ptr j = &w->jpeg;
    jpeg_create_decompress(j);
    w->progress.progress_monitor = on_progress;
    j->progress = &w->progress;
    jpeg_mem_src(j, w->job->bytes, w->job->size);
    jpeg_read_header(j, TRUE);
    w->status = hd_image_check(j->image_width, j->image_height, w->job->name, w->err);
    if (w->status) return;
    if (j->num_components != 1 && j->num_components != 3 && j->num_components != 4)
        stop(w, HD_EFORMAT, "neither 1 nor 3 nor 4 channels");
    if (j->arith_code) { /* hardly anyone writes it, and a few bytes of it can go on for a whole picture */
        w->status =
            hd_err_set(w->err, HD_EFORMAT,
                       "%s: a JPEG picture in arithmetic coding, which heed does not read: convert it to PNG",
                       w->job->name);
        return;
    }
    check_memory(w);
    if (w->status) return;
    j->out_color_space = j->num_components == 1 ? JCS_GRAYSCALE : j->num_components == 3 ? JCS_RGB : JCS_CMYK;
    *w->out = (hd_image){.width = (int)j->image_width,
                         .height = (int)j->image_height,
                         .channels = j->num_components == 1 ? 1 : 3};
}

static void choose_scale(jpeg_work *w)
{
    int shorter = w->out->width < w->out->height ? w->out->width : w->out->height;
    w->jpeg.scale_denom = 1;
    while (w->job->side > 0 && w->jpeg.scale_denom < 8 &&
           shorter / (2 * (int)w->jpeg.scale_denom) >= w->job->side)
        w->jpeg.scale_denom *= 2;
}

/* As Pillow: the file holds the inverse of CMYK, whoever wrote it. */
static void rgb_of_cmyk(uint8_t *to, const uint8_t *from, size_t pixels)
{
    for (size_t i = 0; i < pixels; i++) {
        unsigned k = from[4 * i + 3];
        for (size_t c = 0; c < 3; c++) {
            unsigned product = (255u - from[4 * i + c]) * k + 128u;
            product = (product + (product >> 8)) >> 8; /* divided by 255, rounded */
            to[3 * i + c] = (uint8_t)(k - product);
        }
    }
}

/* Where lines of the part begin and how long they are: a block more on both sides, whose colors reach into
   the part. Without libjpeg-turbo lines are whole. */
static void cut_lines(j_decompress_ptr j, const hd_image_part *p, JDIMENSION *first, JDIMENSION *width)
{
    *first = 0, *width = j->output_width;
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
    const int margin = DCTSIZE * j->max_h_samp_factor, end = p->x + p->width + margin;
    if ((JDIMENSION)p->width < j->output_width && j->max_h_samp_factor <= 2) {
        JDIMENSION to = end < (int)j->output_width ? (JDIMENSION)end : j->output_width;
        *first = p->x > margin ? (JDIMENSION)(p->x - margin) : 0, *width = to - *first;
        jpeg_crop_scanline(j, first, width);
    }
    if (p->y) jpeg_skip_scanlines(j, (JDIMENSION)p->y);
#else
    (void)p;
#endif
}

static hd_image_part part_of(const jpeg_work *w)
{
    const hd_image_ask *ask = w->job->ask;
    const int width = (int)w->jpeg.output_width, height = (int)w->jpeg.output_height;
    return ask ? ask->part(ask->context, width, height) : (hd_image_part){0, 0, width, height};
}

static void read_rows(jpeg_work *w)
{
    j_decompress_ptr j = &w->jpeg;
    JDIMENSION first, width;
    choose_scale(w);
    jpeg_start_decompress(j);
    hd_image *im = w->out;
    const hd_image_part p = part_of(w);
    const size_t row = (size_t)p.width * (size_t)im->channels;
    w->status = hd_image_make(im, p.width, p.height, im->channels, w->job->name, w->err);
    if (w->status) return;
    cut_lines(j, &p, &first, &width);
    const bool cmyk = j->out_color_space == JCS_CMYK, whole = width == (JDIMENSION)p.width && !cmyk;
    const size_t bytes = (size_t)width * (size_t)j->output_components;
    if (!whole) w->line = hd_mem_new(bytes);
    if (!whole && !w->line) w->status = hd_err_nomem(w->err, bytes);
    while (!w->status && j->output_scanline < (JDIMENSION)(p.y + p.height)) {
        const int y = (int)j->output_scanline - p.y;
        uint8_t *to = im->pixel + (y < 0 ? 0 : (size_t)y) * row;
        const uint8_t *from = whole ? NULL : w->line + ((size_t)p.x - first) * (size_t)j->output_components;
        jpeg_read_scanlines(j, whole ? &to : &w->line, 1);
        if (y < 0 || whole) continue;
        if (cmyk)
            rgb_of_cmyk(to, from, (size_t)p.width);
        else
            memcpy(to, from, row);
    }
    if (!w->status && j->output_scanline == j->output_height) jpeg_finish_decompress(j);
}

static void read_all(jpeg_work *w)
{
    if (setjmp(w->back)) return;
    read_header(w);
    if (!w->status && !w->job->header) read_rows(w);
}

hd_status hd_codec_decode_jpeg(hd_image *out, const hd_codec_job *job, hd_err *err)
{
    jpeg_work *w = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    w->job = job, w->out = out, w->err = err;
    w->jpeg.err = jpeg_std_error(&w->error);
    w->jpeg.client_data = w;
    w->error.error_exit = on_error;
    w->error.emit_message = on_message;
    w->error.output_message = say_nothing;
    read_all(w);
    jpeg_destroy_decompress(&w->jpeg);
    hd_status s = w->status;
    hd_mem_free(w->line);
    hd_mem_free(w);
    return s;
}
