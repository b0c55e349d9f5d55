/* Jobs that wait. */
#include "serve/engine/queue.h"

/* Where the owner's last job ends; below 0: it has none. */
static double last_finish(const hd_queue *q, uint64_t owner)
{
    double last = -1;
    for (const hd_job *j = q->first; j; j = j->next)
        if (j->owner == owner) last = j->finish;
    return last;
}

void hd_queue_add(hd_queue *q, hd_job *j)
{
    hd_job **at = &q->first;
    double last = last_finish(q, j->owner);
    q->owners += last < 0;
    j->finish = (last > q->served ? last : q->served) + (double)j->tokens;
    while (*at && (*at)->finish <= j->finish) at = &(*at)->next;
    j->next = *at;
    *at = j;
}

hd_job *hd_queue_take(hd_queue *q, hd_job **at)
{
    hd_job *j = *at;
    *at = j->next;
    q->served += (double)j->tokens / (double)q->owners;
    q->owners -= last_finish(q, j->owner) < 0;
    return j;
}
