/* Probes: a caller that wants the intermediates of a forward pass attaches one to the run. Layers push
   scope names, ops offer named intermediates; with a probe attached, attention and norm also compute what the
   fused path never stores. Data is in backend memory and valid during the call only. */
#ifndef HD_OP_PROBE_H
#define HD_OP_PROBE_H

#include "op/run.h"

typedef struct hd_offer {
    const char *name; /* scope and own name: "enc.0.self.softmax" */
    const hd_tensor *t;
    const hd_seg *seg,
        *keys;     /* of the rows; with keys set, t is [sum Tq*Tk, H], item after item, query after query */
    bool gradient; /* t is the gradient of the intermediate, offered during backward */
} hd_offer;

struct hd_probe {
    void (*take)(void *context, hd_run *r, const hd_offer *offer);
    void *context;
    bool gradients;     /* also offer gradients of intermediates */
    const char *leaf;   /* those of this name have one, though no parameter that learns is behind them */
    const char *within; /* only scopes that begin so; NULL: all */
};

/* Whether a probe takes what the layers do that run now. */
bool hd_probe_here(const hd_run *r);

void hd_probe_enter(hd_run *r, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* appends ".name" to the scope */
void hd_probe_leave(hd_run *r);
hd_tensor *hd_probe_offer(hd_run *r, const char *name, hd_tensor *t, const hd_seg *seg); /* returns t */
void hd_probe_offer_scores(hd_run *r, const char *name, const hd_tensor *t, const hd_seg *seg,
                           const hd_seg *keys);

#endif
