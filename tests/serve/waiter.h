/* Waits for jobs of an engine, which end in its thread. */
#ifndef WAITER_H
#define WAITER_H

#include <pthread.h>

#include "serve/engine/job.h"

typedef struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int done;
} waiter;

static void wake(hd_job *j)
{
    waiter *w = j->context;
    pthread_mutex_lock(&w->lock);
    w->done++;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void await(waiter *w, int count)
{
    pthread_mutex_lock(&w->lock);
    while (w->done < count) pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

#define WAITER                                                 \
    {                                                          \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 \
    }

#endif
