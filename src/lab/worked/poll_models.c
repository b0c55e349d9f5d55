/* Statements of the polls on whole models: mixtures of layers, positions, BERT and GPT. */
#include <math.h>

#include "lab/desk.h"
#include "lab/worked/polls.h"
#include "model/encdec/encdec.h"
#include "model/encoder/bert.h"
#include "model/lm/gpt.h"

enum { WIDTH = 8, HEADS = 2, LENGTH = 5, VOCAB = 6 };

static const int32_t ids[2][LENGTH] = {{1, 2, 3, 4, 2}, {1, 2, 3, 4, 5}}, length[] = {LENGTH};

static hd_items items(hd_run *r, int which)
{
    return (hd_items){.seg = hd_seg_of(r, length, 1, NULL), .ids = hd_ints(r, ids[which], LENGTH)};
}

static hd_status translator(hd_encdec **out, hd_run *r, const char *encoder, hd_err *err)
{
    hd_encdec_opt o = {.stack = {.width = WIDTH, .inner = WIDTH, .heads = HEADS},
                       .source_vocab = VOCAB,
                       .target_vocab = VOCAB,
                       .positions = LENGTH};
    hd_status s = hd_stages_read(&o.encoder, encoder, err);
    if (!s) s = hd_stages_read(&o.decoder, "transformer:1", err);
    if (!s) s = hd_encdec_new(out, r->backend, &o, false, err);
    return s ? s : hd_params_draw(&(*out)->params, 1, err);
}

hd_status hd_poll_no_mixture(hd_run *r, bool *held, double *number, hd_err *err)
{
    hd_encdec *m = NULL;
    double x[LENGTH * WIDTH];
    hd_status s = translator(&m, r, "gru:1+transformer:1", err);
    hd_run_begin(r, HD_INFERENCE);
    for (int i = 0; i < LENGTH * WIDTH; i++) x[i] = (double)NAN;
    if (!s) {
        hd_items in = items(r, 0);
        hd_desk_read(x, r, hd_encdec_encode(r, m, &in).rows.t);
    }
    *number = 0;
    for (int i = 0; i < LENGTH * WIDTH; i++) *number += !isfinite(x[i]);
    *held = *number > 0;
    if (!s) s = hd_run_status(r, err);
    hd_encdec_free(m);
    return s;
}

hd_status hd_poll_positions_differ(hd_run *r, bool *held, double *number, hd_err *err)
{
    hd_encdec *m = NULL;
    hd_status s = translator(&m, r, "transformer:1", err);
    hd_run_begin(r, HD_INFERENCE);
    if (!s)
        *number = hd_desk_gap(r, &m->encoder.front.position->t, &m->target.position->t), *held = *number > 0;
    if (!s) s = hd_run_status(r, err);
    hd_encdec_free(m);
    return s;
}

/* How far the first row of a BERT or a GPT moves when the last word is another one. */
static hd_status moves(hd_run *r, bool bert, double *number, hd_err *err)
{
    const hd_stack_opt stack = {.layers = 2, .heads = HEADS, .width = WIDTH};
    hd_bert *b = NULL;
    hd_gpt *g = NULL;
    hd_status s =
        bert ? hd_bert_new(
                   &b, r->backend,
                   &(hd_bert_opt){.stack = stack, .no_types = true, .vocab = VOCAB, .positions = LENGTH},
                   false, err)
             : hd_gpt_new(&g, r->backend, &(hd_gpt_opt){.stack = stack, .vocab = VOCAB, .positions = LENGTH},
                          false, err);
    if (!s) s = hd_params_draw(bert ? &b->params : &g->params, 1, err);
    hd_tensor *y[2] = {NULL, NULL};
    hd_run_begin(r, HD_INFERENCE);
    for (int k = 0; !s && k < 2; k++) {
        hd_items in = items(r, k);
        hd_rows x = bert ? hd_bert_rows(r, b, &in) : hd_gpt_forward(r, g, in.ids, in.seg, NULL);
        y[k] = x.t ? hd_slice_rows(r, x.t, 0, 1) : NULL;
    }
    if (!s) *number = hd_desk_gap(r, y[0], y[1]);
    if (!s) s = hd_run_status(r, err);
    hd_bert_free(b);
    hd_gpt_free(g);
    return s;
}

/* An encoder sees the words that follow; a decoder does not. */
hd_status hd_poll_bert_encodes(hd_run *r, bool *held, double *number, hd_err *err)
{
    hd_status s = moves(r, true, number, err);
    *held = *number > 0;
    return s;
}

hd_status hd_poll_gpt_encodes(hd_run *r, bool *held, double *number, hd_err *err)
{
    hd_status s = moves(r, false, number, err);
    *held = *number > 0;
    return s;
}

hd_status hd_poll_bert_decodes(hd_run *r, bool *held, double *number, hd_err *err)
{
    hd_status s = moves(r, true, number, err);
    *held = *number <= 0;
    return s;
}

hd_status hd_poll_gpt_decodes(hd_run *r, bool *held, double *number, hd_err *err)
{
    hd_status s = moves(r, false, number, err);
    *held = *number <= 0;
    return s;
}
