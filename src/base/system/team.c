/* A team of threads. Each worker has a range of its own, which it takes in pieces; who is done takes pieces
   of others, since cores that are shared with other programs are not equally fast. Each has its own job and
   two bells, so that idle workers are never woken and never read a job that is being replaced: a worker
   accepts its job before it reads it, and a job that nobody has accepted when all pieces are done is
   withdrawn instead of waited for. Easy to get wrong: the sleep. The caller rings and then checks for a
   sleeper; a worker marks itself asleep and then checks the bell; both with sequential consistency. */
#include "base/system/team_share.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

enum { MOST_THREADS = 1024, SPIN_NS = 40000, LINE = 64, PIECES = 4 };

typedef struct bell {
    _Alignas(LINE) atomic_bool rung; /* and not yet heard */
    atomic_bool asleep;
    pthread_mutex_t lock; /* only for sleeping: the hot path never takes it */
    pthread_cond_t wake;
} bell;

typedef struct worker {
    bell start, done;
    hd_team_fn *fn; /* NULL: end the thread */
    void *arg;
    size_t end, piece;
    _Alignas(LINE) atomic_size_t next; /* where the next piece of its range begins */
    pthread_t thread;
    hd_team *team;
    int index;
} worker;

struct hd_team {
    int threads, used, parts; /* used: of these; parts: workers of the job at hand */
    long spin_ns;
    worker *worker; /* worker[0] is the caller: no thread, no bells */
};

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* yield is a no-op on most cores */
#endif
}

static long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

/* Whether it was rung; if so, it no longer is. */
static bool hear(bell *b)
{
    return atomic_load_explicit(&b->rung, memory_order_relaxed) && atomic_exchange(&b->rung, false);
}

static bool spin_for(bell *b, long ns)
{
    if (ns <= 0) return hear(b);
    long start = now_ns();
    do {
        for (int i = 0; i < 32; i++) {
            if (hear(b)) return true;
            relax();
        }
        sched_yield(); /* the thread we wait for may have been scheduled on our own core */
    } while (now_ns() - start < ns);
    return false;
}

static void wait_for(bell *b, long spin_ns)
{
    if (spin_for(b, spin_ns)) return;
    pthread_mutex_lock(&b->lock);
    atomic_store(&b->asleep, true);
    while (!atomic_exchange(&b->rung, false)) pthread_cond_wait(&b->wake, &b->lock);
    atomic_store(&b->asleep, false);
    pthread_mutex_unlock(&b->lock);
}

static void ring(bell *b)
{
    atomic_store(&b->rung, true);
    if (!atomic_load(&b->asleep)) return;
    pthread_mutex_lock(&b->lock);
    pthread_cond_signal(&b->wake);
    pthread_mutex_unlock(&b->lock);
}

/* Pieces of the worker's own range, then of the others'. */
static void do_pieces(hd_team *t, int index, hd_team_fn *fn, void *arg)
{
    for (int i = 0; i < t->parts; i++) {
        worker *w = &t->worker[(index + i) % t->parts];
        size_t begin;
        while ((begin = atomic_fetch_add_explicit(&w->next, w->piece, memory_order_relaxed)) < w->end)
            fn(arg, begin, w->end - begin < w->piece ? w->end : begin + w->piece, index);
    }
}

static void *work(void *arg)
{
    worker *w = arg;
    const long spin_ns = w->team->spin_ns;
    for (;;) {
        wait_for(&w->start, spin_ns);
        if (!w->fn) return NULL;
        do_pieces(w->team, w->index, w->fn, w->arg);
        ring(&w->done);
    }
}

static void call(worker *w, hd_team_fn *fn, void *arg)
{
    w->fn = fn;
    w->arg = arg;
    ring(&w->start);
}

int hd_team_cores(void)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) ? 0 : CPU_COUNT(&set);
    if (cores < 1) cores = (int)sysconf(_SC_NPROCESSORS_ONLN); /* more cores than a cpu_set_t has bits */
    return cores < 1 ? 1 : cores;
}

