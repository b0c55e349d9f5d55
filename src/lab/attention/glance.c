/* Four score functions by number. */
#include "lab/attention/glance.h"

enum { D = HD_GLANCE_WIDTH };

const double hd_glance_h_dec[] = {-0.09, 0.14, -0.96};
const double hd_glance_h_enc[] = {0.24, 0.22, 0.23, 0.89, 0.36, -0.28, -0.13, 0.4, -0.88, 0.33, 0.34, -0.58};
const double hd_glance_w_a[] = {-0.74, -0.37, -0.27, 0.14, -0.12, 0.98, -0.8, -0.58, -0.68};
const double hd_glance_w_a2[] = {0.31,  -0.49, -0.07, -0.51, -0.68, -0.78, 0.31,  -0.72, -0.61, -0.26,
                                 0.64,  -0.81, 0.68,  -0.81, 0.95,  -0.06, 0.95,  0.21,  0.48,  -0.92,
                                 -0.43, -0.76, -0.41, -0.76, -0.36, -0.17, -0.87, 0.38,  0.13,  -0.47};
const double hd_glance_w_a1[] = {0.05, -0.81, 0.15, 0.86, -0.36};

const struct hd_glance_row hd_glance_rows[HD_GLANCE_KINDS] = {
    {"dot",
     "dot product",
     "h_dec . h_enc",
     {{-0.2116, 0.2391, 0.9125, 0.5747},
      {0.12751662, 0.2001259, 0.39242549, 0.27993199},
      {0.25007829, 0.35224605, -0.53440142}}},
    {"scaled_dot",
     "scaled dot product",
     "h_dec . h_enc / sqrt(3)",
     {{-0.12216732, 0.13804445, 0.52683212, 0.3318032},
      {0.17284945, 0.22422113, 0.33076905, 0.27216037},
      {0.28785362, 0.34358863, -0.47195633}}},
    {"bilinear",
     "bilinear (general)",
     "h_dec W h_enc",
     {{0.518423, 0.738622, -0.59831, 0.004514},
      {0.3152759, 0.39293615, 0.10320478, 0.18858317},
      {0.47419522, 0.3162179, -0.23770711}}},
    {"mlp",
     "MLP (additive)",
     "w tanh(W [h_dec; h_enc])",
     {{-0.82225634, -1.2284913, -0.52668926, -0.80772889},
      {0.24846725, 0.16551736, 0.33391221, 0.25210319},
      {0.24672805, 0.33352901, -0.42925999}}},
};

/* W [h_dec; h_enc] is the sum of two products, one for each half of W's columns. */
hd_status hd_glance_of(hd_glance *to, hd_run *r, hd_glance_kind k, hd_err *err)
{
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *q = hd_desk_rows(r, 1, D, hd_glance_h_dec),
              *h = hd_desk_rows(r, HD_GLANCE_STATES, D, hd_glance_h_enc), *key = h;
    hd_attend_opt o = {.heads = 1, .scale = k == HD_GLANCE_SCALED ? 0 : 1};
    if (k == HD_GLANCE_BILINEAR) q = hd_matmul(r, q, hd_desk_rows(r, D, D, hd_glance_w_a));
    if (k == HD_GLANCE_MLP) {
        hd_tensor *w = hd_desk_rows(r, HD_GLANCE_HIDDEN, 2 * D, hd_glance_w_a2);
        o = (hd_attend_opt){.heads = 1,
                            .score = HD_ADDITIVE,
                            .additive = hd_desk_rows(r, 1, HD_GLANCE_HIDDEN, hd_glance_w_a1)};
        q = hd_linear(r, q, hd_slice_cols(r, w, 0, D), NULL, HD_IDENTITY);
        key = hd_linear(r, h, hd_slice_cols(r, w, D, D), NULL, HD_IDENTITY);
    }
    hd_desk_attend(r, q, key, h, &o, "scaled", to->score);
    hd_desk_read(to->context, r, hd_desk_attend(r, q, key, h, &o, "softmax", to->weight));
    return hd_run_status(r, err);
}
