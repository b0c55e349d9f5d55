/* Translators: lines of all jobs that are there are searched side by side. */
#include <string.h>

#include "base/mem.h"
#include "base/system/clock.h"
#include "serve/engine/worker.h"

typedef struct translating {
    hd_worker_use use;
    hd_translate_job *first; /* those that are to be done in the next turn */
} translating;

static hd_status open_worker(void **out, const hd_worker_use *use, hd_err *err)
{
    translating *w = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    w->use = *use;
    *out = w;
    return HD_OK;
}

static bool has_room(const void *worker)
{
    const translating *w = worker;
    return !w->first;
}

static void take(void *worker, hd_job *j)
{
    translating *w = worker;
    w->first = (hd_translate_job *)j;
}

static void turn(void *worker)
{
    translating *w = worker;
    hd_translate_job *t = w->first;
    hd_translate_opt opt = w->use.opt->translate;
    w->first = NULL;
    opt.search.best = t->best;
    hd_status s =
        hd_translate(&t->found, w->use.run, w->use.model, t->line, NULL, t->lines, &opt, &t->job.err);
    w->use.end(w->use.context, &t->job, s ? HD_JOB_FAILED : HD_JOB_DONE);
}

static void free_worker(void *worker)
{
    translating *w = worker;
    if (w && w->first) w->use.end(w->use.context, &w->first->job, HD_JOB_STOPPED);
    hd_mem_free(w);
}

const hd_worker_type hd_worker_translating = {open_worker, has_room, take, turn, free_worker};
