/* The tape in double: recomputed functions give the gradients of recorded ones bit for bit, dropout included,
 * and gradients of parameters add up over steps. */
#include "op/gradient.h"

enum { C = 6, WIDE = 10, ROWS = 7 };

/* What a block of a model holds; the leaves of the cases stand in this order behind x. */
typedef struct block {
    hd_tensor *w1, *w2, *gain, *bias;
    const hd_seg *seg;
} block;

static block block_of(hd_run *r, hd_tensor *const *x)
{
    const int32_t len[] = {4, 3}, key[] = {31, 12};
    return (block){x[1], x[2], x[3], x[4], hd_seg_of(r, len, 2, key)};
}

/* norm(x + dropout(attend(ffn(x)))): draws at three places */
static hd_tensor *block_forward(hd_run *r, const void *context, hd_tensor *const *in)
{
    const block *b = context;
    hd_tensor *h = hd_dropout(r, hd_linear(r, in[0], b->w1, NULL, HD_gelu), 0.2f, b->seg);
    hd_rows y = {hd_linear(r, h, b->w2, NULL, HD_IDENTITY), b->seg};
    y = hd_attend(r, y, y, y, &(hd_attend_opt){.heads = 2, .mask = HD_CAUSAL, .dropout = 0.1f});
    return hd_norm_residual(r, in[0], y.t, b->gain, b->bias,
                            &(hd_norm_opt){.eps = 1e-5f, .dropout = 0.3f, .seg = b->seg}, NULL);
}

/* Two blocks, the second recomputed inside a function that is itself recomputed. */
static hd_tensor *nested_forward(hd_run *r, const void *context, hd_tensor *const *in)
{
    hd_tensor *h = block_forward(r, context, in);
    return hd_recompute(r, block_forward, context, &h, 1);
}

static hd_tensor *twice_forward(hd_run *r, const void *context, hd_tensor *const *in)
{
    hd_tensor *h = block_forward(r, context, in);
    return block_forward(r, context, &h);
}

typedef enum how { RECORDED, RECOMPUTED, NESTED } how;

/* block, then two blocks, then something that draws after them */
static hd_tensor *model(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    block *b = hd_host_take(r, sizeof *b);
    if (!b) return NULL;
    *b = block_of(r, x);
    hd_tensor *h = hd_dropout(r, x[0], 0.1f, b->seg);
    h = c->n == RECORDED ? block_forward(r, b, &h) : hd_recompute(r, block_forward, b, &h, 1);
    hd_tensor *skip = h;
    h = c->n == RECORDED ? twice_forward(r, b, &h)
                         : hd_recompute(r, c->n == NESTED ? nested_forward : twice_forward, b, &h, 1);
    return hd_dropout(r, hd_add(r, h, skip), 0.5f, b->seg);
}

#define BLOCK_LEAVES                                                                            \
    LEAVES_OF(LEAF("x", ROWS, C), LEAF("w1", WIDE, C), LEAF("w2", C, WIDE), LEAF("gain", 1, C), \
              LEAF("bias", 1, C))

static const gradient_case models[] = {
    CASE("blocks recorded", model, BLOCK_LEAVES, .n = RECORDED),
    CASE("blocks recomputed", model, BLOCK_LEAVES, .n = RECOMPUTED),
    CASE("blocks recomputed in recomputed ones", model, BLOCK_LEAVES, .n = NESTED),
};

static hd_tensor *view_forward(hd_run *r, const void *context, hd_tensor *const *in)
{
    (void)context;
    hd_tensor *h = hd_linear(r, in[0], in[1], NULL, HD_tanh);
    return hd_slice_cols(r, h, 2, 5);
}

static hd_tensor *input_forward(hd_run *r, const void *context, hd_tensor *const *in)
{
    (void)context;
    return hd_dropout(r, in[0], 0, NULL); /* nothing to do: gives back its input */
}

static hd_tensor *no_input_forward(hd_run *r, const void *context, hd_tensor *const *in)
{
    hd_tensor *const *x = context;
    (void)in;
    return hd_linear(r, x[0], x[1], NULL, HD_tanh);
}

/* The result of fn is a view of what fn made. */
static hd_tensor *returns_view(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    return hd_recompute(r, view_forward, NULL, x, 2);
}

/* The result of fn is its input, which others use too. */
static hd_tensor *returns_input(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    hd_tensor *h = hd_linear(r, x[0], x[1], NULL, HD_tanh),
              *same = hd_recompute(r, input_forward, NULL, &h, 1);
    return hd_mul(r, same, h);
}

static hd_tensor *returns_leaf(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    return hd_linear(r, hd_recompute(r, input_forward, NULL, x, 1), x[1], NULL, HD_tanh);
}

/* What wants a gradient is not among the inputs. */
static hd_tensor *takes_no_input(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    hd_tensor **kept = hd_host_take(r, 2 * sizeof(hd_tensor *));
    if (!kept) return NULL;
    memcpy(kept, x, 2 * sizeof *kept);
    return hd_recompute(r, no_input_forward, kept, NULL, 0);
}

static hd_tensor *view_input(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    hd_tensor *h = hd_linear(r, x[0], x[1], NULL, HD_tanh), *low = hd_slice_cols(r, h, 0, C);
    return hd_mul(r, hd_recompute(r, view_forward, NULL, (hd_tensor *const[]){low, x[1]}, 2),
                  hd_slice_cols(r, h, 1, 5));
}

#define XW LEAVES_OF(LEAF("x", ROWS, C), LEAF("w", WIDE, C))

