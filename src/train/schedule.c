/* Learning-rate schedules: plain functions of the step, so that a resumed run needs no state. */
#include "train/schedule.h"

#include <math.h>

double hd_schedule_rate(const hd_schedule *s, uint64_t step)
{
    if (step < s->warmup) return s->peak * (double)step / (double)s->warmup;
    /* the end of the line is one behind the last step: an update at rate 0 would be a wasted one */
    double span = s->steps > s->warmup ? (double)(s->steps - s->warmup) + 1 : 1;
    double share = fmin((double)(step - s->warmup) / span, 1);
    switch (s->kind) {
    case HD_SCHEDULE_inverse_sqrt:
        return s->peak * sqrt((double)(s->warmup ? s->warmup : 1) / (double)(step ? step : 1));
    case HD_SCHEDULE_cosine:
        return s->peak * (s->floor + (1 - s->floor) * 0.5 * (1 + cos(M_PI * share)));
    case HD_SCHEDULE_linear:
        return s->peak * (1 - (1 - s->floor) * share);
    default:
        return s->peak;
    }
}
