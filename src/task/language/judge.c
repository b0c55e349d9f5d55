/* How well a language model foresees a text. Easy to get wrong: every token counts once, whatever the windows
   are, and what a window begins with that counts already only gives context. */
#include <math.h>

#include "backend/ranks.h"
#include "base/system/clock.h"
#include "base/mem.h"
#include "nn/block/heads.h"
#include "op/replay.h"
#include "task/language/language.h"

enum {
    ROWS = 2048, /* of a step, about */
    STREAMS = 32,
    STREAM_WINDOWS = 16 /* a part of a text that is judged beside others has at least so many */
};

/* -- windows -- */

uint64_t hd_windows_send(hd_run *r, hd_lm_batch *out, const hd_lm *m, const hd_stream_text *text,
                         const hd_window *w, const int32_t *keys, size_t items)
{
    *out = (hd_lm_batch){0};
    int32_t *len = hd_host_take(r, (items + 1) * sizeof *len);
    if (!len) return 0;
    size_t live = 0, places = m->type->lm.looks_back ? (size_t)m->opt.order - 1 : 0, row = 0;
    for (size_t i = 0; i < items; i++) live += w[i].len, len[i] = (int32_t)w[i].len;
    hd_bounds bounds = hd_bounds_now(r, len, items);
    size_t rows = bounds.rows;
    int32_t *all = hd_host_take(r, (rows * (2 + places) + 1) * sizeof *all);
    int32_t *seen = hd_host_take(r, (places + 1) * sizeof *seen);
    if (!all || !seen) return 0;
    for (size_t i = 0; i < rows * (2 + places); i++) all[i] = -1; /* what is filled up is no token */
    size_t before = places ? places : 1; /* tokens that are looked at before a window */
    int32_t *room = text->shards ? hd_host_take(r, (bounds.longest + before) * sizeof *room) : NULL;
    for (size_t i = 0; i < items; i++) {
        size_t back = w[i].from < before ? w[i].from : before;
        hd_err err = {0};
        const int32_t *ids = hd_stream_text_at(text, w[i].from - back, back + w[i].len, room, &err);
        if (!ids) return hd_fail(r, err.status, "%s", err.text), 0;
        for (size_t at = back, j = 0; j < w[i].len; j++, at++, row++) {
            all[row] = at ? ids[at - 1] : m->opt.start;
            if (j >= w[i].skip && (!text->learned || text->learned[w[i].from + j])) all[rows + row] = ids[at];
            if (places) hd_lm_features(m, ids, at + 1, at, seen);
            for (size_t k = 0; k < places; k++) all[(2 + k) * rows + row] = seen[k];
        }
    }
    *out = (hd_lm_batch){.seg = hd_seg_within(r, len, items, keys, bounds),
                         .ids = hd_ints(r, all, rows),
                         .target = hd_ints(r, all + rows, rows),
                         .before = places ? hd_ints(r, all + 2 * rows, places * rows) : NULL};
    return hd_shape_of(bounds, live);
}

/* -- judging -- */

static hd_status judge_windows(double *nats, hd_run *r, const hd_lm *m, const hd_stream_text *text,
                               const hd_window *w, size_t items, hd_cache *state, hd_err *err)
{
    hd_lm_batch batch;
    hd_heads_begin(r);
    hd_windows_send(r, &batch, m, text, w, NULL, items);
    double sum = hd_loss_total(r, m->type->lm.loss(r, m, &batch, state, &(hd_loss_opt){.coef = 1}));
    hd_heads_end(r);
    if (r->err.status) return hd_err_set(err, r->err.status, "judging a text: %s", r->err.text);
    *nats += sum;
    return HD_OK;
}

/* Windows one after the other, several at a time. */
typedef struct queue {
    hd_run *r;
    const hd_lm *m;
    const hd_stream_text *text;
    size_t again, tokens; /* that all windows but the first begin with; that count */
    hd_window *w;         /* [most] those that wait */
    size_t most, n;
    int turn;
    double nats;
} queue;

static hd_status judge_waiting(queue *q, hd_err *err)
{
    hd_status s = HD_OK;
    if (q->n && q->turn++ % hd_ranks() == hd_rank())
        s = judge_windows(&q->nats, q->r, q->m, q->text, q->w, q->n, NULL, err);
    q->n = 0;
    return s;
}

