/* The worked example of lecture 003: "how are you" -> "i am fine" through a Transformer of one encoder and
   one decoder layer, one head and d_model 6, with the weights of the slides. One table names every matrix of
   it in the lecture's order and says where the engine keeps it: a parameter by its tensor's name, everything
   else by the name that a probe is offered. */
#ifndef HD_SHOW_LECTURE_H
#define HD_SHOW_LECTURE_H

#include "base/arena.h"
#include "model/encdec/encdec.h"

enum {
    HD_LECTURE_WIDTH = 6,
    HD_LECTURE_VOCAB = 11,
    HD_LECTURE_PAIRS = 2,
    HD_LECTURE_LENGTH = 3,     /* words of every sentence */
    HD_LECTURE_LARGEST = 66,   /* numbers in the largest matrix */
    HD_LECTURE_POSITIONS = 16, /* longest sentence the model takes */
    HD_LECTURE_SOS = 0,
    HD_LECTURE_EOS = 1
};

extern const char *const hd_lecture_words[HD_LECTURE_VOCAB];

/* Question and answer; the first pair is the one worked through. */
typedef struct hd_lecture_pair {
    int32_t source[HD_LECTURE_LENGTH], target[HD_LECTURE_LENGTH];
} hd_lecture_pair;

extern const hd_lecture_pair hd_lecture_pairs[HD_LECTURE_PAIRS];

/* part of the model, the lecture's heading with its number, what happens there */
#define HD_LECTURE_SECTION_LIST(X)                                                                           \
    X(EMBED, "Encoder", "(4) Word embedding",                                                                \
      "Every token picks its row of the table: 11 words become dense vectors of length 6, random at first, " \
      "learned with the rest of the model.")                                                                 \
    X(POSITION, "Encoder", "(5) Positional encoding",                                                        \
      "Self-attention alone sees a set of words. Sines (in column 2i) and cosines (in column 2i+1) of the "  \
      "position bring the order back.")                                                                      \
    X(INPUT, "Encoder", "(6) Embedding + position", "The two are simply added.")                             \
    X(QUERY, "Encoder", "(7) Multi-head attention: query, key, value",                                       \
      "Three copies of X, each through a matrix of its own. Q and K decide how much attention each token "   \
      "pays to the others, V carries what is passed on.")                                                    \
    X(WEIGH, "Encoder", "(7) Multi-head attention: the attention matrix",                                    \
      "Every word is compared with every word; the scores are scaled, then softmax turns each row into "     \
      "shares of 1.")                                                                                        \
    X(GATHER, "Encoder", "(7) Multi-head attention: the output",                                             \
      "Every row is now a mixture of all values. W_O closes the layer; the slides leave that product out, "  \
      "but their numbers contain it.")                                                                       \
    X(NORM1, "Encoder", "(8) Add & norm",                                                                    \
      "The input is added back, then every row is brought to mean 0 and standard deviation 1. (A slide "     \
      "says \"for each column\"; its numbers are those of the rows.)")                                       \
    X(HIDDEN, "Encoder", "(9) Feed-forward: first layer and ReLU",                                           \
      "FFN(x) = ReLU(x W1 + b1) W2 + b2, for each word by itself. Negative values become 0.")                \
    X(FEED, "Encoder", "(10) Feed-forward: second layer", NULL)                                              \
    X(NORM2, "Encoder", "(11) Add & norm", "The result is the final output of the encoder.")                 \
    X(DEC_INPUT, "Decoder", "(1) Word embedding and positions",                                              \
      "The decoder reads the answer shifted right by one, starting with <SOS>: what it reads at a place "    \
      "is what it should have said at the place before.")                                                    \
    X(DEC_QUERY, "Decoder", "(2) Masked multi-head attention: query, key, value", NULL)                      \
    X(DEC_WEIGH, "Decoder", "(2) Masked multi-head attention: the scores", NULL)                             \
    X(DEC_MASK, "Decoder", "(3) Masking",                                                                    \
      "A word must not look at words that have not been said yet: their scores become -inf, which softmax "  \
      "turns into 0.")                                                                                       \
    X(DEC_GATHER, "Decoder", "(3) Masked multi-head attention: the output", NULL)                            \
    X(DEC_NORM1, "Decoder", "(4) Add & norm", NULL)                                                          \
    X(CROSS_QUERY, "Decoder", "(5) Second multi-head attention: query, key, value",                          \
      "The question comes from the decoder, keys and values from the encoder: the decoder chooses which "    \
      "parts of the input to attend to, by what it has said so far.")                                        \
    X(CROSS_WEIGH, "Decoder", "(5) Second multi-head attention: the attention matrix", NULL)                 \
    X(CROSS_GATHER, "Decoder", "(5) Second multi-head attention: the output", NULL)                          \
    X(DEC_NORM2, "Decoder", "(5) Add & norm", NULL)                                                          \
    X(DEC_HIDDEN, "Decoder", "(5) Feed-forward: first layer and ReLU", NULL)                                 \
    X(DEC_FEED, "Decoder", "(5) Feed-forward: second layer", NULL)                                           \
    X(DEC_NORM3, "Decoder", "(5) Add & norm", "The result is the final output of the decoder.")              \
    X(OUTPUT, "Decoder", "(6) Linear layer and softmax",                                                     \
      "Back to the size of the vocabulary: one score for each of the 11 words, then probabilities.")

