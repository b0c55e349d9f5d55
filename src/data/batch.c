/* The stream of batches, with or without a thread that runs ahead. Both fill slots with the same function;
   the thread has a ring of them. Easy to get wrong: the position is the caller's, not the thread's, which is
   some batches further. */
#include "data/batch.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "data/batch_fill.h"
#include "data/epoch.h"
#include "data/round.h"

enum { TOKENS_MOST = 1 << 30, ROUND_BATCHES = 16 }; /* row numbers are int32 */

struct slot {
    hd_filled_batch filled;
    hd_position after; /* it */
    bool end;          /* no batch: what there was has been given */
};

struct hd_batches {
    hd_source source; /* at first: it is cast from one to the other */
    const hd_batch *now;
    hd_batch_opt opt;
    const hd_corpus *corpus; /* of shards that of the round */
    hd_round round;          /* of shards; this and up to make are the thread's while it runs */
    hd_epoch epoch;          /* or the round of one */
    uint64_t number, before; /* of the epoch; its batches in rounds before this one */
    bool formed;
    hd_position make; /* what is made next */
    hd_position next; /* what the caller gets next */
    struct slot *slot;
    size_t slots, first, ready; /* slots first .. first+ready-1 of the ring are filled */
    bool held;                  /* the one before them is the caller's */
    hd_err failed;              /* of the thread, which has ended then */
    pthread_t thread;
    bool running, stop;
    bool has_lock;
    pthread_mutex_t lock; /* guards first, ready, held, failed, stop */
    pthread_cond_t filled, emptied;
};

/* -- where the batches come from -- */

static hd_status form_round(hd_batches *b, uint64_t epoch, uint64_t round, hd_err *err)
{
    b->formed = false;
    hd_status s = hd_round_form(&b->round, epoch, round, err);
    hd_epoch_release(&b->epoch);
    if (!s) s = hd_epoch_init(&b->epoch, &b->round.corpus, b->round.ranks, &b->opt, err);
    if (s) return s;
    hd_epoch_form(&b->epoch, epoch * b->round.rounds + round);
    b->before = round ? b->before : 0;
    b->number = epoch;
    b->formed = true;
    return HD_OK;
}

/* Forms the epoch, or the round of it, that has a batch; where the epoch has fewer, its last round. */
static hd_status reach(hd_batches *b, hd_position at, hd_err *err)
{
    if (!b->round.shards) {
        if (!b->formed || b->number != at.epoch) hd_epoch_form(&b->epoch, at.epoch);
        b->number = at.epoch, b->formed = true;
        return HD_OK;
    }
    hd_status s = HD_OK;
    if (!b->formed || b->number != at.epoch || at.batch < b->before) s = form_round(b, at.epoch, 0, err);
    while (!s && at.batch >= b->before + b->epoch.batches && b->round.number + 1 < b->round.rounds) {
        b->before += b->epoch.batches;
        s = form_round(b, at.epoch, b->round.number + 1, err);
    }
    return s;
}

/* Behind the last batch of an epoch comes the first of the next. */
static hd_position settled(const hd_batches *b, hd_position at)
{
    bool last = !b->round.shards || b->round.number + 1 == b->round.rounds;
    return last && at.batch == b->before + b->epoch.batches ? (hd_position){at.epoch + 1, 0} : at;
}

/* Fills the slot with the batch at b->make and moves on. */
static hd_status make(hd_batches *b, struct slot *slot, hd_err *err)
{
    slot->end = b->opt.once && b->make.epoch > 0;
    if (slot->end) return HD_OK;
    hd_status s = reach(b, b->make, err);
    if (!s && b->round.shards && !b->round.has_ids) s = hd_round_ids(&b->round, err);
    if (s) return s;
    size_t units;
    const uint32_t *unit = hd_epoch_batch(&b->epoch, (size_t)(b->make.batch - b->before), &units);
    slot->filled.batch.at = b->make;
    slot->filled.batch.batches = b->round.shards ? b->source.batches : b->epoch.batches;
    s = hd_batch_fill(&slot->filled, b->corpus, b->round.key, b->epoch.group, &b->opt, unit, units, err);
    if (!s) b->make = slot->after = settled(b, (hd_position){b->make.epoch, b->make.batch + 1});
    return s;
}

