/* TensorBoard event files: scalars by tag and step, in records that TensorBoard follows while they are
   written. A file is for people: who gets a failure from here may go on without it. */
#ifndef HD_TRAIN_LOG_EVENTS_H
#define HD_TRAIN_LOG_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_events hd_events;

/* Makes a new file events.out.tfevents.TIME.heed-NNN in the folder, which must be there. TensorBoard joins
   the files of a folder in the order of their names; of what older files say it forgets all from `first` on,
   the first step that is still to come. Times are seconds since the epoch. */
hd_status hd_events_open(hd_events **out, const char *folder, uint64_t first, double time, hd_err *err);

/* One number under a tag such as "train/loss", stored in single precision. Kept until it is flushed. */
hd_status hd_events_add(hd_events *e, const char *tag, uint64_t step, double value, double time, hd_err *err);

/* Writes what is kept. On failure that is dropped and the file holds the records before it, whole. */
hd_status hd_events_flush(hd_events *e, hd_err *err);
hd_status hd_events_close(hd_events *e, hd_err *err); /* flushes, and frees e in any case; accepts NULL */

#endif
