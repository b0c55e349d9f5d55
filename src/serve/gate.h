/* Who may ask: keys, and the names by which the server may be called. */
#ifndef HD_SERVE_GATE_H
#define HD_SERVE_GATE_H

#include <stdbool.h>

#include "base/status.h"

enum { HD_KEY_MOST = 128, HD_KEYS_MOST = 1024 }; /* bytes of a key; keys of a file */

typedef struct hd_gate {
    char (*key)[HD_KEY_MOST]; /* padded with zeros */
    size_t keys;
    const char *const *host; /* names besides addresses of this machine; borrowed */
    size_t hosts;
    const char *const *origin; /* of pages that may ask; "*": all; borrowed */
    size_t origins;
} hd_gate;

/* Reads keys, one a line; lines that are empty or begin with '#' are none. Refuses a file that others than
   its owner can read. */
hd_status hd_gate_read(hd_gate *g, const char *path, hd_err *err);
void hd_gate_release(hd_gate *g); /* accepts {0} */

/* The number of a key, from 1 on; 0: it is none. Takes equally long whatever is given. */
size_t hd_gate_number(const hd_gate *g, const char *key);
/* Whether the Host of a request, which may have a port and may be NULL, is one of ours: a page elsewhere
   whose name leads to this machine is not. */
bool hd_gate_is_host(const hd_gate *g, const char *host);
/* Whether a page of this origin (NULL: none) may ask. */
bool hd_gate_is_origin(const hd_gate *g, const char *origin);

#endif
