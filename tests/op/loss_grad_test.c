/* Gradients of the losses, all options. A loss is where backward starts: build returns it, and coef is what
 * the gradient is multiplied by. */
#include "op/gradient.h"

enum { ROWS = 6, CLASSES = 7, MANY = 61, CHUNK = 24 }; /* MANY rows in chunks: two whole ones and a rest */

static int32_t *targets(hd_run *r, size_t rows, size_t classes, bool ignored)
{
    int32_t t[MANY];
    for (size_t i = 0; i < rows; i++) t[i] = ignored && i % 3 == 1 ? -1 : (int32_t)((i * 5 + 2) % classes);
    return hd_ints(r, t, rows);
}

static const hd_policy_opt POLICY = {.low = 0.2f, .high = 0.28f, .kl = 0.1f};

typedef struct shape {
    float smoothing, cap;
    bool weight, ignored, bias, chunks; /* weights are the last leaf */
    bool policy;
} shape;

/* Advantages of both signs, tokens that became likelier and less likely, by more and by less than the clips.
 */
static hd_tensor *policy_rows(hd_run *r, size_t rows)
{
    hd_real x[MANY * HD_POLICY_COLUMNS];
    for (size_t i = 0; i < rows; i++) {
        x[i * HD_POLICY_COLUMNS + HD_POLICY_ADVANTAGE] = i % 2 ? -0.7 : 1.3;
        x[i * HD_POLICY_COLUMNS + HD_POLICY_BEFORE] = -1.4 - 0.3 * (double)(i % 5);
        x[i * HD_POLICY_COLUMNS + HD_POLICY_REFERENCE] = -2.2 + 0.4 * (double)(i % 3);
    }
    return hd_from(r, rows, HD_POLICY_COLUMNS, x);
}

static hd_loss_opt options(hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    size_t n = leaf_count(c);
    return (hd_loss_opt){.coef = (float)c->coef,
                         .smoothing = s->smoothing,
                         .cap = s->cap,
                         .weight = s->weight ? x[n - 1] : NULL,
                         .chunk = s->chunks ? CHUNK : 0};
}

static hd_tensor *cross_entropy(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    hd_loss_opt o = options(x, c);
    if (s->policy) o.policy_rows = policy_rows(r, hd_rows_of(x[0])), o.policy = POLICY;
    return hd_cross_entropy(r, x[0], targets(r, hd_rows_of(x[0]), hd_cols_of(x[0]), s->ignored), &o);
}

static hd_tensor *linear_cross_entropy(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    hd_loss_opt o = options(x, c);
    if (s->policy) o.policy_rows = policy_rows(r, hd_rows_of(x[0])), o.policy = POLICY;
    return hd_linear_cross_entropy(r, x[0], x[1], s->bias ? x[2] : NULL,
                                   targets(r, hd_rows_of(x[0]), hd_rows_of(x[1]), s->ignored), &o);
}

/* The embedding is the output weight, and x went through a layer. */
static hd_tensor *tied(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    const int32_t ids[] = {3, 0, 6, 3, 2, 1};
    hd_loss_opt o = options(x, c);
    hd_tensor *h = hd_linear(r, hd_embed(r, x[0], hd_ints(r, ids, ROWS), ROWS, 2), x[1], NULL, HD_tanh);
    return hd_linear_cross_entropy(r, h, x[0], s->bias ? x[2] : NULL, targets(r, ROWS, CLASSES, s->ignored),
                                   &o);
}

/* Two heads on one x: the second finds a gradient there. */
static hd_tensor *two_heads(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    hd_loss_opt o = options(x, c);
    const int32_t *t = targets(r, ROWS, CLASSES, false);
    hd_tensor *a = hd_linear_cross_entropy(r, x[0], x[1], NULL, t, &o),
              *b = hd_linear_cross_entropy(r, x[0], x[2], NULL, t, &o);
    return a && b ? hd_concat_rows(r, (hd_tensor *const[]){a, b}, 2) : NULL;
}

static hd_tensor *squared_error(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    hd_loss_opt o = options(x, c);
    return hd_squared_error(r, x[0], x[1], &o);
}

static hd_tensor *binary(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    hd_loss_opt o = options(x, c);
    return hd_binary_cross_entropy(r, x[0], x[1], &o);
}

static hd_tensor *absolute(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    hd_loss_opt o = options(x, c);
    return hd_absolute_error(r, x[0], x[1], &o);
}

