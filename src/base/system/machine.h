/* The resources available to this process. */
#ifndef HD_BASE_SYSTEM_MACHINE_H
#define HD_BASE_SYSTEM_MACHINE_H

#include <stddef.h>

/* Bytes of main memory that the process may use, in total and still free: the smallest of the machine's,
   the container's and `ulimit -v`. 0: unknown. */
void hd_machine_memory(size_t *all, size_t *left);

#endif
