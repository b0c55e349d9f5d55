/* Values of GGUF's metadata. */
#include <string.h>

#include "tensor/gguf.h"

/* X(NAME, C type, is whole) */
#define NUMBERS(X)         \
    X(U8, uint8_t, true)   \
    X(I8, int8_t, true)    \
    X(U16, uint16_t, true) \
    X(I16, int16_t, true)  \
    X(U32, uint32_t, true) \
    X(I32, int32_t, true)  \
    X(F32, float, false)   \
    X(U64, uint64_t, true) \
    X(I64, int64_t, true)  \
    X(F64, double, false)

bool hd_gguf_real(const hd_gguf_value *v, double *out)
{
    if (!v || v->list) return false;
    switch (v->type) {
#define X(name, type, whole)                   \
    case HD_GGUF_##name: {                     \
        type value;                            \
        memcpy(&value, v->data, sizeof value); \
        return *out = (double)value, true;     \
    }
        NUMBERS(X)
#undef X
    default:
        return false;
    }
}

bool hd_gguf_whole(const hd_gguf_value *v, int64_t *out)
{
    if (!v || v->list) return false;
    switch (v->type) {
#define X(name, type, whole)                   \
    case HD_GGUF_##name: {                     \
        type value;                            \
        memcpy(&value, v->data, sizeof value); \
        if (whole) *out = (int64_t)value;      \
        return whole;                          \
    }
        NUMBERS(X)
#undef X
    default:
        return false;
    }
}

bool hd_gguf_switch(const hd_gguf_value *v, bool *out)
{
    if (!v || v->list || v->type != HD_GGUF_BOOL) return false;
    *out = *v->data != 0;
    return true;
}

bool hd_gguf_text(const hd_gguf_value *v, hd_line *out)
{
    uint64_t size;
    if (!v || v->list || v->type != HD_GGUF_TEXT) return false;
    memcpy(&size, v->data, sizeof size);
    *out = (hd_line){(const char *)v->data + sizeof size, (size_t)size};
    return true;
}

bool hd_gguf_next(hd_gguf_value *rest, hd_gguf_value *item)
{
    static const uint8_t bytes[HD_GGUF_TYPES] = {
#define X(number, name, bytes) [number] = bytes,
        HD_GGUF_TYPE_LIST(X)
#undef X
    };
    if (!rest->list || !rest->count) return false;
    *item = (hd_gguf_value){rest->type, false, 1, rest->data};
    hd_line text;
    rest->data += hd_gguf_text(item, &text) ? sizeof(uint64_t) + text.size : bytes[rest->type];
    rest->count--;
    return true;
}
