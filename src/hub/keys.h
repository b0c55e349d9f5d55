/* Settings of a published config.json that are fields of options here: one table reads them and writes them.
   What it lacks has the value that transformers takes then. */
#ifndef HD_HUB_KEYS_H
#define HD_HUB_KEYS_H

#include <stddef.h>

#include "model/config.h"

enum { HD_MOST_SIZE = 1 << 20, HD_MOST_LAYERS = 1000, HD_MOST_HEADS = 1024, HD_MOST_POSITIONS = 1 << 16 };

typedef enum hd_key_kind {
    HD_KEY_INT,    /* int, from 1 on */
    HD_KEY_SIZE,   /* size_t, from 1 on; 0 is not written */
    HD_KEY_REAL,   /* float, from 0 on */
    HD_KEY_SWITCH, /* bool */
    HD_KEY_ACT     /* hd_unary */
} hd_key_kind;

typedef struct hd_key {
    const char *name; /* NULL ends a table */
    hd_key_kind kind;
    size_t at; /* of the field in the options */
    double most, otherwise;
} hd_key;

/* HD_KEY(SIZE, "vocab_size", hd_bert_opt, vocab, HD_MOST_SIZE, 30522) */
#define HD_KEY(kind, name, options, field, most, otherwise)            \
    {                                                                  \
        name, HD_KEY_##kind, offsetof(options, field), most, otherwise \
    }
#define HD_KEY_DROPOUT 0.999 /* most of it */

void hd_keys_read(hd_model_config *c, const hd_key *keys, void *options);
void hd_keys_write(json_t *to, const hd_key *keys, const void *options);

#endif
