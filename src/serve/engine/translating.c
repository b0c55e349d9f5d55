/* Translators: sentences of all jobs are searched side by side, and join as others are done. Jobs take turns
   in handing in sentences, so that a long text does not keep a short one waiting. */
#include <string.h>

#include "base/mem.h"
#include "base/system/clock.h"
#include "decode/stream/stream.h"
#include "model/stepper.h"
#include "serve/engine/worker.h"

enum { HUNGRY_MOST = 64, FEED = 64 }; /* jobs that have sentences to hand in; sentences handed in at once */

typedef struct running running;

typedef struct part { /* what the stream knows a sentence by */
    running *of;
    size_t number;
} part;

struct running {
    hd_translate_job *job;
    hd_translate_opt opt;
    hd_translating *text;
    part *part; /* [parts] */
    size_t parts, fed, done;
    bool over; /* nobody waits for it: its sentences are to be dropped */
    running *next;
};

typedef struct translating {
    hd_worker_use use;
    hd_stream *stream;
    running *first; /* the one whose turn it is to hand in a sentence */
    running **last;
    size_t jobs, hungry; /* all; those that have sentences to hand in */
    hd_err err;          /* that a sentence could not be taken */
} translating;

/* -- jobs -- */

/* The job that *at points to. */
static void end_job(translating *w, running **at, hd_job_end end)
{
    running *r = *at;
    hd_translate_job *j = r->job;
    *at = r->next;
    if (!r->next) w->last = at;
    w->jobs--;
    w->hungry -= r->fed < r->parts;
    hd_translating_free(r->text);
    hd_mem_free(r->part);
    hd_mem_free(r);
    w->use.end(w->use.context, &j->job, end);
}

static void take_found(void *context, void *tag, const hd_found *found)
{
    translating *w = context;
    part *p = tag;
    running *r = p->of;
    if (!w->err.status) hd_translating_take(r->text, p->number, found, &w->err);
    r->done++;
}

static bool is_over(const void *tag)
{
    return ((const part *)tag)->of->over;
}

/* -- the stream -- */

static hd_status open_stream(translating *w, hd_err *err)
{
    const hd_model_folder *f = w->use.model;
    hd_stepper stepper = {0};
    int32_t banned[3];
    hd_search_opt o = hd_translate_search(f, &w->use.opt->translate, banned);
    hd_status s = hd_encdec_stepper(&stepper, hd_model_folder_encdec(f), NULL, NULL, 0,
                                    hd_tokenizer_special(f->tokenizer[1]).start, err);
    if (!s) s = hd_stream_new(&w->stream, w->use.run, &stepper, &o, take_found, w, err);
    if (s) hd_stepper_release(&stepper);
    return s;
}

/* Nothing that was being computed can go on: all jobs fail, and there is a new stream for those to come. */
static void fail_all(translating *w, const hd_err *why)
{
    hd_err later = {0};
    hd_stream_free(w->stream);
    w->stream = NULL;
    while (w->first) {
        w->first->job->job.err = *why;
        end_job(w, &w->first, HD_JOB_FAILED);
    }
    open_stream(w, &later);
}

/* The first job's next sentences, at most `room`, then it is the next one's turn. */
static hd_status feed_one(translating *w, size_t room, size_t *fed, hd_err *err)
{
    running *r = w->first;
    int32_t len[FEED];
    void *tag[FEED];
    hd_ids ids = {0};
    hd_status s = HD_OK;
    size_t n = 0;
    for (; !s && n < room && n < FEED && r->fed + n < r->parts; n++) {
        size_t size;
        const int32_t *source = hd_translating_source(r->text, r->fed + n, &size);
        s = hd_ids_reserve(&ids, size, err);
        if (s) break;
        memcpy(ids.at + ids.count, source, size * sizeof *source);
        ids.count += size, len[n] = (int32_t)size, tag[n] = &r->part[r->fed + n];
    }
    if (!s && n) s = hd_stream_add(w->stream, ids.at, len, tag, n, r->job->best, err);
    hd_ids_release(&ids);
    if (s) return s;
    r->fed += n, *fed += n;
    w->hungry -= n && r->fed == r->parts;
    if (r->next) {
        w->first = r->next, r->next = NULL;
        *w->last = r;
        w->last = &r->next;
    }
    return HD_OK;
}

