/* Lanes. Easy to get wrong: a lane that took all there is would leave others idle, so it takes a job only
   while no other lane has less to do, and leaves jobs in the queue that would only make its steps longer:
   they go to whichever lane is done first, which the lanes' speeds decide. */
#include "serve/engine/lane.h"

#include <math.h>
#include <time.h>

#include "base/system/clock.h"
#include "base/system/team_share.h"
#include "serve/cage.h"

static const struct {
    hd_train_task task;
    const hd_worker_type *type;
} workers[] = {
#define X(TASK, name) {HD_TRAIN_##TASK, &hd_worker_##name},
    HD_WORKER_LIST(X)
#undef X
};

enum { WORKERS = sizeof workers / sizeof *workers };

/* -- opening -- */

/* All workers that the model can have. */
static hd_status open_workers(hd_lane *l, hd_err *err)
{
    const hd_engine *e = l->engine;
    const hd_worker_use use = {&l->run, &e->model, &l->opt, hd_lane_end, l};
    bool some = false;
    for (int i = 0; i < WORKERS; i++) {
        const hd_worker_type *t = workers[i].type;
        hd_err why = {0};
        if (workers[i].task != e->model.task->id) continue;
        hd_status s = t->open(&l->worker[t->kind].at, &use, &why);
        if (s && s != HD_EARG) return hd_err_set(err, s, "%s", why.text);
        if (!s) l->worker[t->kind].type = t, some = true;
    }
    return some ? HD_OK
                : hd_err_set(err, HD_EARG, "%s: a model for '%s' cannot be served", e->opt.folder,
                             e->model.task->name);
}

static hd_status open_backend(hd_lane *l, hd_err *err)
{
    const hd_engine_opt *o = &l->engine->opt;
    const hd_backend_opt opt = {.threads = o->threads, .precision = o->precision, .log = &o->log};
    hd_status s = hd_backend_new(&l->backend, o->device, &opt, err);
    return s ? s : hd_run_init(&l->run, l->backend, err);
}

/* A translator whose weights stay in caches has a lane for each thread: with few rows of few columns threads
   would mostly wait for each other, and more rows would not stay in a cache. Weights that come from memory
   are better read once for all, and a card computes one step at a time. */
static size_t lanes_for(const hd_engine *e, size_t *seats, size_t *crew)
{
    /* bytes of weights; seats of each thread, unless told otherwise; seats beyond which a sentence
       had better wait for a moment than make the steps of all others longer: docs/benchmarks.md, Serving */
    enum { SMALL = 16 << 20, SEATS = 60, CREW = 30 };
    const hd_translate_opt *o = &e->opt.translate;
    const hd_backend *b = e->lane[0].backend;
    *seats = o->batch, *crew = SIZE_MAX;
    if (e->model.task->id != HD_TRAIN_TRANSLATE || !b->team ||
        hd_params_size(&hd_model_folder_encdec(&e->model)->params) * hd_dtype_bytes(b->weights) > SMALL)
        return 1;
    const size_t threads = (size_t)hd_team_all(b->team), beam = o->search.beam ? o->search.beam : 1,
                 side = o->batch ? o->batch / beam : threads;
    size_t lanes = threads < HD_LANES ? threads : HD_LANES;
    if (side < lanes) lanes = side ? side : 1;
    *seats = o->batch ? o->batch / lanes : SEATS * threads / lanes;
    if (lanes > 1) *crew = (CREW + beam - 1) / beam;
    return lanes;
}

hd_status hd_lanes_open(hd_engine *e, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0, n = 1, seats = 0, crew = 0; !s && i < n; i++) {
        hd_lane *l = &e->lane[i];
        s = open_backend(l, err);
        if (!s && !i)
            s = hd_model_folder_open(&e->model, e->opt.folder, NULL, l->backend, e->opt.weights, err);
        if (!s && !i) n = lanes_for(e, &seats, &crew);
        l->opt.translate.batch = seats, l->crew = crew;
        if (!s) s = open_workers(l, err);
        e->lanes = i + 1;
    }
    return s;
}

void hd_lane_close(hd_lane *l)
{
    if (l->aside.backend) hd_run_release(&l->aside);
    if (l->run.backend) hd_run_release(&l->run);
    hd_backend_free(l->backend);
}

/* -- jobs -- */

