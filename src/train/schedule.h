/* Learning rates by step. */
#ifndef HD_TRAIN_SCHEDULE_H
#define HD_TRAIN_SCHEDULE_H

#include <stdint.h>

/* name, help */
#define HD_SCHEDULE_LIST(X)                                                                \
    X(constant, "the peak rate, after the warm-up")                                        \
    X(inverse_sqrt, "falls with 1/sqrt(step) after the warm-up, as in the paper")          \
    X(cosine, "half a cosine from the peak to `floor` times the peak after the last step") \
    X(linear, "a straight line from the peak to `floor` times the peak after the last step")

typedef enum hd_schedule_kind {
#define X(name, help) HD_SCHEDULE_##name,
    HD_SCHEDULE_LIST(X)
#undef X
        HD_SCHEDULES
} hd_schedule_kind;

typedef struct hd_schedule {
    hd_schedule_kind kind;
    double peak;     /* largest rate */
    uint64_t warmup; /* steps of straight rise from 0 */
    uint64_t steps;  /* cosine, linear: the last step */
    double floor;    /* cosine, linear: share of the peak that is left after the last step */
} hd_schedule;

/* Rate of step 1, 2, ... The paper's d^-0.5 min(t^-0.5, t warmup^-1.5) is inverse_sqrt with peak (d
 * warmup)^-0.5. */
double hd_schedule_rate(const hd_schedule *s, uint64_t step);

#endif
