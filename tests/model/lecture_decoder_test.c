/* The recurrent decoders of the lectures from the engine's parts, against the same in loops of double. Every
   layer reads the word and the layer below it; all layers add up to a predicted vector, which is compared
   with the vectors of all words. */
#include "check.h"

enum { LAYERS = 3, T = 4, WORDS = 6, E = 3, H = 5 };

/* Layer l: h = tanh(wx y + wb (h of the layer below) + w (h before) + b), and its part of the prediction. */
typedef struct layer {
    hd_real wx[H * E], wb[H * H], w[H * H], b[H], out[E * H];
} layer;

static hd_real words[WORDS * E], bias[E];
static layer layers[LAYERS];
static const int32_t said[T] = {2, 0, 5, 1};

static int draw(void **state)
{
    (void)state;
    fill_normal(words, COUNT_OF(words), 1, 1), fill_normal(bias, COUNT_OF(bias), 1, 2);
    fill_normal((hd_real *)layers, LAYERS * (sizeof(layer) / sizeof(hd_real)), 0.5, 3);
    return 0;
}

/* Scores of every next word [T, WORDS]. */
static hd_tensor *decode(hd_run *r, int count)
{
    const hd_seg *seg = hd_seg_of(r, (int32_t[]){T}, 1, NULL);
    hd_tensor *table = hd_from(r, WORDS, E, words), *y = hd_embed(r, table, hd_ints(r, said, T), T, 1),
              *below = NULL, *predicted = NULL;
    for (int l = 0; l < count; l++) {
        const layer *m = &layers[l];
        hd_tensor *z = hd_linear(r, y, hd_from(r, H, E, m->wx), NULL, HD_IDENTITY);
        if (l) z = hd_add(r, z, hd_linear(r, below, hd_from(r, H, H, m->wb), NULL, HD_IDENTITY));
        below = hd_recur(r, (hd_rows){z, seg}, hd_from(r, H, H, m->w), hd_from(r, 1, H, m->b), NULL,
                         &(hd_recur_opt){HD_RNN, HD_tanh, false}, NULL)
                    .t;
        hd_tensor *part =
            hd_linear(r, below, hd_from(r, E, H, m->out), l ? NULL : hd_from(r, 1, E, bias), HD_IDENTITY);
        predicted = l ? hd_add(r, predicted, part) : part;
    }
    return hd_linear(r, predicted, table, NULL, HD_IDENTITY);
}

static void add_product(double *y, size_t rows, size_t cols, const hd_real *w, const double *x)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) y[i] += (double)w[i * cols + j] * x[j];
}

static void decode_by_hand(double *scores, int count)
{
    double h[LAYERS][H] = {{0}};
    for (int t = 0; t < T; t++) {
        double y[E], predicted[E];
        for (int j = 0; j < E; j++) y[j] = (double)words[said[t] * E + j], predicted[j] = (double)bias[j];
        for (int l = 0; l < count; l++) {
            double z[H];
            for (int j = 0; j < H; j++) z[j] = (double)layers[l].b[j];
            add_product(z, H, E, layers[l].wx, y);
            if (l) add_product(z, H, H, layers[l].wb, h[l - 1]);
            add_product(z, H, H, layers[l].w, h[l]);
            for (int j = 0; j < H; j++) h[l][j] = tanh(z[j]);
            add_product(predicted, E, H, layers[l].out, h[l]);
        }
        for (int w = 0; w < WORDS; w++) scores[t * WORDS + w] = 0;
        add_product(scores + t * WORDS, WORDS, E, words, predicted);
    }
}

static hd_real *scores_of(hd_run *r, int count)
{
    hd_run_begin(r, HD_INFERENCE);
    return host_copy(r, decode(r, count));
}

static void a_decoder_predicts_a_vector_by_hand(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (int count = 1; count <= LAYERS; count++) {
        double want[T * WORDS];
        hd_real *got = scores_of(&r, count);
        decode_by_hand(want, count);
        for (size_t i = 0; i < COUNT_OF(want); i++) /* float32 on sums of some dozen products: 1e-5 */
            if (!(fabs((double)got[i] - want[i]) < 1e-5))
                fail_msg("%d layers, number %zu: %g, expected %g", count, i, (double)got[i], want[i]);
        free(got);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Layers whose part of the prediction is 0 are not there. */
static void a_layer_without_output_takes_no_part(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_real *one = scores_of(&r, 1), *all = scores_of(&r, LAYERS);
    assert_memory_not_equal(one, all, T * WORDS * sizeof *one);
    for (int l = 1; l < LAYERS; l++) memset(layers[l].out, 0, sizeof layers[l].out);
    hd_real *muted = scores_of(&r, LAYERS);
    assert_memory_equal(one, muted, T * WORDS * sizeof *one);
    free(one), free(all), free(muted);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_decoder_predicts_a_vector_by_hand, draw),
        cmocka_unit_test_setup(a_layer_without_output_takes_no_part, draw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
