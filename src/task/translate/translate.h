/* Translating lines with a translator: text to ids, sentences of similar length searched side by side, the
   next ones joining as others are done, ids back to text. What a line gives depends neither on the others nor
   on the number of threads.

       hd_translations out = {0};
       hd_translate(&out, run, translator, lines, count, &(hd_translate_opt){.search = {...}}, &err);
       ... out.of[i].hypothesis[0].text ...
       hd_translations_release(&out);
*/
#ifndef HD_TASK_TRANSLATE_TRANSLATE_H
#define HD_TASK_TRANSLATE_TRANSLATE_H

#include "decode/search.h"
#include "model/encdec/encdec.h"
#include "task/model_folder.h"

/* X(NAME, name, what becomes of a sentence, or a line kept whole, that is longer than the model can take) */
#define HD_LONG_LIST(X)                                                      \
    X(SPLIT, split, "translate it in parts, cut at marks or else at spaces") \
    X(TRUNCATE, truncate, "translate its beginning")                         \
    X(SKIP, skip, "give an empty line")

/* X(NAME, name, what becomes of a line of several sentences) */
#define HD_SENTENCES_LIST(X)                                                                    \
    X(AUTO, auto, "split; keep for a T5, whose text begins with the words that say what to do") \
    X(SPLIT, split, "each sentence is translated by itself")                                    \
    X(KEEP, keep, "they are translated together, as far as training went")

#define X(NAME, name, text) HD_SENTENCES_##NAME,
typedef enum hd_sentences_mode { HD_SENTENCES_LIST(X) HD_SENTENCES_MODES } hd_sentences_mode;
#undef X

extern const char *const hd_sentences_names[HD_SENTENCES_MODES + 1]; /* ends with NULL */

#define X(NAME, name, text) HD_LONG_##NAME,
typedef enum hd_long { HD_LONG_LIST(X) HD_LONGS } hd_long;
#undef X

extern const char *const hd_long_names[HD_LONGS + 1]; /* ends with NULL */

typedef struct hd_translate_opt {
    hd_search_opt search;                 /* end, banned, prefix and key are filled in by hd_translate */
    const struct hd_shortlist *shortlist; /* tokens of translations; NULL: all. Not for `force` */
    hd_sentences_mode sentences;          /* lines with a prefix are never split */
    hd_long too_long;
    size_t longest; /* source tokens without the end; 0: as many as the model has positions */
    size_t batch;   /* hypotheses searched side by side; 0: HD_TRANSLATE_BATCH */
    size_t first;   /* number of the first line, for draws */
    bool force;     /* the prefixes are whole translations: they are only scored */
    void (*tell)(void *context, size_t done, size_t of); /* sentences, whenever some are; may be NULL */
    void *context;
} hd_translate_opt;

enum { HD_TRANSLATE_BATCH = 256 };

/* The search of `heed translate` if nothing is said but the size of its beam. */
static inline hd_search_opt hd_translate_usual(size_t beam)
{
    return (hd_search_opt){.kind = beam > 1 ? HD_SEARCH_BEAM : HD_SEARCH_GREEDY,
                           .beam = beam,
                           .length = {.kind = HD_LENGTH_AVERAGE},
                           .stop = HD_STOP_FULL,
                           .max_ratio = 2,
                           .max_extra = 10};
}

typedef struct hd_span {
    size_t begin, end; /* bytes of a text */
} hd_span;

/* A line of several parts has those of its parts one behind the other: the best combinations of what was
   found for each, samples in the order they were drawn. Between them stands the white space of the source,
   one space where it has none, nothing behind the mark of a script that writes none. */
typedef struct hd_hypothesis {
    const char *text;
    const int32_t *ids; /* end token included, where it has one */
    const hd_real *logp;
    size_t length;
    const size_t *end;    /* [parts] of each part in ids */
    const hd_span *part;  /* [parts] of text */
    const double *scores; /* [parts] */
    double sum;           /* of all tokens */
    double score;         /* the mean of its parts'; without a length penalty their sum */
    bool finished;
} hd_hypothesis;

typedef struct hd_translation {
    hd_status status; /* HD_OK, or why there is no hypothesis; `why` is the text */
    const char *why;
    bool cut;                 /* only its beginning was translated */
    size_t parts;             /* the line was translated in so many */
    const int32_t *source;    /* ids with the end, part after part */
    const size_t *source_end; /* [parts] of each part */
    const hd_span *part;      /* [parts] of the line */
    const hd_piece *piece;    /* [sources]: where in the line each token is; an end token has no bytes */
    hd_hypothesis *hypothesis;
    size_t count;
} hd_translation;

typedef struct hd_translations {
    hd_translation *of; /* [count], in the order of the lines */
    size_t count;
    hd_arena memory; /* of everything above */
} hd_translations;

/* Lines that cannot be translated (not UTF-8, a NUL, too long to be skipped) have a status of their own; the
   call fails only for lack of memory and the like. prefix: the first words of each translation, or NULL; one
   without text: none. */
hd_status hd_translate(hd_translations *out, hd_run *r, const hd_model_folder *f, const hd_line *line,
                       const hd_line *prefix, size_t count, const hd_translate_opt *opt, hd_err *err);
void hd_translations_release(hd_translations *t); /* accepts {0} */

/* -- the same in steps, for who searches himself -- */

typedef struct hd_translating hd_translating;

/* Cuts lines into parts. Borrows all of it but prefixes. */
hd_status hd_translating_new(hd_translating **out, const hd_model_folder *f, const hd_line *line,
                             const hd_line *prefix, size_t count, const hd_translate_opt *opt, hd_err *err);
void hd_translating_free(hd_translating *j); /* accepts NULL */
size_t hd_translating_parts(const hd_translating *j);
/* What the model reads. */
const int32_t *hd_translating_source(const hd_translating *j, size_t part, size_t *size);
/* The same with the places in the line; and the bytes of the line that the part is. */
const hd_piece *hd_translating_pieces(const hd_translating *j, size_t part);
hd_span hd_translating_span(const hd_translating *j, size_t part);
/* What a search with these options found for a part: item 0. */
hd_search_opt hd_translate_search(const hd_model_folder *f, const hd_translate_opt *opt, int32_t banned[3]);
hd_status hd_translating_take(hd_translating *j, size_t part, const hd_found *found, hd_err *err);
/* Puts the lines together, once all parts were taken. */
hd_status hd_translating_end(hd_translations *out, hd_translating *j, hd_err *err);

#endif
