/* Gradients of what the lectures build from smaller parts: a choice of words made soft by Gumbel noise, and
   scores of attention by a whole network over every pair of states. */
#include "op/gradient.h"

/* softmax((log y + noise) / temperature) times the words' vectors: y is what softmax makes of the logits. */
static hd_tensor *gumbel_softmax(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    enum { ROWS = 3, WORDS = 5 };
    hd_real noise[ROWS * WORDS];
    hd_rng rng = hd_rng_make(4, 4);
    for (size_t i = 0; i < COUNT_OF(noise); i++) noise[i] = (hd_real)-log(-log(hd_rng_unit(&rng)));
    hd_tensor *z = hd_add(r, hd_log_softmax(r, x[0]), hd_from(r, ROWS, WORDS, noise));
    return hd_matmul(r, hd_softmax(r, hd_scale(r, z, 10 / (float)c->n)), x[1]);
}

/* Leaves: two states s of the decoder, four states h of the encoder, the weights of two layers and an output.
 */
static hd_tensor *mlp_scores(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    static const int32_t of_s[] = {0, 0, 0, 0, 1, 1, 1, 1}, of_h[] = {0, 1, 2, 3, 0, 1, 2, 3};
    static const hd_real zero[4];
    (void)c;
    hd_tensor *pair = hd_concat_cols(r,
                                     (hd_tensor *[]){hd_gather(r, x[1], hd_ints(r, of_h, 8), 8, 1),
                                                     hd_gather(r, x[0], hd_ints(r, of_s, 8), 8, 1)},
                                     2);
    hd_tensor *hidden = hd_linear(r, hd_linear(r, pair, x[2], NULL, HD_tanh), x[3], NULL, HD_tanh);
    hd_attend_opt o = {.heads = 1, .ragged = hd_linear(r, hidden, x[4], NULL, HD_IDENTITY)};
    hd_rows q = {hd_from(r, 2, 1, zero), hd_seg_of(r, (int32_t[]){2}, 1, NULL)},
            k = {hd_from(r, 4, 1, zero), hd_seg_of(r, (int32_t[]){4}, 1, NULL)};
    return hd_attend(r, q, k, hd_rows_with(k, x[1]), &o).t;
}

static const gradient_case cases[] = {
    CASE("gumbel softmax, temperature 1", gumbel_softmax,
         LEAVES_OF(LEAF("logits", 3, 5), LEAF("words", 5, 2)), .n = 10),
    CASE("gumbel softmax, temperature 0.5", gumbel_softmax,
         LEAVES_OF(LEAF("logits", 3, 5), LEAF("words", 5, 2)), .n = 5),
    CASE("scores of a network", mlp_scores,
         LEAVES_OF(LEAF("s", 2, 3), LEAF("h", 4, 3), LEAF("w1", 5, 6), LEAF("w2", 4, 5), LEAF("w3", 1, 4))),
};

static void soft_choices_and_scores_of_a_network_follow_differences(void **state)
{
    (void)state;
    check_gradients(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(soft_choices_and_scores_of_a_network_follow_differences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