/* Boxes from any numbers: centers as they are, sizes above 0. Spread over few units, so that some meet. */
static hd_tensor *boxes(hd_run *r, hd_tensor *x)
{
    hd_tensor *center = hd_slice_cols(r, x, 0, 2), *size = hd_apply(r, hd_slice_cols(r, x, 2, 2), HD_exp);
    return hd_concat_cols(r, (hd_tensor *const[]){center, size}, 2);
}

static hd_tensor *box_error(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    hd_loss_opt o = options(x, c);
    return hd_box_error(r, boxes(r, x[0]), boxes(r, x[1]), &o);
}

static hd_tensor *sum(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    return hd_sum_loss(r, hd_mul(r, x[0], x[0]), (float)c->coef);
}

static hd_tensor *sum_of_leaf(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    return hd_sum_loss(r, x[0], (float)c->coef);
}

/* The same tensor under two losses of different weight: gradients add. */
static hd_tensor *two_losses(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    hd_loss_opt o = options(x, c);
    hd_tensor *h = hd_linear(r, x[0], x[1], NULL, HD_tanh);
    hd_tensor *a = hd_cross_entropy(r, h, targets(r, ROWS, CLASSES, true), &o),
              *b = hd_squared_error(r, h, x[2], &o);
    return a && b ? hd_concat_rows(r, (hd_tensor *const[]){a, b}, 2) : NULL;
}

#define SHAPE(...)        \
    .opt = &(const shape) \
    {                     \
        __VA_ARGS__       \
    }
#define LOGITS LEAF("logits", ROWS, CLASSES)
#define WEIGHT LEAF("weight", ROWS, 1, .fill = POSITIVE, .fixed = true)
#define X      LEAF("x", ROWS, 4)
#define W      LEAF("w", CLASSES, 4)
#define BIAS   LEAF("bias", 1, CLASSES)
#define XMANY  LEAF("x", MANY, 2)
#define WMANY  LEAF("w", 5, 2)