/* As many sentences as may soon have seats, a few of each job in turn. */
static hd_status feed(translating *w, hd_err *err)
{
    enum { EACH = 8 };
    hd_status s = HD_OK;
    size_t most = hd_stream_most(w->stream);
    for (size_t looked = 0; !s && looked < w->jobs;) {
        size_t waiting = hd_stream_waiting(w->stream), fed = 0;
        if (waiting >= most) break;
        s = feed_one(w, most - waiting < EACH ? most - waiting : EACH, &fed, err);
        looked = fed ? 0 : looked + 1;
    }
    return s;
}

/* -- the worker -- */

static hd_status open_worker(void **out, const hd_worker_use *use, hd_err *err)
{
    translating *w = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    w->use = *use;
    w->last = &w->first;
    hd_status s = open_stream(w, err);
    if (s)
        hd_mem_free(w);
    else
        *out = w;
    return s;
}

/* Jobs beyond those that soon have seats wait in the queue, which is bounded and fair. */
static bool has_room(const void *worker)
{
    return ((const translating *)worker)->hungry < HUNGRY_MOST;
}

static hd_status begin_job(translating *w, hd_translate_job *j, hd_err *err)
{
    running *r = hd_mem_zero(sizeof *r);
    if (!r) return hd_err_nomem(err, sizeof *r);
    r->job = j, r->opt = w->use.opt->translate;
    r->opt.search.best = j->best;
    hd_status s = hd_translating_new(&r->text, w->use.model, j->line, NULL, j->lines, &r->opt, err);
    r->parts = s ? 0 : hd_translating_parts(r->text);
    r->part = s ? NULL : hd_mem_array(r->parts, sizeof *r->part);
    if (!s && !r->part) s = hd_err_nomem(err, r->parts * sizeof *r->part);
    if (s) {
        hd_translating_free(r->text);
        hd_mem_free(r);
        return s;
    }
    for (size_t i = 0; i < r->parts; i++) r->part[i] = (part){r, i};
    *w->last = r;
    w->last = &r->next;
    w->jobs++;
    w->hungry += r->parts > 0;
    return HD_OK;
}

static void take(void *worker, hd_job *job)
{
    translating *w = worker;
    hd_translate_job *j = (hd_translate_job *)job;
    size_t beam = w->use.opt->translate.search.beam;
    hd_status s = w->stream ? HD_OK : open_stream(w, &job->err);
    if (!s && j->best > beam)
        s = hd_err_set(&job->err, HD_EARG, "%zu translations are more than the beam of %zu", j->best, beam);
    if (!s) s = begin_job(w, j, &job->err);
    if (s) w->use.end(w->use.context, job, HD_JOB_FAILED);
}

/* Jobs that are complete, or that nobody waits for. */
static void end_jobs(translating *w)
{
    double now = hd_seconds();
    bool some = false;
    for (running **at = &w->first; *at; at = &(*at)->next) {
        const hd_job *j = &(*at)->job->job;
        bool late = j->deadline > 0 && now > j->deadline, left = j->cancel && atomic_load(j->cancel);
        (*at)->over = late || left;
        some = some || (*at)->over;
    }
    if (some) hd_stream_drop(w->stream, is_over);
    for (running **at = &w->first; *at;) {
        running *r = *at;
        hd_translate_job *j = r->job;
        if (r->over)
            end_job(w, at, j->job.cancel && atomic_load(j->job.cancel) ? HD_JOB_CANCELED : HD_JOB_LATE);
        else if (r->done == r->parts)
            end_job(w, at, hd_translating_end(&j->found, r->text, &j->job.err) ? HD_JOB_FAILED : HD_JOB_DONE);
        else
            at = &r->next;
    }
}

static bool turn(void *worker)
{
    translating *w = worker;
    hd_err err = {0};
    end_jobs(w);
    hd_status s = w->first ? feed(w, &err) : HD_OK;
    if (!s && hd_stream_count(w->stream)) s = hd_stream_turn(w->stream, &err);
    if (!s && w->err.status) s = w->err.status, err = w->err;
    w->err = (hd_err){0};
    if (s)
        fail_all(w, &err);
    else
        end_jobs(w);
    return true;
}

static void free_worker(void *worker)
{
    translating *w = worker;
    if (!w) return;
    hd_stream_free(w->stream);
    while (w->first) end_job(w, &w->first, HD_JOB_STOPPED);
    hd_mem_free(w);
}

const hd_worker_type hd_worker_translating = {HD_JOB_TRANSLATE, open_worker, has_room, take, turn,
                                              free_worker};
