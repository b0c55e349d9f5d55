/* What the machine has for this process. */
#ifndef HD_BASE_MACHINE_H
#define HD_BASE_MACHINE_H

#include <stddef.h>

/* Bytes of main memory that the process may use, in all and still free: those of the machine, of the
   container around it, or of `ulimit -v`, whichever are fewest. 0: not known. */
void hd_machine_memory(size_t *all, size_t *left);

#endif
