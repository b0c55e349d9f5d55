/* Keys of config.json and the fields of a struct of options that they fill: a table of rows, read and written
   by one function each. */
#ifndef HD_MODEL_KEYS_H
#define HD_MODEL_KEYS_H

#include <stddef.h>

#include "model/config.h"

typedef enum hd_key_kind {
    HD_KEY_WHOLE,  /* int, size_t or an enum */
    HD_KEY_REAL,   /* float or double, from `least` on */
    HD_KEY_FLAG,   /* bool */
    HD_KEY_NOT,    /* the file says the opposite of the field */
    HD_KEY_CHOICE, /* an enum: one of `names` */
    HD_KEY_UNARY,  /* hd_unary: an activation by its name */
    HD_KEY_CELL,   /* hd_unary: "tanh" or "sigmoid" */
    HD_KEY_TEXT,   /* char [] */
    HD_KEY_STAGES  /* hd_stages */
} hd_key_kind;

typedef enum hd_key_when {
    HD_KEY_ALWAYS, /* must be there */
    HD_KEY_LATE,   /* came later: where a file lacks it the field stays as it is */
    HD_KEY_ELSE,   /* the same, but the field becomes `otherwise`; a whole number of 0 is not written */
    HD_KEY_RARE    /* as LATE, and it is written only where the field is not 0, "" or tanh */
} hd_key_when;

typedef struct hd_key {
    const char *name;
    hd_key_kind kind;
    size_t at, size;    /* the field */
    double least, most; /* of numbers */
    const char *const *names;
    int count; /* of names */
    /* Activations by other names than hd_unary_name has; a name that is none is refused. */
    hd_unary (*act)(hd_model_config *c, const char *name);
    const char *(*act_name)(hd_unary act);
    hd_key_when when;
    double otherwise;
    unsigned of; /* which models have it, as the caller counts them; 0: all */
} hd_key;

/* Rows of fields of T. */
#define HD_KEY_OF(T, key, is, field) \
    .name = key, .kind = HD_KEY_##is, .at = offsetof(T, field), .size = sizeof(((T *)0)->field)
#define HD_KEY_NAMES(list) .names = list, .count = (int)(sizeof list / sizeof *list) - 1

/* Those of models `of`, in a table that ends with {0}. The first fault stays in c. */
void hd_keys_read(hd_model_config *c, const hd_key *keys, unsigned of, void *into);
void hd_keys_write(hd_text *to, const hd_key *keys, unsigned of, const void *from); /* each behind a comma */
void hd_keys_set(json_t *to, const hd_key *keys, const void *from); /* of all models, in a tree; no stages */

#endif
