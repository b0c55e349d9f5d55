/* GGUF files: metadata and tensors, mapped for reading. A file is hostile until every rule has been checked;
   after hd_gguf_open every value and every tensor lies inside the file. */
#ifndef HD_TENSOR_GGUF_H
#define HD_TENSOR_GGUF_H

#include "base/file/lines.h"
#include "tensor/quantized.h"

enum { HD_GGUF_RANK = 4 };

/* X(number in the file, NAME, bytes; 0: they vary) */
#define HD_GGUF_TYPE_LIST(X) \
    X(0, U8, 1)              \
    X(1, I8, 1)              \
    X(2, U16, 2)             \
    X(3, I16, 2)             \
    X(4, U32, 4)             \
    X(5, I32, 4)             \
    X(6, F32, 4)             \
    X(7, BOOL, 1)            \
    X(8, TEXT, 0)            \
    X(9, LIST, 0)            \
    X(10, U64, 8)            \
    X(11, I64, 8)            \
    X(12, F64, 8)

typedef enum hd_gguf_type {
#define X(number, name, bytes) HD_GGUF_##name = number,
    HD_GGUF_TYPE_LIST(X)
#undef X
        HD_GGUF_TYPES
} hd_gguf_type;

typedef struct hd_gguf_value {
    hd_gguf_type type;   /* of a list: that of its items */
    bool list;           /* of `count` items */
    size_t count;        /* 1 if it is no list */
    const uint8_t *data; /* inside the file, perhaps unaligned */
} hd_gguf_value;

typedef struct hd_gguf_tensor {
    const char *name;
    const hd_quantized *type;
    int rank;
    size_t shape[HD_GGUF_RANK]; /* as elsewhere: columns last */
    size_t count;
    const uint8_t *data;
} hd_gguf_tensor;

typedef struct hd_gguf hd_gguf;

hd_status hd_gguf_open(hd_gguf **out, const char *path, hd_err *err);
/* The same over bytes that outlive the result; `name` stands for the path in messages. */
hd_status hd_gguf_parse(hd_gguf **out, const void *bytes, size_t size, const char *name, hd_err *err);
void hd_gguf_free(hd_gguf *g); /* accepts NULL */

const char *hd_gguf_file(const hd_gguf *g); /* its name, for messages */
size_t hd_gguf_count(const hd_gguf *g);     /* tensors */
const hd_gguf_tensor *hd_gguf_at(const hd_gguf *g, size_t i);
const hd_gguf_tensor *hd_gguf_tensor_of(const hd_gguf *g, const char *name); /* NULL: there is none */
/* All numbers of a tensor. */
void hd_gguf_widen(const hd_gguf_tensor *t, float *to);

/* NULL: there is no such key. */
const hd_gguf_value *hd_gguf_find(const hd_gguf *g, const char *key);
/* Whether v (may be NULL) is such a value: a whole number, any number, a text. Texts are of the file, without
   an end. */
bool hd_gguf_whole(const hd_gguf_value *v, int64_t *out);
bool hd_gguf_real(const hd_gguf_value *v, double *out);
bool hd_gguf_text(const hd_gguf_value *v, hd_line *out);
bool hd_gguf_switch(const hd_gguf_value *v, bool *out);
/* Takes the next item of a list, of which *rest is what is left (at first the list); false: there is none. */
bool hd_gguf_next(hd_gguf_value *rest, hd_gguf_value *item);

#endif
