/* Pickles, read as data: numbers, texts, tuples, dictionaries and lists. A pickle is a program for a stack
   machine; here it can name and call only what the host knows, and every other operation is refused. */
#ifndef HD_TENSOR_PICKLE_H
#define HD_TENSOR_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum hd_pickle_kind {
    HD_PICKLE_NONE,
    HD_PICKLE_BOOL,
    HD_PICKLE_INT,
    HD_PICKLE_TEXT,
    HD_PICKLE_TUPLE,
    HD_PICKLE_DICT,
    HD_PICKLE_LIST,
    HD_PICKLE_NAME,  /* the host's: a name */
    HD_PICKLE_OBJECT /* the host's: the result of a call */
} hd_pickle_kind;

typedef struct hd_pickle_value {
    hd_pickle_kind kind;
    int64_t
        number; /* BOOL, INT; NAME, OBJECT: the host's number; the first cell of a TUPLE; DICT, LIST: id */
    const char *text; /* TEXT, borrowed from the bytes */
    size_t size;      /* of TEXT in bytes, of TUPLE in values */
} hd_pickle_value;

typedef struct hd_pickle_entry {
    int64_t owner;       /* id of the dictionary or list */
    hd_pickle_value key; /* of a list NONE */
    hd_pickle_value value;
} hd_pickle_entry;

typedef struct hd_pickle hd_pickle;

typedef struct hd_pickle_host {
    void *context;
    /* A number for module.name; -1: it is not known. */
    int (*name)(void *context, const char *module, size_t module_size, const char *name, size_t size);
    /* The result of calling a name; for an empty dictionary only the kind is set. */
    hd_status (*call)(void *context, const hd_pickle *p, int64_t name, hd_pickle_value arguments,
                      hd_pickle_value *out, hd_err *err);
    /* Data outside the pickle. */
    hd_status (*find)(void *context, const hd_pickle *p, hd_pickle_value id, hd_pickle_value *out,
                      hd_err *err);
} hd_pickle_host;

/* Messages name no file. The bytes must outlive the result. */
hd_status hd_pickle_new(hd_pickle **out, const hd_pickle_host *host, hd_err *err);
void hd_pickle_free(hd_pickle *p); /* accepts NULL */
/* Runs the program at *at, which is moved past it. Results of earlier programs stay. */
hd_status hd_pickle_run(hd_pickle *p, const uint8_t *bytes, size_t size, size_t *at, hd_pickle_value *out,
                        hd_err *err);

const hd_pickle_value *hd_pickle_cells(const hd_pickle *p,
                                       hd_pickle_value tuple); /* its values; NULL: it is none */
/* Entries of all dictionaries and lists in order of creation. */
const hd_pickle_entry *hd_pickle_entries(const hd_pickle *p, size_t *count);

#endif
