/* What a trained model does with a text: its tokens, all intermediates of one decoding step, and the
   distribution of the next token. The numbers are the engine's own: earlier steps are repeated through the
   cache, then a probe collects what the model offers. Models that read a text at once have no steps: a masked
   language model has a distribution for each mask, a classifier one of its labels, a tagger one for each
   token. */
#ifndef HD_SHOW_EXHIBIT_H
#define HD_SHOW_EXHIBIT_H

#include "data/image/image.h"
#include "model/lm/ngram.h"
#include "show/token.h"
#include "task/model_folder.h"

enum { HD_EXHIBIT_TOP = 5 }; /* tokens of a distribution */

typedef enum hd_exhibit_kind {
    HD_EXHIBIT_TRANSLATOR,
    HD_EXHIBIT_LANGUAGE,
    HD_EXHIBIT_MASKED,
    HD_EXHIBIT_LABELER
} hd_exhibit_kind;

/* What the rows or columns of an item are. */
typedef enum hd_exhibit_axis {
    HD_EXHIBIT_CHANNELS,
    HD_EXHIBIT_SOURCE, /* tokens of the source */
    HD_EXHIBIT_READ,   /* tokens read so far, the last of them in this step; or the whole text */
    HD_EXHIBIT_NOW,    /* that last one */
    HD_EXHIBIT_BACK,   /* tokens before the next one, the nearest first */
    HD_EXHIBIT_WORDS,  /* the vocabulary, or labels */
    HD_EXHIBIT_ASKED   /* the tokens that are asked for: masks */
} hd_exhibit_axis;

typedef struct hd_exhibit_item {
    const char *name;    /* as the probe offers it: "dec.0.cross.softmax" */
    const char *part;    /* where that is, in words: "Decoder, layer 1, cross-attention" */
    const char *formula; /* right of the "="; NULL: none is known */
    hd_exhibit_axis down, across;
    size_t heads, rows, cols; /* heads: 0 unless it is attention scores or weights */
    const hd_real *value;     /* [heads, rows, cols] */
    bool whole;               /* they are whole numbers */
} hd_exhibit_item;

typedef struct hd_exhibit_step { /* of decoding */
    hd_shown_token reads, says;
    double p;     /* of what it says */
    bool looks;   /* at the source, by attention: */
    size_t where; /* the source token with the largest weight in the last layer, mean of the heads */
    double share; /* that weight */
} hd_exhibit_step;

typedef struct hd_exhibit_choice { /* of the distribution */
    hd_shown_token token;
    double p, logit; /* logit: NaN where there is none */
} hd_exhibit_choice;

typedef struct hd_exhibit_feature { /* of a maximum entropy model: a context of so many tokens */
    size_t context, bucket;
    double weight; /* for the likeliest next token */
} hd_exhibit_feature;

typedef struct hd_exhibit {
    hd_arena memory; /* of all that follows */
    hd_exhibit_kind kind;
    const char *model;      /* "gpt"; "bi-gru:1 to gru:1" */
    hd_shown_token *source; /* of a translator; NULL of the others */
    size_t sources;
    hd_shown_token *read; /* [reads]: up to the step that is shown, the start token or the line's end first */
    size_t reads;
    size_t cells[2];         /* of a picture: height and width of the grid, the last of `read`; else 0 */
    hd_shown_token before;   /* of a language model: the token for positions before the text */
    const char *translation; /* NULL of the others */
    hd_exhibit_step *step;   /* of a translator: all */
    size_t steps, shown;     /* shown: the one with items, 1, 2, ...; 0: none */
    hd_exhibit_item *item;
    size_t items, room;
    hd_exhibit_choice *top; /* [answers, tops], the likeliest first */
    size_t answers, tops;   /* answers: 1, or as many as there are masks or tokens with a label */
    const int32_t
        *place; /* [answers]: where in `read` the masks stand, or the tokens of a tagger; else NULL */
    hd_ngram_share share[HD_NGRAM_MOST]; /* of an n-gram model: how top[0] got its probability */
    size_t shares;
    bool discounts; /* Kneser-Ney: shares have discounts and pass something on */
    double k;       /* of add-k */
    hd_exhibit_feature *feature;
    size_t features;
    double bias; /* of a maximum entropy model, for the likeliest next token */
} hd_exhibit;

/* A sentence and its translation as ids, both with the end token; all borrowed. */
typedef struct hd_exhibit_ask {
    const int32_t *source, *target;
    size_t sources, targets;
    int32_t start;                 /* the decoder's first input */
    const hd_tokenizer *pieces[2]; /* of source and target; NULL: ids as numbers */
    hd_line sentence;              /* for the names of unknown words of the source; {0}: those are <unk> */
    size_t step;                   /* to be shown, 1, 2, ...; 0: none, only the list of steps */
} hd_exhibit_ask;

/* A step of a given translation by an encoder-decoder; its text is left out. */
hd_status hd_exhibit_pair(hd_exhibit **out, hd_run *r, const hd_model *m, const hd_exhibit_ask *ask,
                          hd_err *err);
/* What the model of a folder does with a text, by what it can do. A translator: a step (0: none) of the
   translation that greedy search finds for the sentence. A language model: the token after a prompt, which is
   the beginning of a line and may be empty. One that fills in: the text as a whole, and what stands at each
   [MASK] of it; without one, and of a model that does not predict words, up to the rows of the last block and
   its pooler, if it has one. One with labels: the text as a whole and its labels or its number; for a tagger,
   which reads tokens separated by spaces, a label for each token. */
hd_status hd_exhibit_text_of(hd_exhibit **out, hd_run *r, const hd_model_folder *f, hd_line text, size_t step,
                             hd_err *err);
/* The same of a picture and a model that reads pictures: a classifier, or an encoder alone. */
hd_status hd_exhibit_picture(hd_exhibit **out, hd_run *r, const hd_model_folder *f, const hd_image *im,
                             hd_err *err);
/* Sinusoidal positions of this width, the matrix that shifts all of them by so many places, and what it makes
 * of them. */
hd_status hd_exhibit_shift(hd_exhibit **out, size_t positions, size_t width, size_t by, hd_err *err);
void hd_exhibit_free(hd_exhibit *x); /* accepts NULL */

const hd_exhibit_item *hd_exhibit_find(const hd_exhibit *x, const char *name); /* NULL when there is none */
bool hd_exhibit_has_unknown(const hd_exhibit *x); /* a word that the vocabulary lacks */
size_t hd_exhibit_heads(const hd_exhibit *x);     /* most of any item; 0 without attention */

#endif