static const gradient_case cases[] = {
    CASE("cross entropy", cross_entropy, LEAVES_OF(LOGITS), .coef = 1, SHAPE(0)),
    CASE("cross entropy coef", cross_entropy, LEAVES_OF(LOGITS), .coef = -0.75, SHAPE(0)),
    CASE("cross entropy ignored", cross_entropy, LEAVES_OF(LOGITS), .coef = 1, SHAPE(.ignored = true)),
    CASE("cross entropy smoothing", cross_entropy, LEAVES_OF(LOGITS), .coef = 1, SHAPE(.smoothing = 0.1f)),
    CASE("cross entropy weights", cross_entropy, LEAVES_OF(LOGITS, WEIGHT), .coef = 1, SHAPE(.weight = true)),
    CASE("cross entropy everything", cross_entropy, LEAVES_OF(LOGITS, WEIGHT), .coef = 1.5,
         SHAPE(.smoothing = 0.2f, .weight = true, .ignored = true)),
    CASE("linear cross entropy", linear_cross_entropy, LEAVES_OF(X, W), .coef = 1, SHAPE(0)),
    CASE("linear cross entropy bias", linear_cross_entropy, LEAVES_OF(X, W, BIAS), .coef = 1,
         SHAPE(.bias = true)),
    CASE("linear cross entropy cap", linear_cross_entropy, LEAVES_OF(X, W, BIAS), .coef = 1,
         SHAPE(.bias = true, .cap = 1.5f)),
    CASE("linear cross entropy cap in three chunks", linear_cross_entropy, LEAVES_OF(XMANY, WMANY), .coef = 1,
         SHAPE(.chunks = true, .cap = 0.7f)),
    CASE("linear cross entropy coef", linear_cross_entropy, LEAVES_OF(X, W, BIAS), .coef = -0.75,
         SHAPE(.bias = true)),
    CASE("linear cross entropy smoothing", linear_cross_entropy, LEAVES_OF(X, W), .coef = 1,
         SHAPE(.smoothing = 0.1f)),
    CASE("linear cross entropy everything", linear_cross_entropy, LEAVES_OF(X, W, BIAS, WEIGHT), .coef = 1.5,
         SHAPE(.smoothing = 0.2f, .weight = true, .ignored = true, .bias = true)),
    CASE(
        "linear cross entropy in three chunks", linear_cross_entropy,
        LEAVES_OF(XMANY, WMANY, LEAF("bias", 1, 5), LEAF("weight", MANY, 1, .fill = POSITIVE, .fixed = true)),
        .coef = 0.25,
        SHAPE(.smoothing = 0.1f, .weight = true, .ignored = true, .bias = true, .chunks = true)),
    CASE("linear cross entropy in three chunks, plain", linear_cross_entropy, LEAVES_OF(XMANY, WMANY),
         .coef = 1, SHAPE(.chunks = true)),
    CASE("linear cross entropy, x alone", linear_cross_entropy,
         LEAVES_OF(X, LEAF("w", CLASSES, 4, .fixed = true)), .coef = 1, SHAPE(0)),
    CASE("linear cross entropy, w alone", linear_cross_entropy,
         LEAVES_OF(LEAF("x", ROWS, 4, .fixed = true), W), .coef = 1, SHAPE(0)),
    CASE("linear cross entropy, bias alone", linear_cross_entropy,
         LEAVES_OF(LEAF("x", ROWS, 4, .fixed = true), LEAF("w", CLASSES, 4, .fixed = true), BIAS), .coef = 1,
         SHAPE(.bias = true)),
    CASE("policy", cross_entropy, LEAVES_OF(LOGITS), .coef = 1, SHAPE(.policy = true)),
    CASE("policy everything", cross_entropy, LEAVES_OF(LOGITS, WEIGHT), .coef = -0.75,
         SHAPE(.policy = true, .weight = true, .ignored = true)),
    CASE(
        "linear policy in three chunks", linear_cross_entropy,
        LEAVES_OF(XMANY, WMANY, LEAF("bias", 1, 5), LEAF("weight", MANY, 1, .fill = POSITIVE, .fixed = true)),
        .coef = 0.25, SHAPE(.policy = true, .weight = true, .ignored = true, .bias = true, .chunks = true)),
    CASE("tied", tied, LEAVES_OF(LEAF("table", CLASSES, 4), LEAF("u", 4, 4), BIAS), .coef = 1,
         SHAPE(.smoothing = 0.1f, .bias = true)),
    CASE("two heads", two_heads, LEAVES_OF(X, W, LEAF("u", CLASSES, 4)), .coef = 1, SHAPE(0)),
    CASE("squared error", squared_error, LEAVES_OF(LEAF("x", ROWS, 3), LEAF("target", ROWS, 3)), .coef = 1,
         SHAPE(0)),
    CASE("squared error weights coef", squared_error,
         LEAVES_OF(LEAF("x", ROWS, 3), LEAF("target", ROWS, 3), WEIGHT), .coef = 0.375,
         SHAPE(.weight = true)),
    CASE("squared error, target fixed", squared_error,
         LEAVES_OF(LEAF("x", ROWS, 3), LEAF("target", ROWS, 3, .fixed = true)), .coef = 1, SHAPE(0)),
    CASE("binary cross entropy", binary,
         LEAVES_OF(LEAF("x", ROWS, 3), LEAF("target", ROWS, 3, .fill = POSITIVE)), .coef = 1, SHAPE(0)),
    CASE("binary cross entropy weights coef", binary,
         LEAVES_OF(LEAF("x", ROWS, 3), LEAF("target", ROWS, 3, .fill = POSITIVE), WEIGHT), .coef = 0.375,
         SHAPE(.weight = true)),
    CASE("absolute error", absolute, LEAVES_OF(LEAF("x", ROWS, 3), LEAF("target", ROWS, 3)), .coef = 1,
         SHAPE(0)),
    CASE("absolute error weights coef", absolute,
         LEAVES_OF(LEAF("x", ROWS, 3), LEAF("target", ROWS, 3), WEIGHT), .coef = 0.375,
         SHAPE(.weight = true)),
    CASE("box error", box_error, LEAVES_OF(LEAF("x", 40, 4), LEAF("target", 40, 4)), .coef = 1, SHAPE(0)),
    CASE("box error weights coef", box_error, LEAVES_OF(LEAF("x", ROWS, 4), LEAF("target", ROWS, 4), WEIGHT),
         .coef = 0.375, SHAPE(.weight = true)),
    CASE("sum", sum, LEAVES_OF(LEAF("x", ROWS, 3)), .coef = -2),
    CASE("sum of a leaf", sum_of_leaf, LEAVES_OF(LEAF("x", ROWS, 3)), .coef = -2),
    CASE("two losses", two_losses, LEAVES_OF(X, LEAF("w", CLASSES, 4), LEAF("target", ROWS, CLASSES)),
         .coef = 1, SHAPE(.smoothing = 0.1f)),
};

static void losses_follow_differences(void **state)
{
    (void)state;
    check_gradients(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_follow_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