static int bell_init(bell *b)
{
    int code = pthread_mutex_init(&b->lock, NULL);
    if (code) return code;
    code = pthread_cond_init(&b->wake, NULL);
    if (code) pthread_mutex_destroy(&b->lock);
    return code;
}

static void bell_release(bell *b)
{
    pthread_cond_destroy(&b->wake);
    pthread_mutex_destroy(&b->lock);
}

static int start_worker(hd_team *t, int index)
{
    worker *w = &t->worker[index];
    w->team = t;
    w->index = index;
    int code = bell_init(&w->start);
    if (code) return code;
    code = bell_init(&w->done);
    if (!code) {
        code = pthread_create(&w->thread, NULL, work, w);
        if (code) bell_release(&w->done);
    }
    if (code) bell_release(&w->start);
    return code;
}

/* Threads inherit the signal mask: with all signals blocked, the program's handlers run in its own
   threads. */
static hd_status start_workers(hd_team *t, int threads, hd_err *err)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int code = 0;
    for (; t->threads < threads && !code; t->threads += !code) code = start_worker(t, t->threads);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!code) return HD_OK;
    return hd_err_set(err, HD_ELIMIT, "cannot start thread %d of %d: %s", t->threads + 1, threads,
                      strerror(code));
}

hd_status hd_team_new(hd_team **out, int threads, hd_err *err)
{
    int cores = hd_team_cores();
    if (threads < 1) threads = cores < MOST_THREADS ? cores : MOST_THREADS;
    if (threads > MOST_THREADS)
        return hd_err_set(err, HD_ELIMIT, "%d threads requested, at most %d are possible", threads,
                          MOST_THREADS);
    hd_team *t = hd_mem_zero(sizeof *t);
    if (!t) return hd_err_nomem(err, sizeof *t);
    t->threads = 1;
    t->spin_ns = threads > cores ? 0 : SPIN_NS; /* a spinning thread would keep the one it waits for off
                                                   its core */
    t->worker = hd_mem_array((size_t)threads, sizeof *t->worker);
    hd_status s =
        t->worker ? start_workers(t, threads, err) : hd_err_nomem(err, (size_t)threads * sizeof *t->worker);
    t->used = t->threads;
    if (s)
        hd_team_free(t);
    else
        *out = t;
    return s;
}

void hd_team_free(hd_team *t)
{
    if (!t) return;
    for (int i = 1; i < t->threads; i++) call(&t->worker[i], NULL, NULL);
    for (int i = 1; i < t->threads; i++) {
        pthread_join(t->worker[i].thread, NULL);
        bell_release(&t->worker[i].start);
        bell_release(&t->worker[i].done);
    }
    hd_mem_free(t->worker);
    hd_mem_free(t);
}

int hd_team_size(const hd_team *t)
{
    return t->used;
}

int hd_team_all(const hd_team *t)
{
    return t->threads;
}

void hd_team_use(hd_team *t, int threads)
{
    t->used = threads < 1 ? 1 : threads < t->threads ? threads : t->threads;
}

void hd_team_run(hd_team *t, size_t count, size_t grain, hd_team_fn *fn, void *arg)
{
    if (!count) return;
    size_t threads = (size_t)t->used, part = count / threads + (count % threads != 0);
    if (part < grain) part = grain;
    if (part >= count) {
        fn(arg, 0, count, 0);
        return;
    }
    size_t piece = part / PIECES + (part % PIECES != 0);
    if (piece < grain) piece = grain;
    t->parts = 0;
    for (size_t begin = 0; begin < count; begin = t->worker[t->parts++].end) {
        worker *w = &t->worker[t->parts];
        w->end = count - begin < part ? count : begin + part, w->piece = piece;
        atomic_store_explicit(&w->next, begin, memory_order_relaxed);
    }
    for (int i = 1; i < t->parts; i++) call(&t->worker[i], fn, arg);
    do_pieces(t, 0, fn, arg);
    for (int i = 1; i < t->parts; i++) /* of a bell that the caller hears himself nobody has the job */
        if (!hear(&t->worker[i].start)) wait_for(&t->worker[i].done, t->spin_ns);
}
