/* Frames side by side: what recurrent layers read as they are, and blocks through a linear layer. */
#include <stdio.h>

#include "model/prepare.h"
#include "model/sound/sound_encoder.h"

enum { MOST = 64 };

static hd_status check(const hd_sound_encoder_opt *o, hd_err *err)
{
    if (o->stack < 1 || o->stack > MOST)
        return hd_err_set(err, HD_EARG, "a row of 1 to %d frames, not of %d", MOST, o->stack);
    return HD_OK;
}

static void make(hd_sound_encoder *e, hd_params *p)
{
    const hd_sound_encoder_opt *o = &e->opt;
    char name[128];
    snprintf(name, sizeof name, "%s.frames", o->name);
    if (o->width)
        e->project = hd_dense_make(p, (size_t)o->features.mels * (size_t)o->stack, o->width,
                                   &(hd_dense_opt){.init = {HD_INIT_XAVIER, 1, 0}}, name);
}

static hd_rows rows(hd_run *r, const hd_sound_encoder *e, const hd_frames *in)
{
    hd_rows x = hd_frame_rows(r, in, e->opt.stack);
    if (e->project.w) x.t = hd_dense_of(r, &e->project, x.t, HD_IDENTITY);
    return x;
}

static size_t width(const hd_sound_encoder_opt *o)
{
    return o->width ? o->width : (size_t)o->features.mels * (size_t)o->stack;
}

static int reduction(const hd_sound_encoder_opt *o)
{
    return o->stack;
}

static double flops(const hd_sound_encoder *e, double frames)
{
    return e->project.w ? 2 * frames / e->opt.stack * (double)hd_count_of(&e->project.w->t) : 0;
}

static void prepare(hd_preparing *p, const hd_sound_encoder *e)
{
    hd_prepare(p, e->project.w);
}

const hd_sound_front_type hd_sound_front_frames = {.check = check,
                                                   .make = make,
                                                   .rows = rows,
                                                   .width = width,
                                                   .reduction = reduction,
                                                   .flops = flops,
                                                   .prepare = prepare};
