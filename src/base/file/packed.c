/* Which format compressed data has, and whole files of it. */
#include "base/file/packed.h"

#include <string.h>

#include "base/file/file.h"
#include "base/mem.h"

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

/* -- whole files -- */

enum { PIECE = 1 << 16 };

/* Unpacks up to `most` bytes and one more, which tells that there are more. */
static hd_status unpack(uint8_t **out, size_t *size, const hd_packed_type *type, const hd_map *map,
                        const char *path, size_t most, hd_err *err)
{
    hd_packed_flow f = {.in = map->data, .in_left = map->size, .in_last = true};
    void *state = NULL;
    size_t room = 0;
    bool ended = false;
    hd_status s = type->open(&state, path, err);
    while (!s && !ended && *size <= most) {
        const size_t wanted = most - *size < PIECE ? most - *size + 1 : PIECE, in = f.in_left;
        s = hd_mem_reserve(out, &room, *size + wanted, 1, err);
        if (s) break;
        f.out = *out + *size, f.out_left = wanted;
        s = type->step(state, &f, &ended, err);
        *size += wanted - f.out_left;
        if (!s && !ended && in == f.in_left && f.out_left == wanted)
            s = hd_err_set(err, HD_EFORMAT, "%s: the %s data is cut short", path, type->name);
    }
    type->close(state);
    return s;
}

hd_status hd_packed_read(uint8_t **out, size_t *size, bool *whole, const char *path, size_t most, hd_err *err)
{
    const hd_packed_type *type = NULL;
    hd_map map = {0};
    *out = NULL, *size = 0;
    hd_status s = hd_map_open(&map, path, err);
    if (!s) s = hd_packed_find(&type, map.data, map.size, path, err);
    if (!s && type) s = unpack(out, size, type, &map, path, most, err);
    if (!s && !type) {
        *size = map.size;
        *out = hd_mem_new((map.size < most ? map.size : most) + 1);
        if (!*out) s = hd_err_nomem(err, map.size);
        if (!s) memcpy(*out, map.data, map.size < most ? map.size : most);
    }
    *whole = *size <= most;
    if (!*whole) *size = most;
    hd_map_close(&map);
    if (s) hd_mem_free(*out), *out = NULL, *size = 0;
    return s;
}
