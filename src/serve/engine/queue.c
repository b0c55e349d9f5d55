/* Jobs that wait. The last one of an owner lies near the end as a rule, and so does the place of a new one:
   both are looked for from there. */
#include "serve/engine/queue.h"

/* Where the owner's last job ends; below 0: it has none. */
static double last_finish(const hd_queue *q, uint64_t owner)
{
    const hd_job *j = q->last;
    while (j && j->owner != owner) j = j->before;
    return j ? j->finish : -1;
}

void hd_queue_add(hd_queue *q, hd_job *j)
{
    const double last = last_finish(q, j->owner);
    hd_job *before = q->last;
    q->owners += last < 0;
    j->finish = (last > q->served ? last : q->served) + (double)j->tokens;
    while (before && before->finish > j->finish) before = before->before;
    j->before = before, j->next = before ? before->next : q->first;
    *(j->next ? &j->next->before : &q->last) = j;
    *(before ? &before->next : &q->first) = j;
}

void hd_queue_take(hd_queue *q, hd_job *j)
{
    *(j->next ? &j->next->before : &q->last) = j->before;
    *(j->before ? &j->before->next : &q->first) = j->next;
    q->served += (double)j->tokens / (double)q->owners;
    q->owners -= last_finish(q, j->owner) < 0;
}
