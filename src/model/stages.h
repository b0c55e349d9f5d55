/* What a model's side is stacked from: one to four stages, each a stack of one kind of layer. Spelled
   "bi-gru:2+transformer:4": kinds from the input on, "bi-" for both directions, the layers of each. A kind is
   a line in HD_STAGE_LIST and a file that defines hd_stage_type_NAME (model/encoder.h). */
#ifndef HD_MODEL_STAGES_H
#define HD_MODEL_STAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "backend/kernel.h"

/* X(name, what it is) */
#define HD_STAGE_LIST(X)                                                                              \
    X(transformer, "blocks of self-attention and feed-forward")                                       \
    X(rnn, "a simple recurrent network")                                                              \
    X(gru, "gated recurrent units")                                                                   \
    X(lstm, "long short-term memory")                                                                 \
    X(conv, "convolutions over as many tokens as the number behind it: conv3, conv5 (encoders only)") \
    X(pyramid, "bi-lstm layers that read pairs of rows: each halves their number (sound only)")       \
    X(none, "nothing: the token vectors themselves (encoders only)")

#define X(name, text) HD_STAGE_##name,
typedef enum hd_stage_kind { HD_STAGE_LIST(X) HD_STAGE_KINDS } hd_stage_kind;
#undef X

enum { HD_STAGES = 4, HD_STAGES_TEXT = 96 };

typedef struct hd_stage {
    hd_stage_kind kind;
    bool both_ways; /* recurrent: a second direction beside the first */
    int layers;     /* 0: as many as the model's options say */
    int size;       /* the number behind the name, of kinds that have one; 0: none was said */
} hd_stage;

typedef struct hd_stages {
    hd_stage at[HD_STAGES];
    int count; /* 0: one stage, a transformer */
} hd_stages;

hd_status hd_stages_read(hd_stages *out, const char *text, hd_err *err);
const char *hd_stages_text(const hd_stages *s, char to[HD_STAGES_TEXT]); /* returns `to` */

/* The same with nothing left open. */
hd_stages hd_stages_resolved(const hd_stages *s, int layers);
bool hd_stages_have(const hd_stages *s, hd_stage_kind kind);

static inline bool hd_stage_recurs(const hd_stage *s)
{
    return s->kind == HD_STAGE_rnn || s->kind == HD_STAGE_gru || s->kind == HD_STAGE_lstm;
}
hd_cell hd_stage_cell(const hd_stage *s);

/* Whether one of them is recurrent. */
static inline bool hd_stages_recur(const hd_stages *s)
{
    for (int i = 0; i < s->count; i++)
        if (hd_stage_recurs(&s->at[i])) return true;
    return false;
}

#endif
