/* Language models: texts of all jobs are continued side by side, and join as others are done. */
#include <string.h>

#include "base/mem.h"
#include "base/system/clock.h"
#include "serve/engine/worker.h"
#include "task/language/chat/form.h"
#include "task/language/writer.h"

enum { WAITING = 4, PIECE = 64 }; /* jobs that wait for seats; tokens of prompts that are read in a turn */

typedef struct generating generating;

typedef struct running {
    generating *of;
    hd_generate_job *job;
    hd_generation generation; /* what is that of the worker, but for limits */
    hd_generate_opt opt;
    hd_ids chat; /* of a conversation */
    bool written;
    struct running *next;
} running;

struct generating {
    hd_worker_use use;
    hd_writer *writer;
    hd_chat_form form; /* where the model has a template */
    bool chats;
    hd_err no_chat;              /* why it has none */
    hd_generation generation[2]; /* how the model wants texts drawn, and answers */
    running *first, **last;
};

/* -- jobs -- */

static void free_running(running *r)
{
    hd_ids_release(&r->chat);
    hd_mem_free(r);
}

/* The job that *at points to. */
static void end_job(generating *w, running **at, hd_job_end end)
{
    running *r = *at;
    hd_job *j = &r->job->job;
    *at = r->next;
    if (!r->next) w->last = at;
    free_running(r);
    w->use.end(w->use.context, j, end);
}

static void note_written(void *tag)
{
    ((running *)tag)->written = true;
}

static hd_status open_writer(generating *w, hd_err *err)
{
    const hd_lm *m = hd_model_folder_lm(w->use.model);
    size_t seats = w->use.opt->translate.batch ? w->use.opt->translate.batch : HD_GENERATE_SEATS;
    hd_stepper stepper = {0};
    hd_status s = m->type->stepper(&stepper, m, NULL, NULL, 0, 0, err);
    if (!s)
        s = hd_writer_new(&w->writer, w->use.run, w->use.model, &stepper,
                          &(hd_writer_opt){.seats = seats, .piece = PIECE, .share = true, .penalize = true},
                          err);
    if (s) hd_stepper_release(&stepper);
    return s;
}

/* Nothing that was being computed can go on: all jobs fail, and there is a new writer for those to come. */
static void fail_all(generating *w, const hd_err *why)
{
    hd_err later = {0};
    hd_writer_free(w->writer);
    w->writer = NULL;
    while (w->first) {
        w->first->job->job.err = *why;
        end_job(w, &w->first, HD_JOB_FAILED);
    }
    open_writer(w, &later);
}

/* -- what is asked -- */

static hd_status read_messages(generating *w, running *r, hd_err *err)
{
    if (!w->chats) return hd_err_set(err, HD_EARG, "%s", w->no_chat.text);
    r->opt.ids = &r->chat;
    return hd_chat_form_prompt(&w->form, w->use.model->tokenizer[0], r->job->messages,
                               hd_model_folder_lm(w->use.model)->opt.context, &r->chat, &r->opt.tokens, err);
}

static hd_status begin_job(generating *w, running *r, hd_err *err)
{
    hd_generate_job *j = r->job;
    hd_status s = HD_OK;
    r->opt = j->opt;
    r->generation = w->generation[!!j->messages];
    hd_generation_apply(&r->generation, &j->said, &r->opt);
    r->opt.ids = j->ids;
    if (j->messages) s = read_messages(w, r, err);
    if (s) return s;
    const hd_writer_ask ask = {.prompt = j->prompt,
                               .prompts = j->prompts,
                               .opt = &r->opt,
                               .out = j->out,
                               .done = note_written,
                               .tag = r};
    return hd_writer_add(w->writer, &ask, err);
}

/* -- the worker -- */

static void free_worker(void *worker)
{
    generating *w = worker;
    if (!w) return;
    hd_writer_free(w->writer);
    while (w->first) end_job(w, &w->first, HD_JOB_STOPPED);
    for (int i = 0; i < 2; i++) hd_generation_release(&w->generation[i]);
    hd_chat_form_release(&w->form);
    hd_mem_free(w);
}

static hd_status open_worker(void **out, const hd_worker_use *use, hd_err *err)
{
    generating *w = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    w->use = *use;
    w->last = &w->first;
    w->chats = !hd_chat_form_open(&w->form, use->opt->folder, NULL, use->model->tokenizer[0], &w->no_chat);
    hd_status s = open_writer(w, err);
    for (int i = 0; !s && i < 2; i++)
        s = hd_generation_read(&w->generation[i], use->opt->folder, hd_model_folder_lm(use->model)->opt.vocab,
                               err);
    hd_generation_end(&w->generation[1], hd_tokenizer_special(use->model->tokenizer[0]).end);
    if (s)
        free_worker(w);
    else
        *out = w;
    return s;
}

/* Whose turn is next is decided by the queue of the engine: few wait here. */
static bool has_room(const void *worker)
{
    const generating *w = worker;
    return !w->writer || hd_writer_waiting(w->writer) < WAITING;
}

static void take(void *worker, hd_job *job)
{
    generating *w = worker;
    running *r = hd_mem_zero(sizeof *r);
    hd_status s = r ? HD_OK : hd_err_nomem(&job->err, sizeof *r);
    if (!s && !w->writer) s = open_writer(w, &job->err);
    if (!s) {
        *r = (running){.of = w, .job = (hd_generate_job *)job};
        s = begin_job(w, r, &job->err);
    }
    if (s) {
        if (r) free_running(r);
        w->use.end(w->use.context, job, HD_JOB_FAILED);
        return;
    }
    *w->last = r;
    w->last = &r->next;
}

/* Jobs that nobody waits for. */
static void drop_jobs(generating *w)
{
    double now = hd_seconds();
    for (running **at = &w->first; *at;) {
        const hd_job *j = &(*at)->job->job;
        bool left = j->cancel && atomic_load(j->cancel), late = j->deadline > 0 && now > j->deadline;
        if (left || late) {
            hd_writer_drop(w->writer, *at);
            end_job(w, at, left ? HD_JOB_CANCELED : HD_JOB_LATE);
        } else {
            at = &(*at)->next;
        }
    }
}

/* Jobs whose texts are written. */
static void end_jobs(generating *w)
{
    for (running **at = &w->first; *at;) {
        running *r = *at;
        if (r->written)
            end_job(w, at, HD_JOB_DONE);
        else
            at = &r->next;
    }
}

/* Texts whose readers have enough rest; *some: others do not. */
static hd_status let_rest(generating *w, bool *some, hd_err *err)
{
    hd_status s = HD_OK;
    for (running *r = w->first; !s && r; r = r->next) {
        bool rests = r->job->enough && r->job->enough(&r->job->job);
        s = hd_writer_rest(w->writer, r, rests, err);
        *some = *some || !rests;
    }
    return s;
}

static bool turn(void *worker)
{
    generating *w = worker;
    hd_err err = {0};
    bool some = false;
    drop_jobs(w);
    hd_status s = let_rest(w, &some, &err);
    if (!s && some) s = hd_writer_turn(w->writer, &err);
    if (s)
        fail_all(w, &err);
    else
        end_jobs(w);
    return some || !w->first;
}

const hd_worker_type hd_worker_generating = {HD_JOB_GENERATE, open_worker, has_room, take, turn, free_worker};
