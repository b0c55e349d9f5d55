/* Ordinary and latent attention with the same weights. */
#include "lab/pretrained/twins.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "lab/language/pupil.h"

enum { WIDTH = 32, HEADS = 2, HEAD = WIDTH / HEADS, LETTERS = 12 };

#define NAME "layers.0.self_attn."

/* Keys and values of the one, of a vector that is the row itself; other weights are drawn alike by their
 * names. */
static hd_status copy_weights(hd_params *to, const hd_params *from, hd_err *err)
{
    static const char *const names[] = {NAME "k_proj.weight", NAME "v_proj.weight",
                                        NAME "kv_a_proj_with_mqa.weight", NAME "kv_b_proj.weight"};
    hd_real w[2][WIDTH][WIDTH], both[HEADS][2][HEAD][WIDTH], unit[WIDTH][WIDTH] = {0};
    hd_param *one[4];
    hd_status s = HD_OK;
    for (int i = 0; i < 4; i++)
        if (!(one[i] = hd_params_find(i < 2 ? from : to, names[i])))
            return hd_err_set(err, HD_EARG, "no %s", names[i]);
    for (int v = 0; !s && v < 2; v++) s = hd_params_get(from, one[v], &one[v]->t, &w[v][0][0]);
    for (size_t i = 0; i < WIDTH; i++) {
        unit[i][i] = 1;
        for (int v = 0; v < 2; v++) memcpy(both[i / HEAD][v][i % HEAD], w[v][i], sizeof w[v][i]);
    }
    if (!s) s = hd_params_set(to, one[2], &unit[0][0]);
    return s ? s : hd_params_set(to, one[3], &both[0][0][0][0]);
}

hd_status hd_twins_differ(double *gap, const hd_lab *lab, uint64_t seed, hd_err *err)
{
    hd_pupil p[2] = {0};
    int32_t ids[HD_PUPIL_WINDOW];
    double nats[2][HD_PUPIL_WINDOW];
    hd_status s = HD_OK;
    hd_rng rng = hd_rng_make(seed, 3);
    *gap = 0;
    for (int i = 0; i < HD_PUPIL_WINDOW; i++) ids[i] = HD_PUPIL_FIRST + (int32_t)hd_rng_below(&rng, LETTERS);
    for (int k = 0; !s && k < 2; k++) {
        hd_lm_opt o = hd_pupil_model(HD_LM_llama, WIDTH, HD_PUPIL_FIRST + LETTERS);
        if (k) o.stack.latent = (hd_latent_opt){.rank = WIDTH, .plain = HEAD, .value = HEAD};
        o.no_positions = true, o.stack.rotary.kind = HD_ROTARY_NONE;
        o.embedding_scale = 50; /* so that the eps of norms is small beside words */
        s = hd_pupil_open(&p[k], lab->run, &o, seed, err);
    }
    if (!s) s = copy_weights(p[1].model->params, p[0].model->params, err);
    for (int k = 0; !s && k < 2; k++) s = hd_pupil_words(nats[k], &p[k], ids, HD_PUPIL_WINDOW, err);
    for (int i = 0; !s && i < HD_PUPIL_WINDOW; i++) *gap = fmax(*gap, fabs(nats[0][i] - nats[1][i]));
    for (int k = 0; k < 2; k++) hd_pupil_close(&p[k]);
    return s;
}
