/* A task of `heed train`: what is learned from what. The session (run/session.h) does everything else of a
   training: it opens the backend, shares batches out among processes and parts, plans, begins or resumes,
   learns, saves and ends. A task is one constant struct and a line in run/task_list.h. */
#ifndef HD_RUN_TASK_H
#define HD_RUN_TASK_H

#include "model/details.h"
#include "run/recipe.h"
#include "train/trainer.h"

typedef struct hd_session hd_session;

/* What a run will be. */
typedef struct hd_plan {
    char model[320];              /* in a line */
    size_t parameters, trainable; /* 0: the model counts */
    hd_details facts;             /* texts: "pairs", "1,000, 100 to validate" */
    size_t batches;               /* of an epoch, about */
    double flops;                 /* of an update, on average */
    size_t memory; /* bytes of weights, gradients, moments and the largest update; 0: not measured */
    char backend[64];
} hd_plan;

void hd_plan_add(hd_plan *p, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "1,000, 100 to validate" */
void hd_plan_add_data(hd_plan *p, const char *name, size_t train, size_t valid);

/* What came of a run. */
typedef struct hd_outcome {
    hd_progress progress;
    hd_ending ending;
    size_t counted; /* n-grams of a model that counts, which has no progress and no ending; 0: it learned */
    double seconds; /* of this sitting */
    hd_figure figure[HD_FIGURES]; /* of the published model on what was held back */
    size_t judged;                /* labels or tokens there; 0: nothing was */
    const char *with;             /* how its verb uses this model; NULL: as the task says */
} hd_outcome;

/* Functions get the session; what a task keeps is in its state, `size` bytes that are 0 before open. */
typedef struct hd_task {
    const char *unit;     /* what its progress counts: "target tokens" */
    const char *judged;   /* what it is judged by: "labels" */
    const char *with;     /* how its verb uses the model: heed VERB FOLDER WITH */
    const char *remedy;   /* where memory is too small */
    bool perplexity;      /* a validation's loss is of tokens: its perplexity is shown */
    bool alone;           /* a batch has the items of this process alone */
    bool by_figures;      /* its loss tells nothing: reports show figures instead */
    bool varies;          /* batches differ in size: the memory of many is measured */
    bool eager;           /* the host decides in the middle of a step: none is captured */
    uint64_t valid_every; /* updates between validations where nothing is said; 0: an epoch, at most 1000 */
    const hd_recipe *recipe; /* its options */
    const void *form;        /* what tells tasks of the same functions apart: their folder knows what it is */
    size_t size;

    /* HD_EARG where options do not go together; before any data is read. */
    hd_status (*check)(const hd_train_options *o, hd_err *err);
    /* Reads the data, makes the tokenizer and the model, and tells the session of them. */
    hd_status (*open)(hd_session *s, hd_err *err);
    void (*release)(hd_session *s); /* accepts a state that is 0 or half made */
    /* Gives the model the weights it begins with. NULL: those of --from, or drawn. */
    hd_status (*weights)(hd_session *s, hd_err *err);
    /* The model in a line, facts, and the flops of a forward pass of an update. */
    hd_status (*plan)(hd_session *s, hd_plan *p, hd_err *err);

    /* The batch that the session's source has formed, or of that number: its items, tokens and flops. Then as
       of a trainee (train/trainer.h); a part is items from .. to-1. */
    hd_status (*load)(hd_session *s, hd_load *out, hd_err *err);
    uint64_t (*send)(hd_run *r, hd_session *s, size_t part, size_t from, size_t to);
    hd_tensor *(*loss)(hd_run *r, hd_session *s, size_t part);
    hd_status (*validate)(hd_run *r, hd_session *s, hd_validation *out, hd_err *err);

    /* What reports say of the updates since the last one, or of the last one, beside the loss; NULL: nothing.
     */
    void (*report)(hd_session *s, hd_figure out[HD_FIGURES]);

    /* A model without parameters: does all of its learning. */
    hd_status (*count)(hd_session *s, hd_err *err);
    hd_status (*save)(hd_session *s, const char *folder, hd_err *err);    /* all but weights */
    hd_status (*publish)(hd_session *s, const char *folder, hd_err *err); /* the weights */
    /* Once all is published: judges it, as validate does. NULL: the validations have. */
    hd_status (*judge)(hd_session *s, hd_outcome *out, hd_err *err);
} hd_task;

#endif
