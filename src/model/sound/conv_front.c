/* Two convolutions of width 3 over time, the second of which takes every other place: Whisper's front. Its
   positions are sines in a table that the file holds, of frequencies that end at 1/10000. */
#include <math.h>
#include <stdio.h>

#include "model/prepare.h"
#include "model/sound/sound_encoder.h"

enum { WIDE = 3, STRIDE = 2 };

static hd_status check(const hd_sound_encoder_opt *o, hd_err *err)
{
    if (o->width < 4 || o->width % 2)
        return hd_err_set(err, HD_EARG,
                          "convolutions over sound give an even number of columns from 4 on, not %zu",
                          o->width);
    return HD_OK;
}

static hd_dense conv(hd_params *p, const hd_sound_encoder_opt *o, size_t in, int number)
{
    char name[160];
    snprintf(name, sizeof name, "%s.conv%d", o->name, number);
    hd_dense d = hd_dense_make(p, WIDE * in, o->width, &(hd_dense_opt){.init = {HD_INIT_TORCH, 1, 0}}, name);
    hd_param_shape(d.w, 3, (const size_t[]){o->width, in, WIDE});
    return d;
}

static void make(hd_sound_encoder *e, hd_params *p)
{
    hd_sound_encoder_opt *o = &e->opt;
    double half = (double)(o->width / 2);
    e->conv[0] = conv(p, o, (size_t)o->features.mels, 1);
    e->conv[1] = conv(p, o, o->width, 2);
    o->sinusoid = (hd_sinusoid){.halves = true, .base = pow(10000, half / (half - 1))};
    if (o->placed)
        e->position = hd_param_add(p, o->positions, o->width, (hd_init){HD_INIT_TABLE, 0, 0},
                                   "%s.embed_positions.weight", o->name);
}

/* What follows sees items of rows, not grids. */
static const hd_seg *without_grid(hd_run *r, const hd_seg *from)
{
    hd_seg *seg = hd_host_take(r, sizeof *seg);
    int32_t *len = hd_host_take(r, (from->items + 1) * sizeof *len);
    if (!seg || !len) return NULL;
    for (size_t i = 0; i < from->items; i++) len[i] = from->host_grid[2 * i] * from->host_grid[2 * i + 1];
    *seg = *from;
    seg->host_len = len, seg->grid = seg->host_grid = NULL;
    return seg;
}

static hd_rows rows(hd_run *r, const hd_sound_encoder *e, const hd_frames *in)
{
    hd_rows x = {hd_frame_rows(r, in, 1).t, in->seg};
    for (int i = 0; i < 2; i++)
        x = hd_conv(
            r, x, &e->conv[i].w->t, &e->conv[i].b->t,
            &(hd_conv_opt){
                .kernel = {1, WIDE}, .stride = {1, i ? STRIDE : 1}, .padding = {0, 1}, .act = HD_gelu});
    return x.seg ? (hd_rows){x.t, without_grid(r, x.seg)} : x;
}

static size_t width(const hd_sound_encoder_opt *o)
{
    return o->width;
}

static int reduction(const hd_sound_encoder_opt *o)
{
    (void)o;
    return STRIDE;
}

static double flops(const hd_sound_encoder *e, double frames)
{
    return 2 * frames *
           ((double)hd_count_of(&e->conv[0].w->t) + (double)hd_count_of(&e->conv[1].w->t) / STRIDE);
}

static void prepare(hd_preparing *p, const hd_sound_encoder *e)
{
    (void)p, (void)e; /* convolutions bring their weights into another order first */
}

const hd_sound_front_type hd_sound_front_conv = {.grid = true,
                                                 .check = check,
                                                 .make = make,
                                                 .rows = rows,
                                                 .width = width,
                                                 .reduction = reduction,
                                                 .flops = flops,
                                                 .prepare = prepare};
