/* A lane: a thread of an engine that takes jobs from its queue and computes them with a backend, a run and
   workers of its own. An engine has one or several over the same model: each searches its own sentences, and
   nobody waits for another's step. The cores are shared among the lanes that have jobs, so that a single
   request has all of them. What engine.c and lane.c know of each other. */
#ifndef HD_SERVE_ENGINE_LANE_H
#define HD_SERVE_ENGINE_LANE_H

#include <pthread.h>

#include "serve/engine/queue.h"
#include "serve/engine/worker.h"

enum { HD_LANES = 4 };   /* most */
#define HD_LONG_WAIT 0.1 /* seconds: nobody waits for longer because a lane has its crew */

typedef struct hd_lane {
    hd_engine *engine;
    hd_engine_opt opt;   /* the engine's, with its share of the seats */
    hd_backend *backend; /* of the first lane: that of the model */
    hd_run run, aside;   /* aside: of visits, while the workers' goes on; opened by the first */
    double rested, rest; /* of a visit: when others had a turn, and for how long altogether */
    struct {
        const hd_worker_type *type; /* NULL: it takes no such jobs */
        void *at;
        size_t jobs; /* that it has; the thread's */
    } worker[HD_JOB_KINDS];
    size_t crew; /* jobs with which it takes no more, unless one has waited for long: has_places */
    pthread_t thread;
    bool started;
    /* the engine's lock guards these */
    size_t jobs, tokens; /* that it has */
    bool visited;        /* so that the others take what comes */
} hd_lane;

struct hd_engine {
    hd_engine_opt opt;
    hd_model_folder model;
    hd_lane lane[HD_LANES];
    size_t lanes; /* opened */

    /* The lock guards all that follows. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool opened, stop;
    hd_status status; /* of opening */
    hd_err err;
    hd_queue queue; /* jobs that wait */
    double swept;   /* when jobs that nobody waits for were last looked for */
    double usual;   /* seconds that a job takes once it is taken: a moving mean */
    hd_engine_load load;
    atomic_size_t holders;
};

/* Opens the engine's model and all lanes, in the thread of the first one. */
hd_status hd_lanes_open(hd_engine *e, hd_err *err);
/* The work of a lane until the engine is to stop: the thread of all but the first one. */
void *hd_lane_work(void *lane);
/* Ends jobs that it has as STOPPED, once its thread has ended. */
void hd_lane_stop(hd_lane *l);
void hd_lane_close(hd_lane *l); /* accepts one that was never opened */
/* Takes a job out of the queue, with the lock held, and ends one that it has. */
hd_job *hd_lane_take(hd_lane *l, hd_job *j);
void hd_lane_end(void *lane, hd_job *j, hd_job_end end);

#endif
