/* Forced scoring as what it does with seats: a seat is a sentence with tokens left. */
#include "decode/score.h"

#include "base/mem.h"
#include "decode/peek.h"
#include "decode/seats.h"

typedef struct scoring {
    hd_seats seats;
    const hd_found *f;
    size_t most;
    size_t *at;    /* [guesses]: tokens scored so far */
    size_t *guess; /* [seats] sentences of the next step */
} scoring;

static hd_status check(const hd_found *f, const hd_stepper *s, hd_err *err)
{
    if (s->columns) return hd_err_set(err, HD_EARG, "score: a shortlist has no probability of other tokens");
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

/* Sentences join when a quarter of the seats is free. */
static size_t admit(void *context, size_t left)
{
    const scoring *c = context;
    size_t busy = c->seats.count, n = 0, first = c->seats.joined;
    if (!c->most) return left;
    if (busy && 4 * busy > 3 * c->most) return 0;
    for (; n < left && busy + c->f->begin[first + n + 1] - c->f->begin[first + n] <= c->most; n++)
        busy += c->f->begin[first + n + 1] - c->f->begin[first + n];
    return n || c->seats.count ? n : 1;
}

/* Who is scored: sentence guess[j] by row[j] of the scores. */
static size_t scored(const scoring *c, size_t count, bool arrived, size_t *guess, int32_t *row)
{
    size_t n = 0;
    for (size_t j = 0; !arrived && j < count; j++) guess[n] = c->guess[j], row[n++] = (int32_t)j;
    for (size_t i = 0; arrived && i < count; i++) {
        size_t item = c->seats.joined - count + i;
        for (size_t k = c->f->begin[item]; k < c->f->begin[item + 1]; k++)
            if (c->f->guess[k].length) guess[n] = k, row[n++] = (int32_t)i;
    }
    return n;
}

static hd_status take(void *context, hd_tensor *logp, size_t first, size_t count, bool arrived, hd_err *err)
{
    scoring *c = context;
    hd_run *r = c->seats.r;
    size_t most = count + c->f->guesses;
    size_t *guess = hd_host_take(r, most * sizeof *guess);
    int32_t *row = hd_host_take(r, most * sizeof *row), *token = hd_host_take(r, most * sizeof *token);
    hd_real *value = hd_host_take(r, most * sizeof *value);
    if (!guess || !row || !token || !value) return HD_OK;
    size_t n = scored(c, count, arrived, guess, row);
    for (size_t j = 0; j < n; j++) token[j] = c->f->guess[guess[j]].ids[c->at[guess[j]]];
    if (!hd_peek(r, logp, row, token, n, value)) return HD_OK;
    hd_status s = HD_OK;
    for (size_t j = 0; !s && j < n; j++) {
        hd_guess *g = &c->f->guess[guess[j]];
        size_t t = c->at[guess[j]]++;
        g->logp[t] = value[j];
        g->sum += (double)value[j];
        if (g->length == t + 1) continue;
        c->guess[c->seats.count] = guess[j];
        s = hd_seats_go(&c->seats, first + (size_t)row[j], token[j], err);
    }
    return s;
}

hd_status hd_found_score(hd_found *f, hd_run *r, const hd_stepper *s, const hd_length *length, size_t seats,
                         hd_err *err)
{
    size_t n = f->guesses;
    hd_status st = check(f, s, err);
    if (st) return st;
    scoring c = {.seats = {.r = r, .stepper = s}, .f = f, .most = seats};
    c.at = hd_mem_array(2 * n, sizeof *c.at);
    if (!c.at) return hd_err_nomem(err, 2 * n * sizeof *c.at);
    c.guess = c.at + n;
    for (size_t k = 0; k < n; k++) f->guess[k].sum = 0;
    st = hd_seats_run(&c.seats, &(hd_seats_user){.admit = admit, .take = take, .context = &c}, err);
    hd_mem_free(c.at);
    for (size_t k = 0; k < n; k++) {
        hd_guess *g = &f->guess[k];
        g->score = hd_length_score(length, g->sum, g->length);
    }
    return st;
}