static const gradient_case odd_ones[] = {
    CASE("recompute returns a view", returns_view, XW),
    CASE("recompute returns its input", returns_input, XW),
    CASE("recompute returns a leaf", returns_leaf, XW),
    CASE("recompute takes no input", takes_no_input, XW),
    CASE("recompute takes a view", view_input, XW),
};

static void recomputed_functions_follow_differences(void **state)
{
    (void)state;
    check_gradients(models, COUNT_OF(models));
    check_gradients(odd_ones, COUNT_OF(odd_ones));
}

static void recomputing_keeps_the_bits_and_saves_memory(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_real *value[LEAVES], *g[3];
    double loss[3];
    size_t n = leaf_count(models), total = 0, kept[3];
    for (size_t i = 0; i < n; i++)
        value[i] = leaf_values(&models->leaf[i], 50 + i),
        total += models->leaf[i].rows * models->leaf[i].cols;
    for (int k = 0; k < 3; k++) {
        hd_run r = run_on(b);
        hd_tensor *x[LEAVES];
        g[k] = gradients(&r, &models[k], value, PLAIN);
        loss[k] = loss_of(&r, &models[k], value, PLAIN, true, x);
        kept[k] = hd_arena_here(&r.step).used; /* what waits for the way back: all in the first chunk */
        hd_run_release(&r);
    }
    for (int k = 1; k < 3; k++) {
        assert_memory_equal(&loss[0], &loss[k], sizeof *loss);
        assert_memory_equal(g[0], g[k], total * sizeof **g);
        assert_true(kept[k] < kept[0]);
    }
    for (size_t i = 0; i < n; i++) free(value[i]);
    for (int k = 0; k < 3; k++) free(g[k]);
    hd_backend_free(b);
}

/* A step may go forward again after going back: its draws must not depend on what was recomputed. */
static void going_back_leaves_the_draws_where_they_were(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_real *value[LEAVES];
    hd_tensor *x[LEAVES];
    size_t n = leaf_count(models);
    for (size_t i = 0; i < n; i++) value[i] = leaf_values(&models->leaf[i], 50 + i);
    for (size_t k = 0; k < COUNT_OF(models); k++) {
        loss_of(&r, &models[k], value, PLAIN, true, x);
        uint32_t draws = r.draws;
        hd_backward(&r);
        assert_run_ok(&r);
        assert_int_equal(r.draws, draws);
    }
    for (size_t i = 0; i < n; i++) free(value[i]);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Parameters in memory of their own, as a model keeps them. */
typedef struct parameters {
    hd_tensor t[4], grad[4];
    hd_real *value[4], *slope[4];
} parameters;

static void make_parameters(parameters *p)
{
    for (size_t i = 0; i < 4; i++) {
        const leaf *l = &models->leaf[i + 1];
        p->value[i] = leaf_values(l, 70 + i);
        p->slope[i] = calloc(l->rows * l->cols, sizeof **p->slope);
        p->t[i] = hd_matrix(p->value[i], l->rows, l->cols);
        p->grad[i] = hd_matrix(p->slope[i], l->rows, l->cols);
        p->t[i].grad = &p->grad[i];
        p->t[i].wants_grad = p->t[i].is_param = true;
    }
}

static void free_parameters(parameters *p)
{
    for (int i = 0; i < 4; i++) free(p->value[i]), free(p->slope[i]);
}

/* One training step over items [from, from+count) of the batch: gradients are added to the parameters'. */
static void step_over(hd_run *r, parameters *p, size_t from, size_t count)
{
    const int32_t len[] = {4, 3, 5, 2}, key[] = {31, 12, 7, 100}, begin[] = {0, 4, 7, 12};
    const int32_t target[] = {0, 3, -1, 2, 1, 5, 5, 2, 4, 0, 1, 3, 2, 4};
    size_t at = (size_t)begin[from], rows = 0;
    for (size_t i = from; i < from + count; i++) rows += (size_t)len[i];
    hd_real x[14 * C];
    fill_normal(x, 14 * C, 1, 5);
    hd_run_begin(r, HD_TRAIN);
    block b = {&p->t[0], &p->t[1], &p->t[2], &p->t[3], hd_seg_of(r, len + from, count, key + from)};
    hd_tensor *h = hd_from(r, rows, C, x + at * C);
    h = hd_recompute(r, block_forward, &b, &h, 1);
    h = block_forward(r, &b, &h);
    hd_linear_cross_entropy(r, h, &p->t[0], NULL, hd_ints(r, target + at, rows),
                            &(hd_loss_opt){.coef = 0.5f, .smoothing = 0.1f});
    hd_cross_entropy(r, h, hd_ints(r, target + at, rows), &(hd_loss_opt){.coef = 1});
    hd_backward(r);
    assert_run_ok(r);
}

static void halves_add_up_to_the_whole(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    parameters whole, halves;
    make_parameters(&whole), make_parameters(&halves);
    step_over(&r, &whole, 0, 4);
    step_over(&r, &halves, 0, 2);
    step_over(&r, &halves, 2, 2);
    for (int i = 0; i < 4; i++) {
        /* two sums added instead of one: a few roundings */
        assert_true(distance_of(whole.slope[i], halves.slope[i], hd_count_of(&whole.t[i])) < 1e-14);
        assert_ptr_equal(whole.t[i].grad, &whole.grad[i]);
    }
    free_parameters(&whole), free_parameters(&halves);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recomputed_functions_follow_differences),
        cmocka_unit_test(recomputing_keeps_the_bits_and_saves_memory),
        cmocka_unit_test(going_back_leaves_the_draws_where_they_were),
        cmocka_unit_test(halves_add_up_to_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
