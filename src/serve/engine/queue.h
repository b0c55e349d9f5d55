/* Jobs that wait, in the order in which they would end if all owners were served side by side (fair
   queueing). Whoever has one guards it. */
#ifndef HD_SERVE_ENGINE_QUEUE_H
#define HD_SERVE_ENGINE_QUEUE_H

#include "serve/engine/job.h"

typedef struct hd_queue {
    hd_job *first, *last; /* by `finish` */
    size_t owners;        /* of those that wait */
    double served;        /* tokens that an owner has had who always waited */
} hd_queue;

void hd_queue_add(hd_queue *q, hd_job *j);
void hd_queue_take(hd_queue *q, hd_job *j); /* which waits there */

#endif