/* Tokens first .. end-1; windows begin at a multiple of the model's `align` behind the first. */
static hd_status judge_span(queue *q, size_t first, size_t end, hd_err *err)
{
    size_t length = q->m->opt.context, align = q->m->opt.align ? q->m->opt.align : 1;
    size_t count = first + q->text->skip;
    hd_status s = HD_OK;
    for (size_t at = first; !s && at < end;) {
        size_t back = at - first < q->again ? at - first : q->again;
        back += (at - back - first) % align;
        if (back >= length) back = 0; /* bars are longer than the model sees */
        size_t from = at - back, len = length < end - from ? length : end - from;
        size_t skip = count > from + back ? count - from : back;
        at = from + len;
        if (skip >= len) continue;
        q->w[q->n++] = (hd_window){from, len, skip};
        q->tokens += hd_stream_text_learned(q->text, from + skip, len - skip);
        if (q->n == q->most) s = judge_waiting(q, err);
    }
    return s;
}

/* Of pieces of music each by itself, and not its end: that is no note. Of a dialogue not its first token,
   before which nothing stands. */
static hd_status judge_anew(queue *q, hd_err *err)
{
    const hd_stream_text *t = q->text;
    q->most = ROWS / q->m->opt.context ? ROWS / q->m->opt.context : 1;
    q->w = hd_mem_array(q->most, sizeof *q->w);
    hd_status s = q->w ? HD_OK : hd_err_nomem(err, q->most * sizeof *q->w);
    if (!s && !t->pieces) s = judge_span(q, 0, t->count, err);
    for (size_t i = 0; !s && i < t->pieces; i++)
        s = judge_span(q, t->begin[i] + !!t->learned,
                       (i + 1 < t->pieces ? t->begin[i + 1] : t->count) - !t->learned, err);
    if (!s) s = judge_waiting(q, err);
    hd_mem_free(q->w);
    return s;
}

/* Equal parts of a text side by side, with a state. Each begins a window earlier than it counts. */
static hd_status judge_carried(double *nats, hd_run *r, const hd_lm *m, const hd_stream_text *text,
                               hd_err *err)
{
    size_t length = m->opt.context, streams = text->count / (STREAM_WINDOWS * length);
    streams = streams < 1 ? 1 : streams > STREAMS ? STREAMS : streams;
    size_t rank = (size_t)hd_rank(), ranks = (size_t)hd_ranks();
    size_t first = streams * rank / ranks, mine = streams * (rank + 1) / ranks - first;
    hd_window w[STREAMS] = {0};
    size_t at[STREAMS], count[STREAMS], end[STREAMS]; /* where it stands, counts from, ends */
    hd_cache *state = NULL;
    if (!mine) return HD_OK;
    hd_status s = m->type->lm.state(&state, m, mine, err);
    for (size_t i = 0; i < mine; i++) {
        count[i] = text->count * (first + i) / streams, end[i] = text->count * (first + i + 1) / streams;
        at[i] = first + i ? count[i] - length : 0;
    }
    for (bool more = true; !s && more;) {
        more = false;
        for (size_t i = 0; i < mine; i++) {
            size_t len = end[i] - at[i] < length ? end[i] - at[i] : length;
            w[i] = (hd_window){at[i], len, at[i] < count[i] ? count[i] - at[i] : 0};
            at[i] += len;
            more = more || at[i] < end[i];
        }
        s = judge_windows(nats, r, m, text, w, mine, state, err);
    }
    hd_cache_free(state);
    return s;
}

static hd_status judge(hd_fluency *out, hd_run *r, const hd_model_folder *f, const hd_stream_text *text,
                       bool overlap, hd_err *err)
{
    const hd_lm *m = hd_model_folder_lm(f);
    double nats = 0, began = hd_seconds();
    size_t tokens = text->count;
    hd_status s = HD_OK;
    if (!text->count) return hd_err_set(err, HD_EARG, "there is no text to judge");
    if (!m->params)
        nats = -m->type->lm.score(m, text->ids, text->count);
    else if (m->type->lm.state)
        s = judge_carried(&nats, r, m, text, err);
    else {
        bool again = (overlap || text->pieces) && !m->type->lm.looks_back;
        queue q = {.r = r, .m = m, .text = text, .again = again ? m->opt.context / 2 : 0};
        s = judge_anew(&q, err);
        nats = q.nats, tokens = q.tokens;
    }
    if (m->params) s = hd_ranks_agree(s, &nats, 1, err);
    if (!s)
        *out = (hd_fluency){
            .tokens = tokens, .characters = text->characters, .nats = nats, .seconds = hd_seconds() - began};
    return s;
}

hd_status hd_language_judge(hd_fluency *out, hd_run *r, const hd_model_folder *f, const hd_stream_text *text,
                            hd_err *err)
{
    return judge(out, r, f, text, true, err);
}

hd_status hd_language_judge_fast(hd_fluency *out, hd_run *r, const hd_model_folder *f,
                                 const hd_stream_text *text, hd_err *err)
{
    return judge(out, r, f, text, false, err);
}
