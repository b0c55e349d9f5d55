/* The training loop: batches, updates, validations, checkpoints, and when to end. It knows nothing of the
   task but the functions of a trainee. A run that was stopped, however, and is resumed makes the same bits as
   one that was not. Where several processes train together (backend/ranks.h) all call it and validate; the
   first of them saves and tells. */
#ifndef HD_TRAIN_TRAINER_H
#define HD_TRAIN_TRAINER_H

#include "metric/figure.h"
#include "train/checkpoint.h"
#include "train/experts/load.h"
#include "train/schedule.h"

/* A batch, as the loop sees it: that of all processes, but for the parts. */
typedef struct hd_load {
    uint64_t epoch, batch; /* of the batch after it */
    size_t items;          /* what it is cut into parts from; the loop does not ask */
    size_t parts;          /* it is computed in so many parts, to save memory */
    size_t tokens;         /* its weight: what the gradient is divided by */
    double flops;          /* of one forward pass */
} hd_load;

typedef struct hd_validation {
    double loss;                  /* per token, without smoothing */
    double quality;               /* what the best is chosen by: more is better */
    hd_figure figure[HD_FIGURES]; /* what else is said of it in reports, the foremost first */
    double seconds;
} hd_validation;

typedef struct hd_trainee {
    uint64_t corpus; /* hash of the training data */
    hd_status (*next)(void *context, hd_load *out, hd_err *err);
    hd_status (*seek)(void *context, uint64_t epoch, uint64_t batch, hd_err *err);
    /* Sends part i of the batch, in a step that has begun; the number tells its shape from others, so that
       the step can be captured. NULL: loss sends it, and the run captures nothing. */
    uint64_t (*send)(hd_run *r, void *context, size_t part);
    /* Forward of part i of the batch: the losses of its rows. NULL on failure. */
    hd_tensor *(*loss)(hd_run *r, void *context, size_t part);
    /* Judges the model as it is now; of several processes each does a part, and what it finds is that of all:
       an exchange (backend/ranks.h) ends it. NULL: there is nothing to validate with. */
    hd_status (*validate)(hd_run *r, void *context, hd_validation *out, hd_err *err);
    /* Saves the model as it is now to where it is looked for. */
    hd_status (*publish)(void *context, hd_err *err);
    /* Keeps what is published, of which a later restore makes the published one again; nothing kept: nothing.
       Only called with a validate. NULL: what is published is model.safetensors in the folder. */
    hd_status (*keep)(void *context, hd_err *err);
    hd_status (*restore)(void *context, hd_err *err);
    void *context;
} hd_trainee;

typedef enum hd_news_kind {
    HD_NEWS_BEGIN,  /* before the first update of a sitting */
    HD_NEWS_STEP,   /* after every update: for a progress line */
    HD_NEWS_REPORT, /* every report_every updates, with means since the last one */
    HD_NEWS_VALID,
    HD_NEWS_SAVE,
    HD_NEWS_SKIP /* an update was left out: its gradient was not finite */
} hd_news_kind;

typedef struct hd_news {
    hd_news_kind kind;
    const hd_progress *at;
    double loss;            /* of training, per token */
    double rate, norm;      /* learning rate, gradient norm of the last update */
    double tokens_second;   /* target tokens */
    double flops_second;    /* of forward and backward */
    double seconds, left;   /* since this call began, and about how many are to come; NaN: not known */
    uint64_t planned;       /* BEGIN: updates until the limits of the sitting are reached; 0: not known */
    uint64_t warmup;        /* BEGIN: updates of the warm-up, after it was fitted */
    hd_validation valid;    /* VALID */
    bool best;              /* VALID: the best so far */
    hd_expert_load experts; /* REPORT: of the last update; VALID: of all that was validated with */
    hd_figure figure[HD_FIGURES]; /* STEP, REPORT: what else is said of the training, by whoever tells on */
} hd_news;

typedef enum hd_ending {
    HD_ENDED_STEPS,
    HD_ENDED_EPOCHS,
    HD_ENDED_MINUTES,
    HD_ENDED_PATIENCE,
    HD_ENDED_STOPPED
} hd_ending;

typedef struct hd_trainer_opt {
    const char *folder; /* of the model; checkpoints go below it */
    bool resume;
    uint64_t seed;
    hd_schedule schedule;   /* .steps 0: as long as the limits of the first start say */
    bool fit_warmup;        /* cosine, linear: the warm-up is at most a quarter of the schedule */
    size_t batches;         /* of an epoch, about */
    uint64_t steps, epochs; /* limits; 0: none. The first one reached ends the run */
    double minutes;
    uint64_t valid_every, save_every, report_every; /* updates */
    bool sum_loss;     /* the gradient is that of the sum of an update's losses, not of their mean */
    uint64_t patience; /* validations without a new best before the end; 0: no such limit */
    double work;       /* flops of an update as a multiple of the forward pass's; 0: 3 */
    bool (*stop)(void *context);                      /* asked after every update; may be NULL */
    void (*tell)(void *context, const hd_news *news); /* may be NULL */
    void *context;
} hd_trainer_opt;

enum { HD_BROKEN_MOST = 5 }; /* updates in a row that may be left out */

/* Trains to the end. *ending says why it ended. An error leaves the last checkpoint as it was. A checkpoint
   counts only where its weights are finite and so is the gradient that they give; a validation that is not
   finite ends the run. Updates that
   are left out are not saved: a run that is stopped among them goes on before them. */
hd_status hd_trainer_run(hd_run *r, hd_optimizer *o, const hd_trainee *t, const hd_trainer_opt *opt,
                         hd_progress *progress, hd_ending *ending, hd_err *err);

#endif
