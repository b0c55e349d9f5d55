/* What workers share that compute the items of all jobs that are there together, in one turn. */
#ifndef HD_SERVE_ENGINE_PACKED_H
#define HD_SERVE_ENGINE_PACKED_H

#include "serve/engine/worker.h"

typedef struct hd_packed {
    hd_worker_use use;
    hd_job *first, **last;
    size_t items; /* of all */
    size_t (*items_of)(const hd_job *j);
} hd_packed;

hd_status hd_packed_open(void **out, const hd_worker_use *use, size_t (*items_of)(const hd_job *j),
                         hd_err *err);
bool hd_packed_has_room(const void *packed);
void hd_packed_take(void *packed, hd_job *j);
/* The first job is done with. */
void hd_packed_end_first(hd_packed *p, hd_job_end end);
void hd_packed_free(void *packed);

#endif
