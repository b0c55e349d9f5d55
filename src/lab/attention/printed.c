/* Layers built as the slides do, counted and run once. */
#include "lab/attention/printed.h"

#include "lab/desk.h"
#include "nn/layer.h"

enum { WIDTH = 16, LENGTH = 6 };

static const struct {
    int heads;
    size_t key_dim, printed; /* parameters, by golden.json */
} layers[] = {{1, 2, 150}, {3, 2, 418}, {3, 5, 1021}};
enum { LAYERS = sizeof layers / sizeof *layers };

typedef struct built {
    size_t numbers, inner; /* parameters, and columns of all heads */
    size_t rows, cols;     /* of what it makes of LENGTH rows */
} built;

static hd_status build(built *to, const hd_lab *lab, size_t width, int heads, size_t key_dim, hd_err *err)
{
    hd_run *r = lab->run;
    hd_params p;
    hd_rng rng = hd_rng_make(lab->seed, 8);
    hd_params_init(&p, r->backend);
    hd_mha m = hd_mha_make(&p, &(hd_mha_opt){.width = width,
                                             .head_width = key_dim,
                                             .heads = heads,
                                             .init = {HD_INIT_XAVIER, 1, 0},
                                             .name = "mha",
                                             .query = "query",
                                             .key = "key",
                                             .value = "value",
                                             .out = "output"});
    hd_status s = hd_params_ready(&p, false, err);
    if (!s) s = hd_params_draw(&p, lab->seed, err);
    if (!s) {
        hd_run_begin(r, HD_INFERENCE);
        hd_rows x = hd_desk_item(r, hd_desk_normal(r, LENGTH, width, &rng));
        hd_tensor *y = hd_mha_of(r, &m, x, x, HD_FULL, NULL).t;
        *to = (built){.numbers = hd_params_size(&p),
                      .inner = hd_cols_of(&m.out.w->t),
                      .rows = y ? hd_rows_of(y) : 0,
                      .cols = y ? hd_cols_of(y) : 0};
        s = hd_run_status(r, err);
    }
    hd_params_release(&p);
    return s;
}

hd_status hd_printed_put(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    built b[LAYERS], eight;
    bool counted = true;
    hd_status s = build(&eight, lab, 4, 8, 4, err);
    for (size_t i = 0; !s && i < LAYERS; i++) {
        s = build(&b[i], lab, WIDTH, layers[i].heads, layers[i].key_dim, err);
        counted =
            counted && !s && b[i].numbers == layers[i].printed && b[i].rows == LENGTH && b[i].cols == WIDTH;
    }
    if (s) return s;
    hd_paper_say(
        to,
        "A layer with h heads has h maps of queries, keys and values, each key_dim columns wide; six rows "
        "of 16 numbers go in, and as many come out.");
    hd_paper_table_of(to, "MultiHeadAttention on (None, 6, 16), as Keras prints it", 7, 0);
    hd_paper_row(to, "heads\tkey_dim\tquery, key, value\tbias\toutput\tscores\tparameters");
    for (size_t i = 0; i < LAYERS; i++) {
        const int h = layers[i].heads, k = (int)(b[i].inner / (size_t)h);
        hd_paper_row(to, "%d\t%d\t(16, %d, %d)\t(%d, %d)\t(%d, %d, 16), (16)\t(None, %d, 6, 6)\t%zu", h, k, h,
                     k, h, k, h, k, h, b[i].numbers);
    }
    hd_paper_claim(
        to, "The layers have 150, 418 and 1021 parameters and give back what shape they got.", counted,
        "%zu, %zu and %zu. For one head the slide lists (16, 1, 2) four times, which would be nine tensors; "
        "the layer has eight.",
        b[0].numbers, b[1].numbers, b[2].numbers);
    hd_paper_claim(to, "Eight heads of four columns go from 4 to 32 and back to 4.",
                   eight.inner == 32 && eight.cols == 4, "From 4 to %zu to %zu.", eight.inner, eight.cols);
    return HD_OK;
}
