/* What is asked of a language model: a folder whose config.json says "task": "lm", with a tokenizer file and
   model.safetensors or ngram.bin. */
#ifndef HD_TASK_LANGUAGE_LANGUAGE_H
#define HD_TASK_LANGUAGE_LANGUAGE_H

#include "data/shards/shards.h"
#include "decode/search.h"
#include "model/lm/lm.h"
#include "task/model_folder.h"
#include "text/tokenizer.h"

/* A text as one stream: every line and an end token behind it, or its characters as they are where the
   tokenizer keeps lines. hd_stream_text_of (language_text.h) makes
   one. */
typedef struct hd_stream_text {
    int32_t *ids;      /* NULL: they are on shards */
    hd_shards *shards; /* owned */
    size_t count, lines;
    size_t
        characters; /* Unicode characters, one for the end of each line too: bits per character need them */
    uint64_t hash;
} hd_stream_text;

void hd_stream_text_release(hd_stream_text *s); /* accepts {0} */

/* Tokens from .. from+count-1: where they are in memory, or read to `room`. NULL: they cannot be read. */
const int32_t *hd_stream_text_at(const hd_stream_text *s, size_t from, size_t count, int32_t *room,
                                 hd_err *err);

typedef struct hd_fluency {
    size_t tokens, characters;
    double nats; /* minus the sum of log-probabilities */
    double seconds;
} hd_fluency; /* perplexity = exp(nats / tokens); bits per character = nats / characters / ln 2 */

/* Every token of the text after what stands before it. Counted models: the whole text at once. Those that
   look at a fixed number of tokens see all of them. Those with a state carry it from window to window; a long
   text is judged in up to 32 parts side by side, each after a window of what stands before it. gpt: windows
   of its context that overlap by half, so that a token has at least half a context before it. */
hd_status hd_language_judge(hd_fluency *out, hd_run *r, const hd_model_folder *f, const hd_stream_text *text,
                            hd_err *err);

#endif
