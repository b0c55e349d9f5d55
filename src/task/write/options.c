/* The options of a run of a model of handwriting. */
#include <stdio.h>

#include "task/write/training.h"

static hd_run_parts parts(const hd_train_options *o)
{
    (void)o;
    return HD_HAS_UPDATES | HD_HAS_NETWORK | HD_HAS_LAYERS;
}

static const char *shape(const hd_train_options *o, char to[HD_RECIPE_TEXT])
{
    snprintf(to, HD_RECIPE_TEXT, "--window-gaussians is %d", o->window_gaussians);
    return to;
}

static hd_status choose(hd_preset *out, const hd_option_set *set, hd_err *err)
{
    (void)set, (void)err;
    *out = HD_PRESET_HANDWRITING;
    return HD_OK;
}

static hd_status derive(const hd_option_set *set, bool named, hd_err *err)
{
    (void)set, (void)named, (void)err;
    return HD_OK;
}

const hd_recipe hd_recipe_write = {.choose = choose, .derive = derive, .parts = parts, .shape = shape};

hd_handwriting_opt hd_write_model(const hd_train_options *o)
{
    return (hd_handwriting_opt){.width = (size_t)o->width,
                                .layers = o->layers,
                                .mixtures = o->mixtures,
                                .window = o->window_gaussians,
                                .dropout = (float)o->dropout};
}

hd_status hd_write_check(const hd_train_options *o, hd_err *err)
{
    hd_status s =
        hd_train_check_files(o, "handwriting is learned from one file of strokes, or a folder with one", err);
    if (!s && o->layers > HD_RECURRENT_LAYERS)
        s = hd_err_set(err, HD_EARG, "--layers %d: it must be 1 to %d", o->layers, HD_RECURRENT_LAYERS);
    return s ? s : hd_train_check_end(o, err);
}
