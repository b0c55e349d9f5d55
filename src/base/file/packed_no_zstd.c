/* zstd where libzstd was not found: refused with the remedy. */
#include "base/file/packed.h"

static hd_status absent(void **state, const char *file, hd_err *err)
{
    (void)state;
    return hd_packed_absent("zstd", "libzstd", file, err);
}

const hd_packed_type hd_packed_zstd = {.name = "zstd", .open = absent};
