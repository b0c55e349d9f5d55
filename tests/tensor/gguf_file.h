/* GGUF files made in memory, for tests. */
#ifndef GGUF_FILE_H
#define GGUF_FILE_H

#include <string.h>

#include "base/text.h"
#include "tensor/gguf.h"

static void gguf_put(hd_text *to, const void *bytes, size_t size)
{
    hd_text_add(to, bytes, size);
}

static void gguf_u32(hd_text *to, uint32_t n)
{
    gguf_put(to, &n, sizeof n);
}

static void gguf_u64(hd_text *to, uint64_t n)
{
    gguf_put(to, &n, sizeof n);
}

static void gguf_text(hd_text *to, const char *text)
{
    gguf_u64(to, strlen(text));
    hd_text_put(to, text);
}

static void gguf_begin(hd_text *to, uint64_t tensors, uint64_t pairs)
{
    hd_text_add(to, "GGUF", 4);
    gguf_u32(to, 3);
    gguf_u64(to, tensors);
    gguf_u64(to, pairs);
}

static void gguf_key(hd_text *to, const char *key, uint32_t type)
{
    gguf_text(to, key);
    gguf_u32(to, type);
}

static inline void gguf_key_u32(hd_text *to, const char *key, uint32_t n)
{
    gguf_key(to, key, HD_GGUF_U32);
    gguf_u32(to, n);
}

static inline void gguf_key_f32(hd_text *to, const char *key, float x)
{
    gguf_key(to, key, HD_GGUF_F32);
    gguf_put(to, &x, sizeof x);
}

static inline void gguf_key_text(hd_text *to, const char *key, const char *text)
{
    gguf_key(to, key, HD_GGUF_TEXT);
    gguf_text(to, text);
}

/* rows 0: of rank 1 */
static inline void gguf_tensor(hd_text *to, const char *name, size_t rows, size_t columns, uint32_t type,
                               uint64_t offset)
{
    gguf_text(to, name);
    gguf_u32(to, rows ? 2 : 1);
    gguf_u64(to, columns);
    if (rows) gguf_u64(to, rows);
    gguf_u32(to, type);
    gguf_u64(to, offset);
}

static inline void gguf_pad(hd_text *to, size_t to_multiple)
{
    while (to->size % to_multiple) hd_text_add(to, "", 1);
}

#endif