hd_job *hd_lane_take(hd_lane *l, hd_job *j)
{
    hd_engine *e = l->engine;
    hd_queue_take(&e->queue, j);
    e->load.waiting--, e->load.running++;
    l->jobs++, l->tokens += j->tokens;
    l->worker[j->kind].jobs += !j->visit;
    e->load.waiting_tokens -= j->tokens;
    j->taken = hd_seconds();
    hd_histogram_add(&e->load.waited, HD_SECONDS_LEAST, j->taken - j->submitted);
    return j;
}

void hd_lane_end(void *lane, hd_job *j, hd_job_end end)
{
    hd_lane *l = lane;
    hd_engine *e = l->engine;
    l->worker[j->kind].jobs -= !j->visit;
    pthread_mutex_lock(&e->lock);
    l->jobs--, l->tokens -= j->tokens;
    e->load.running--;
    e->load.jobs[end]++;
    if (end == HD_JOB_DONE) {
        const double took = hd_seconds() - j->taken, share = 1 / 32.0;
        e->load.tokens += j->tokens;
        e->usual += share * (took - e->usual);
    }
    /* others may have waited for this lane to take what comes next */
    if (e->lanes > 1 && e->queue.first) pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    j->end = end;
    j->done(j);
}

bool hd_job_over(const hd_job *j)
{
    return (j->cancel && atomic_load(j->cancel)) || (j->deadline > 0 && hd_seconds() > j->deadline);
}

static void end_over(hd_lane *l, hd_job *j)
{
    hd_lane_end(l, j, j->cancel && atomic_load(j->cancel) ? HD_JOB_CANCELED : HD_JOB_LATE);
}

static void visit(hd_lane *l, hd_job *j)
{
    hd_engine *e = l->engine;
    double from = hd_seconds();
    l->rested = from, l->rest = 0;
    hd_status s = l->aside.backend ? HD_OK : hd_run_init(&l->aside, l->backend, &j->err);
    j->visited = l;
    if (!s) s = j->visit(j, &l->aside, &e->model, &j->err);
    double seconds = hd_seconds() - from - l->rest;
    pthread_mutex_lock(&e->lock);
    e->load.busy += seconds;
    bool stop = e->stop;
    pthread_mutex_unlock(&e->lock);
    if (s && hd_job_over(j))
        end_over(l, j);
    else
        hd_lane_end(l, j, !s ? HD_JOB_DONE : stop ? HD_JOB_STOPPED : HD_JOB_FAILED);
}

static void begin_job(hd_lane *l, hd_job *j)
{
    if (hd_job_over(j))
        end_over(l, j);
    else if (j->visit)
        visit(l, j);
    else
        l->worker[j->kind].type->take(l->worker[j->kind].at, j);
}

/* Whether it should have more than it has. Where jobs wait for four times as long as they take, the queue
   is not one of a moment: more of them at once are computed in less time, though each takes longer. And what
   waits behind long texts takes turns with them. */
static bool has_places(const hd_lane *l, const hd_job *next)
{
    const double patience = fmin(HD_LONG_WAIT, 4 * l->engine->usual);
    return l->jobs < l->crew || hd_seconds() - next->submitted > patience;
}

/* Whether the next job can join here, with the lock held. */
static bool has_room(const hd_lane *l)
{
    const hd_engine *e = l->engine;
    const hd_job *j = e->queue.first;
    if (!j || !has_places(l, j)) return false;
    for (size_t i = 0; i < e->lanes; i++) {
        const hd_lane *other = &e->lane[i];
        if (has_places(other, j) && !other->visited && (l->visited || other->tokens < l->tokens))
            return false;
    }
    return j->visit || l->worker[j->kind].type->has_room(l->worker[j->kind].at);
}

/* Ends jobs of the queue that nobody waits for, now and then. */
static void sweep(hd_lane *l)
{
    const double often = 0.03;
    hd_engine *e = l->engine;
    double now = hd_seconds();
    hd_job *out = NULL;
    pthread_mutex_lock(&e->lock);
    const bool due = now - e->swept >= often;
    if (due) e->swept = now;
    for (hd_job *j = due ? e->queue.first : NULL, *next; j; j = next) {
        next = j->next;
        if (hd_job_over(j)) hd_lane_take(l, j)->next = out, out = j;
    }
    pthread_mutex_unlock(&e->lock);
    for (hd_job *next; out; out = next) next = out->next, end_over(l, out);
}

