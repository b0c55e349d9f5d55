/* What sets of files share. */
#include "data/set.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

hd_line hd_set_trimmed(hd_line t)
{
    while (t.size && strchr(" \t\r\v\f", t.text[t.size - 1])) t.size--;
    while (t.size && strchr(" \t\r\v\f", t.text[0])) t.text++, t.size--;
    return t;
}

hd_status hd_set_path(const char **path, char below[HD_PATH], const char *root, const char *name, hd_err *err)
{
    *path = name[0] == '/' ? name : below;
    return name[0] == '/' ? HD_OK : hd_path(below, root, name, err);
}

uint64_t hd_set_hash_bytes(uint64_t before, const void *bytes, size_t size)
{
    const uint8_t *b = bytes;
    for (size_t i = 0; i < size; i++) before = (before ^ b[i]) * 0x100000001b3u;
    return before;
}

/* -- what is held back -- */

typedef struct rank {
    int32_t label;
    uint64_t draw;
    size_t item;
} rank;

static uint64_t mixed(uint64_t x) /* splitmix64 */
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static int by_draw(const void *left, const void *right)
{
    const rank *a = left, *b = right;
    if (a->label != b->label) return a->label < b->label ? -1 : 1;
    if (a->draw != b->draw) return a->draw < b->draw ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

size_t *hd_set_draw(const uint64_t *mark, const int32_t *label, size_t count, uint64_t seed)
{
    size_t *order = hd_mem_array(count, sizeof *order);
    rank *r = hd_mem_array(count, sizeof *r);
    for (size_t i = 0; r && i < count; i++)
        r[i] = (rank){label ? label[i] : 0, mixed(mark[i] ^ mixed(seed + 0x9e3779b97f4a7c15u)), i};
    if (r) qsort(r, count, sizeof *r, by_draw);
    for (size_t i = 0; order && r && i < count; i++) order[i] = r[i].item;
    if (!r) hd_mem_free(order), order = NULL;
    hd_mem_free(r);
    return order;
}
