/* What workers share that compute the items of all jobs that are there together. */
#include "serve/engine/packed.h"

#include "base/mem.h"

enum { ITEMS_MOST = 512 }; /* of a turn, and those of one job more */

hd_status hd_packed_open(void **out, const hd_worker_use *use, size_t (*items_of)(const hd_job *j),
                         hd_err *err)
{
    hd_packed *p = hd_mem_zero(sizeof *p);
    if (!p) return hd_err_nomem(err, sizeof *p);
    p->use = *use, p->items_of = items_of;
    p->last = &p->first;
    *out = p;
    return HD_OK;
}

bool hd_packed_has_room(const void *packed)
{
    return ((const hd_packed *)packed)->items < ITEMS_MOST;
}

void hd_packed_take(void *packed, hd_job *j)
{
    hd_packed *p = packed;
    j->next = NULL;
    *p->last = j;
    p->last = &j->next;
    p->items += p->items_of(j);
}

void hd_packed_end_first(hd_packed *p, hd_job_end end)
{
    hd_job *j = p->first;
    p->first = j->next;
    if (!p->first) p->last = &p->first;
    p->items -= p->items_of(j);
    p->use.end(p->use.context, j, end);
}

void hd_packed_free(void *packed)
{
    hd_packed *p = packed;
    while (p && p->first) hd_packed_end_first(p, HD_JOB_STOPPED);
    hd_mem_free(p);
}
