/* A sitting of `heed train`. */
#include "cli/train/sitting.h"

#include <signal.h>

#include "cli/frame/signals.h"
#include "cli/train/folder.h"

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

static void tell(void *context, const hd_news *n)
{
    hd_train_progress_tell(&((hd_train_sitting *)context)->progress, n);
}

hd_status hd_train_sitting_begin(hd_train_sitting *s, const hd_command *c, const hd_train_options *o,
                                 hd_trainer_opt *loop, hd_err *err)
{
    *s = (hd_train_sitting){.options = o,
                            .progress = {.command = c,
                                         .steps = (uint64_t)o->steps,
                                         .epochs = (uint64_t)o->epochs,
                                         .warmup = (uint64_t)o->warmup,
                                         .peak = o->lr,
                                         .labels = o->task == HD_TRAIN_CLASSIFY || o->task == HD_TRAIN_TAG ||
                                                   o->task == HD_TRAIN_REGRESS,
                                         .numbers = o->task == HD_TRAIN_REGRESS,
                                         .masked = o->task == HD_TRAIN_MLM}};
    hd_status st = o->resume ? HD_OK : hd_train_folder_check(o, err);
    if (st) return st;
    loop->stop = is_stopped, loop->tell = tell, loop->context = s;
    return HD_OK;
}

/* What is counted has nothing to save until it is done; what learns can be saved from the beginning. */
hd_status hd_train_sitting_open(void *context, hd_err *err)
{
    const hd_train_options *o = ((const hd_train_sitting *)context)->options;
    if (o->task != HD_TRAIN_LM || o->model != HD_LM_ngram) hd_signals_note();
    return hd_train_folder_open(o, err);
}

const hd_command *hd_train_sitting_command(const void *context)
{
    return ((const hd_train_sitting *)context)->progress.command;
}

int hd_train_sitting_end(const hd_train_sitting *s, const hd_progress *p, hd_ending ending)
{
    const hd_command *c = s->progress.command;
    const hd_train_options *o = s->options;
    static const char *const why[] = {[HD_ENDED_STEPS] = "as many steps as asked for",
                                      [HD_ENDED_EPOCHS] = "as many epochs as asked for",
                                      [HD_ENDED_MINUTES] = "the time is over",
                                      [HD_ENDED_PATIENCE] = "no new best for as long as asked for",
                                      [HD_ENDED_STOPPED] = "stopped"};
    char a[32], b[32];
    static const char *const what[] = {[HD_TRAIN_TRANSLATE] = "target tokens", [HD_TRAIN_LM] = "tokens",
                                       [HD_TRAIN_CLASSIFY] = "items",          [HD_TRAIN_TAG] = "tokens",
                                       [HD_TRAIN_MLM] = "masked tokens",       [HD_TRAIN_REGRESS] = "items"};
    static const struct {
        const char *verb, *with;
    } use[] = {
        [HD_TRAIN_TRANSLATE] = {"translate", "< FILE"},    [HD_TRAIN_LM] = {"generate", "--prompt TEXT"},
        [HD_TRAIN_CLASSIFY] = {"classify", "< FILE"},      [HD_TRAIN_TAG] = {"tag", "< FILE"},
        [HD_TRAIN_MLM] = {"fill", "'TEXT WITH A [MASK]'"}, [HD_TRAIN_REGRESS] = {"classify", "< FILE"}};
    hd_log_say(&c->log, HD_INFO, "%s: %s updates, %s %s%s", why[ending], hd_grouped(p->step, a),
               hd_grouped(p->tokens, b), what[o->task],
               ending != HD_ENDED_STOPPED ? ""
               : p->broken                ? "; saved are those before the gradient was not finite"
                                          : "; everything is saved");
    if (ending == HD_ENDED_STOPPED)
        hd_log_say(&c->log, HD_INFO, "go on with: heed train --resume --out %s", o->out);
    else
        hd_log_say(&c->log, HD_INFO, "the model is in %s: heed %s %s %s", o->out, use[o->task].verb, o->out,
                   use[o->task].with);
    return ending == HD_ENDED_STOPPED ? hd_train_stop_status() : HD_EXIT_OK;
}
