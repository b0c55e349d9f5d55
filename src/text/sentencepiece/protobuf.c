/* Fields of a protocol buffer. */
#include "text/sentencepiece/protobuf.h"

#include <string.h>

static bool take_varint(hd_proto_span *s, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && s->size; shift += 7) {
        uint8_t byte = *s->at++;
        s->size--;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return true;
    }
    return false;
}

static bool skip_bytes(hd_proto_span *s, uint64_t count)
{
    if (count > s->size) return false;
    s->at += count;
    s->size -= (size_t)count;
    return true;
}

static bool take_fixed(hd_proto_span *s, uint64_t *value)
{
    uint32_t bits;
    if (s->size < sizeof bits) return false;
    memcpy(&bits, s->at, sizeof bits);
    *value = bits;
    return skip_bytes(s, sizeof bits);
}

bool hd_proto_take(hd_proto_span *s, hd_proto_field *f)
{
    uint64_t tag, size;
    *f = (hd_proto_field){0};
    if (!take_varint(s, &tag)) return false;
    f->number = tag >> 3;
    switch (tag & 7) {
    case 0:
        return take_varint(s, &f->value);
    case 1:
        return skip_bytes(s, 8);
    case 5:
        return take_fixed(s, &f->value);
    case 2:
        if (!take_varint(s, &size)) return false;
        f->bytes = (hd_proto_span){s->at, (size_t)size};
        return skip_bytes(s, size);
    default:
        return false;
    }
}
