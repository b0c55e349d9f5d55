/* How long a run has trained, over all its sittings, and whether it came to its end: train/time.json below
   the model's folder. Beside the checkpoints and not in them, which must not depend on the clock. */
#ifndef HD_TRAIN_DURATION_H
#define HD_TRAIN_DURATION_H

#include <stdbool.h>

#include "base/status.h"

typedef struct hd_duration {
    double seconds; /* NaN: not known */
    bool finished;  /* it ended by itself, not by a stop or for want of time */
} hd_duration;

/* Replaces what is there; train/ is made where it is not. */
hd_status hd_duration_save(const char *folder, const hd_duration *d, hd_err *err);

/* {NaN, false} where nothing is kept, or nothing that can be read. */
hd_duration hd_duration_load(const char *folder);

#endif
