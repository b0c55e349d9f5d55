/* One run on the cpu, of two threads, that all tests of a program share: begin and end are those of the
 * group.
 */
#ifndef ONE_RUN_H
#define ONE_RUN_H

#include "check.h"

static hd_backend *backend;
static hd_run run;

static int begin(void **state)
{
    (void)state;
    backend = backend_of("cpu", 2);
    run = run_on(backend);
    return 0;
}

static int end(void **state)
{
    (void)state;
    hd_run_release(&run);
    hd_backend_free(backend);
    return 0;
}

/* A new step, in memory that holds anything. */
CHECK_UNUSED static void begin_step(hd_mode mode)
{
    hd_run_begin(&run, mode);
    poison_step(&run, 1 << 18);
}

#endif
