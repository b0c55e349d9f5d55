/* A model with a thread of its own. The lock guards the queue and the counters; the model, its run and the
   worker are the thread's. */
#include "serve/engine/engine.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/system/clock.h"
#include "serve/cage.h"
#include "serve/engine/queue.h"
#include "serve/engine/worker.h"

struct hd_engine {
    hd_engine_opt opt;
    hd_backend *backend;
    hd_run run, aside;   /* aside: of visits, while the worker's goes on; opened by the first */
    double rested, rest; /* of a visit: when others had a turn, and for how long altogether */
    hd_model_folder model;
    struct {
        const hd_worker_type *type; /* NULL: the engine takes no such jobs */
        void *at;
        size_t jobs; /* that it has; the thread's */
    } worker[HD_JOB_KINDS];

    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool started, opened, stop;
    hd_status status; /* of opening */
    hd_err err;
    hd_queue queue; /* jobs that wait */
    double swept;   /* when jobs that nobody waits for were last looked for */
    hd_engine_load load;
    atomic_size_t holders;
};

static const struct {
    hd_train_task task;
    const hd_worker_type *type;
} workers[] = {
#define X(TASK, name) {HD_TRAIN_##TASK, &hd_worker_##name},
    HD_WORKER_LIST(X)
#undef X
};

enum { WORKERS = sizeof workers / sizeof *workers };

/* -- the thread -- */

static void end_job(void *context, hd_job *j, hd_job_end end)
{
    hd_engine *e = context;
    e->worker[j->kind].jobs -= !j->visit;
    pthread_mutex_lock(&e->lock);
    e->load.running--;
    e->load.jobs[end]++;
    if (end == HD_JOB_DONE) e->load.tokens += j->tokens;
    pthread_mutex_unlock(&e->lock);
    j->end = end;
    j->done(j);
}

/* All workers that the model can have. */
static hd_status open_workers(hd_engine *e, hd_err *err)
{
    const hd_worker_use use = {&e->run, &e->model, &e->opt, end_job, e};
    bool some = false;
    for (int i = 0; i < WORKERS; i++) {
        const hd_worker_type *t = workers[i].type;
        hd_err why = {0};
        if (workers[i].task != e->model.task->id) continue;
        hd_status s = t->open(&e->worker[t->kind].at, &use, &why);
        if (s && s != HD_EARG) return hd_err_set(err, s, "%s", why.text);
        if (!s) e->worker[t->kind].type = t, some = true;
    }
    return some ? HD_OK
                : hd_err_set(err, HD_EARG, "%s: a model for '%s' cannot be served", e->opt.folder,
                             e->model.task->name);
}

static hd_status open_model(hd_engine *e, hd_err *err)
{
    const hd_engine_opt *o = &e->opt;
    const hd_backend_opt opt = {.threads = o->threads, .precision = o->precision, .log = &o->log};
    hd_status s = hd_backend_new(&e->backend, o->device, &opt, err);
    if (!s) s = hd_run_init(&e->run, e->backend, err);
    if (!s) s = hd_model_folder_open(&e->model, o->folder, NULL, e->backend, o->weights, err);
    return s ? s : open_workers(e, err);
}

static void close_model(hd_engine *e)
{
    hd_model_folder_release(&e->model);
    if (e->aside.backend) hd_run_release(&e->aside);
    if (e->run.backend) hd_run_release(&e->run);
    hd_backend_free(e->backend);
}

/* Takes the job that *at points to out of the queue, with the lock held. */
static hd_job *take_out(hd_engine *e, hd_job **at)
{
    hd_job *j = hd_queue_take(&e->queue, at);
    e->load.waiting--, e->load.running++;
    e->worker[j->kind].jobs += !j->visit;
    e->load.waiting_tokens -= j->tokens;
    hd_histogram_add(&e->load.waited, HD_SECONDS_LEAST, hd_seconds() - j->submitted);
    return j;
}

/* The next job, with the lock held; NULL: none waits. */
static hd_job *next_job(hd_engine *e)
{
    return e->queue.first ? take_out(e, &e->queue.first) : NULL;
}

bool hd_job_over(const hd_job *j)
{
    return (j->cancel && atomic_load(j->cancel)) || (j->deadline > 0 && hd_seconds() > j->deadline);
}

static void end_over(hd_engine *e, hd_job *j)
{
    end_job(e, j, j->cancel && atomic_load(j->cancel) ? HD_JOB_CANCELED : HD_JOB_LATE);
}

static void visit(hd_engine *e, hd_job *j)
{
    double from = hd_seconds();
    e->rested = from, e->rest = 0;
    hd_status s = e->aside.backend ? HD_OK : hd_run_init(&e->aside, e->backend, &j->err);
    j->visited = e;
    if (!s) s = j->visit(j, &e->aside, &e->model, &j->err);
    double seconds = hd_seconds() - from - e->rest;
    pthread_mutex_lock(&e->lock);
    e->load.busy += seconds;
    bool stop = e->stop;
    pthread_mutex_unlock(&e->lock);
    if (s && hd_job_over(j))
        end_over(e, j);
    else
        end_job(e, j, !s ? HD_JOB_DONE : stop ? HD_JOB_STOPPED : HD_JOB_FAILED);
}

static void begin_job(hd_engine *e, hd_job *j)
{
    if (hd_job_over(j))
        end_over(e, j);
    else if (j->visit)
        visit(e, j);
    else
        e->worker[j->kind].type->take(e->worker[j->kind].at, j);
}

/* The next job can join, with the lock held. */
static bool has_room(const hd_engine *e)
{
    const hd_job *j = e->queue.first;
    return j && (j->visit || e->worker[j->kind].type->has_room(e->worker[j->kind].at));
}

