/* An experiment: a claim of the lectures, run with the engine in seconds. It fills a paper, with a verdict
   for each claim that is computed from what was measured. One file and one line of lab/list.h each. */
#ifndef HD_LAB_EXPERIMENT_H
#define HD_LAB_EXPERIMENT_H

#include "base/log.h"
#include "lab/list.h"
#include "op/run.h"
#include "task/model_folder.h"
#include "view/paper/paper.h"

enum { HD_LAB_SEEDS = 3 }; /* most, and what `heed lab` takes: every claim is judged by all of them */

/* Where and how experiments are run. */
typedef struct hd_lab {
    hd_run *run;            /* borrowed; on a backend that can train */
    uint64_t seed;          /* the first of them */
    int seeds;              /* how often what is drawn at random is measured, 1 to HD_LAB_SEEDS */
    bool full;              /* larger and longer, up to minutes */
    hd_model_folder *model; /* the user's, of a task that the experiment takes; NULL: none */
    const char *data;       /* a folder of the user's, where the experiment reads one; NULL: none */
    /* Told what share is done; may be NULL. False: stop. */
    bool (*tell)(void *context, double share);
    void *context;
} hd_lab;

typedef struct hd_experiment {
    const char *name, *title;
    int lecture;      /* 0 to 4, the one it is first said in */
    const char *rows; /* of docs/lectures.md */
    const char *claim;
    const char
        *takes; /* tasks of a model of the user's that it can look at, "classify, regress"; NULL: none */
    const char *reads; /* what it looks at that model by, in a folder of the user's: "GLUE"; NULL: nothing */
    hd_status (*run)(hd_paper *to, const hd_lab *lab, hd_err *err);
} hd_experiment;

/* By lecture; ends with a row without name. */
extern const hd_experiment *const hd_experiments[];
extern const size_t hd_experiment_count;

/* Runs it into a paper, which the caller releases whatever happens. */
hd_status hd_experiment_run(hd_paper *to, const hd_experiment *x, const hd_lab *lab, hd_err *err);

/* How many times the updates of a small laboratory one has. */
static inline uint32_t hd_lab_times(const hd_lab *lab)
{
    return lab->full ? 4 : 1;
}

/* HD_ESTOPPED where whoever waits has had enough. */
hd_status hd_lab_tell(const hd_lab *lab, double share, hd_err *err);

/* -- what several seeds gave -- */

typedef struct hd_spread {
    double mean, low, high;
} hd_spread;

hd_spread hd_spread_of(const double *value, size_t count);
/* Of a number that stands in each of an array of structs of that size, one for each seed. */
hd_spread hd_spread_across(const double *first, size_t size, const hd_lab *lab);

enum { HD_SPREAD_POINTS = 64 }; /* most of a line */
/* A line of the last plot, with whiskers. */
void hd_spread_line(hd_paper *to, const char *name, const double *x, const hd_spread *y, size_t count);
/* A cell of the last table, by the format of a number: "0.97 (0.95 to 0.99)", or "0.97" where all are alike.
 */
void hd_spread_cell(hd_paper *to, const char *format, hd_spread s);
/* The same: "97 (95 to 99)": shares as percent. */
void hd_spread_percent(hd_paper *to, hd_spread share);

#endif
