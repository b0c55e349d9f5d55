/* The options of a run of a masked language model. */
#include "task/masked/training.h"

#include <stdio.h>

#include "model/encoder/bert.h"
#include "task/model_folder.h"

static hd_run_parts parts_of(const hd_train_options *o)
{
    hd_run_parts parts =
        HD_HAS_UPDATES | HD_HAS_NETWORK | HD_HAS_LAYERS | HD_HAS_BLOCKS | HD_HAS_WINDOWS | HD_HAS_ACTIVATION;
    return o->unit == HD_TRAIN_SUBWORD && !o->tokenizer_model.count ? parts | HD_HAS_SUBWORDS : parts;
}

static const char *shape(const hd_train_options *o, char to[HD_RECIPE_TEXT])
{
    snprintf(to, HD_RECIPE_TEXT, "the model is a BERT of %d layers", o->layers);
    return to;
}

static hd_status choose(hd_preset *out, const hd_option_set *set, hd_err *err)
{
    (void)set, (void)err;
    *out = HD_PRESET_BERT_TINY;
    return HD_OK;
}

/* Windows may be shorter than what the model can read, not longer. */
static hd_status take(hd_taking *t, hd_err *err)
{
    hd_train_options *o = t->options;
    hd_model_folder f;
    hd_status s = hd_model_folder_describe(&f, o->from, "mlm", err);
    if (s) return s;
    const hd_bert_opt m = hd_model_folder_bert(&f)->opt;
    hd_model_folder_release(&f);
    s = hd_taking_number(t, "layers", (size_t)m.stack.layers, err);
    if (!s) s = hd_taking_number(t, "width", m.stack.width, err);
    if (!s) s = hd_taking_number(t, "ffn-size", m.stack.inner, err);
    if (!s) s = hd_taking_number(t, "heads", (size_t)m.stack.heads, err);
    if (!s) s = hd_taking_activation(t, m.stack.act, err);
    if (!s) s = hd_taking_number(t, "context", m.positions, err);
    if (!s && (size_t)o->context > m.positions)
        s = hd_err_set(err, HD_EARG, "--context is %d, but the model of --from %s reads %zu tokens",
                       o->context, o->from, m.positions);
    return s ? s : hd_taking_real(t, "dropout", (double)m.stack.dropout, err);
}

static hd_status derive(const hd_option_set *set, bool named, hd_err *err)
{
    const hd_train_options *o = set->into;
    hd_status s = HD_OK;
    if (o->from) return named ? HD_OK : hd_recipe_continue(set, hd_recipe_rate((size_t)o->width), err);
    if (hd_train_given(set, "width")) s = hd_recipe_follow(set, "ffn-size", 4 * o->width, err);
    if (!s && o->unit != HD_TRAIN_SUBWORD) s = hd_recipe_follow(set, "vocab-size", HD_TRAIN_ALL_PIECES, err);
    return s;
}

const hd_recipe hd_recipe_mlm = {NULL, choose, take, derive, parts_of, shape};

/* -- what they mean -- */

hd_status hd_masked_model(hd_bert_opt *to, const hd_train_options *o, hd_err *err)
{
    *to = (hd_bert_opt){.positions = (size_t)o->context,
                        .stack.layers = o->layers,
                        .stack.heads = o->heads,
                        .stack.width = (size_t)o->width,
                        .stack.inner = (size_t)o->ffn_size,
                        .stack.dropout = (float)o->dropout,
                        .stack.act = hd_train_activation(o->activation)};
    if (o->context && o->context < 3) return hd_err_set(err, HD_EARG, "--context %d: at least 3", o->context);
    return HD_OK;
}

hd_status hd_masked_check(const hd_train_options *o, hd_err *err)
{
    hd_bert_opt model;
    const char *file;
    hd_status s = hd_train_check_files(o, NULL, err);
    if (!s && o->width % o->heads)
        s = hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    if (!s) s = hd_train_check_end(o, err);
    if (!s) s = hd_train_tokenizer(&file, o, err);
    return s ? s : hd_masked_model(&model, o, err);
}
