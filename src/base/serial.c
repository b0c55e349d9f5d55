/* The counter of serial numbers: one for the process, or two parts of it would give the same. */
#include "base/serial.h"

#include <stdatomic.h>

static _Atomic uint64_t last;

uint64_t hd_serial(void)
{
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}
