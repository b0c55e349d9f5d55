/* What a run has told (train/log/journal.h), read back: the values of one field over the run. */
#ifndef HD_TRAIN_LOG_HISTORY_H
#define HD_TRAIN_LOG_HISTORY_H

#include <stddef.h>

#include "base/status.h"

typedef enum hd_history_axis { HD_HISTORY_STEPS, HD_HISTORY_EPOCHS, HD_HISTORY_MINUTES } hd_history_axis;

typedef struct hd_history {
    double *x, *y; /* [count]; y may be NaN where the run told null */
    size_t count;
} hd_history;

/* The values of `field` in lines of `kind` ("train", "valid") of the log of the model in `folder`; none of
   them is no failure. Minutes count from the first line of the log. Epochs are steps divided by those of an
   epoch, as far as the log tells them: HD_EARG where it has less than one. A last line that a kill left
   unfinished does not count. */
hd_status hd_history_read(hd_history *out, const char *folder, const char *kind, const char *field,
                          hd_history_axis axis, hd_err *err);
void hd_history_release(hd_history *h); /* accepts {0} */

/* A moving average of y, as TensorBoard has it: each value weighs `weight` times the next one's, from 0 (as
   it is) to less than 1, and the first ones are not pulled to 0. */
void hd_history_smooth(hd_history *h, double weight);

/* "loss, rate, tokens": the numbers that lines of both kinds have, into buffer. */
const char *hd_history_fields(const char *folder, char *buffer, size_t size);

#endif
