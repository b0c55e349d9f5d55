/* The inside of hd_safetensors, for the files of this folder that fill one. */
#ifndef HD_TENSOR_SAFETENSORS_PARTS_H
#define HD_TENSOR_SAFETENSORS_PARTS_H

#include "base/arena.h"
#include "base/json.h"
#include "tensor/safetensors.h"

#define HD_SAFETENSORS_META  "__metadata__"
#define HD_SAFETENSORS_SHOWN ".120s" /* of a name in messages: room must be left for numbers and reasons */

enum { HD_SAFETENSORS_LENGTH = 8 }; /* bytes before the header that give its length */

struct hd_safetensors {
    hd_map map;      /* empty when the bytes belong to the caller */
    char *file;      /* name for messages */
    hd_arena arena;  /* of root */
    json_t *root;    /* owns names and metadata; NULL for other formats */
    hd_entry *entry; /* by name */
    size_t count;
    size_t *shapes; /* all of them, one after the other */
    const uint8_t *data;
    size_t size;        /* the data after the header */
    size_t header;      /* its bytes */
    hd_fetch_fn *fetch; /* of tensors that are made; NULL: they are in the file */
    void *context;      /* of it */
};

int hd_entry_by_name(const void *a, const void *b); /* compares two, for qsort and bsearch */

#endif
