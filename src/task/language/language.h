/* What is asked of a language model: a folder whose config.json says "task": "lm", with a tokenizer file and
   model.safetensors or ngram.bin; and the texts that it reads. */
#ifndef HD_TASK_LANGUAGE_LANGUAGE_H
#define HD_TASK_LANGUAGE_LANGUAGE_H

#include "data/files.h"
#include "data/shards/shards.h"
#include "decode/search.h"
#include "model/lm/lm.h"
#include "task/model_folder.h"
#include "text/tokenizer.h"

/* A text as one stream: every line and an end token behind it, or its characters as they are where the
   tokenizer keeps lines. hd_stream_text_of makes one. */
typedef struct hd_stream_text {
    int32_t *ids;      /* NULL: they are on shards */
    hd_shards *shards; /* owned */
    size_t *begin;     /* [pieces] of music: the first token of each, behind the end of the one before */
    size_t pieces;     /* 0: it is one text */
    uint8_t *learned;  /* [count] of dialogues, which are its pieces: whether a token is foreseen, not only
                          read;  NULL: all are */
    bool documents;    /* its pieces are documents (task/language/documents.h) */
    size_t skip;       /* of pieces that are judged: so many first tokens of each do not count */
    size_t count, lines;
    size_t
        characters; /* Unicode characters, one for the end of each line too: bits per character need them */
    uint64_t hash;
} hd_stream_text;

/* Tokens from .. from+count-1 that are foreseen. */
size_t hd_stream_text_learned(const hd_stream_text *s, size_t from, size_t count);
uint64_t hd_ids_hash(const int32_t *ids, size_t count);
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

/* Lets a gpt see so many tokens at once: more than it learned with where its positions allow that. HD_EARG
   where they do not, or the model sees no fixed number of tokens. */
hd_status hd_language_set_context(const hd_model_folder *f, size_t tokens, hd_err *err);

/* -- texts -- */

typedef struct hd_plain_text {
    char *bytes; /* of all lines, without what ended them */
    size_t *end; /* [lines] */
    size_t lines, size, room, places;
    bool open; /* the last line goes on elsewhere: no end token stands behind it */
} hd_plain_text;

/* Empty lines count; one that is not UTF-8 is refused. "-": standard input. A text without a line is none. */
hd_status hd_plain_text_read(hd_plain_text *out, const char *path, hd_err *err);
/* Several, one behind the other; none may be without a line. */
hd_status hd_plain_text_read_all(hd_plain_text *out, const hd_files *files, hd_err *err);
void hd_plain_text_release(hd_plain_text *t); /* accepts {0} */

/* Moves the last `fraction` of the characters to tail, the end of a line being one; the cut may be inside a
   line. Either side keeps at least one. HD_EARG where there is only one. */
hd_status hd_plain_text_split(hd_plain_text *t, double fraction, hd_plain_text *tail, hd_err *err);

/* Characters of a line, its end too; and bytes of the first n of them. How many of all are kept where a share
   is held back. */
size_t hd_line_characters(hd_line line);
size_t hd_line_bytes(hd_line line, size_t n);
hd_status hd_characters_kept(size_t *out, size_t all, double fraction, hd_err *err);

/* The lines as a feed for a vocabulary; the walk is its context. */
typedef struct hd_plain_walk {
    const hd_plain_text *text;
    size_t next;
} hd_plain_walk;

hd_feed hd_plain_feed(hd_plain_walk *walk);

/* The same lines as tokens. */
hd_status hd_stream_text_of(hd_stream_text *out, const hd_plain_text *text, const hd_tokenizer *t,
                            hd_err *err);

/* -- windows -- */

/* The tokens from `from` on are to be predicted, `len` of them; the loss of the first `skip` counts nothing.
 */
typedef struct hd_window {
    size_t from, len, skip;
} hd_window;

/* Sends windows, one an item. keys: NULL, or the items' numbers for random draws. The number tells the shape
   they are filled up to. A failure stays in the run. */
uint64_t hd_windows_send(hd_run *r, hd_lm_batch *out, const hd_lm *m, const hd_stream_text *text,
                         const hd_window *w, const int32_t *keys, size_t items);

/* Windows judged one behind the other without overlap: half the work of hd_language_judge where that
   overlaps, and a little more nats a token. */
hd_status hd_language_judge_fast(hd_fluency *out, hd_run *r, const hd_model_folder *f,
                                 const hd_stream_text *text, hd_err *err);

#endif
