/* Which format compressed data has. */
#include "base/file/packed.h"

#include <string.h>

typedef struct magic {
    const hd_packed_type *type; /* NULL: not read here */
    const char *name;
    const char *bytes;
    size_t size;
} magic;

#define LINE(name, bytes) {&hd_packed_##name, #name, bytes, sizeof bytes - 1},
static const magic magics[] = {
    HD_PACKED_LIST(LINE){NULL, "bzip2", "BZh", 3},
    {NULL, "zip", "PK\3\4", 4},
    {NULL, "lz4", "\x04\x22\x4d\x18", 4},
};
#undef LINE

/* bzip2's first bytes could begin a text; a digit and the digits of pi follow them. */
static bool begins(const magic *m, const uint8_t *data, size_t size)
{
    if (size < m->size || memcmp(data, m->bytes, m->size)) return false;
    return strcmp(m->name, "bzip2") || (size > 4 && data[3] >= '1' && data[3] <= '9' && data[4] == 0x31);
}

hd_status hd_packed_find(const hd_packed_type **type, const uint8_t *data, size_t size, const char *file,
                         hd_err *err)
{
    *type = NULL;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if (!begins(&magics[i], data, size)) continue;
        *type = magics[i].type;
        if (*type) return HD_OK;
        return hd_err_set(err, HD_EFORMAT, "%s: is %s data, which heed does not read: unpack it first", file,
                          magics[i].name);
    }
    return HD_OK;
}

hd_status hd_packed_absent(const char *name, const char *library, const char *file, hd_err *err)
{
    return hd_err_set(err, HD_EMISSING, "%s: is %s data, and heed was built without %s: unpack it first",
                      file, name, library);
}
