/* The options of a run of a model of handwriting. */
#include <stdio.h>

#include "task/write/kind.h"

static bool is_gpt(const hd_train_options *o)
{
    return o->model == HD_LM_gpt;
}

static hd_run_parts parts(const hd_train_options *o)
{
    hd_run_parts some = HD_HAS_UPDATES | HD_HAS_NETWORK | HD_HAS_LAYERS;
    return some | (is_gpt(o) ? HD_HAS_BLOCKS | HD_HAS_ACTIVATION : HD_HAS_PEN_CELLS);
}

static const char *shape(const hd_train_options *o, char to[HD_RECIPE_TEXT])
{
    snprintf(to, HD_RECIPE_TEXT, "--model is %s", hd_train_model_names[o->model]);
    return to;
}

static hd_status choose(hd_preset *out, const hd_option_set *set, hd_err *err)
{
    const hd_train_options *o = set->into;
    (void)err;
    *out = hd_train_given(set, "model") && is_gpt(o) ? HD_PRESET_HANDWRITING_GPT : HD_PRESET_HANDWRITING;
    return HD_OK;
}

static hd_status derive(const hd_option_set *set, bool named, hd_err *err)
{
    const hd_train_options *o = set->into;
    if (!hd_write_kind_find(hd_train_model_names[o->model]))
        return hd_err_set(err, HD_EARG, "--model %s does not write: --model handwriting or --model gpt",
                          hd_train_model_names[o->model]);
    if (named && is_gpt(o))
        return hd_err_set(err, HD_EARG, "--preset %s is of LSTM networks: --model gpt does not go with it",
                          hd_preset_names[o->preset]);
    return is_gpt(o) ? hd_recipe_follow(set, "ffn-size", 4 * o->width, err) : HD_OK;
}

const hd_recipe hd_recipe_write = {.choose = choose, .derive = derive, .parts = parts, .shape = shape};

hd_status hd_write_check(const hd_train_options *o, hd_err *err)
{
    hd_status s =
        hd_train_check_files(o, "handwriting is learned from one file of strokes, or a folder with one", err);
    if (!s && o->task == HD_TRAIN_WRITE && is_gpt(o)) {
        if (o->width % o->heads)
            s = hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    } else if (!s && o->layers > HD_RECURRENT_LAYERS)
        s = hd_err_set(err, HD_EARG, "--layers %d: it must be 1 to %d", o->layers, HD_RECURRENT_LAYERS);
    return s ? s : hd_train_check_end(o, err);
}
