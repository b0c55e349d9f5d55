/* A recurrent decoder: cells that read the token before and what they are told of the source, by a fixed
   vector or by attention. All of lecture 000 and 004, of Sutskever, Bahdanau and Luong, by options.

   Where a row needs the one before (the query is the previous state, or what was said is fed back) it goes
   row by row over all items; otherwise every layer goes over all rows at once. */
#ifndef HD_MODEL_ENCDEC_RECURRENT_DECODER_H
#define HD_MODEL_ENCDEC_RECURRENT_DECODER_H

#include "model/encoder/encoder.h"
#include "model/encdec/feeding.h"
#include "nn/look.h"
#include "nn/unroll.h"

/* X(name, what the cells are told of the source) */
#define HD_CONTEXT_LIST(X)                                                 \
    X(attention, "a context of its own for every word, by attention")      \
    X(fixed, "nothing but their first state, which is the encoder's last") \
    X(everywhere, "the encoder's last state, at every step")               \
    X(mean, "the mean of the encoder's states, at every step")

#define X(name, text) HD_CONTEXT_##name,
typedef enum hd_context { HD_CONTEXT_LIST(X) HD_CONTEXTS } hd_context;
#undef X

/* X(name, the state before the first word) */
#define HD_BEGINNING_LIST(X)                                                            \
    X(final, "the encoder's last state, through a map and tanh where the sizes differ") \
    X(zeros, "zeros")                                                                   \
    X(ones, "ones")                                                                     \
    X(learned, "a parameter")                                                           \
    X(mean, "the mean of the encoder's states")                                         \
    X(linear, "a matrix times the mean of the encoder's states")                        \
    X(map, "tanh of a map of the mean of the encoder's states")                         \
    X(maps, "the same, of an LSTM with one map for h and one for c")

#define X(name, text) HD_BEGINNING_##name,
typedef enum hd_beginning { HD_BEGINNING_LIST(X) HD_BEGINNINGS } hd_beginning;
#undef X

/* X(name, which state asks) */
#define HD_QUERY_LIST(X)                                                  \
    X(previous, "the state before the word: the context enters the cell") \
    X(current, "the state after the cell: the context joins what it gives")

#define X(name, text) HD_QUERY_##name,
typedef enum hd_query { HD_QUERY_LIST(X) HD_QUERIES } hd_query;
#undef X

/* X(name, what the output layer reads) */
#define HD_READING_LIST(X)                                          \
    X(state, "the state of the last layer")                         \
    X(tanh, "tanh of a map of state and context")                   \
    X(deep, "tanh of a map of state, context and the token before") \
    X(sum, "a map of the states of all layers, and of the context") \
    X(residual, "the token before plus a map of state and context")

#define X(name, text) HD_READING_##name,
typedef enum hd_reading { HD_READING_LIST(X) HD_READINGS } hd_reading;
#undef X

extern const char *const hd_context_names[HD_CONTEXTS + 1], *const hd_beginning_names[HD_BEGINNINGS + 1],
                                                                *const hd_query_names[HD_QUERIES + 1],
                                                                    *const hd_reading_names[HD_READINGS + 1];

typedef struct hd_recurrent_decoder_opt {
    hd_context context;
    hd_beginning begin;
    hd_query query;
    hd_reading read;
    hd_scoring score;
    hd_locality locality;
    int window; /* of local attention; 0: 10, as Luong has it */
    int heads;  /* of attention; 0: 1 */
    bool project;
    bool feed_context; /* what the output layer read is fed back with the next token (Luong) */
    bool skips;        /* every layer reads the token, too */
    bool no_feedback;  /* the token before is not read at all */
    bool relu;         /* on token vectors */
    bool gate;         /* a number between 0 and 1, of the state that asks, times the context */
    float penalty; /* lambda: in training lambda * sum_i (1 - sum_t weight_ti)^2 of every item is a loss */
    float order; /* lambda: in training, lambda times how far attention goes back and how wide it is; not with
                    penalty */
} hd_recurrent_decoder_opt;

typedef struct hd_recurrent_decoder_layer {
    hd_param *w_in, *b_in, *w, *b;  /* as PyTorch's cells: weight_ih, bias_ih, weight_hh, bias_hh */
    hd_param *skip, *context, *fed; /* what else enters the gates; NULL: nothing */
    hd_dense begin;
    hd_param *learned; /* the first state, [state, 1] */
    hd_dense read;
} hd_recurrent_decoder_layer;

typedef struct hd_recurrent_decoder {
    hd_recurrent_decoder_opt opt;
    hd_stage is;
    hd_unary cell;            /* of an rnn */
    size_t in, width, memory; /* columns: of token vectors, of h, of the encoder's rows */
    float dropout;
    hd_recurrent_decoder_layer layer[HD_RECURRENT_LAYERS];
    hd_look look;
    hd_dense read_context, read_token;
    size_t out; /* columns of its rows */
} hd_recurrent_decoder;

typedef struct hd_recurrent_decoder_sizes {
    hd_stage stage;
    hd_unary cell; /* of an rnn; HD_IDENTITY: tanh */
    size_t in, width, positions;
    size_t length; /* most rows of a source */
    float dropout, attention_dropout;
    const hd_encoder *encoder;
    const char *name; /* "model.decoder" */
} hd_recurrent_decoder_sizes;

/* A failure stays in p->err. */
hd_recurrent_decoder hd_recurrent_decoder_make(hd_params *p, const hd_recurrent_decoder_opt *o,
                                               const hd_recurrent_decoder_sizes *sizes);

/* Whether it goes row by row: then hd_unroll is worth calling before a step is captured. */
bool hd_recurrent_decoder_unrolls(const hd_recurrent_decoder *d);

/* The kinds of its slots in a cache; returns how many (kinds may be NULL). */
enum { HD_RECURRENT_DECODER_SLOTS = HD_RECURRENT_LAYERS + 3 + HD_LOOK_SLOTS };
size_t hd_recurrent_decoder_slots(const hd_recurrent_decoder *d, hd_slot_kind *kinds);

/* Rows for token vectors x (shifted by the caller). slot: NULL, or its first; the encoder's rows and states
   are not read once they are held. pos: the places of the rows. voice: NULL, or with what it is fed its own
   words; it goes row by row then. */
hd_rows hd_recurrent_decoder_of(hd_run *r, const hd_recurrent_decoder *d, hd_rows x, const hd_encoded *memory,
                                const int32_t *pos, hd_slot *slot, const hd_voice *voice);

/* Whether the state before the word asks: hypotheses that continue the same one then have the same context.
 */
bool hd_recurrent_decoder_shares(const hd_recurrent_decoder *d);
/* Computes the contexts of the next step, of every item by the state that its slots hold. Items picked after
   this have that of their parent, and the step reads it instead of asking anew, until it is dropped. A
   failure stays in the run. */
void hd_recurrent_decoder_look(hd_run *r, const hd_recurrent_decoder *d, hd_slot *slot);
void hd_recurrent_decoder_drop_look(const hd_recurrent_decoder *d, hd_slot *slot);

double hd_recurrent_decoder_flops(const hd_recurrent_decoder *d, double items, double source, double target);

#endif
