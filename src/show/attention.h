/* Attention weights of every layer and head when a model reads a source and a given target, or one text.
   They are those of one plain forward pass, collected by a probe, whatever search found the target. */
#ifndef HD_SHOW_ATTENTION_H
#define HD_SHOW_ATTENTION_H

#include "data/image/image.h"
#include "model/type.h"
#include "show/token.h"
#include "task/translate/translate.h"

/* "auto" and the names, ends with NULL: the values of hd_attention_pick.kind for a table of options. */
extern const char *const hd_attention_choices[];

typedef struct hd_attention_part {
    size_t layers, heads, rows, cols; /* rows attend to columns */
    float *weight;                    /* [layers, heads, rows, cols]; 0 where masked */
    bool masked;                      /* row i sees columns up to i only */
} hd_attention_part;

/* A picture that the encoder read: the sources are `lead` tokens, then height x width cells, row by row. Or
   sound: the picture is its spectrogram, and the cells are times, all of equal length. */
typedef struct hd_attention_scene {
    hd_image image;             /* what the model saw of it (show/picture/picture.h); {0}: it read tokens */
    const char *name;           /* its file; NULL when not given */
    size_t lead, height, width; /* of the sources */
    double seconds;             /* of sound; 0: it is a picture */
    double begin;               /* of sound: seconds of its file before it */
    const float *box; /* [targets, 4] x, y, width, height of what each found, as shares of the picture;
                         NULL: none */
} hd_attention_scene;

/* An object that a detector found. */
typedef struct hd_attention_box {
    size_t query;              /* which of its queries found it */
    float x, y, width, height; /* as shares of the picture */
    const char *name;          /* "cat 0.98" */
} hd_attention_box;

/* A sound, as its model reads it. */
typedef struct hd_attention_sound {
    const struct hd_frames_host *frames; /* one item (nn/frames.h) */
    double seconds;                      /* of its frames that are shown */
    double begin;                        /* seconds of its file before them */
    size_t heard; /* frames that are shown, what follows is padding; 0: all. Rows over times then add up to
                     less than 1 */
} hd_attention_sound;

/* A head of a layer, both from 0. */
typedef struct hd_attention_head {
    int32_t layer, head;
} hd_attention_head;

/* The line and the part of it, both from 1; {0}: none. */
typedef struct hd_attention_place {
    size_t line, part, parts;
} hd_attention_place;

/* Of a model with experts: how much each token uses each. */
typedef struct hd_attention_experts {
    size_t layers, count; /* those that have experts; experts of one */
    size_t *layer;        /* [layers] which they are, from 0 */
    float **weight;       /* [layers] of [targets, count]; 0: not used */
} hd_attention_experts;

/* A BERT has no targets, a language model no sources. */
typedef struct hd_attention_maps {
    hd_arena memory; /* of all that follows */
    size_t sources, targets;
    hd_shown_token *source; /* [sources]: what the encoder reads */
    hd_shown_token *input;  /* [targets]: what the decoder reads, the start token first */
    hd_shown_token *output; /* [targets]: input + 1. Row i of decoder and cross reads input[i] and predicts
                               output[i]; a language model has no last output */
    const char *sentence, *translation; /* the texts; NULL when not given */
    double score;                       /* as given */
    hd_attention_place place;           /* as given */
    hd_attention_scene scene;           /* what was read instead of tokens */
    const hd_attention_head *aligned;   /* heads of cross-attention that say when a token was spoken, */
    size_t alignings;                   /* whose mean is drawn where nothing is picked; 0: none */
    hd_attention_part part[HD_ATTENTION_KINDS];
    hd_attention_experts experts;
} hd_attention_maps;

/* The input; all borrowed. */
typedef struct hd_attention_ask {
    const int32_t *source; /* ids with the end token, as in training; for an encoder alone, as a BERT, the
                              text */
    size_t sources;
    size_t second;         /* for such a model: tokens before the second text; 0: none */
    int32_t start;         /* the decoder's first input */
    const int32_t *target; /* ids as a search found them, with the end token if there is one; for a
                              language model the text with its start token */
    size_t targets;
    const hd_tokenizer *source_pieces, *target_pieces; /* for the names of tokens; NULL: the id as a number */
    hd_line sentence, translation;                     /* {0}: none. What is not UTF-8 becomes U+FFFD */
    hd_line
        source_text[2];  /* the texts that `source` was made of, the second of a pair, and `target`, as far */
    hd_line target_text; /* as it was given: they name unknown words; {0}: those are named <unk> */
    double score;
    hd_attention_place place;
    /* Of a model that reads pictures, in place of `source`: */
    const hd_image *picture; /* as decoded */
    const char *name;        /* its file, or NULL */
    const hd_attention_box *box;
    size_t boxes; /* of a detector: what is shown, in this order; 0: all queries */
    /* Of a model that reads sound, in place of `source`: with its name */
    const hd_attention_sound *sound;
    const int32_t *prompt; /* what the decoder reads before `start`; its rows and columns are not */
    size_t prompts;        /* shown */
    const hd_attention_head *aligned; /* as of hd_attention_maps */
    size_t alignings;
    unsigned kinds; /* bits 1 << hd_attention_kind: those to be collected; 0: all */
} hd_attention_ask;