static void *run_ahead(void *arg)
{
    hd_batches *b = arg;
    bool more = true;
    pthread_mutex_lock(&b->lock);
    while (more) {
        while (!b->stop && b->ready + b->held == b->slots) pthread_cond_wait(&b->emptied, &b->lock);
        if (b->stop) break;
        struct slot *slot = &b->slot[(b->first + b->ready) % b->slots];
        pthread_mutex_unlock(&b->lock);
        hd_err err = {0};
        hd_status s = make(b, slot, &err);
        pthread_mutex_lock(&b->lock);
        if (s)
            b->failed = err;
        else
            b->ready++;
        more = !s && !slot->end;
        pthread_cond_signal(&b->filled);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* Threads inherit the signal mask: with all blocked, the program's handlers run in the program's own threads.
 */
static hd_status start(hd_batches *b, hd_err *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&b->thread, NULL, run_ahead, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code)
        return hd_err_set(err, HD_ELIMIT, "cannot start the thread that prepares batches: %s",
                          strerror(code));
    b->running = true;
    return HD_OK;
}

/* Ends the thread, drops what it has prepared and forgets its failure: the next batch to be made is the
 * caller's next. */
static void halt(hd_batches *b)
{
    if (b->running) {
        pthread_mutex_lock(&b->lock);
        b->stop = true;
        pthread_cond_signal(&b->emptied);
        pthread_mutex_unlock(&b->lock);
        pthread_join(b->thread, NULL);
    }
    b->running = b->stop = b->held = false;
    b->first = b->ready = 0;
    b->failed = (hd_err){0};
    b->make = b->next;
}

/* The next filled slot; *out stays NULL where the thread has failed. */
static hd_status take(hd_batches *b, struct slot **out, hd_err *err)
{
    hd_status s = b->running ? HD_OK : start(b, err);
    if (s) return s;
    pthread_mutex_lock(&b->lock);
    b->held = false;
    pthread_cond_signal(&b->emptied);
    while (!b->ready && !b->failed.status) pthread_cond_wait(&b->filled, &b->lock);
    if (!b->ready) {
        s = hd_err_set(err, b->failed.status, "%s", b->failed.text);
    } else {
        *out = &b->slot[b->first];
        if (!(*out)->end) { /* the end stays: whoever asks again gets it again */
            b->first = (b->first + 1) % b->slots;
            b->ready--;
            b->held = true;
        }
    }
    pthread_mutex_unlock(&b->lock);
    return s;
}

hd_status hd_batches_next(hd_batches *b, const hd_batch **out, hd_err *err)
{
    struct slot *slot = b->slot;
    *out = NULL;
    hd_status s = b->opt.ahead ? take(b, &slot, err) : make(b, slot, err);
    if (s || slot->end) return s;
    b->next = slot->after;
    *out = &slot->filled.batch;
    return HD_OK;
}

hd_position hd_batches_position(const hd_batches *b)
{
    return b->next;
}

hd_status hd_batches_seek(hd_batches *b, hd_position at, hd_err *err)
{
    halt(b);
    hd_status s = reach(b, at, err);
    if (s) return s;
    uint64_t batches = b->before + b->epoch.batches;
    if (at.batch > batches)
        return hd_err_set(err, HD_EARG,
                          "there is no batch %llu in epoch %llu, which has %llu: the corpus or the batch "
                          "options have changed",
                          (unsigned long long)at.batch, (unsigned long long)at.epoch,
                          (unsigned long long)batches);
    b->make = b->next = settled(b, at);
    return HD_OK;
}

/* -- as a source -- */

static hd_status next_of(hd_source *s, hd_position *after, hd_err *err)
{
    hd_batches *b = (hd_batches *)s;
    hd_status st = hd_batches_next(b, &b->now, err);
    *after = b->next;
    return st;
}

static hd_status seek_of(hd_source *s, hd_position at, hd_err *err)
{
    return hd_batches_seek((hd_batches *)s, at, err);
}

hd_source *hd_batches_source(hd_batches *b)
{
    return &b->source;
}

const hd_batch *hd_batches_now(const hd_batches *b)
{
    return b->now;
}

/* -- making -- */

static hd_status check(size_t sentences, const hd_batch_opt *o, hd_err *err)
{
    if (!sentences) return hd_err_set(err, HD_EARG, "there are no sentences to make batches of");
    if (!o->tokens || o->tokens > TOKENS_MOST)
        return hd_err_set(err, HD_EARG, "a batch of %zu tokens: at least 1, at most %d", o->tokens,
                          TOKENS_MOST);
    if (o->window < 0 || o->ahead < 0 || o->ahead > HD_BATCH_AHEAD_MOST)
        return hd_err_set(err, HD_EARG, "a window of %d batches, %d ahead: at least 0, at most %d ahead",
                          o->window, o->ahead, HD_BATCH_AHEAD_MOST);
    if (o->ranks > 1 && (o->rank < 0 || o->rank >= o->ranks))
        return hd_err_set(err, HD_EARG, "process %d is none of %d", o->rank, o->ranks);
    return HD_OK;
}

static hd_status init_lock(hd_batches *b, hd_err *err)
{
    int code = pthread_mutex_init(&b->lock, NULL);
    if (!code && (code = pthread_cond_init(&b->filled, NULL))) pthread_mutex_destroy(&b->lock);
    if (!code && (code = pthread_cond_init(&b->emptied, NULL))) {
        pthread_cond_destroy(&b->filled);
        pthread_mutex_destroy(&b->lock);
    }
    b->has_lock = !code;
    return code ? hd_err_set(err, HD_ELIMIT, "cannot make a lock: %s", strerror(code)) : HD_OK;
}

/* Forms the first epoch, or its first round. */
static hd_status begin(hd_batches *b, hd_shards *shards, hd_err *err)
{
    const hd_batch_opt *o = &b->opt;
    if (!shards) {
        hd_status s = hd_epoch_init(&b->epoch, b->corpus, 1, o, err);
        return s ? s : reach(b, (hd_position){0}, err);
    }
    size_t ranks = o->ranks > 1 ? (size_t)o->ranks : 1, tokens = o->round;
    if (!tokens && ROUND_BATCHES * o->tokens > HD_ROUND_TOKENS) tokens = ROUND_BATCHES * o->tokens;
    if (shards->longest > o->tokens)
        return hd_err_set(
            err, HD_ELIMIT,
            "%s: a sentence has %u tokens, a batch only %zu: raise the budget or leave out long "
            "sentences",
            shards->folder, shards->longest, o->tokens);
    b->corpus = &b->round.corpus;
    hd_status s =
        hd_round_init(&b->round, shards, o->seed, ranks > 1 ? (size_t)o->rank : 0, ranks, tokens, err);
    return s ? s : reach(b, (hd_position){0}, err);
}

static hd_status open_either(hd_batches **out, const hd_corpus *corpus, hd_shards *shards,
                             const hd_batch_opt *opt, hd_err *err)
{
    hd_status s = check(shards ? shards->blocks : corpus->count, opt, err);
    if (s) return s;
    hd_batches *b = hd_mem_zero(sizeof *b);
    if (!b) return hd_err_nomem(err, sizeof *b);
    b->opt = *opt;
    b->corpus = corpus;
    b->slots = (size_t)opt->ahead + 1;
    b->slot = hd_mem_array(b->slots, sizeof *b->slot);
    s = b->slot ? init_lock(b, err) : hd_err_nomem(err, b->slots * sizeof *b->slot);
    if (!s) s = begin(b, shards, err);
    if (s) {
        hd_batches_free(b);
        return s;
    }
    b->source = (hd_source){.hash = shards ? shards->head.hash ^ HD_SHARDS_ORDER : corpus->hash,
                            .batches = b->epoch.batches * (shards ? b->round.rounds : 1),
                            .next = next_of,
                            .seek = seek_of};
    *out = b;
    return HD_OK;
}

hd_status hd_batches_new(hd_batches **out, const hd_corpus *corpus, const hd_batch_opt *opt, hd_err *err)
{
    return open_either(out, corpus, NULL, opt, err);
}

hd_status hd_batches_open(hd_batches **out, hd_shards *shards, const hd_batch_opt *opt, hd_err *err)
{
    return open_either(out, NULL, shards, opt, err);
}

void hd_batches_free(hd_batches *b)
{
    if (!b) return;
    halt(b);
    if (b->has_lock) {
        pthread_cond_destroy(&b->emptied);
        pthread_cond_destroy(&b->filled);
        pthread_mutex_destroy(&b->lock);
    }
    hd_epoch_release(&b->epoch);
    hd_round_release(&b->round);
    for (size_t i = 0; b->slot && i < b->slots; i++) hd_mem_free(b->slot[i].filled.block);
    hd_mem_free(b->slot);
    hd_mem_free(b);
}
