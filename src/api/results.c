/* What was found, as heed.h shows it: arrays of pointers, so that the structs can grow. Everything lies in
   the memory of the translations; the tokens are the vocabulary's own, which the model keeps. */
#include "api/api.h"
#include "base/mem.h"

typedef struct results {
    heed_results shown; /* first: the caller has its address */
    heed_model *model;
    hd_translations found;
    size_t missed; /* bytes of the allocation that failed, or 0 */
} results;

static void *take(results *r, size_t count, size_t size)
{
    size_t bytes = 0;
    void *block = NULL;
    if (!r->missed && hd_size_mul(count, size, &bytes))
        block = hd_arena_take(&r->found.memory, bytes ? bytes : 1);
    if (!block && !r->missed) r->missed = bytes ? bytes : 1;
    return block;
}

static const char *const *pieces_of(results *r, int side, const int32_t *id, size_t count)
{
    const char **piece = take(r, count, sizeof *piece);
    for (size_t i = 0; piece && i < count; i++) {
        piece[i] = hd_tokenizer_piece(r->model->folder.tokenizer[side], id[i]);
        if (!piece[i]) piece[i] = "";
    }
    return piece;
}

static const float *floats_of(results *r, const hd_real *x, size_t count)
{
    float *to = take(r, count, sizeof *to);
    for (size_t i = 0; to && i < count; i++) to[i] = (float)x[i];
    return to;
}

static void show_hypothesis(results *r, heed_hypothesis *to, const hd_hypothesis *h)
{
    *to = (heed_hypothesis){.text = h->text,
                            .score = h->score,
                            .log_probability = h->sum,
                            .finished = h->finished,
                            .length = h->length,
                            .id = h->ids,
                            .token = pieces_of(r, 1, h->ids, h->length),
                            .token_log_probability = floats_of(r, h->logp, h->length),
                            .part_end = h->end};
}

static const heed_hypothesis *const *hypotheses_of(results *r, const hd_translation *t)
{
    heed_hypothesis *all = take(r, t->count, sizeof *all);
    const heed_hypothesis **at = take(r, t->count, sizeof *at);
    for (size_t i = 0; at && i < t->count; i++) {
        show_hypothesis(r, &all[i], &t->hypothesis[i]);
        at[i] = &all[i];
    }
    return at;
}

static void show_translation(results *r, heed_translation *to, const hd_translation *t)
{
    size_t sources = t->parts ? t->source_end[t->parts - 1] : 0;
    *to = (heed_translation){.status = (heed_status)t->status,
                             .error = t->why ? t->why : "",
                             .text = t->count ? t->hypothesis[0].text : "",
                             .count = t->count,
                             .hypothesis = hypotheses_of(r, t),
                             .cut = t->cut,
                             .parts = t->parts,
                             .source_length = sources,
                             .source_id = t->source,
                             .source_token = pieces_of(r, 0, t->source, sources),
                             .source_end = t->source_end};
}

hd_status hd_api_results(heed_results **out, heed_model *m, hd_translations *found, hd_err *err)
{
    results *r = hd_mem_zero(sizeof *r);
    if (!r) return hd_translations_release(found), hd_err_nomem(err, sizeof *r);
    hd_api_keep(m);
    r->model = m, r->found = *found, r->shown.count = found->count;
    heed_translation *all = take(r, found->count, sizeof *all);
    const heed_translation **at = take(r, found->count, sizeof *at);
    for (size_t i = 0; at && i < found->count; i++) {
        show_translation(r, &all[i], &found->of[i]);
        at[i] = &all[i];
    }
    r->shown.translation = at;
    if (r->missed) {
        hd_err_nomem(err, r->missed);
        heed_results_free(&r->shown);
        return HD_ENOMEM;
    }
    *out = &r->shown;
    return HD_OK;
}

const hd_translation *hd_api_found(const heed_results *shown, size_t line)
{
    return &((const results *)shown)->found.of[line];
}

void heed_results_free(heed_results *shown)
{
    results *r = (results *)shown;
    if (!r) return;
    hd_translations_release(&r->found);
    heed_model_free(r->model);
    hd_mem_free(r);
}
