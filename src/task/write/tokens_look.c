/* Where a gpt looks in the text of a line that it wrote: one forward pass over all of it, with a probe that
   adds up the weights of all heads of all layers. Which of them follow the text is for training to decide. */
#include <string.h>

#include "base/mem.h"
#include "op/probe.h"
#include "task/write/kind.h"

typedef struct looking {
    float *phi; /* [points, letters + 1] */
    size_t letters, points;
} looking;

static void collect(void *context, hd_run *r, const hd_offer *offer)
{
    const looking *l = context;
    const char *name = strrchr(offer->name, '.');
    size_t rows = l->letters + l->points, heads = hd_cols_of(offer->t);
    if (!offer->keys || !name || strcmp(name, ".softmax") || hd_rows_of(offer->t) != rows * rows) return;
    hd_real *weight = hd_mem_array(rows * rows * heads, sizeof *weight);
    if (!weight) hd_err_nomem(&r->err, rows * rows * heads * sizeof *weight);
    if (weight && hd_read(r, offer->t, weight))
        for (size_t k = 0; k < l->points; k++)
            for (size_t u = 0; u < l->letters * heads; u++)
                l->phi[k * (l->letters + 1) + u / heads] +=
                    (float)weight[(l->letters + k) * rows * heads + u];
    hd_mem_free(weight);
}

/* A point's weights of all characters add up to 1. */
static void normalize(const looking *l)
{
    for (size_t k = 0; k < l->points; k++) {
        float *row = l->phi + k * (l->letters + 1), sum = 0;
        for (size_t u = 0; u < l->letters; u++) sum += row[u];
        for (size_t u = 0; u < l->letters; u++) row[u] /= sum > 0 ? sum : 1;
    }
}

hd_status hd_write_tokens_look(hd_handwritten *to, hd_run *r, const hd_pen_gpt *m, const hd_ids *line,
                               hd_err *err)
{
    looking l = {.letters = to->letters, .points = line->count - to->letters};
    const hd_probe probe = {.take = collect, .context = &l}, *before = r->probe;
    const int32_t length = (int32_t)line->count;
    to->phi = l.phi = hd_mem_array(l.points * (l.letters + 1), sizeof *l.phi);
    if (!l.phi) return hd_err_nomem(err, l.points * (l.letters + 1) * sizeof *l.phi);
    hd_run_begin(r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(r, &length, 1, NULL);
    const int32_t *ids = hd_ints(r, line->at, line->count);
    r->probe = &probe;
    if (seg && ids) hd_gpt_forward(r, m->gpt, ids, seg, NULL);
    r->probe = before;
    normalize(&l);
    to->seen = l.points;
    return hd_run_status(r, err);
}
