/* One word is changed after the other, and the row in the middle watched. */
#include "lab/decoder/sight.h"

#include <math.h>

#include "lab/learner.h"

static const struct {
    const char *name, *encoder;
    size_t reach; /* words on each side; 0: all */
} sights[] = {{"1 convolution of 3", "conv3:1", 1},
              {"2 convolutions of 3", "conv3:2", 2},
              {"4 convolutions of 3", "conv3:4", 4},
              {"GRU both ways", "bi-gru:1", 0},
              {"1 block of self-attention", "transformer:1", 0}};
enum { SIGHTS = sizeof sights / sizeof *sights, ROWS = 15, MIDDLE = ROWS / 2, WIDTH = 32 };

/* How many words change the row in the middle. */
static hd_status see(size_t *seen, const hd_lab *lab, const char *encoder, hd_err *err)
{
    hd_learner_opt o = hd_learner_block(HD_EXERCISE_expand, 1, WIDTH, lab->seed);
    hd_run *r = lab->run;
    hd_learner l;
    hd_real row[2][WIDTH * 2 * ROWS];
    o.encoder = encoder, o.decoder = "gru:1", o.model.recurrent.begin = HD_BEGINNING_map;
    hd_status s = hd_learner_open(&l, r, &o, err);
    *seen = 0;
    for (int32_t at = -1; !s && at < ROWS; at++) {
        int32_t ids[ROWS], len = ROWS;
        for (int32_t i = 0; i < ROWS; i++) ids[i] = HD_LEARNER_FIRST + (i == at ? 1 : 0);
        hd_run_begin(r, HD_INFERENCE);
        hd_encoded x = hd_encdec_encode(
            r, l.model, &(hd_items){.seg = hd_seg_of(r, &len, 1, NULL), .ids = hd_ints(r, ids, ROWS)});
        if (x.rows.t) hd_read(r, x.rows.t, row[at >= 0]);
        s = hd_run_status(r, err);
        const size_t cols = x.rows.t ? hd_cols_of(x.rows.t) : 0;
        double moved = 0;
        for (size_t c = MIDDLE * cols; at >= 0 && c < (MIDDLE + 1) * cols; c++)
            moved = fmax(moved, fabs((double)(row[1][c] - row[0][c])));
        *seen += moved > 0;
    }
    hd_learner_close(&l);
    return s;
}

hd_status hd_sight_put(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    bool as_said = true;
    hd_status s = HD_OK;
    hd_paper_table_of(to, "Words that the row in the middle of 15 depends on", 2, 1);
    hd_paper_row(to, "encoder\twords");
    for (int i = 0; !s && i < SIGHTS; i++) {
        size_t seen = 0;
        s = see(&seen, lab, sights[i].encoder, err);
        as_said = as_said && seen == (sights[i].reach ? 2 * sights[i].reach + 1 : ROWS);
        hd_paper_row(to, "%s\t%zu", sights[i].name, seen);
    }
    hd_paper_claim(to,
                   "A convolution sees what its filter spans, and needs layers to see further; "
                   "self-attention sees all in one.",
                   as_said,
                   "L convolutions of 3 see 2 L + 1 words; one block of attention sees all %d, as a GRU "
                   "does, which needs a step for each.",
                   ROWS);
    return s;
}
