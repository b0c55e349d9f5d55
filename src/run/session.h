/* One sitting of a training, whatever its task: from an empty folder or a checkpoint to the end, or to a
   stop. What a checkpoint depends on comes from the options and the data alone, never from how a run is cut
   into sittings. Where several processes train together, all call it. */
#ifndef HD_RUN_SESSION_H
#define HD_RUN_SESSION_H

#include "data/source.h"
#include "run/task.h"
#include "text/tokenizer.h"
#include "train/log/run_log.h"

/* What whoever starts a run brings. */
typedef struct hd_session_hooks {
    int threads;
    hd_log log;
    /* Called once the data is read and nothing is written yet: makes the folder of a new run. May be NULL. */
    hd_status (*open)(void *context, hd_err *err);
    void (*began)(void *context, const hd_plan *plan); /* once all is ready; may be NULL */
    bool (*stop)(void *context);                       /* asked after every update; may be NULL */
    void (*tell)(void *context, const hd_news *news);  /* may be NULL */
    void *context;
} hd_session_hooks;

/* The items of a batch that this process computes, and in how many parts. */
typedef struct hd_share {
    size_t from, to, parts; /* parts: no part is empty, but that of an empty share */
} hd_share;

struct hd_session {
    const hd_task *task;
    const hd_train_options *options;
    const hd_session_hooks *hooks;
    hd_backend *backend; /* null of a dry run */
    hd_run run;
    void *state; /* the task's */
    /* what the task's open says */
    hd_params *params;     /* what is trained; NULL: the model counts */
    uint64_t train, valid; /* hashes of the data */
    bool validates;        /* there is something to validate with */
    bool alike;            /* all batches take as much memory, though those of the task may not */
    size_t batches;        /* of an epoch, about */
    hd_source *source;     /* of batches; NULL: they are drawn by their number, numbered.at */
    hd_beside beside;      /* what else a checkpoint holds */
    /* the session's own */
    hd_optimizer optimizer;
    bool folder_made;
    hd_numbered_source numbered;
    hd_share share; /* of the batch that is computed */
    hd_run_log log;
    double began, before; /* when this sitting began; seconds of those before it */
};

hd_status hd_session_train(hd_outcome *out, const hd_task *task, const hd_train_options *o,
                           const hd_session_hooks *hooks, hd_err *err);
/* Only says what it would be; writes nothing. */
hd_status hd_session_plan(hd_plan *out, const hd_task *task, const hd_train_options *o,
                          const hd_session_hooks *hooks, hd_err *err);

/* -- for tasks -- */

/* The folder whose tokenizer and sizes the run has: its own where it is resumed, that of --from; NULL: none.
 */
const char *hd_session_folder(const hd_session *s);
/* Makes the folder of a new run before all is ready, for what is large and goes there; the first process
   calls. */
hd_status hd_session_begin_folder(hd_session *s, hd_err *err);
/* What this process computes of so many items. */
hd_share hd_session_share(const hd_session *s, size_t items);
/* The tokenizer of a run that begins: that of --tokenizer-model, or one that is learned from the lines. */
hd_status hd_session_tokenizer(const hd_session *s, hd_tokenizer **out, hd_feed lines, hd_err *err);

#endif