/* -- turns -- */

/* Its share of the cores, with the lock held. */
static void share_cores(hd_lane *l)
{
    const hd_engine *e = l->engine;
    size_t busy = 0;
    for (size_t i = 0; i < e->lanes; i++) busy += e->lane[i].jobs > 0;
    if (l->backend->team)
        hd_team_use(l->backend->team, hd_team_all(l->backend->team) / (int)(busy ? busy : 1));
}

/* False: all jobs wait for others. */
static bool turn(hd_lane *l, size_t running)
{
    hd_engine *e = l->engine;
    double from = hd_seconds();
    bool some = false;
    for (int i = 0; i < HD_JOB_KINDS; i++)
        if (l->worker[i].jobs) some = l->worker[i].type->turn(l->worker[i].at) || some;
    double seconds = hd_seconds() - from;
    pthread_mutex_lock(&e->lock);
    e->load.busy += seconds;
    if (some) hd_histogram_add(&e->load.batch, 1, (double)running);
    pthread_mutex_unlock(&e->lock);
    sweep(l);
    return some;
}

/* Until a job comes or some milliseconds are over, with the lock held. */
static void wait_briefly(hd_lane *l)
{
    enum { WAIT_MS = 5, SECOND = 1000000000 };
    hd_engine *e = l->engine;
    struct timespec to;
    clock_gettime(CLOCK_REALTIME, &to);
    to.tv_nsec += WAIT_MS * 1000000;
    if (to.tv_nsec >= SECOND) to.tv_sec++, to.tv_nsec -= SECOND;
    if (!e->stop && !has_room(l)) pthread_cond_timedwait(&e->changed, &e->lock, &to);
}

/* What waits joins, and all that are there have a turn. */
static void let_others(hd_lane *l)
{
    hd_engine *e = l->engine;
    size_t jobs = 0;
    pthread_mutex_lock(&e->lock);
    for (hd_job *j; !e->stop && has_room(l) && !e->queue.first->visit;) {
        j = hd_lane_take(l, e->queue.first);
        pthread_mutex_unlock(&e->lock);
        begin_job(l, j);
        pthread_mutex_lock(&e->lock);
    }
    const size_t running = l->jobs;
    share_cores(l);
    pthread_mutex_unlock(&e->lock);
    for (int i = 0; i < HD_JOB_KINDS; i++) jobs += l->worker[i].jobs;
    if (jobs) turn(l, running);
}

bool hd_job_rests(hd_job *j)
{
    const double often = 0.02; /* seconds that others wait for a visit, about */
    hd_lane *l = j->visited;
    double now = hd_seconds();
    if (now - l->rested >= often) {
        let_others(l);
        l->rested = hd_seconds();
        l->rest += l->rested - now;
    }
    pthread_mutex_lock(&l->engine->lock);
    bool stop = l->engine->stop;
    pthread_mutex_unlock(&l->engine->lock);
    return stop || hd_job_over(j);
}

void *hd_lane_work(void *lane)
{
    hd_lane *l = lane;
    hd_engine *e = l->engine;
    if (e->opt.cage && hd_engine_on_cpu(e))
        hd_cage_files(&e->opt.folder, 1, l == e->lane ? &e->opt.log : &(hd_log){0});
    pthread_mutex_lock(&e->lock);
    while (!e->stop) {
        hd_job *j = has_room(l) ? hd_lane_take(l, e->queue.first) : NULL;
        const size_t running = l->jobs;
        l->visited = j && j->visit;
        if (!running) {
            pthread_cond_wait(&e->changed, &e->lock);
            continue;
        }
        share_cores(l);
        pthread_mutex_unlock(&e->lock);
        const bool visits = j && j->visit; /* which are not to keep the others waiting, however many come */
        if (j) begin_job(l, j);
        const bool idle = (!j || (visits && running > 1)) && !turn(l, running);
        pthread_mutex_lock(&e->lock);
        if (idle) wait_briefly(l);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

void hd_lane_stop(hd_lane *l)
{
    for (int i = 0; i < HD_JOB_KINDS; i++) {
        if (l->worker[i].type) l->worker[i].type->free(l->worker[i].at);
        l->worker[i].at = NULL;
    }
}
