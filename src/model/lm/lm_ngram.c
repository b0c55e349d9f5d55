/* The n-gram model as a language model. Easy to get wrong: the text is one document whose lines already end
   with the end token, so none is added behind it. */
#include <math.h>

#include "base/file/folder.h"
#include "model/formula.h"
#include "model/lm/lm_parts.h"
#include "model/lm/ngram_parts.h"

static hd_ngram_opt opt_of(const hd_lm *m)
{
    const hd_lm_opt *o = &m->opt;
    return (hd_ngram_opt){.vocab = o->vocab,
                          .order = o->order,
                          .smoothing = o->smoothing,
                          .k = o->k,
                          .start = o->start,
                          .end = -1,
                          .unk = o->unk};
}

/* There is no model until a text was counted or a file read. */
static hd_status make(hd_lm *m, hd_backend *b, hd_err *err)
{
    (void)b;
    hd_ngram_opt o = opt_of(m);
    return hd_ngram_check(&o, err);
}

static void put(hd_lm *m, hd_ngram *n)
{
    hd_ngram_free(m->model);
    m->model = n;
}

static void drop(hd_lm *m)
{
    put(m, NULL);
}

static hd_status missing(hd_err *err)
{
    return hd_err_set(err, HD_EARG, "ngram: nothing was counted yet");
}

static hd_status count(hd_lm *m, const int32_t *ids, size_t n, hd_err *err)
{
    hd_ngram_opt o = opt_of(m);
    hd_ngram *g = NULL;
    hd_status s = hd_ngram_new(&g, &o, err);
    if (!s) s = hd_ngram_count(g, ids, n, err);
    if (!s) s = hd_ngram_finish(g, err);
    if (s)
        hd_ngram_free(g);
    else
        put(m, g);
    return s;
}

static double score(const hd_lm *m, const int32_t *ids, size_t n)
{
    return m->model ? hd_ngram_score(m->model, ids, n, NULL) : (double)NAN;
}

static hd_status stepper(hd_stepper *out, const void *self, const int32_t *ids, const int32_t *len,
                         size_t items, int32_t start, hd_err *err)
{
    (void)start;
    const hd_lm *m = self;
    return m->model ? hd_ngram_stepper(out, m->model, ids, len, items, err) : missing(err);
}

static hd_status save(const hd_lm *m, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = m->model ? hd_path(path, folder, HD_NGRAM_FILE, err) : missing(err);
    return s ? s : hd_ngram_save(m->model, path, err);
}

/* The file must fit the options: they are those of the tokenizer and the configuration beside it. */
static hd_status load(hd_lm *m, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_ngram *g = NULL;
    hd_status s = hd_path(path, folder, HD_NGRAM_FILE, err);
    if (!s) s = hd_ngram_open(&g, path, err);
    if (s) return s;
    hd_ngram_opt want = opt_of(m);
    const hd_ngram_opt *has = hd_ngram_options(g);
    if (has->vocab != want.vocab || has->order != want.order || has->start != want.start ||
        has->end != want.end) {
        s = hd_err_set(err, HD_EFORMAT,
                       "%s: order %d over %zu tokens that begin with %d; the configuration has order %d, %zu "
                       "tokens, %d",
                       path, has->order, has->vocab, has->start, want.order, want.vocab, want.start);
        return hd_ngram_free(g), s;
    }
    m->opt.smoothing = has->smoothing;
    m->opt.k = has->k;
    put(m, g);
    return HD_OK;
}

static size_t shares(const hd_lm *m, const int32_t *window, size_t n, int32_t token, hd_ngram_share *out)
{
    return (size_t)hd_ngram_shares(m->model, window, n, token, out);
}

static void describe(const void *self, hd_details *to)
{
    const hd_lm *m = self;
    hd_details_text(to, "model", hd_lm_names[m->opt.kind]);
    hd_details_whole(to, "order", (uint64_t)m->opt.order);
    hd_details_text(to, "smoothing", hd_smoothing_names[m->opt.smoothing]);
    hd_details_whole(to, "ngrams", hd_lm_size(m));
}

static const char *formula(const void *self, const char *name)
{
    (void)self;
    return hd_formula_is(name, "probs") ? "what the counts say" : NULL;
}

const hd_model_type hd_model_ngram = {
    HD_LM_COMMON,
    .name = "ngram",
    .describe = describe,
    .stepper = stepper,
    .formula = formula,
    .lm = {.make = make,
           .free = drop,
           .count = count,
           .score = score,
           .shares = shares,
           .save = save,
           .load = load},
};
