/* Blocks on top of each other, less a part. */
#include "lab/attention/tower.h"

#include <stdio.h>

#include "base/rng.h"
#include "lab/course.h"
#include "nn/layer.h"
#include "nn/position.h"

enum { WIDTH = 24, LENGTH = 6, ITEMS = 16, LAST = 20 };

typedef struct net {
    hd_params params;
    hd_param *words;
    hd_mha self[HD_TOWER_BLOCKS];
    hd_ffn inner[HD_TOWER_BLOCKS];
    hd_norm_layer norm[HD_TOWER_BLOCKS][2];
    hd_dense out;
    hd_course course;
} net;

static hd_status build(net *n, hd_run *r, uint64_t seed, hd_err *err)
{
    const hd_init even = {HD_INIT_XAVIER, 1, 0};
    hd_params *p = &n->params;
    hd_params_init(p, r->backend);
    n->words = hd_param_add(p, HD_TOWER_WORDS, WIDTH, (hd_init){HD_INIT_NORMAL, 1, 0}, "words");
    for (int l = 0; l < HD_TOWER_BLOCKS; l++) {
        char name[16], in[16], back[16], first[16], second[16];
        snprintf(name, sizeof name, "self%d", l), snprintf(in, sizeof in, "in%d", l);
        snprintf(back, sizeof back, "back%d", l), snprintf(first, sizeof first, "a%d", l);
        snprintf(second, sizeof second, "b%d", l);
        n->self[l] = hd_mha_make(p, &(hd_mha_opt){.width = WIDTH,
                                                  .heads = 2,
                                                  .init = even,
                                                  .name = name,
                                                  .query = "q",
                                                  .key = "k",
                                                  .value = "v",
                                                  .out = "out"});
        n->inner[l] = (hd_ffn){.in = hd_dense_make(p, WIDTH, 2 * WIDTH, &(hd_dense_opt){.init = even}, in),
                               .out = hd_dense_make(p, 2 * WIDTH, WIDTH, &(hd_dense_opt){.init = even}, back),
                               .act = HD_relu};
        n->norm[l][0] = hd_norm_make(p, WIDTH, 1e-5f, false, HD_AFFINE, first);
        n->norm[l][1] = hd_norm_make(p, WIDTH, 1e-5f, false, HD_AFFINE, second);
    }
    n->out = hd_dense_make(p, WIDTH, HD_TOWER_WORDS, &(hd_dense_opt){.init = even}, "out");
    hd_status s = hd_params_ready(p, true, err);
    return s ? s : hd_course_open(&n->course, r, p, seed, err);
}

/* x = norm(x + part(x)), less what is switched off. */
static hd_rows add(hd_run *r, hd_rows x, hd_rows part, const hd_norm_layer *norm, const hd_tower_opt *o)
{
    hd_rows y = hd_rows_with(x, o->no_residual ? part.t : hd_add(r, x.t, part.t));
    return o->no_norm ? y : hd_norm_of(r, norm, y);
}

hd_status hd_tower_learn(double *last, hd_run *r, const hd_tower_opt *o, uint64_t seed, hd_err *err)
{
    net n = {0};
    hd_rng rng = hd_rng_make(seed, 10);
    hd_real p[LENGTH * WIDTH];
    hd_sinusoid_fill(p, LENGTH, WIDTH, &(hd_sinusoid){0});
    hd_status s = build(&n, r, seed, err);
    *last = 0;
    for (int t = 0; !s && t < o->updates; t++) {
        int32_t ids[ITEMS * LENGTH], target[ITEMS * LENGTH], len[ITEMS];
        for (int i = 0; i < ITEMS * LENGTH; i++) ids[i] = (int32_t)hd_rng_below(&rng, HD_TOWER_WORDS);
        for (int i = 0; i < ITEMS * LENGTH; i++)
            target[i] = ids[i / LENGTH * LENGTH + LENGTH - 1 - i % LENGTH], len[i / LENGTH] = LENGTH;
        hd_course_begin(&n.course);
        hd_rows x = {hd_embed(r, &n.words->t, hd_ints(r, ids, ITEMS * LENGTH), ITEMS * LENGTH, 1),
                     hd_seg_of(r, len, ITEMS, NULL)};
        x.t = hd_gather_add(r, x.t, hd_from(r, LENGTH, WIDTH, p), x.seg ? x.seg->pos : NULL);
        for (int l = 0; l < HD_TOWER_BLOCKS; l++) {
            x = add(r, x, hd_mha_of(r, &n.self[l], x, x, HD_FULL, NULL), &n.norm[l][0], o);
            if (!o->no_inner) x = add(r, x, hd_ffn_of(r, &n.inner[l], x), &n.norm[l][1], o);
        }
        hd_tensor *loss = hd_cross_entropy(r, hd_dense_of(r, &n.out, x.t, HD_IDENTITY),
                                           hd_ints(r, target, ITEMS * LENGTH), &(hd_loss_opt){.coef = 1});
        if (t >= o->updates - LAST) *last += hd_loss_total(r, loss) / (LAST * ITEMS * LENGTH);
        s = hd_course_end(&n.course, 0.003, ITEMS * LENGTH, err);
    }
    hd_course_close(&n.course);
    hd_params_release(&n.params);
    return s;
}
