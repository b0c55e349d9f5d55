/* How many operations have to wait for one another: one for each word in a recurrent network, the same few
   for any number of words in self-attention. Counted on the tape, not timed. */
#include "check.h"
#include "nn/layer.h"
#include "nn/recurrent.h"

enum { WIDTH = 8, LONGEST = 64 };

/* The longest chain of recorded operations that ends in t, among those up to `last`. */
static size_t depth_of(const hd_tensor *t, const hd_node *last)
{
    if (t && t->base) t = t->base;
    while (last && last->y != t && last->also != t) last = last->before;
    if (!t || !last) return 0;
    size_t most = 0;
    for (int i = 0; i < HD_NODE_INPUTS; i++) {
        size_t d = depth_of(last->in[i], last->before);
        if (d > most) most = d;
    }
    return most + 1;
}

typedef struct layers {
    hd_backend *backend;
    hd_run run;
    hd_params params;
    hd_recurrent cell;
    hd_mha attention;
} layers;

static layers layers_of(hd_cell cell)
{
    layers l = {.backend = backend_of("cpu", 1)};
    hd_err err = {0};
    l.run = run_on(l.backend);
    hd_params_init(&l.params, l.backend);
    l.cell = hd_recurrent_make(
        &l.params,
        &(hd_recurrent_opt){.cell = cell, .in = WIDTH, .width = WIDTH, .layers = 1, .name = "rnn"});
    l.attention = hd_mha_make(&l.params, &(hd_mha_opt){.width = WIDTH,
                                                       .heads = 2,
                                                       .init = {HD_INIT_XAVIER, 1, 0},
                                                       .name = "attention",
                                                       .query = "q",
                                                       .key = "k",
                                                       .value = "v",
                                                       .out = "out"});
    if (hd_params_ready(&l.params, true, &err) || hd_params_draw(&l.params, 1, &err))
        fail_msg("%s", err.text);
    return l;
}

static void layers_free(layers *l)
{
    hd_params_release(&l->params);
    hd_run_release(&l->run);
    hd_backend_free(l->backend);
}

static hd_rows words(hd_run *r, const hd_real *x, size_t n)
{
    return (hd_rows){hd_from(r, n, WIDTH, x), hd_seg_of(r, (int32_t[]){(int32_t)n}, 1, NULL)};
}

/* Word by word, each step from the state that the one before ended with: the walk over all words gives the
   same bits, so it is this chain, in one operation. */
static void a_recurrent_network_waits_for_every_word(void **state)
{
    (void)state;
    hd_real x[LONGEST * WIDTH];
    fill_normal(x, COUNT_OF(x), 1, 2);
    for (hd_cell cell = HD_RNN; cell <= HD_LSTM; cell++)
        for (size_t n = 4; n <= LONGEST; n *= 4) {
            layers l = layers_of(cell);
            hd_run *r = &l.run;
            hd_run_begin(r, HD_TRAIN);
            hd_tensor *last = NULL, *whole = NULL;
            for (size_t t = 0; t < n; t++)
                hd_recurrent_of(r, &l.cell, words(r, x + t * WIDTH, 1), &last, &last, NULL);
            assert_run_ok(r);
            assert_int_equal(depth_of(last, r->last), n + 1); /* the first word's product stands before */
            hd_real *chain = host_copy(r, last);
            hd_recurrent_of(r, &l.cell, words(r, x, n), NULL, &whole, NULL);
            hd_real *walk = host_copy(r, whole);
            assert_memory_equal(chain, walk, hd_recurrent_state(&l.cell) * sizeof *walk);
            free(chain), free(walk);
            layers_free(&l);
        }
}

/* Every word may be computed alone: the same bits as all together, behind the same three operations. */
static void self_attention_waits_for_no_word(void **state)
{
    (void)state;
    hd_real x[LONGEST * WIDTH];
    fill_normal(x, COUNT_OF(x), 1, 2);
    for (size_t n = 4; n <= LONGEST; n *= 4) {
        layers l = layers_of(HD_RNN);
        hd_run *r = &l.run;
        hd_run_begin(r, HD_TRAIN);
        hd_rows all = words(r, x, n), y = hd_mha_of(r, &l.attention, all, all, HD_FULL, NULL);
        assert_run_ok(r);
        assert_int_equal(depth_of(y.t, r->last), 3); /* q, k and v; attention; output */
        hd_real *together = host_copy(r, y.t);
        for (size_t t = n; t-- > 0;) {
            hd_rows one = hd_mha_of(r, &l.attention, words(r, x + t * WIDTH, 1), all, HD_FULL, NULL);
            hd_real *alone = host_copy(r, one.t);
            assert_memory_equal(alone, together + t * WIDTH, WIDTH * sizeof *alone);
            free(alone);
        }
        free(together);
        layers_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recurrent_network_waits_for_every_word),
        cmocka_unit_test(self_attention_waits_for_no_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
