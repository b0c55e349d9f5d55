/* Requests of heed's own interface: a text, and how a model is to treat it. The answer is written by the
   engine's thread, so that the server's goes on meanwhile. */
#ifndef HD_SERVE_API_INSPECT_H
#define HD_SERVE_API_INSPECT_H

#include "serve/api/call.h"
#include "show/live/inspection.h"

enum {
    HD_INSPECT_BYTES = 8192,     /* of a text */
    HD_INSPECT_TOKENS = 400,     /* read and written together */
    HD_INSPECT_BEAM = 16,        /* hypotheses side by side */
    HD_INSPECT_TOP = 50,         /* likely tokens at each place */
    HD_INSPECT_WRITTEN = 100,    /* by a language model */
    HD_INSPECT_HEADS = 16384,    /* bytes of a list of factors */
    HD_INSPECT_WEIGHTS = 1 << 22 /* of attention in an answer; an eighth of it as numbers */
};

typedef struct hd_inspect_job {
    hd_job job; /* first */
    const hd_served *model;
    hd_inspect_ask ask;
    hd_text json; /* the answer */
    /* of attention: */
    const char *select; /* names of heads, with "*" for any part, apart by commas; NULL: all */
    bool base64, bytes; /* how weights are written: f32, or shares of 255 */
} hd_inspect_job;

/* Reads what the request asks for, with a job that does `visit`, and hands it to the model's engine; or the
   call has failed. prepare: reads what is not common to all, false where that has failed; or NULL. */
void hd_inspect_begin(hd_call *c, hd_status (*visit)(hd_job *, hd_run *, const hd_model_folder *, hd_err *),
                      bool (*prepare)(hd_call *c, hd_inspect_job *j));
void hd_inspect_finish(hd_call *c); /* the answer is there */

/* attention.c */
void hd_api_attention(hd_call *c);

#endif
