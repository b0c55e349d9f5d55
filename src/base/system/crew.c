/* A crew of threads that take jobs from their owner. One lock guards all; jobs are large (a picture), so
   that it is never fought for. Easy to get wrong: a thread must ask for a job again after every wake-up,
   since another may have taken the one it was called for. */
#include "base/system/crew.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/mem.h"

struct hd_crew {
    const hd_crew_type *type;
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t called, finished;
    bool has_lock, stop;
    int threads;
    pthread_t *thread;
};

/* With the lock held; it is free while the job is done. */
static bool one_job(hd_crew *c)
{
    _Alignas(16) char job[HD_CREW_JOB];
    if (!c->type->take(c->context, job)) return false;
    pthread_mutex_unlock(&c->lock);
    c->type->work(c->context, job);
    pthread_mutex_lock(&c->lock);
    c->type->done(c->context, job);
    pthread_cond_broadcast(&c->finished);
    return true;
}

static void *run(void *arg)
{
    hd_crew *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->stop)
        if (!one_job(c)) pthread_cond_wait(&c->called, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static hd_status init_lock(hd_crew *c, hd_err *err)
{
    int code = pthread_mutex_init(&c->lock, NULL);
    if (!code && (code = pthread_cond_init(&c->called, NULL))) pthread_mutex_destroy(&c->lock);
    if (!code && (code = pthread_cond_init(&c->finished, NULL))) {
        pthread_cond_destroy(&c->called);
        pthread_mutex_destroy(&c->lock);
    }
    c->has_lock = !code;
    return code ? hd_err_set(err, HD_ELIMIT, "cannot make a lock: %s", strerror(code)) : HD_OK;
}

/* Threads inherit the signal mask: with all blocked, the program's handlers run in its own threads. */
static hd_status start(hd_crew *c, int threads, hd_err *err)
{
    sigset_t all, before;
    int code = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; c->threads < threads && !code; c->threads += !code)
        code = pthread_create(&c->thread[c->threads], NULL, run, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!code) return HD_OK;
    return hd_err_set(err, HD_ELIMIT, "cannot start thread %d of %d: %s", c->threads + 1, threads,
                      strerror(code));
}

hd_status hd_crew_new(hd_crew **out, int threads, const hd_crew_type *type, void *context, hd_err *err)
{
    if (threads < 0 || threads > HD_CREW_MOST)
        return hd_err_set(err, HD_ELIMIT, "%d threads requested, at most %d are possible", threads,
                          HD_CREW_MOST);
    hd_crew *c = hd_mem_zero(sizeof *c);
    if (!c) return hd_err_nomem(err, sizeof *c);
    c->type = type;
    c->context = context;
    c->thread = hd_mem_array((size_t)threads, sizeof *c->thread);
    hd_status s = c->thread ? init_lock(c, err) : hd_err_nomem(err, (size_t)threads * sizeof *c->thread);
    if (!s) s = start(c, threads, err);
    if (s)
        hd_crew_free(c);
    else
        *out = c;
    return s;
}

void hd_crew_free(hd_crew *c)
{
    if (!c) return;
    if (c->has_lock) {
        pthread_mutex_lock(&c->lock);
        c->stop = true;
        pthread_cond_broadcast(&c->called);
        pthread_mutex_unlock(&c->lock);
        for (int i = 0; i < c->threads; i++) pthread_join(c->thread[i], NULL);
        pthread_cond_destroy(&c->finished);
        pthread_cond_destroy(&c->called);
        pthread_mutex_destroy(&c->lock);
    }
    hd_mem_free(c->thread);
    hd_mem_free(c);
}

void hd_crew_lock(hd_crew *c)
{
    pthread_mutex_lock(&c->lock);
}

void hd_crew_unlock(hd_crew *c)
{
    pthread_mutex_unlock(&c->lock);
}

void hd_crew_call(hd_crew *c)
{
    pthread_cond_broadcast(&c->called);
}

void hd_crew_wait(hd_crew *c)
{
    pthread_cond_wait(&c->finished, &c->lock);
}

bool hd_crew_help(hd_crew *c)
{
    return one_job(c);
}
