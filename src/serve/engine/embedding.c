/* Models whose rows become vectors: lines of all jobs that are there are computed together, packed by tokens.
 */
#include <string.h>

#include "base/mem.h"
#include "serve/engine/packed.h"
#include "show/embed.h"

static const hd_embed_opt how = {.pool = HD_POOLING_AUTO, .cut = true};

static size_t lines_of(const hd_job *j)
{
    return ((const hd_embed_job *)j)->lines;
}

static hd_status open_worker(void **out, const hd_worker_use *use, hd_err *err)
{
    hd_status s = hd_embed_check(use->model, &how, err);
    return s ? s : hd_packed_open(out, use, lines_of, err);
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
        j->read += v->tokens;
        for (size_t k = 0; v->vectors && k < e->width; k++) /* what has no token is a vector of zeros */
            j->vector[i * e->width + k] = (float)v->vector[k];
    }
    return HD_OK;
}

static bool turn(void *worker)
{
    hd_packed *p = worker;
    hd_err err = {0};
    hd_embeddings e = {0};
    size_t n = 0, at = 0;
    hd_line *line = hd_mem_array(p->items, sizeof *line);
    for (hd_job *j = p->first; line && j; j = j->next) {
        hd_embed_job *one = (hd_embed_job *)j;
        memcpy(line + n, one->line, one->lines * sizeof *line);
        n += one->lines;
    }
    hd_status s = line ? hd_embed_lines(&e, p->use.run, p->use.model, line, n, &how, &err)
                       : hd_err_nomem(&err, p->items * sizeof *line);
    while (p->first) {
        hd_embed_job *j = (hd_embed_job *)p->first;
        size_t lines = j->lines;
        if (s) j->job.err = err;
        hd_packed_end_first(p, s || hand_over(j, &e, at) ? HD_JOB_FAILED : HD_JOB_DONE);
        at += lines;
    }
    hd_embeddings_release(&e);
    hd_mem_free(line);
    return true;
}

const hd_worker_type hd_worker_embedding = {HD_JOB_EMBED,   open_worker, hd_packed_has_room,
                                            hd_packed_take, turn,        hd_packed_free};
