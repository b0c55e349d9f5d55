/* Draws of a writer: those of one ask together, as its options say. */
#include <math.h>

#include "base/mem.h"
#include "decode/draw.h"
#include "decode/peek.h"
#include "task/language/writer_parts.h"

/* Rows of some seats of one ask, weighed by what they have written, or the prompt has. What stands before the
   prompt is no part of it, unless it is a part of a conversation. */
static hd_tensor *weighed(hd_writer *w, const hd_asked *a, hd_tensor *x, hd_writer_seat *const *of, size_t n)
{
    size_t lead = a->ask.opt->ids || hd_tokenizer_lead(a->use.tokenizer) < 0 ? 0 : 1;
    hd_history *text = hd_host_take(w->r, (n + 1) * sizeof *text);
    for (size_t i = 0; text && i < n; i++) {
        const hd_draft *s = of[i]->draft;
        text[i] = (hd_history){.ids = s->ids.at + lead,
                               .count = s->ids.count - lead,
                               .length = s->ids.count - s->lead,
                               .drawn = s->drawn,
                               .left = s->most - s->drawn};
    }
    return text ? hd_history_weigh(w->r, x, text, n, &a->history) : NULL;
}

/* Tokens of some seats of one ask. A failure stays in the run. */
static void draw(hd_writer *w, const hd_asked *a, hd_tensor *scores, hd_tensor *logp,
                 hd_writer_seat *const *of, size_t n, int32_t *token)
{
    hd_run *r = w->r;
    const hd_generate_opt *o = a->ask.opt;
    hd_lot *lot = hd_host_take(r, n * sizeof *lot);
    int32_t *row = hd_host_take(r, n * sizeof *row);
    if (!lot || !row) return;
    for (size_t i = 0; i < n; i++) {
        const hd_draft *s = of[i]->draft;
        row[i] = of[i]->row;
        lot[i] = (hd_lot){.row = a->weighs ? (int32_t)i : row[i],
                          .key = (int32_t)((uint32_t)o->key + (uint32_t)s->prompt),
                          .sample = (int32_t)s->number,
                          .number = (uint32_t)(s->drawn + 1)};
    }
    const hd_draw_opt ask = {.temperature = o->temperature,
                             .top_k = o->top_k,
                             .top_p = o->top_p,
                             .min_p = o->min_p,
                             .seed = o->seed,
                             .banned = a->banned,
                             .end = -1};
    hd_tensor *x = a->weighs ? weighed(w, a, hd_gather(r, scores, hd_ints(r, row, n), n, 1), of, n) : logp;
    if (!hd_draw_tokens(r, x, lot, n, &ask, token)) return;
    for (size_t i = 0; i < n; i++) {
        size_t drawn = of[i]->draft->drawn;
        if (drawn < o->forced_count && o->forced[drawn] >= 0) token[i] = o->forced[drawn];
    }
}

/* Seats from the i-th on that are of its ask. */
static size_t gather_ask(const hd_writer_seats *now, size_t i, hd_writer_seat **of)
{
    size_t count = 0;
    for (size_t j = i; j < now->count; j++)
        if (now->at[j].of == now->at[i].of) of[count++] = &now->at[j];
    return count;
}

/* Notes what seats of one ask draw, and what was likeliest. */
static void note(hd_writer *w, const hd_asked *a, hd_tensor *logp, const hd_writer_seats *now,
                 hd_writer_seat *const *of, size_t n, const int32_t *token, const hd_real *value)
{
    hd_run *r = w->r;
    size_t most = a->ask.opt->likeliest, k = most < w->stepper.vocab ? most : w->stepper.vocab;
    int32_t *row = hd_host_take(r, n * sizeof *row), *id = hd_host_take(r, (n * k + 1) * sizeof *id);
    hd_real *top = hd_host_take(r, (n * k + 1) * sizeof *top);
    if (!row || !id || !top) return;
    for (size_t i = 0; i < n; i++) row[i] = of[i]->row;
    if (k) {
        hd_tensor *values = NULL;
        hd_tensor *ids = hd_top(r, hd_gather(r, logp, hd_ints(r, row, n), n, 1), (int)k, &values);
        if (!hd_top_read(r, ids, values, id, top)) return;
    }
    for (size_t i = 0; i < n; i++) {
        hd_generated *g = of[i]->draft->out;
        size_t which = (size_t)(of[i] - now->at), each = 1 + most, need = (g->tokens + 1) * each;
        if (hd_mem_reserve(&g->said, &g->said_room, need, sizeof *g->said, &r->err)) return;
        hd_said *to = g->said + g->tokens * each;
        to[0] = (hd_said){token[which], (float)value[which], g->text.size};
        for (size_t j = 0; j < most; j++) /* a small vocabulary has no more */
            to[1 + j] = j < k ? (hd_said){id[i * k + j], (float)top[i * k + j], 0} : (hd_said){.id = -1};
    }
}

void hd_writer_draw(hd_writer *w, hd_tensor *scores, const hd_writer_seats *now, int32_t *token,
                    hd_real *value)
{
    hd_run *r = w->r;
    size_t n = now->count;
    hd_writer_seat **of = hd_host_take(r, n * sizeof *of);
    int32_t *drawn = hd_host_take(r, n * sizeof *drawn), *row = hd_host_take(r, n * sizeof *row);
    bool *done = hd_host_take(r, n * sizeof *done);
    hd_tensor *logp = w->opt.penalize && w->stepper.raw ? hd_log_softmax(r, scores) : scores;
    if (!of || !drawn || !row || !done || !logp) return;
    for (size_t i = 0; i < n; i++) row[i] = now->at[i].row;
    for (size_t i = 0; i < n && !r->err.status; i++) {
        if (done[i]) continue;
        size_t count = gather_ask(now, i, of);
        draw(w, now->at[i].of, scores, logp, of, count, drawn);
        for (size_t j = 0; j < count; j++) token[of[j] - now->at] = drawn[j], done[of[j] - now->at] = true;
    }
    if (!hd_peek(r, logp, row, token, n, value)) return;
    for (size_t i = 0; i < n && !r->err.status; i++) {
        const hd_asked *a = now->at[i].of;
        if (!(value[i] > -INFINITY)) hd_fail_number(r); /* no token has a probability */
        if (!a->ask.opt->scores || !done[i]) continue;
        size_t count = gather_ask(now, i, of);
        for (size_t j = 0; j < count; j++) done[of[j] - now->at] = false;
        note(w, a, logp, now, of, count, token, value);
    }
}
