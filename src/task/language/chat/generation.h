/* generation_config.json: how a published model wants its tokens drawn. What a caller says goes before it;
   what it does not say is as in transformers. */
#ifndef HD_TASK_LANGUAGE_CHAT_GENERATION_H
#define HD_TASK_LANGUAGE_CHAT_GENERATION_H

#include "task/language/generate.h"

enum { HD_ENDINGS = 64 };

typedef struct hd_generation {
    hd_arena arena; /* of what is below */
    bool draws;     /* the file says how tokens are drawn; if not, that is up to the caller */
    bool sample;    /* do_sample: without it the likeliest token is taken */
    float temperature, top_p, min_p, repetition;
    size_t top_k, no_repeat;
    size_t tokens; /* max_new_tokens; 0: not said */
    int32_t ending[HD_ENDINGS];
    size_t endings;
    hd_rules rules;          /* without its ends, which are those above */
    const char *const *stop; /* stop_strings */
    size_t stops;
    char ignored[256]; /* keys that would change texts and are not obeyed: "num_beams, typical_p"; or "" */
} hd_generation;

/* A folder without the file is fine. Of one that transformers made up from config.json ("_from_model_config")
   nothing counts. HD_EFORMAT: a value is not what it should be; the message names it. */
hd_status hd_generation_read(hd_generation *out, const char *folder, size_t vocab, hd_err *err);
void hd_generation_release(hd_generation *g); /* accepts {0} */

/* What a caller has said: */
typedef struct hd_generation_said {
    bool temperature, top_k, top_p, min_p, repetition, no_repeat, tokens, stop;
} hd_generation_said;

/* Sets what the caller has not; g must outlive o. A temperature that was given samples. */
void hd_generation_apply(hd_generation *g, const hd_generation_said *said, hd_generate_opt *o);
/* Adds a token to those that end a text, before they are applied. */
void hd_generation_end(hd_generation *g, int32_t token);

#endif
