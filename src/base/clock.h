/* Time that only goes forward. */
#ifndef HD_BASE_CLOCK_H
#define HD_BASE_CLOCK_H

double hd_seconds(void); /* since some moment before the program began */

#endif
