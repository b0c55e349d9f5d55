/* Which options belong to which task. */
#include "cli/train/tasks.h"

#include <string.h>

#include "cli/frame/settings.h"

static const char *const only_translate[] = {"preset",
                                             "max-length",
                                             "long",
                                             "broken",
                                             "empty",
                                             "tokenizer",
                                             "separate-vocab",
                                             "positions",
                                             "encoder-layers",
                                             "decoder-layers",
                                             "position-kind",
                                             "no-scale",
                                             "batch-tokens",
                                             "freeze",
                                             "inner-dropout",
                                             "attention-dropout",
                                             "valid-sentences",
                                             "best",
                                             "recompute",
                                             "encoder",
                                             "decoder",
                                             "score",
                                             "attention",
                                             "window",
                                             "attention-heads",
                                             "project",
                                             "query",
                                             "begin",
                                             "read",
                                             "feed-context",
                                             "skips",
                                             "no-feedback",
                                             "relu",
                                             "reverse-source",
                                             "feeding",
                                             "sampling-rate",
                                             "sampling-decay",
                                             "temperature",
                                             "source-dropout",
                                             NULL};
static const char *const only_lm[] = {"model",    "unit",   "order", "smoothing", "add-k",
                                      "features", "layers", "batch", NULL};

static const char *const translate_too[] = {"layers", NULL};
static const char *const lm_too[] = {"preset", NULL};
static const char *const only_labels[] = {"train-dir", "pool", "one-hot", "scratch", "lm-loss", NULL};
static const char *const labels_too[] = {"model",      "unit",    "layers", "batch",
                                         "max-length", "encoder", "freeze", NULL};
static const char *const only_mlm[] = {"whole-words", NULL};
static const char *const mlm_too[] = {"preset", "unit", "layers", "batch", NULL};
static const char *const not_of_mlm[] = {"norm", "untied", NULL};
static const char *const not_of_tag[] = {"train-dir", "pool", "from", "scratch", "lm-loss", NULL};

bool hd_train_foreign(hd_train_task task, const char *name)
{
    bool translate = hd_settings_named(name, only_translate), lm = hd_settings_named(name, only_lm),
         labels = hd_settings_named(name, only_labels), mlm = hd_settings_named(name, only_mlm);
    if (task != HD_TRAIN_MLM && mlm) return true;
    switch (task) {
    case HD_TRAIN_TRANSLATE:
        return (lm && !hd_settings_named(name, translate_too)) || labels;
    case HD_TRAIN_LM:
        return (translate && !hd_settings_named(name, lm_too)) || labels;
    case HD_TRAIN_MLM:
        return ((translate || lm || labels) && !hd_settings_named(name, mlm_too)) ||
               hd_settings_named(name, not_of_mlm);
    default:
        return ((translate || lm) && !hd_settings_named(name, labels_too)) || !strcmp(name, "context") ||
               (task == HD_TRAIN_TAG && hd_settings_named(name, not_of_tag)) ||
               (task == HD_TRAIN_REGRESS && !strcmp(name, "train-dir"));
    }
}

hd_status hd_train_belong(const hd_option_set sets[2], hd_err *err)
{
    hd_train_task task = (hd_train_task)((const hd_train_options *)sets[0].into)->task, owner = 0;
    for (const hd_option *o = sets[0].table; o->name; o++) {
        if (!hd_train_given(sets, o->name) || !hd_train_foreign(task, o->name)) continue;
        while (hd_train_foreign(owner, o->name)) owner++;
        return hd_err_set(err, HD_EARG, "--%s is an option of --task %s, not of %s", o->name,
                          hd_train_tasks[owner], hd_train_tasks[task]);
    }
    return HD_OK;
}
