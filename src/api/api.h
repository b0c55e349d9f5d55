/* What the files behind heed.h share: the handles, errors, option structs of callers older or newer than this
   library. */
#ifndef HD_API_API_H
#define HD_API_API_H

#include <stdatomic.h>

#include "heed.h"
#include "op/run.h"
#include "task/translate/translate.h"

struct heed_model {
    hd_backend *backend; /* of one thread: whoever runs the model brings threads of his own */
    hd_model_folder translator;
    struct hd_shortlist *shortlist; /* NULL: none */
    char aside[512];     /* the device that "auto" left aside, and why; "": none */
    atomic_size_t users; /* the caller, contexts and results; the last one frees */
};

struct heed_context {
    heed_model *model;
    hd_backend *backend;
    hd_run run;
    heed_log_fn *log;
    void *log_user;
    atomic_flag busy;
};

void hd_api_keep(heed_model *m); /* one user more; heed_model_free is one less */

/* Ends every public function: what went wrong, for the caller. Returns s. */
heed_status hd_api_end(heed_error *to, const hd_err *err, hd_status s);

/* A caller's struct `from` over the defaults in *to, both starting with their size. What a newer caller has
   at its end this library knows nothing of: HD_EARG unless it is zero. NULL leaves the defaults. */
hd_status hd_api_options(void *to, size_t size, const void *from, const char *name, hd_err *err);
/* The defaults for a caller whose struct has `size` bytes. */
void hd_api_defaults(void *to, size_t size, const void *defaults, size_t known);

/* The given options over the defaults in *o, and what they mean. HD_EARG names one that makes no sense. */
hd_status hd_api_read_options(hd_translate_opt *to, heed_translate_options *o,
                              const heed_translate_options *given, hd_err *err);

/* What was found, as heed.h shows it. Takes *found over, also when it fails. */
hd_status hd_api_results(heed_results **out, heed_model *m, hd_translations *found, hd_err *err);
/* What the results of a line were made of. */
const hd_translation *hd_api_found(const heed_results *shown, size_t line);

#endif
