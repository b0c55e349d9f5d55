/* A monotonic clock. */
#ifndef HD_BASE_SYSTEM_CLOCK_H
#define HD_BASE_SYSTEM_CLOCK_H

double hd_seconds(void); /* since some point before the program started */

#endif
