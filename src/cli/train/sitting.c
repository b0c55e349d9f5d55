/* A sitting of `heed train`. */
#include "cli/train/sitting.h"

#include <signal.h>

#include "cli/frame/signals.h"
#include "cli/train/folder.h"
#include "cli/train/plan.h"
#include "cli/train/progress.h"
#include "cli/train/recipe.h"
#include "run/session.h"
#include "task/list.h"

bool hd_train_stopped(void)
{
    return hd_signals_noted();
}

/* Of several processes only some may have got the signal; the others end as if by the usual one. */
int hd_train_stop_status(void)
{
    int number = hd_signals_noted();
    return HD_EXIT_SIGNAL + (number ? number : SIGTERM);
}

static bool is_stopped(void *context)
{
    (void)context;
    hd_signals_note(); /* who asks will save */
    return hd_signals_noted();
}

typedef struct sitting {
    const hd_train_options *options;
    hd_train_progress progress;
} sitting;

static void tell(void *context, const hd_news *n)
{
    sitting *s = context;
    hd_train_progress_tell(&s->progress, n);
}

/* What is counted has nothing to save until it is done; what learns can be saved from the beginning. */
static hd_status open_folder(void *context, hd_err *err)
{
    const hd_train_options *o = ((const sitting *)context)->options;
    if (o->task != HD_TRAIN_LM || o->model != HD_LM_ngram) hd_signals_note();
    return hd_train_folder_open(o, err);
}

static void began(void *context, const hd_plan *p)
{
    hd_train_plan_say(((const sitting *)context)->progress.command, p);
}

static void say_judged(const hd_command *c, const hd_task *task, const hd_outcome *out)
{
    char a[32];
    hd_text t = {0};
    for (const hd_figure *f = out->figure; f < out->figure + HD_FIGURES && f->name; f++)
        hd_figure_put(&t, f, t.size ? ", " : "");
    hd_log_say(&c->log, HD_INFO, "held out: %s of %s %s", t.data ? t.data : "", hd_grouped(out->judged, a),
               task->judged);
    hd_text_release(&t);
}

static void say_ending(const hd_command *c, const hd_task *task, const hd_outcome *out)
{
    static const char *const why[] = {[HD_ENDED_STEPS] = "finished: reached --steps",
                                      [HD_ENDED_EPOCHS] = "finished: reached --epochs",
                                      [HD_ENDED_MINUTES] = "ended: reached --minutes",
                                      [HD_ENDED_PATIENCE] = "finished: no new best model within --patience",
                                      [HD_ENDED_STOPPED] = "stopped"};
    const hd_progress *p = &out->progress;
    char a[32], b[32];
    hd_log_say(&c->log, HD_INFO, "%s (%s updates, %s %s)%s", why[out->ending], hd_grouped(p->step, a),
               hd_grouped(p->tokens, b), task->unit,
               out->ending != HD_ENDED_STOPPED ? ""
               : p->broken                     ? "; saved up to the last finite gradient"
                                               : "; everything is saved");
}

/* Says why it ended, and what can be done now; returns the exit status. */
static int end(const hd_command *c, const hd_train_options *o, const hd_task *task, const hd_outcome *out)
{
    bool stopped = !out->counted && out->ending == HD_ENDED_STOPPED;
    char a[32];
    if (out->counted)
        hd_log_say(&c->log, HD_INFO, "%s different n-grams counted in %.2f s", hd_grouped(out->counted, a),
                   out->seconds);
    if (out->judged) say_judged(c, task, out);
    if (!out->counted) say_ending(c, task, out);
    if (stopped)
        hd_log_say(&c->log, HD_INFO, "continue with: heed train --resume --out %s", o->out);
    else
        hd_log_say(&c->log, HD_INFO, "the model is in %s: heed %s %s %s", o->out, task->verb, o->out,
                   task->with);
    return stopped ? hd_train_stop_status() : HD_EXIT_OK;
}

int hd_train_sit(const hd_command *c, const hd_train_options *o, const hd_given *given)
{
    const hd_task *task = hd_tasks[o->task];
    sitting now = {.options = o,
                   .progress = {.command = c,
                                .task = task,
                                .steps = (uint64_t)o->steps,
                                .epochs = (uint64_t)o->epochs,
                                .warmup = (uint64_t)o->warmup,
                                .peak = o->lr}};
    hd_session_hooks hooks = {.threads = c->common.threads,
                              .log = c->log,
                              .open = open_folder,
                              .began = began,
                              .stop = is_stopped,
                              .tell = tell,
                              .context = &now};
    hd_outcome out;
    hd_plan plan;
    hd_err err = {0};
    if (task->check(o, &err)) return hd_verb_misused(c->verb, &err);
    if (o->dry_run) {
        if (hd_session_plan(&plan, task, o, &hooks, &err)) return hd_command_fail(c, &err);
        if (hd_train_recipe_show(c, o, given, &err)) return hd_command_fail(c, &err);
        hd_train_plan_show(c, o, task, &plan);
        return HD_EXIT_OK;
    }
    hd_status s = o->resume ? HD_OK : hd_train_folder_check(o, &err);
    if (!s) s = hd_session_train(&out, task, o, &hooks, &err);
    hd_train_progress_end(&now.progress);
    return s ? hd_command_fail(c, &err) : end(c, o, task, &out);
}
