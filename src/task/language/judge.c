/* How well a language model foresees a text. Easy to get wrong: every token counts once, whatever the windows
   are, and what a window begins with that counts already only gives context. */
#include <math.h>

#include "backend/ranks.h"
#include "base/system/clock.h"
#include "base/mem.h"
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
            if (j >= w[i].skip) all[rows + row] = ids[at];
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
    hd_run_begin(r, HD_INFERENCE);
    hd_windows_send(r, &batch, m, text, w, NULL, items);
    double sum = hd_loss_total(r, m->type->lm.loss(r, m, &batch, state, &(hd_loss_opt){.coef = 1}));
    if (r->err.status) return hd_err_set(err, r->err.status, "judging a text: %s", r->err.text);
    *nats += sum;
    return HD_OK;
}

/* Windows of a text one after the other, several at a time; all but the first begin with `again` tokens of
   the one before. */
static hd_status judge_anew(double *nats, hd_run *r, const hd_lm *m, const hd_stream_text *text, size_t again,
                            hd_err *err)
{
    size_t length = m->opt.context, most = ROWS / length ? ROWS / length : 1, n = 0;
    hd_window *w = hd_mem_array(most, sizeof *w);
    int turn = 0;
    hd_status s = w ? HD_OK : hd_err_nomem(err, most * sizeof *w);
    for (size_t at = 0; !s && at < text->count;) {
        size_t back = at < again ? at : again, len = length;
        if (len > text->count - (at - back)) len = text->count - (at - back);
        w[n++] = (hd_window){at - back, len, back};
        at += len - back;
        if (n < most && at < text->count) continue;
        if (turn++ % hd_ranks() == hd_rank()) s = judge_windows(nats, r, m, text, w, n, NULL, err);
        n = 0;
    }
    hd_mem_free(w);
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
    hd_status s = HD_OK;
    if (!text->count) return hd_err_set(err, HD_EARG, "there is no text to judge");
    if (!m->params)
        nats = -m->type->lm.score(m, text->ids, text->count);
    else if (m->type->lm.state)
        s = judge_carried(&nats, r, m, text, err);
    else
        s = judge_anew(&nats, r, m, text, overlap && !m->type->lm.looks_back ? m->opt.context / 2 : 0, err);
    if (m->params) s = hd_ranks_agree(s, &nats, 1, err);
    if (!s)
        *out = (hd_fluency){.tokens = text->count,
                            .characters = text->characters,
                            .nats = nats,
                            .seconds = hd_seconds() - began};
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
