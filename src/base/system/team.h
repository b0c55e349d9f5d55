/* A team of threads for loops whose pieces may be done by any worker, in any order: nothing may depend on who
   does which. One caller at a time. Waiting threads spin briefly, then sleep. */
#ifndef HD_BASE_SYSTEM_TEAM_H
#define HD_BASE_SYSTEM_TEAM_H

#include <stddef.h>

#include "base/status.h"

typedef struct hd_team hd_team;

/* fn(arg, begin, end, worker): does the work of [begin, end) as worker 0 .. hd_team_size()-1. */
typedef void hd_team_fn(void *arg, size_t begin, size_t end, int worker);

int hd_team_cores(void); /* cores this process may run on, at least 1 */
hd_status hd_team_new(hd_team **out, int threads,
                      hd_err *err); /* threads < 1: all cores; the caller is worker 0 */
void hd_team_free(hd_team *t);
int hd_team_size(const hd_team *t);

/* Splits [0, count) into a range for each worker and those into pieces of at least `grain` (the last of a
   range excepted), runs each once, returns when all are done. A worker that is done with its range takes
   pieces of the others'. Changes by other workers are visible afterwards. */
void hd_team_run(hd_team *t, size_t count, size_t grain, hd_team_fn *fn, void *arg);

#endif
