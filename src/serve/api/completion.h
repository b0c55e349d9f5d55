/* Texts that models write, as OpenAI's clients ask for them: completions and answers of a chat, at once or
   piece by piece. */
#ifndef HD_SERVE_API_COMPLETION_H
#define HD_SERVE_API_COMPLETION_H

#include "serve/api/openai.h"

typedef struct hd_completion {
    hd_generate_job job; /* first */
    hd_call *call;
    bool chat, llama;          /* which interface it was asked by; neither: completions of OpenAI */
    bool echo, streams, usage; /* usage: a last piece has it */
    char id[40];
    int64_t created;
    size_t choices;
    hd_ids *ids; /* [prompts] that were given as tokens, or NULL */
    /* of a stream; the engine's thread */
    size_t *shown; /* [choices] tokens whose log-probabilities are sent */
    bool *opened;  /* [choices] */
    atomic_int stage;
} hd_completion;

/* Stages of a stream: nothing was sent yet, something was, nothing will be. */
enum { HD_COMPLETION_WAITS, HD_COMPLETION_SENT, HD_COMPLETION_FAILED };

void hd_completion_begin(hd_call *c);
void hd_completion_begin_chat(hd_call *c);
void hd_completion_begin_llama(hd_call *c);
void hd_completion_finish(hd_call *c);

/* -- between the files of it -- */

/* Writes the answer of a job that was done. */
void hd_completion_write(const hd_completion *m, hd_text *to);
/* The functions of the job of a stream. */
hd_status hd_completion_tell(void *completion, size_t which, const char *text, size_t size, hd_err *err);
void hd_completion_done(hd_job *j);
bool hd_completion_enough(const hd_job *j);
/* A list of tokens with their probabilities and the likeliest ones. */
void hd_completion_put_tokens(hd_text *to, const hd_completion *m, const char *key);

/* llama.c: the same as llama-server writes it */
void hd_llama_put_piece(hd_text *to, const hd_completion *m, const char *text, size_t size);
void hd_llama_put_whole(hd_text *to, const hd_completion *m, bool content);

#endif