/* Ends jobs of the queue that nobody waits for, now and then. */
static void sweep(hd_engine *e)
{
    const double often = 0.03;
    double now = hd_seconds();
    hd_job *out = NULL;
    if (now - e->swept < often) return;
    e->swept = now;
    pthread_mutex_lock(&e->lock);
    for (hd_job **at = &e->queue.first; *at;) {
        if (!hd_job_over(*at)) {
            at = &(*at)->next;
            continue;
        }
        hd_job *j = take_out(e, at);
        j->next = out, out = j;
    }
    pthread_mutex_unlock(&e->lock);
    for (hd_job *next; out; out = next) next = out->next, end_over(e, out);
}

/* False: all jobs wait for others. */
static bool turn(hd_engine *e, size_t running)
{
    double from = hd_seconds();
    bool some = false;
    for (int i = 0; i < HD_JOB_KINDS; i++)
        if (e->worker[i].jobs) some = e->worker[i].type->turn(e->worker[i].at) || some;
    double seconds = hd_seconds() - from;
    pthread_mutex_lock(&e->lock);
    e->load.busy += seconds;
    if (some) hd_histogram_add(&e->load.batch, 1, (double)running);
    pthread_mutex_unlock(&e->lock);
    sweep(e);
    return some;
}

/* Until a job comes or some milliseconds are over, with the lock held. */
static void wait_briefly(hd_engine *e)
{
    enum { WAIT_MS = 5, SECOND = 1000000000 };
    struct timespec to;
    clock_gettime(CLOCK_REALTIME, &to);
    to.tv_nsec += WAIT_MS * 1000000;
    if (to.tv_nsec >= SECOND) to.tv_sec++, to.tv_nsec -= SECOND;
    if (!e->stop && !has_room(e)) pthread_cond_timedwait(&e->changed, &e->lock, &to);
}

/* What waits joins, and all that are there have a turn. */
static void let_others(hd_engine *e)
{
    size_t jobs = 0;
    pthread_mutex_lock(&e->lock);
    for (hd_job *j; !e->stop && has_room(e) && !e->queue.first->visit;) {
        j = next_job(e);
        pthread_mutex_unlock(&e->lock);
        begin_job(e, j);
        pthread_mutex_lock(&e->lock);
    }
    size_t running = e->load.running;
    for (int i = 0; i < HD_JOB_KINDS; i++) jobs += e->worker[i].jobs;
    pthread_mutex_unlock(&e->lock);
    if (jobs) turn(e, running);
}

bool hd_job_rests(hd_job *j)
{
    const double often = 0.02; /* seconds that others wait for a visit, about */
    hd_engine *e = j->visited;
    double now = hd_seconds();
    if (now - e->rested >= often) {
        let_others(e);
        e->rested = hd_seconds();
        e->rest += e->rested - now;
    }
    pthread_mutex_lock(&e->lock);
    bool stop = e->stop;
    pthread_mutex_unlock(&e->lock);
    return stop || hd_job_over(j);
}

static void *work(void *context)
{
    hd_engine *e = context;
    hd_err err = {0};
    hd_status s = open_model(e, &err);
    if (!s && e->opt.cage && hd_engine_on_cpu(e)) hd_cage_files(&e->opt.folder, 1, &e->opt.log);
    pthread_mutex_lock(&e->lock);
    e->opened = true, e->status = s, e->err = err;
    pthread_cond_broadcast(&e->changed);
    while (!s && !e->stop) {
        hd_job *j = has_room(e) ? next_job(e) : NULL;
        size_t running = e->load.running;
        if (!j && !running) {
            pthread_cond_wait(&e->changed, &e->lock);
            continue;
        }
        pthread_mutex_unlock(&e->lock);
        const bool visits = j && j->visit; /* which are not to keep the others waiting, however many come */
        if (j) begin_job(e, j);
        const bool idle = (!j || (visits && running > 1)) && !turn(e, running);
        pthread_mutex_lock(&e->lock);
        if (idle) wait_briefly(e);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* -- from outside -- */

hd_status hd_engine_new(hd_engine **out, const hd_engine_opt *opt, hd_err *err)
{
    hd_engine *e = hd_mem_zero(sizeof *e);
    if (!e) return hd_err_nomem(err, sizeof *e);
    e->opt = *opt;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
    e->started = !pthread_create(&e->thread, NULL, work, e);
    if (!e->started) return hd_engine_free(e), hd_err_set(err, HD_ELIMIT, "a thread cannot be started");
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
    if (e->started) pthread_join(e->thread, NULL);
    e->started = false;
    for (hd_job *j; (j = next_job(e));) end_job(e, j, HD_JOB_STOPPED);
    for (int i = 0; i < HD_JOB_KINDS; i++) {
        if (e->worker[i].type) e->worker[i].type->free(e->worker[i].at);
        e->worker[i].at = NULL;
    }
}

void hd_engine_free(hd_engine *e)
{
    if (!e) return;
    hd_engine_stop(e);
    close_model(e);
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

bool hd_engine_on_cpu(const hd_engine *e)
{
    return !strcmp(e->backend->name, "cpu");
}

bool hd_engine_takes(const hd_engine *e, hd_job_kind kind)
{
    return e->worker[kind].type;
}

/* Seconds until what waits is done, by what was done so far. */
static double seconds_left(const hd_engine_load *l)
{
    double rate = l->busy > 0 ? (double)l->tokens / l->busy : 0;
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
        pthread_cond_signal(&e->changed);
    } else {
        e->load.refused++;
        *retry = seconds_left(&e->load);
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
