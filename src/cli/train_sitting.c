/* A sitting of `heed train`. */
#include "cli/train_sitting.h"

#include <signal.h>

#include "cli/train_folder.h"

static volatile sig_atomic_t stopped;

static void note_signal(int number)
{
    stopped = number;
}

/* A second signal ends the program as it would without us: nothing that is saved can be lost. */
static void catch_signals(void)
{
    struct sigaction a = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
}

bool hd_train_stopped(void)
{
    return stopped;
}

/* Of several processes only some may have got the signal; the others end as if by the usual one. */
int hd_train_stop_status(void)
{
    return HD_EXIT_SIGNAL + (stopped ? stopped : SIGTERM);
}

static bool is_stopped(void *context)
{
    (void)context;
    return stopped;
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
    catch_signals();
    loop->stop = is_stopped, loop->tell = tell, loop->context = s;
    return HD_OK;
}

hd_status hd_train_sitting_open(void *context, hd_err *err)
{
    return hd_train_folder_open(((const hd_train_sitting *)context)->options, err);
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
