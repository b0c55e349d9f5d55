/* Fields of a protocol buffer, one after the other. The bytes are hostile: no field reaches past their
   end. */
#ifndef HD_TEXT_SENTENCEPIECE_PROTOBUF_H
#define HD_TEXT_SENTENCEPIECE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hd_proto_span {
    const uint8_t *at;
    size_t size;
} hd_proto_span;

typedef struct hd_proto_field {
    uint64_t number;
    hd_proto_span bytes; /* empty if the field has no length */
    uint64_t value;      /* for a varint, or 32 bits */
} hd_proto_field;

/* Removes the next field from *s; false: it is damaged or truncated. */
bool hd_proto_take(hd_proto_span *s, hd_proto_field *f);

#endif
