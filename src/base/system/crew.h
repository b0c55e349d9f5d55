/* A crew of threads that work ahead of the caller: each takes jobs while there are some. Which jobs there are
   is the owner's state, guarded by the crew's lock. (base/system/team.h is for loops that the caller waits
   for.) */
#ifndef HD_BASE_SYSTEM_CREW_H
#define HD_BASE_SYSTEM_CREW_H

#include <stdbool.h>

#include "base/status.h"

typedef struct hd_crew hd_crew;

typedef struct hd_crew_type {
    /* With the lock held: the next job into *job, at most HD_CREW_JOB bytes; false: there is none now. */
    bool (*take)(void *context, void *job);
    void (*work)(void *context, void *job); /* without it */
    void (*done)(void *context, void *job); /* with it */
} hd_crew_type;

enum { HD_CREW_JOB = 64, HD_CREW_MOST = 1024 };

/* Borrows both. threads may be 0: then jobs are done by hd_crew_help alone. */
hd_status hd_crew_new(hd_crew **out, int threads, const hd_crew_type *type, void *context, hd_err *err);
/* Waits for the jobs that were taken; no further ones are. Accepts NULL. */
void hd_crew_free(hd_crew *c);

void hd_crew_lock(hd_crew *c);
void hd_crew_unlock(hd_crew *c);
/* These with the lock held. */
void hd_crew_call(hd_crew *c); /* there are new jobs */
void hd_crew_wait(hd_crew *c); /* until a job is done; the lock is free meanwhile */
/* Does one job in the caller's thread, without the lock; false: there was none. */
bool hd_crew_help(hd_crew *c);

#endif
