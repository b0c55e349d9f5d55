/* Forced scoring, step by step: all sentences of the batch side by side, each as long as it has tokens. */
#include "decode/score.h"

#include "base/mem.h"
#include "decode/peek.h"

typedef struct scoring {
    hd_run *r;
    const hd_stepper *s;
    const hd_found *f;
    int32_t *guess, *row,
        *token; /* sentences with a token left, their rows in the next step, what they feed */
    size_t live;
} scoring;

static hd_status check(const hd_found *f, const hd_stepper *s, hd_err *err)
{
    if (f->items != s->items)
        return hd_err_set(err, HD_EARG, "score: sentences for %zu items, the stepper has %zu", f->items,
                          s->items);
    for (size_t i = 0; i < f->items; i++)
        for (size_t k = f->begin[i]; k < f->begin[i + 1]; k++) {
            const hd_guess *g = &f->guess[k];
            if (s->room && g->length > (size_t)s->room[i])
                return hd_err_set(err, HD_ELIMIT, "score: sentence %zu has %zu tokens, the model takes %d", k,
                                  g->length, s->room[i]);
            for (size_t t = 0; t < g->length; t++)
                if (g->ids[t] < 0 || (size_t)g->ids[t] >= s->vocab)
                    return hd_err_set(err, HD_EARG, "score: token %d in sentence %zu, the vocabulary has %zu",
                                      g->ids[t], k, s->vocab);
        }
    return HD_OK;
}

/* Every sentence starts from its item's row of the first step. */
static void start(scoring *c)
{
    c->live = 0;
    for (size_t i = 0; i < c->f->items; i++)
        for (size_t k = c->f->begin[i]; k < c->f->begin[i + 1]; k++)
            if (c->f->guess[k].length) c->guess[c->live] = (int32_t)k, c->row[c->live++] = (int32_t)i;
}

/* Log-probabilities of everyone's token t; those that have another stay. */
static void take(scoring *c, hd_tensor *logp, size_t t)
{
    hd_real *value = hd_host_take(c->r, c->live * sizeof *value);
    if (!value) return;
    for (size_t j = 0; j < c->live; j++) c->token[j] = c->f->guess[c->guess[j]].ids[t];
    if (!hd_peek(c->r, logp, c->row, c->token, c->live, value)) return;
    size_t n = 0;
    for (size_t j = 0; j < c->live; j++) {
        hd_guess *g = &c->f->guess[c->guess[j]];
        g->logp[t] = value[j];
        g->sum += (double)value[j];
        if (g->length > t + 1) c->guess[n] = c->guess[j], c->token[n] = c->token[j], c->row[n++] = c->row[j];
    }
    c->live = n;
}

static hd_status run(scoring *c, hd_err *err)
{
    hd_run *r = c->r;
    const hd_stepper *s = c->s;
    start(c);
    for (size_t t = 0; c->live; t++) {
        hd_run_begin(r, HD_INFERENCE);
        hd_tensor *logp = NULL;
        if (!t) {
            logp = s->step(r, s->context, s->start, s->items);
        } else if (!s->pick(r, s->context, c->row, c->live)) {
            logp = s->step(r, s->context, c->token, c->live);
            for (size_t j = 0; j < c->live; j++) c->row[j] = (int32_t)j;
        }
        take(c, logp, t);
        if (r->err.status) return hd_err_set(err, r->err.status, "%s", r->err.text);
    }
    return HD_OK;
}

hd_status hd_found_score(hd_found *f, hd_run *r, const hd_stepper *s, const hd_length *length, hd_err *err)
{
    size_t n = f->guesses;
    hd_status st = check(f, s, err);
    if (st) return st;
    int32_t *block = hd_mem_array(3 * n, sizeof *block);
    if (!block) return hd_err_nomem(err, 3 * n * sizeof *block);
    scoring c = {.r = r, .s = s, .f = f, .guess = block, .row = block + n, .token = block + 2 * n};
    for (size_t k = 0; k < n; k++) f->guess[k].sum = 0;
    st = run(&c, err);
    hd_mem_free(block);
    for (size_t k = 0; k < n; k++) {
        hd_guess *g = &f->guess[k];
        g->score = g->sum / hd_length_divisor(length, g->length);
    }
    return st;
}
