/* What Whisper's decoder is told beside its weights: special tokens, lists of tokens that are suppressed, the
   heads that say when a word was spoken. They are in generation_config.json of the model's folder; what that
   lacks follows from the names of tokens. */
#ifndef HD_TASK_TRANSCRIBE_WHISPER_RULES_H
#define HD_TASK_TRANSCRIBE_WHISPER_RULES_H

#include "base/arena.h"
#include "decode/search.h"
#include "text/tokenizer.h"

#define HD_GENERATION "generation_config.json"

typedef struct hd_whisper_language {
    const char *code; /* "en" */
    int32_t id;
} hd_whisper_language;

typedef struct hd_whisper_rules {
    size_t vocab, positions; /* of the decoder */
    /* Tokens; -1: there is none. */
    int32_t start, end, transcribe, translate, previous, no_speech, no_timestamps;
    int32_t timestamp;   /* that of 0.00 s: from here on all are timestamps; `vocab`: there are none */
    int32_t max_initial; /* the first timestamp is at most this many behind the first; -1: any */
    bool multilingual;   /* prompts have a language and a task */
    hd_whisper_language *language;
    size_t languages;
    int32_t *suppress, *begin_suppress; /* never; not first */
    size_t suppressed, begin_suppressed;
    int32_t *alignment; /* [aligned, 2]: layer and head */
    size_t aligned;
    size_t longest; /* most tokens, those of the prompt included */
    hd_arena memory;
} hd_whisper_rules;

/* Of a folder with a model of so many target tokens and positions, layers and heads. */
typedef struct hd_whisper_sizes {
    size_t vocab, positions;
    int layers, heads;
} hd_whisper_sizes;

hd_status hd_whisper_rules_read(hd_whisper_rules *out, const char *folder, const hd_tokenizer *t,
                                const hd_whisper_sizes *sizes, hd_err *err);
void hd_whisper_rules_release(hd_whisper_rules *r); /* accepts {0} */

/* The token of a language that is called by its code or name; -1 with an error that lists what there is. */
int32_t hd_whisper_language_id(const hd_whisper_rules *r, const char *called, hd_err *err);
const char *hd_whisper_language_code(const hd_whisper_rules *r, int32_t id); /* NULL: it is none */

/* Appends what stands before a text: start, language and task (language -1: neither), and unless there are to
   be timestamps the token that says so. */
hd_status hd_whisper_prompt(hd_ids *to, const hd_whisper_rules *r, int32_t language, bool translate,
                            bool timestamps, hd_err *err);

/* What may follow, for hd_search_opt.adjust: lists, and where there are timestamps their order. */
typedef struct hd_whisper_adjust {
    const hd_whisper_rules *rules;
    const bool *timestamps; /* [items] of the search */
    bool normalize; /* probabilities of what is left add up to 1: not for beams, as transformers has it */
} hd_whisper_adjust;

void hd_whisper_adjust_row(void *context, size_t item, const int32_t *token, size_t count, hd_real *logp);

#endif
