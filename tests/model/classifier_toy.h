/* Small classifiers and items for their tests. */
#ifndef CLASSIFIER_TOY_H
#define CLASSIFIER_TOY_H

#include "check.h"
#include "model/encoder/classifier.h"

enum { CT_VOCAB = 9, CT_CLASSES = 4, CT_ITEMS = 3, CT_ROWS = 10 };

static const int32_t ct_len[CT_ITEMS] = {4, 1, 5}, ct_class[CT_ITEMS] = {2, 0, 3};
static const int32_t ct_ids[CT_ROWS] = {3, 1, 4, 1, 5, 8, 2, 6, 5, 3};
static const int32_t ct_tag[CT_ROWS] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1};
static const int32_t ct_type[CT_ROWS] = {0, 0, 1, 1, 0, 0, 0, 0, 1, 1};
static const int32_t ct_next[CT_ROWS] = {1, 4, 1, -1, -1, 2, 6, 5, 3, -1};
static const hd_real ct_value[CT_ITEMS] = {0.5f, -1, 2};
static const int32_t ct_some[3] = {1, 4, 9}, ct_some_tag[3] = {3, 1, 2};

typedef struct classifier_toy {
    hd_backend *backend;
    hd_run run;
    hd_classifier *m;
    bool words; /* a language model goes on foretelling words */
    bool mixed; /* items are mixed with others, of other classes */
} classifier_toy;

CHECK_UNUSED static hd_classifier_opt ct_opt(const char *stages, hd_pool_kind pool)
{
    hd_err err = {0};
    hd_stages s;
    if (hd_stages_read(&s, stages, &err)) fail_msg("%s", err.text);
    return (hd_classifier_opt){.body = {.stack.pre_norm = true,
                                        .encoder = hd_stages_resolved(&s, 1),
                                        .vocab = CT_VOCAB,
                                        .positions = 8,
                                        .stack.width = 6,
                                        .stack.inner = 10,
                                        .stack.heads = 2,
                                        .stack.act = HD_gelu,
                                        .stack.dropout = 0.1f},
                               .pool = pool,
                               .classes = CT_CLASSES};
}

/* One whose body is a "bert", or a language model. */
CHECK_UNUSED static hd_classifier_opt ct_opt_from(const char *model, hd_pool_kind pool)
{
    hd_classifier_opt o = {.body = {.positions = 8}, .pool = pool, .classes = CT_CLASSES};
    hd_lm_kind kind = 0;
    while (kind < HD_LM_KINDS && strcmp(hd_lm_names[kind], model)) kind++;
    o.body.type = kind == HD_LM_KINDS ? &hd_model_bert : hd_model_find(hd_lm_names[kind]);
    o.body.bert = (hd_bert_opt){.stack.layers = 2,
                                .stack.heads = 2,
                                .stack.width = 6,
                                .stack.inner = 10,
                                .vocab = CT_VOCAB,
                                .positions = 8,
                                .stack.dropout = 0.1f};
    o.body.lm = (hd_lm_opt){.stack.pre_norm = true,
                            .kind = kind,
                            .tied = true,
                            .stack.layers = 1,
                            .stack.heads = 2,
                            .stack.width = 6,
                            .stack.inner = 10,
                            .vocab = CT_VOCAB,
                            .context = 8,
                            .stack.dropout = 0.1f};
    return o;
}

CHECK_UNUSED static void ct_open(classifier_toy *t, const hd_classifier_opt *o, bool training)
{
    hd_err err = {0};
    *t = (classifier_toy){.backend = backend_of("cpu", 1)};
    t->run = run_on(t->backend);
    if (hd_classifier_new(&t->m, t->backend, o, training, &err)) fail_msg("%s", err.text);
    if (hd_params_draw(t->m->params, 1, &err)) fail_msg("%s", err.text);
}

CHECK_UNUSED static void ct_close(classifier_toy *t)
{
    hd_classifier_free(t->m);
    hd_run_release(&t->run);
    hd_backend_free(t->backend);
}

/* The items from .. to-1, in a step that has begun; some: only a few rows of a tagger have a label. */
CHECK_UNUSED static hd_class_batch ct_batch(classifier_toy *t, size_t from, size_t to, bool some)
{
    hd_run *r = &t->run;
    size_t begin = 0, rows = 0;
    bool each = t->m->opt.pool == HD_POOL_each;
    for (size_t i = 0; i < to; i++)
        if (i < from)
            begin += (size_t)ct_len[i];
        else
            rows += (size_t)ct_len[i];
    static const int32_t one[CT_ITEMS] = {1, 1, 1};
    static const hd_real share[CT_ROWS] = {0.1f, 0.2f, 0.1f, 0, 0, 0.3f, 0.1f, 0.1f, 0.1f, 0};
    static const int32_t other[CT_ITEMS] = {1, -1, 0};
    static const hd_real own_share[CT_ITEMS] = {0.3f, 1, 0.75f}, other_share[CT_ITEMS] = {0.7f, 0, 0.25f};
    size_t items = to - from;
    return (hd_class_batch){.other = t->mixed ? hd_ints(r, other + from, items) : NULL,
                            .own_share = t->mixed ? hd_from(r, items, 1, own_share + from) : NULL,
                            .other_share = t->mixed ? hd_from(r, items, 1, other_share + from) : NULL,
                            .in.seg = hd_seg_of(r, ct_len + from, to - from, NULL),
                            .in.ids = hd_ints(r, ct_ids + begin, rows),
                            .row = each && some ? hd_ints(r, ct_some, 3) : NULL,
                            .rows = 3,
                            .in.type = hd_ints(r, ct_type + begin, rows),
                            .items = hd_seg_of(r, one, items, NULL),
                            .value = hd_from(r, items, 1, ct_value + from),
                            .next = t->words ? hd_ints(r, ct_next + begin, rows) : NULL,
                            .share = t->words ? hd_from(r, rows, 1, share + begin) : NULL,
                            .target = some && each ? hd_ints(r, ct_some_tag, 3)
                                      : each       ? hd_ints(r, ct_tag + begin, rows)
                                                   : hd_ints(r, ct_class + from, to - from)};
}

#endif
