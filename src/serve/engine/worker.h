/* What a kind of model does with jobs: one file and one line. A worker is used by the thread of its engine
   alone. */
#ifndef HD_SERVE_ENGINE_WORKER_H
#define HD_SERVE_ENGINE_WORKER_H

#include "serve/engine/engine.h"

typedef struct hd_worker_use {
    hd_run *run;
    const hd_model_folder *model;
    const hd_engine_opt *opt;
    /* Ends a job: it is not the worker's any more. */
    void (*end)(void *context, hd_job *j, hd_job_end end);
    void *context;
} hd_worker_use;

typedef struct hd_worker_type {
    hd_job_kind kind; /* of the jobs it takes */
    hd_status (*open)(void **out, const hd_worker_use *use, hd_err *err);
    /* Whether a further job can join now. */
    bool (*has_room)(const void *worker);
    void (*take)(void *worker, hd_job *j);
    /* Computes for a while; jobs may end. False: there was nothing to compute, though there are jobs: others
       are waited for. */
    bool (*turn)(void *worker);
    void (*free)(void *worker); /* jobs that it has end as STOPPED; accepts NULL */
} hd_worker_type;

/* X(task of the model, name); a model has all workers of its task that can be opened, each for its jobs */
#define HD_WORKER_LIST(X)     \
    X(TRANSLATE, translating) \
    X(MLM, embedding)         \
    X(LM, generating)         \
    X(LM, embedding) X(CLASSIFY, classifying) X(MULTILABEL, classifying) X(REGRESS, classifying)

extern const hd_worker_type hd_worker_translating, hd_worker_embedding, hd_worker_generating,
    hd_worker_classifying;

#endif
