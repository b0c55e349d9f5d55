/* heed train --task classify, regress and tag: what each kind of encoder has where options are not
   given. */
#include <stdio.h>
#include <string.h>

#include "cli/train/tasks.h"
#include "cli/train/tuning.h"
#include "cli/train/useless.h"
#include "task/label/options.h"

/* -- what is not given -- */

typedef struct setting {
    const char *name, *recurrent,
        *blocks; /* of an encoder that ends in cells, and of one that ends in blocks */
} setting;

/* Measured on names (docs/classification.md). */
static const setting settings[] = {
    {"layers", "1", "2"},         {"width", "128", "128"},          {"inner", "1", "256"},
    {"heads", "1", "4"},          {"activation", "gelu", "gelu"},   {"dropout", "0.3", "0.2"},
    {"lr", "0.002", "0.001"},     {"warmup", "100", "200"},         {"schedule", "cosine", "cosine"},
    {"floor", "0.01", "0.01"},    {"weight-decay", "0.05", "0.05"}, {"beta2", "0.99", "0.99"},
    {"adam-eps", "1e-8", "1e-8"}, {"label-smoothing", "0", "0"},    {"batch", "32", "32"},
    {"max-length", "512", "512"}, {"epochs", "20", "20"},           {NULL, NULL, NULL},
};

/* Shapes of Transformer blocks, where there are none. */
static hd_status refuse_useless(const hd_option_set sets[2], const hd_stages *stages, hd_err *err)
{
    static const struct {
        const char *name, *without;
    } of_blocks[] = {{"heads", "1"}, {"inner", "1"}, {"norm", NULL}};
    char text[HD_STAGES_TEXT], model[HD_STAGES_TEXT + 16];
    hd_status s = HD_OK;
    snprintf(model, sizeof model, "an encoder of %s", hd_stages_text(stages, text));
    for (size_t i = 0; !s && i < sizeof of_blocks / sizeof *of_blocks; i++)
        s = hd_train_useless(sets, of_blocks[i].name, of_blocks[i].without, "a transformer", model, err);
    return s;
}

hd_status hd_train_label_preset(const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    hd_stages stages;
    if (o->from) return hd_train_tuning_preset(sets, err);
    if (o->scratch || o->lm_loss > 0)
        return hd_err_set(err, HD_EARG, "--%s is for --from, which is not given",
                          o->scratch ? "scratch" : "lm-loss");
    bool limited = hd_train_given(sets, "epochs") || hd_train_given(sets, "steps");
    if (!hd_train_given(sets, "model")) o->model = HD_LM_gru;
    hd_status s = hd_label_stages(&stages, o, err);
    bool recurs = !s && hd_stage_recurs(&stages.at[stages.count - 1]);
    bool blocks = !s && hd_stages_have(&stages, HD_STAGE_transformer);
    for (const setting *x = settings; !s && x->name; x++) {
        hd_option_place at = hd_option_find(sets, x->name, strlen(x->name));
        if (*at.given || (limited && !strcmp(x->name, "epochs"))) continue;
        bool of_blocks = !strcmp(x->name, "heads") || !strcmp(x->name, "inner");
        bool cells = of_blocks ? !blocks : recurs;
        s = hd_option_read(at.option, at.field, cells ? x->recurrent : x->blocks, err);
    }
    if (!s && !blocks) s = refuse_useless(sets, &stages, err);
    if (!hd_train_given(sets, "valid-fraction") && !o->valid.count) o->valid_fraction = 0.1;
    if (o->task == HD_TRAIN_TAG && !hd_train_given(sets, "unit")) o->unit = HD_TRAIN_WORD;
    if (o->unit != HD_TRAIN_SUBWORD && !hd_train_given(sets, "vocab")) o->vocab = HD_TRAIN_ALL_PIECES;
    return s;
}
