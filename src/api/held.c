/* Results in an arena of their own. */
#include <string.h>

#include "api/api.h"
#include "base/mem.h"

enum { BEFORE = (sizeof(hd_api_held) + HD_ALIGN - 1) / HD_ALIGN * HD_ALIGN };

void *hd_api_hold(hd_api_held **out, size_t size, heed_model *m, hd_err *err)
{
    char *block = hd_mem_zero(BEFORE + size);
    if (!block) return hd_err_nomem(err, BEFORE + size), NULL;
    hd_api_held *h = *out = (hd_api_held *)(void *)block;
    hd_arena_init(&h->memory, hd_allocator_host, 0);
    hd_api_keep(m);
    h->model = m;
    return block + BEFORE;
}

void *hd_api_take(hd_api_held *h, size_t count, size_t size)
{
    return h->err.status ? NULL : hd_arena_array(&h->memory, count, size, &h->err);
}

const char *hd_api_copy(hd_api_held *h, const char *text, size_t size)
{
    return h->err.status ? NULL : hd_arena_copy(&h->memory, text ? text : "", size, &h->err);
}

const char *const *hd_api_pieces(hd_api_held *h, const hd_tokenizer *t, const int32_t *id, size_t count)
{
    const char **piece = hd_api_take(h, count, sizeof *piece);
    for (size_t i = 0; piece && i < count; i++) {
        piece[i] = hd_tokenizer_piece(t, id[i]);
        if (!piece[i]) piece[i] = "";
    }
    return piece;
}

hd_status hd_api_give(void *out, void *shown, hd_api_held *h, hd_status s, hd_err *err)
{
    if (!s && h->err.status) s = hd_err_set(err, h->err.status, "%s", h->err.text);
    if (s)
        hd_api_drop(shown);
    else
        memcpy(out, &shown, sizeof shown); /* writing it as a void ** would break aliasing rules */
    return s;
}

void hd_api_drop(void *shown)
{
    if (!shown) return;
    hd_api_held *h = (hd_api_held *)(void *)((char *)shown - BEFORE);
    heed_model *m = h->model;
    hd_arena_release(&h->memory);
    hd_mem_free(h);
    heed_model_free(m);
}
