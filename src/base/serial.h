/* Serial numbers, which tell objects apart that use the same address one after the other. */
#ifndef HD_BASE_SERIAL_H
#define HD_BASE_SERIAL_H

#include <stdint.h>

/* A number this process has not used before; never 0. Thread-safe. */
uint64_t hd_serial(void);

#endif
