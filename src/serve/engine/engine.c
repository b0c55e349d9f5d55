/* An engine: what others ask of it. The lock guards the queue and the counters; the model is
   only read once it is open, and lanes (serve/engine/lane.h) compute. */
#include "serve/engine/engine.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/system/clock.h"
#include "serve/engine/lane.h"

/* The thread of the first lane, which opens the others and starts them. */
static void *open_and_work(void *context)
{
    hd_engine *e = context;
    hd_err err = {0};
    hd_status s = hd_lanes_open(e, &err);
    for (size_t i = 1; !s && i < e->lanes; i++) {
        e->lane[i].started = !pthread_create(&e->lane[i].thread, NULL, hd_lane_work, &e->lane[i]);
        if (!e->lane[i].started) s = hd_err_set(&err, HD_ELIMIT, "a thread cannot be started");
    }
    pthread_mutex_lock(&e->lock);
    e->opened = true, e->status = s, e->err = err;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    return s ? NULL : hd_lane_work(&e->lane[0]);
}

hd_status hd_engine_new(hd_engine **out, const hd_engine_opt *opt, hd_err *err)
{
    hd_engine *e = hd_mem_zero(sizeof *e);
    if (!e) return hd_err_nomem(err, sizeof *e);
    e->opt = *opt;
    e->usual = HD_LONG_WAIT;
    for (size_t i = 0; i < HD_LANES; i++) e->lane[i].engine = e, e->lane[i].opt = *opt;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
    e->lane[0].started = !pthread_create(&e->lane[0].thread, NULL, open_and_work, e);
    if (!e->lane[0].started)
        return hd_engine_free(e), hd_err_set(err, HD_ELIMIT, "a thread cannot be started");
    *out = e;
    return HD_OK;
}

hd_status hd_engine_ready(hd_engine *e, hd_err *err)
{
    pthread_mutex_lock(&e->lock);
    while (!e->opened) pthread_cond_wait(&e->changed, &e->lock);
    pthread_mutex_unlock(&e->lock);
    return e->status ? hd_err_set(err, e->status, "%s", e->err.text) : HD_OK;
}

void hd_engine_stop(hd_engine *e)
{
    pthread_mutex_lock(&e->lock);
    e->stop = true;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    for (size_t i = 0; i < HD_LANES; i++) { /* the first one starts the others */
        if (e->lane[i].started) pthread_join(e->lane[i].thread, NULL);
        e->lane[i].started = false;
    }
    while (e->queue.first)
        hd_lane_end(&e->lane[0], hd_lane_take(&e->lane[0], e->queue.first), HD_JOB_STOPPED);
    for (size_t i = 0; i < HD_LANES; i++) hd_lane_stop(&e->lane[i]);
}

void hd_engine_free(hd_engine *e)
{
    if (!e) return;
    hd_engine_stop(e);
    for (size_t i = 1; i < HD_LANES; i++) hd_lane_close(&e->lane[i]);
    hd_model_folder_release(&e->model); /* before the backend it was opened with */
    hd_lane_close(&e->lane[0]);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->changed);
    hd_mem_free(e);
}

void hd_engine_hold(hd_engine *e)
{
    atomic_fetch_add(&e->holders, 1);
}

void hd_engine_drop(hd_engine *e)
{
    atomic_fetch_sub(&e->holders, 1);
}

bool hd_engine_held(const hd_engine *e)
{
    return atomic_load(&e->holders);
}

const char *hd_engine_name(const hd_engine *e)
{
    return e->opt.name;
}

const hd_model_folder *hd_engine_model(const hd_engine *e)
{
    return &e->model;
}

const hd_engine_opt *hd_engine_options(const hd_engine *e)
{
    return &e->opt;
}

const hd_backend *hd_engine_backend(const hd_engine *e)
{
    return e->lane[0].backend;
}

bool hd_engine_on_cpu(const hd_engine *e)
{
    return !strcmp(hd_engine_backend(e)->name, "cpu");
}

bool hd_engine_takes(const hd_engine *e, hd_job_kind kind)
{
    return e->lane[0].worker[kind].type;
}

/* Seconds until what waits is done, by what was done so far. */
static double seconds_left(const hd_engine *e)
{
    const hd_engine_load *l = &e->load;
    double rate = l->busy > 0 ? (double)l->tokens * (double)e->lanes / l->busy : 0;
    double seconds = rate > 0 ? ceil((double)l->waiting_tokens / rate) : 1;
    return seconds < 1 ? 1 : seconds > 60 ? 60 : seconds;
}

bool hd_engine_submit(hd_engine *e, hd_job *j, double *retry)
{
    pthread_mutex_lock(&e->lock);
    bool fits = !e->stop && (!e->load.waiting || e->load.waiting_tokens + j->tokens <= e->opt.queue_tokens);
    if (fits) {
        j->submitted = hd_seconds();
        hd_queue_add(&e->queue, j);
        e->load.waiting++, e->load.waiting_tokens += j->tokens;
        pthread_cond_broadcast(&e->changed); /* one of the lanes may not take it */
    } else {
        e->load.refused++;
        *retry = seconds_left(e);
    }
    pthread_mutex_unlock(&e->lock);
    return fits;
}

hd_engine_load hd_engine_now(hd_engine *e)
{
    pthread_mutex_lock(&e->lock);
    hd_engine_load l = e->load;
    pthread_mutex_unlock(&e->lock);
    return l;
}
