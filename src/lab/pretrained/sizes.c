/* Sizes of GPTs. */
#include "lab/pretrained/sizes.h"

#include "model/lm/lm.h"

static const struct {
    const char *name;
    int layers, heads;
    size_t width, vocab, context, said; /* said: parameters, in millions, as they are published */
    bool post_norm;
} sizes[HD_SIZES] = {{"GPT-1 (2018)", 12, 12, 768, 40478, 512, 117, true},
                     {"GPT-2 (2019)", 48, 25, 1600, 50257, 1024, 1558, false},
                     {"GPT-3 (2020)", 96, 96, 12288, 50257, 2048, 175000, false}};

hd_status hd_sizes_put(hd_paper *to, double size[HD_SIZES], const hd_lab *lab, hd_err *err)
{
    hd_status s = HD_OK;
    hd_paper_table_of(to, "Parameters, counted by making the models", 3, 1);
    hd_paper_row(to, "model\tpublished\tcounted");
    for (int i = 0; !s && i < HD_SIZES; i++) {
        hd_gpt *m = NULL; /* its parameters have names and shapes, and no memory */
        s = hd_gpt_make(&m, lab->run->backend,
                        &(hd_gpt_opt){.stack = {.layers = sizes[i].layers,
                                                .heads = sizes[i].heads,
                                                .width = sizes[i].width,
                                                .pre_norm = !sizes[i].post_norm},
                                      .vocab = sizes[i].vocab,
                                      .positions = sizes[i].context},
                        err);
        if (!s) size[i] = (double)hd_params_size(&m->params);
        if (!s) hd_paper_row(to, "%s\t%zu million\t%.0f", sizes[i].name, sizes[i].said, size[i]);
        hd_gpt_free(m);
    }
    return s;
}