/* One forward pass without cache in its own step (hd_run_begin), without the run's own probe. out needs no
   initialization and is {0} after a failure. HD_EARG names an invalid id, HD_ELIMIT the longest sentence. */
hd_status hd_attention_collect(hd_attention_maps *out, hd_run *r, const hd_model *m,
                               const hd_attention_ask *ask, hd_err *err);
void hd_attention_release(hd_attention_maps *a); /* accepts {0} and half-built */

/* attention_experts.c: keeps an offer that says which experts the targets use, if it is one. */
void hd_attention_keep_experts(hd_attention_maps *a, hd_run *r, const hd_offer *offer);

/* For callers that fill one themselves: weights of 0 and no names. */
hd_status hd_attention_init(hd_attention_maps *out, size_t sources, size_t targets,
                            const size_t layers[HD_ATTENTION_KINDS], const size_t heads[HD_ATTENTION_KINDS],
                            hd_err *err);

/* Allocates the weights of a part whose sizes are set. */
hd_status hd_attention_part_make(hd_attention_part *p, hd_arena *memory, hd_err *err);

/* Where layer after layer of the encoder takes what a row reads from: the product over the layers of
   (A + I) / 2, A the mean of the heads ("rollout"); [n, n] in new memory, which the caller frees. */
hd_status hd_attention_rollout(float **out, const hd_attention_part *p, hd_err *err);

/* -- of a translation, part by part, as the model read the line -- */

typedef struct hd_attention_of { /* all borrowed */
    const hd_model_folder *by;
    const hd_translation *found; /* its first hypothesis is used */
    hd_line line, prefix;        /* as translated, for names of unknown words; {0}: not given */
    size_t number;               /* of the line, from 1; 0: none */
    unsigned kinds;              /* as of hd_attention_ask */
} hd_attention_of;

/* Called with each part that has output, from 0 on; the maps are valid until it returns. */
typedef hd_status hd_attention_take(void *context, size_t part, const hd_attention_maps *maps, hd_err *err);
hd_status hd_attention_parts(hd_run *r, const hd_attention_of *of, hd_attention_take *take, void *context,
                             hd_err *err);

/* -- one matrix -- */

static inline const float *hd_attention_at(const hd_attention_part *p, size_t layer, size_t head)
{
    return p->weight + (layer * p->heads + head) * p->rows * p->cols;
}

/* A choice. All three count from 1; 0: not given. If one matrix is drawn, the defaults are cross-attention
   (self-attention of a model without it), the last layer and the mean of the heads, or of those that align if
   there are some and neither layer nor head is given; in a list they are all.
 */
typedef struct hd_attention_pick {
    int kind; /* 1 + hd_attention_kind */
    int layer, head;
} hd_attention_pick;

/* Whether the model has what is picked; HD_EARG says how many there are. To be called before a long
   search. */
hd_status hd_attention_check(const hd_model *m, const hd_attention_pick *pick, hd_err *err);
/* The same for so many layers and heads. */
hd_status hd_attention_pick_check(const hd_attention_pick *p, hd_attention_kind k, size_t layers,
                                  size_t heads, hd_err *err);

/* The one matrix to draw; tokens are borrowed from the hd_attention_maps. */
typedef struct hd_attention_map {
    hd_attention_kind kind;
    bool alone;  /* of a model that reads one text */
    bool masked; /* row i sees columns up to i only */
    hd_attention_place place;
    size_t layer, layers; /* counts from 1 */
    size_t head, heads;   /* the same; 0: the mean */
    size_t aligned;       /* heads of any layers that it is the mean of; 0: layer and head say it */
    size_t rows, cols;
    const hd_shown_token *row, *col; /* decoder: the input tokens; cross: the output tokens, and the source */
    bool unknown;                    /* some of them are unknown words */
    float *weight;                   /* [rows, cols], owned */
} hd_attention_map;

hd_status hd_attention_map_of(hd_attention_map *out, const hd_attention_maps *a,
                              const hd_attention_pick *pick, hd_err *err);
void hd_attention_map_release(hd_attention_map *m);

/* "Cross-attention, layer 6 of 6, mean of 8 heads", into buf; returns buf. Of a line in several parts
   "Line 3, part 1 of 2: cross-attention, ...". */
const char *hd_attention_map_title(const hd_attention_map *m, char *buf, size_t size);

#endif
