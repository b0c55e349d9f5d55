/* Turns of a text in one cache. Easy to get wrong: the token that was drawn last is not in the cache yet. */
#include "model/lm/talk.h"

#include <string.h>

#include "base/mem.h"
#include "model/lm/lm_parts.h"
#include "model/stepper_parts.h"

struct hd_talk {
    const hd_lm *model;
    hd_stepping *inner; /* NULL: nothing is in the cache */
    hd_ids seen;        /* what is in it */
    hd_ids given;       /* the text of this turn */
    size_t read;
    int32_t source;
    bool raw;
};

hd_status hd_talk_new(hd_talk **out, const hd_lm *m, hd_err *err)
{
    if (m->type->stepper != hd_lm_gpt_stepper)
        return hd_err_set(err, HD_EARG,
                          "a conversation needs a model with attention, such as gpt: this is %s",
                          hd_lm_names[m->opt.kind]);
    hd_talk *t = hd_mem_zero(sizeof *t);
    if (!t) return hd_err_nomem(err, sizeof *t);
    t->model = m;
    *out = t;
    return HD_OK;
}

void hd_talk_free(hd_talk *t)
{
    if (!t) return;
    hd_stepping_free(t->inner);
    hd_ids_release(&t->seen);
    hd_ids_release(&t->given);
    hd_mem_free(t);
}

size_t hd_talk_room(const hd_talk *t)
{
    return t->model->opt.context;
}

const hd_ids *hd_talk_seen(const hd_talk *t)
{
    return &t->seen;
}

size_t hd_talk_read(const hd_talk *t)
{
    return t->read;
}

static void forget(hd_talk *t)
{
    hd_stepping_free(t->inner);
    t->inner = NULL, t->seen.count = 0;
}

static size_t common(const hd_talk *t)
{
    size_t n = 0;
    while (n < t->seen.count && n < t->given.count && t->seen.at[n] == t->given.at[n]) n++;
    return n;
}

/* The rows behind those in the cache, all at once. */
static hd_tensor *read_rest(hd_run *r, hd_talk *t, size_t from)
{
    int32_t *len = hd_host_take(r, sizeof *len);
    if (!len) return NULL;
    *len = (int32_t)(t->given.count - from);
    hd_arrivals a = {.ids = t->given.at + from, .len = len, .items = 1, .rows = (size_t)*len};
    t->read += a.rows;
    return from ? t->inner->read(r, t->inner, &a) : hd_stepping_join(r, t->inner, &a);
}

static hd_tensor *join(hd_run *r, void *context, size_t n)
{
    hd_talk *t = context;
    size_t from = t->inner ? common(t) : 0;
    (void)n;
    if (from < t->seen.count || from == t->given.count) forget(t), from = 0;
    hd_status s = HD_OK;
    if (!t->inner) {
        hd_stepping_ask q = {.what = "prompt", .vocab = t->model->opt.vocab, .longest = INT32_MAX};
        s = hd_gpt_stepping(&t->inner, t->model->model, &q, &r->err);
    }
    if (!s) t->inner->raw = t->raw;
    hd_tensor *y = s ? NULL : read_rest(r, t, from);
    if (y && hd_ids_reserve(&t->seen, t->given.count - from, &r->err)) y = NULL;
    if (!y) return forget(t), NULL;
    memcpy(t->seen.at + from, t->given.at + from, (t->given.count - from) * sizeof *t->seen.at);
    t->seen.count = t->given.count;
    return y;
}

static hd_tensor *step(hd_run *r, void *context, const int32_t *ids, size_t seats)
{
    hd_talk *t = context;
    hd_tensor *y = seats == 1 && t->inner ? hd_stepping_step(r, t->inner, ids, 1)
                                          : hd_fail(r, HD_ESHAPE, "a conversation is one hypothesis");
    if (y && hd_ids_add(&t->seen, ids[0], &r->err)) y = NULL;
    if (!y) forget(t);
    return y;
}

static hd_status pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    hd_talk *t = context;
    return t->inner && n == 1 ? hd_stepping_pick(r, t->inner, parent, n) : HD_OK;
}

hd_status hd_talk_stepper(hd_stepper *out, hd_talk *t, const int32_t *ids, size_t count, hd_err *err)
{
    size_t room = hd_talk_room(t), vocab = t->model->opt.vocab;
    if (!count || count > room)
        return hd_err_set(err, HD_ELIMIT, "a text of %zu tokens: the model takes 1 to %zu", count, room);
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= vocab)
            return hd_err_set(err, HD_EARG, "there is no token %d in a vocabulary of %zu", ids[i], vocab);
    t->given.count = 0;
    hd_status s = hd_ids_reserve(&t->given, count, err);
    if (s) return s;
    memcpy(t->given.at, ids, count * sizeof *ids);
    t->given.count = count;
    t->source = (int32_t)count;
    *out = (hd_stepper){.vocab = vocab,
                        .items = 1,
                        .source = &t->source,
                        .join = join,
                        .step = step,
                        .raw = &t->raw,
                        .pick = pick,
                        .context = t};
    return HD_OK;
}
