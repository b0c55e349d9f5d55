/* What the trainings of all tasks share. */
#include "run/training.h"

#include <string.h>

#include "backend/ranks.h"
#include "op/tape.h"
#include "text/tokenizer_find.h"
#include "train/published.h"

static void take_first(void *context, const hd_device *d)
{
    const char **name = context;
    if (!*name && !d->why[0]) *name = d->backend;
}

hd_status hd_training_backend(hd_backend **out, const char *device, hd_precision precision, int threads,
                              bool dry, const hd_log *log, hd_err *err)
{
    hd_backend_opt machine = {.threads = threads, .precision = precision, .training = true, .log = log};
    const char *name = strcmp(device, "auto") ? device : NULL;
    if (!dry) return hd_backend_new(out, device, &machine, err);
    if (!name) hd_backend_list(take_first, &name);
    bool card = name && !strcmp(name, "cuda");
    if (!precision) machine.precision = card ? HD_PRECISION_BF16 : HD_PRECISION_F32;
    hd_status s = hd_backend_new(out, "null", &machine, err);
    if (!s && card) (*out)->logits = HD_CARD_LOGITS;
    return s;
}

uint64_t hd_training_hash(uint64_t train, uint64_t valid)
{
    return train ^ valid * 0x9e3779b97f4a7c15u;
}

hd_status hd_training_same(uint64_t hash, const hd_params *p, hd_err *err)
{
    const uint64_t mine[2] = {hash, p ? p->trainable : 0};
    uint64_t first[2] = {mine[0], mine[1]};
    hd_status s = hd_ranks_share(first, sizeof first, err);
    if (!s && memcmp(first, mine, sizeof mine))
        s = hd_err_set(err, HD_EARG,
                       "the data or the model is not that of process 0: give all the same options and files");
    return hd_ranks_agree(s, NULL, 0, err);
}

hd_status hd_training_tokenizer(hd_tokenizer **out, hd_tokenizer_kind kind, const char *file, hd_feed lines,
                                const hd_tokenizer_opt *opt, hd_err *err)
{
    return file ? hd_tokenizer_open_as(out, kind, file, err) : hd_tokenizer_train(out, kind, lines, opt, err);
}

hd_status hd_training_weights(hd_params *p, const char *from, const hd_trainer_opt *o, hd_err *err)
{
    return from && !o->resume ? hd_published_load(p, from, err) : hd_params_draw(p, o->seed, err);
}

size_t hd_training_parts(size_t wanted, size_t items)
{
    size_t parts = wanted < items ? wanted : items;
    return parts ? parts : 1;
}

hd_status hd_training_rehearse(hd_run *r, const hd_trainee *t, hd_err *err)
{
    hd_load load;
    hd_status s = t->next(t->context, &load, err);
    for (size_t part = 0; !s && part < load.parts; part++) {
        r->now.number = UINT32_MAX; /* late in the run, when whatever rises has risen */
        hd_run_begin(r, HD_TRAIN);
        t->send(r, t->context, part);
        t->loss(r, t->context, part);
        hd_backward(r);
        if (r->err.status) s = hd_err_set(err, r->err.status, "%s", r->err.text);
    }
    return s;
}
