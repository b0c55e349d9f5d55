/* Weights of attention, taken by a probe, and what of them lies where. */
#include "lab/witness.h"

#include <string.h>

/* All rows at once, or one after the other. */
static void take(void *context, hd_run *r, const hd_offer *offer)
{
    hd_witness *w = context;
    const size_t n = hd_count_of(offer->t);
    hd_real *x;
    if (strcmp(offer->name, "dec.0.cross.softmax") || w->count + n > w->room) return;
    if ((x = hd_host_take(r, n * sizeof *x)) && hd_read(r, offer->t, x))
        for (size_t i = 0; i < n; i++) w->to[w->count++] = (double)x[i];
}

void hd_witness_begin(hd_run *r, hd_witness *w)
{
    w->probe = (hd_probe){.take = take, .context = w};
    r->probe = &w->probe;
}

void hd_witness_end(hd_run *r)
{
    r->probe = NULL;
}

hd_focus hd_focus_of(const double *weight, const bool *named, size_t places)
{
    hd_focus f = {0};
    size_t count = 0;
    for (size_t i = 0; i < places; i++) {
        f.all += weight[i];
        if (named[i]) f.mass += weight[i], count++;
    }
    f.chance = (double)count / (double)places;
    return f;
}