typedef enum hd_lecture_section {
#define X(id, part, title, text) HD_LECTURE_##id,
    HD_LECTURE_SECTION_LIST(X)
#undef X
        HD_LECTURE_SECTIONS
} hd_lecture_section;

typedef struct hd_lecture_heading {
    const char *part, *title;
    const char *text; /* or NULL */
} hd_lecture_heading;

extern const hd_lecture_heading hd_lecture_headings[HD_LECTURE_SECTIONS];

typedef enum hd_lecture_kind {
    HD_LECTURE_TABLE,     /* parameter: embeddings, a row per word */
    HD_LECTURE_WEIGHT,    /* parameter, shown [in, out]; the engine keeps [out, in] */
    HD_LECTURE_BIAS,      /* parameter, a vector */
    HD_LECTURE_SINUSOIDS, /* the first rows of the model's position table */
    HD_LECTURE_STEP,      /* offered to a probe */
    HD_LECTURE_SHARES,    /* the same; every row adds up to 1 */
    HD_LECTURE_MEAN,      /* the same; one number per row */
    HD_LECTURE_INVERSE_SD /* the same, offered as 1/SD */
} hd_lecture_kind;

/* What the rows or columns of a matrix are. */
typedef enum hd_lecture_axis {
    HD_LECTURE_CHANNELS,
    HD_LECTURE_PLACES, /* positions 0, 1, 2 */
    HD_LECTURE_SOURCE, /* how are you */
    HD_LECTURE_TARGET, /* <SOS> i am */
    HD_LECTURE_WORDS   /* the vocabulary */
} hd_lecture_axis;

typedef struct hd_lecture_matrix {
    const char *name; /* the lecture's: "enc.Q" */
    hd_lecture_section section;
    hd_lecture_kind kind;
    const char *engine;         /* the parameter's or the probe's name */
    hd_lecture_axis rows, cols; /* a bias has only columns, mean and SD only rows */
    const char *formula;        /* right of the "=" */
} hd_lecture_matrix;

extern const hd_lecture_matrix
    hd_lecture_matrices[]; /* in the lecture's order; ends with a row without name */

size_t hd_lecture_length(hd_lecture_axis a); /* 3, 6 or 11 */
static inline bool hd_lecture_learned(const hd_lecture_matrix *x)
{
    return x->kind <= HD_LECTURE_BIAS;
}
static inline bool hd_lecture_is_vector(const hd_lecture_matrix *x)
{
    return x->kind == HD_LECTURE_BIAS || x->kind >= HD_LECTURE_MEAN;
}

/* The numbers of a parameter as on the slides; NULL for other rows. */
const float *hd_lecture_weight(const hd_lecture_matrix *x);

/* The model with the weights of the slides. The slides' numbers are those of eps 0. */
hd_status hd_lecture_new(hd_encdec **out, hd_backend *backend, float eps, bool training, hd_err *err);

/* A parameter, its gradient or the positions in the lecture's layout; `to` has room for HD_LECTURE_LARGEST.
 */
hd_status hd_lecture_read(const hd_encdec *m, const hd_lecture_matrix *x, bool gradient, hd_real *to);

/* -- one step with all intermediates, and training. The numbers are the engine's own: a probe collects
   what the forward pass offers -- */

enum { HD_EXPLAIN_ANSWER = 6 }; /* most tokens of a greedy answer */

typedef struct hd_explain_opt {
    bool backward; /* also the gradients of the mean loss */
    int train;     /* steps of Adam (rate 0.01) on both pairs, from the lecture's weights */
} hd_explain_opt;

typedef struct hd_explain_matrix {
    const hd_lecture_matrix *of;
    size_t rows, cols; /* a bias is one row, mean and SD are one column */
    hd_real *value;    /* [rows, cols] */
    hd_real *gradient; /* the same; NULL unless it is a parameter and backward was requested */
} hd_explain_matrix;

typedef struct hd_explain_token { /* one target row */
    int32_t target, predicted;
    double loss; /* cross-entropy */
} hd_explain_token;

typedef struct hd_explain_step { /* one step of training */
    double loss;                 /* mean over the tokens of both pairs, before the update */
    int32_t answer[HD_LECTURE_PAIRS][HD_EXPLAIN_ANSWER]; /* greedy, after it; -1 after the end */
    bool right[HD_LECTURE_PAIRS];                        /* the answer is the target followed by <EOS> */
} hd_explain_step;

typedef struct hd_explain {
    hd_arena memory;           /* of all that follows */
    hd_explain_matrix *matrix; /* in the lecture's order */
    size_t matrices;
    hd_explain_token token[HD_LECTURE_LENGTH];
    double loss; /* mean of the tokens' */
    bool backward;
    hd_explain_step *step; /* NULL without training */
    size_t steps;
} hd_explain;

hd_status hd_explain_run(hd_explain **out, hd_backend *backend, const hd_explain_opt *opt, hd_err *err);
void hd_explain_free(hd_explain *x); /* accepts NULL and half-built */

const hd_explain_matrix *hd_explain_find(const hd_explain *x, const char *name); /* NULL when there is none */

/* Length of all gradients together. */
double hd_explain_norm(const hd_explain *x);

/* First step (1, 2, ...) after which both answers are right; 0 when there is none. */
size_t hd_explain_first_right(const hd_explain *x);

/* The words of a greedy answer, without its <EOS>, into buf; returns buf. */
const char *hd_explain_words(const int32_t answer[HD_EXPLAIN_ANSWER], char *buf, size_t size);

#endif
