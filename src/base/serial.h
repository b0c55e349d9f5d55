/* Numbers that tell apart what may lie at one address, one after the other. */
#ifndef HD_BASE_SERIAL_H
#define HD_BASE_SERIAL_H

#include <stdint.h>

/* A number that this process has not had before; never 0. Any thread may ask. */
uint64_t hd_serial(void);

#endif
