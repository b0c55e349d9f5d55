/* Two layers of attention with residuals, each with its mask. */
#include "lab/attention/leak.h"

#include "lab/desk.h"

enum { LENGTH = HD_LEAK_LENGTH, WIDTH = 16, LAYERS = HD_LEAK_LAYERS };

hd_status hd_leak_of(double *moved, hd_run *r, const hd_mask *mask, uint64_t seed, hd_err *err)
{
    hd_params p;
    hd_mha layer[LAYERS];
    hd_rng rng = hd_rng_make(seed, 2);
    hd_params_init(&p, r->backend);
    for (int l = 0; l < LAYERS; l++)
        layer[l] = hd_mha_make(&p, &(hd_mha_opt){.width = WIDTH,
                                                 .heads = 2,
                                                 .init = {HD_INIT_XAVIER, 1, 0},
                                                 .name = l ? "second" : "first",
                                                 .query = "q",
                                                 .key = "k",
                                                 .value = "v",
                                                 .out = "out"});
    hd_status s = hd_params_ready(&p, false, err);
    if (!s) s = hd_params_draw(&p, seed, err);
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *both = hd_desk_normal(r, LENGTH + 1, WIDTH, &rng),
              *y[LENGTH + 1]; /* the last row: another word */
    for (int32_t j = 0; !s && j <= LENGTH; j++) {
        int32_t index[LENGTH];
        for (int32_t i = 0; i < LENGTH; i++) index[i] = i == j ? LENGTH : i;
        hd_rows x = hd_desk_item(r, hd_gather(r, both, hd_ints(r, index, LENGTH), LENGTH, 1));
        for (int l = 0; l < LAYERS; l++) x.t = hd_add(r, x.t, hd_mha_of(r, &layer[l], x, x, mask[l], NULL).t);
        y[j] = x.t;
    }
    for (size_t j = 0; !s && j < LENGTH; j++)
        for (size_t i = 0; i < LENGTH && y[j] && y[LENGTH]; i++)
            moved[j * LENGTH + i] =
                hd_desk_gap(r, hd_slice_rows(r, y[j], i, 1), hd_slice_rows(r, y[LENGTH], i, 1));
    if (!s) s = hd_run_status(r, err);
    hd_params_release(&p);
    return s;
}
