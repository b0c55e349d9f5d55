/* What the files behind heed.h share: the handles, errors, option structs of callers older or newer than this
   library. */
#ifndef HD_API_API_H
#define HD_API_API_H

#include <stdatomic.h>

#include "heed.h"
#include "model/heads.h"
#include "op/run.h"
#include "task/language/chat/form.h"
#include "task/language/chat/generation.h"
#include "task/translate/translate.h"

struct heed_model {
    hd_backend *backend; /* of one thread: whoever runs the model brings threads of his own */
    hd_model_folder folder;
    struct hd_shortlist *shortlist; /* NULL: none */
    hd_generation generation[2]; /* of a language model: how it wants tokens of texts drawn, and of answers */
    hd_chat_form form;           /* where it has a template */
    bool chats;
    hd_err no_chat;      /* why it has none */
    char aside[512];     /* the device that "auto" left aside, and why; "": none */
    atomic_size_t users; /* the caller, contexts and results; the last one frees */
};

struct heed_context {
    heed_model *model;
    hd_backend *backend;
    hd_run run;
    heed_log_fn *log;
    void *log_user;
    hd_heads heads; /* run.heads, where factors are set */
    atomic_flag busy;
    atomic_bool halt; /* of heed_context_stop */
};

void hd_api_keep(heed_model *m); /* one user more; heed_model_free is one less */

/* Begins a call that uses the context, which belongs to it until hd_api_leave. HD_EARG: `missing` is an
   argument that is NULL, or the context is in use; then the call must not go on, but leave with `entered`
   false. */
hd_status hd_api_enter(heed_context *c, const char *function, const char *missing, hd_err *err);
heed_status hd_api_leave(heed_context *c, bool entered, heed_error *to, const hd_err *err, hd_status s);
/* HD_EARG unless the model is one that this verb of the program reads. */
hd_status hd_api_reads(const heed_model *m, const char *verb, const char *function, hd_err *err);

/* Ends every public function: what went wrong, for the caller. Returns s. */
heed_status hd_api_end(heed_error *to, const hd_err *err, hd_status s);

/* A caller's struct `from` over the defaults in *to, both starting with their size. What a newer caller has
   at its end this library knows nothing of: HD_EARG unless it is zero. NULL leaves the defaults. */
hd_status hd_api_options(void *to, size_t size, const void *from, const char *name, hd_err *err);
/* The defaults for a caller whose struct has `size` bytes. */
void hd_api_defaults(void *to, size_t size, const void *defaults, size_t known);

/* A number of the options with what it may be; lists end with a name of NULL. HD_EARG names the first that is
   outside; what is not a number is. */
typedef struct hd_api_size {
    const char *name;
    size_t value, least, most;
} hd_api_size;
typedef struct hd_api_real {
    const char *name;
    double value, least, most;
} hd_api_real;
hd_status hd_api_ranges(const hd_api_size *size, const hd_api_real *real, hd_err *err);

/* The given options over the defaults in *o, and what they mean. HD_EARG names one that makes no sense. */
hd_status hd_api_read_options(hd_translate_opt *to, heed_translate_options *o,
                              const heed_translate_options *given, hd_err *err);

/* Lines of a caller: each ends with a zero byte, or where its size says. HD_EARG for one that is missing
   unless it may, HD_ELIMIT for one that is too long. */
hd_status hd_api_lines(hd_line *to, const char *const *text, const size_t *size, size_t count,
                       const char *what, bool may_miss, hd_err *err);

/* Results that lie in an arena of their own and keep the model, whose tokens they may show. What the caller
   sees comes behind this struct in memory. */
typedef struct hd_api_held {
    heed_model *model;
    hd_arena memory;
    hd_err err; /* the first failure to get memory */
} hd_api_held;

void *hd_api_hold(hd_api_held **out, size_t size, heed_model *m, hd_err *err); /* all zeros */
void *hd_api_take(hd_api_held *h, size_t count, size_t size); /* zeros; NULL after a failure */
const char *hd_api_copy(hd_api_held *h, const char *text, size_t size);
/* The names of tokens, which are the vocabulary's own. */
const char *const *hd_api_pieces(hd_api_held *h, const hd_tokenizer *t, const int32_t *id, size_t count);
/* Ends the making of results: *out is what the caller sees, or they are freed. s: what happened before. */
hd_status hd_api_give(void *out, void *shown, hd_api_held *h, hd_status s, hd_err *err);
void hd_api_drop(void *shown); /* accepts NULL */

/* What was found, as heed.h shows it. Takes *found over, also when it fails. */
hd_status hd_api_results(heed_results **out, heed_model *m, hd_translations *found, hd_err *err);
/* What the results of a line were made of. */
const hd_translation *hd_api_found(const heed_results *shown, size_t line);

#endif
