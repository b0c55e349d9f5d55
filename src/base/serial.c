/* The counter of serial numbers: one per process, so that no number is given twice. */
#include "base/serial.h"

#include <stdatomic.h>

static _Atomic uint64_t last;

uint64_t hd_serial(void)
{
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}
