/* heed train --task mlm: the sizes of BERT. */
#include <string.h>

#include "cli/train/from.h"
#include "cli/train/tasks.h"
#include "run/loop.h"
#include "task/masked/masked.h"

/* -- what is not given -- */

enum { PRESETS = HD_TRAIN_GPT2 - HD_TRAIN_BERT_TINY };

typedef struct setting {
    const char *name, *value[PRESETS]; /* bert-tiny, bert-mini, bert-base */
} setting;

/* The shapes are those of the published models of these names; bert-base has the recipe of its paper. */
static const setting settings[] = {
    {"unit", {"subword", "subword", "subword"}},
    {"layers", {"2", "4", "12"}},
    {"width", {"128", "256", "768"}},
    {"inner", {"512", "1024", "3072"}},
    {"heads", {"2", "4", "12"}},
    {"activation", {"gelu", "gelu", "gelu"}},
    {"context", {"128", "128", "512"}},
    {"vocab", {"8000", "8000", "30522"}},
    {"batch", {"32", "32", "256"}},
    {"dropout", {"0.1", "0.1", "0.1"}},
    {"lr", {"0.001", "0.0005", "0.0001"}},
    {"warmup", {"500", "1000", "10000"}},
    {"schedule", {"linear", "linear", "linear"}},
    {"weight-decay", {"0.01", "0.01", "0.01"}},
    {"beta2", {"0.98", "0.98", "0.999"}},
    {"adam-eps", {"1e-6", "1e-6", "1e-6"}},
    {"label-smoothing", {"0", "0", "0"}},
    {"steps", {"10000", "10000", "1000000"}},
    {NULL, {NULL}},
};

/* Windows may be shorter than what the model can read, not longer. */
static hd_status take_model(const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    hd_tokenizer *tokenizer = NULL;
    hd_bert_opt m;
    size_t context = 0;
    hd_status s = hd_train_from_check(sets, err);
    if (!s) s = hd_masked_describe(o->from, &m, &tokenizer, err);
    hd_tokenizer_free(tokenizer);
    if (!s) s = hd_train_from_number(sets, "layers", (size_t)m.stack.layers, err);
    if (!s) s = hd_train_from_number(sets, "width", m.stack.width, err);
    if (!s) s = hd_train_from_number(sets, "inner", m.stack.inner, err);
    if (!s) s = hd_train_from_number(sets, "heads", (size_t)m.stack.heads, err);
    if (!s) s = hd_train_from_activation(sets, m.stack.act, err);
    if (!s) s = hd_train_context(&context, o, 3, err);
    if (!s && context > m.positions)
        s = hd_err_set(err, HD_EARG, "--context is %zu, but the model of --from %s reads %zu tokens", context,
                       o->from, m.positions);
    if (!s && !hd_train_given(sets, "dropout")) o->dropout = (double)m.stack.dropout;
    return s;
}

hd_status hd_train_mlm_preset(const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    bool preset = hd_train_given(sets, "preset");
    bool limited = hd_train_given(sets, "epochs") || hd_train_given(sets, "steps");
    if (!preset) o->preset = HD_TRAIN_BERT_TINY;
    if (o->preset < HD_TRAIN_BERT_TINY || o->preset >= HD_TRAIN_GPT2)
        return hd_err_set(err, HD_EARG,
                          "--preset: those of --task mlm are bert-tiny, bert-mini and bert-base");
    hd_status s = o->from ? take_model(sets, err) : HD_OK;
    for (const setting *row = settings; !s && row->name; row++)
        if (!(limited && !strcmp(row->name, "steps")))
            s = hd_train_from_fill(sets, row->name, row->value[o->preset - HD_TRAIN_BERT_TINY], preset, err);
    if (s) return s;
    if (o->from && !preset) hd_train_from_calm(sets, hd_train_from_rate((size_t)o->width));
    if (!o->from && hd_train_given(sets, "width") && !hd_train_given(sets, "inner")) o->inner = 4 * o->width;
    if (o->unit != HD_TRAIN_SUBWORD && !hd_train_given(sets, "vocab")) o->vocab = HD_TRAIN_ALL_PIECES;
    return HD_OK;
}
