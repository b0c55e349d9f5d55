/* Models whose rows become vectors: lines of all jobs that are there are computed together, packed by tokens.
 */
#include <string.h>

#include "base/mem.h"
#include "base/system/clock.h"
#include "serve/engine/worker.h"
#include "show/embed.h"

enum { LINES_MOST = 512 }; /* of a turn, and those of one job more */

typedef struct embedding {
    hd_worker_use use;
    hd_job *first, **last;
    size_t lines;
} embedding;

static const hd_embed_opt how = {.pool = HD_POOLING_AUTO, .cut = true};

static hd_status open_worker(void **out, const hd_worker_use *use, hd_err *err)
{
    hd_status s = hd_embed_check(use->model, &how, err);
    embedding *w = s ? NULL : hd_mem_zero(sizeof *w);
    if (s) return s;
    if (!w) return hd_err_nomem(err, sizeof *w);
    w->use = *use;
    w->last = &w->first;
    *out = w;
    return HD_OK;
}

static bool has_room(const void *worker)
{
    return ((const embedding *)worker)->lines < LINES_MOST;
}

static void take(void *worker, hd_job *j)
{
    embedding *w = worker;
    j->next = NULL;
    *w->last = j;
    w->last = &j->next;
    w->lines += ((hd_embed_job *)j)->lines;
}

/* The first job is done with. */
static void end_first(embedding *w, hd_job_end end)
{
    hd_job *j = w->first;
    w->first = j->next;
    if (!w->first) w->last = &w->first;
    w->lines -= ((hd_embed_job *)j)->lines;
    w->use.end(w->use.context, j, end);
}

/* What was found for the lines of a job, from line `from` on. */
static hd_status hand_over(hd_embed_job *j, const hd_embeddings *e, size_t from)
{
    j->width = e->width;
    j->vector = hd_mem_array(j->lines * e->width, sizeof *j->vector);
    if (!j->vector) return hd_err_nomem(&j->job.err, j->lines * e->width * sizeof *j->vector);
    j->read = 0;
    for (size_t i = 0; i < j->lines; i++) {
        const hd_embedded *v = &e->of[from + i];
        if (v->status) return hd_err_set(&j->job.err, HD_EARG, "input %zu: %s", i, v->why);
        if (!v->vectors) return hd_err_set(&j->job.err, HD_EARG, "input %zu is empty", i);
        j->read += v->tokens;
        for (size_t k = 0; k < e->width; k++) j->vector[i * e->width + k] = (float)v->vector[k];
    }
    return HD_OK;
}

static bool turn(void *worker)
{
    embedding *w = worker;
    hd_err err = {0};
    hd_embeddings e = {0};
    size_t n = 0, jobs = 0, at = 0;
    hd_line *line = hd_mem_array(w->lines, sizeof *line);
    for (hd_job *j = w->first; line && j; j = j->next, jobs++) {
        hd_embed_job *one = (hd_embed_job *)j;
        memcpy(line + n, one->line, one->lines * sizeof *line);
        n += one->lines;
    }
    hd_status s = line ? hd_embed_lines(&e, w->use.run, w->use.model, line, n, &how, &err)
                       : hd_err_nomem(&err, w->lines * sizeof *line);
    for (; jobs; jobs--) {
        hd_embed_job *j = (hd_embed_job *)w->first;
        size_t lines = j->lines;
        if (s) j->job.err = err;
        end_first(w, s || hand_over(j, &e, at) ? HD_JOB_FAILED : HD_JOB_DONE);
        at += lines;
    }
    hd_embeddings_release(&e);
    hd_mem_free(line);
    return true;
}

static void free_worker(void *worker)
{
    embedding *w = worker;
    while (w && w->first) end_first(w, HD_JOB_STOPPED);
    hd_mem_free(w);
}

const hd_worker_type hd_worker_embedding = {HD_JOB_EMBED, open_worker, has_room, take, turn, free_worker};
