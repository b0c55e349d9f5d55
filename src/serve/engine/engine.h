/* A model with threads of its own, which open it and then do jobs: those that wait join the ones being
   computed as soon as there are seats. Any thread may submit jobs. */
#ifndef HD_SERVE_ENGINE_ENGINE_H
#define HD_SERVE_ENGINE_ENGINE_H

#include "op/run.h"
#include "serve/engine/histogram.h"
#include "serve/engine/job.h"

typedef struct hd_engine hd_engine;

typedef struct hd_engine_opt {
    const char *name; /* of the model; borrowed, as are the next two */
    const char *folder;
    const char *device;
    hd_precision precision;
    int threads; /* 0: all cores */
    hd_weights weights;
    hd_translate_opt translate; /* of translators; `best` is the jobs' */
    size_t queue_tokens;        /* most tokens that wait, beyond those of one job */
    bool cage;                  /* once the model is open its thread reads no other files: serve/cage.h */
    hd_log log;
} hd_engine_opt;

/* Starts a thread, which opens the model; hd_engine_ready waits for that and says what went wrong. */
hd_status hd_engine_new(hd_engine **out, const hd_engine_opt *opt, hd_err *err);
hd_status hd_engine_ready(hd_engine *e, hd_err *err);
/* Ends its threads, and jobs that wait or are being computed as STOPPED. Nothing can be submitted any more.
 */
void hd_engine_stop(hd_engine *e);
void hd_engine_free(hd_engine *e); /* the same, where it was not stopped; accepts NULL */

/* Who holds an engine goes on using it though another took its place. Any thread. */
void hd_engine_hold(hd_engine *e);
void hd_engine_drop(hd_engine *e);
bool hd_engine_held(const hd_engine *e);

const char *hd_engine_name(const hd_engine *e);
const hd_model_folder *hd_engine_model(const hd_engine *e);
const hd_engine_opt *hd_engine_options(const hd_engine *e);
const hd_backend *hd_engine_backend(const hd_engine *e);
bool hd_engine_on_cpu(const hd_engine *e);
bool hd_engine_takes(const hd_engine *e, hd_job_kind kind);

/* Of several owners each gets its share, however much one asks for. False: too much waits already, and in
 * *retry are the seconds until that may be done. */
bool hd_engine_submit(hd_engine *e, hd_job *j, double *retry);

typedef struct hd_engine_load {
    size_t waiting, waiting_tokens; /* jobs, and what they ask for */
    size_t running;                 /* jobs */
    uint64_t jobs[HD_JOB_ENDS];     /* so far */
    uint64_t refused;
    uint64_t tokens;     /* done so far */
    double busy;         /* seconds of computing */
    hd_histogram waited; /* seconds that jobs waited */
    hd_histogram batch;  /* jobs of each turn; least bound 1 */
} hd_engine_load;
hd_engine_load hd_engine_now(hd_engine *e);

#endif
