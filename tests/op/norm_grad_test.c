/* Gradients of the norms, alone and with the residual add and its dropout. The sum is a second result: used,
 * not used, or used alone. */
#include "op/gradient.h"

typedef enum used { NORM_ONLY, BOTH, SUM_ONLY } used;

typedef struct shape {
    float eps, dropout, drop_path;
    bool rms, gain, bias, segments, from_one;
    used used;
} shape;

static hd_norm_opt options(hd_run *r, const shape *s)
{
    const int32_t len[] = {2, 0, 3}, key[] = {8, 1, 6};
    return (hd_norm_opt){.eps = s->eps,
                         .rms = s->rms,
                         .from_one = s->from_one,
                         .dropout = s->dropout,
                         .drop_path = s->drop_path,
                         .seg = s->segments ? hd_seg_of(r, len, 3, key) : NULL};
}

/* Gain and bias are the leaves behind the inputs, in this order, where there are any. */
static hd_tensor *norm(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    hd_norm_opt o = options(r, s);
    return hd_norm(r, x[0], s->gain ? x[1] : NULL, s->bias ? x[1 + s->gain] : NULL, &o);
}

static hd_tensor *norm_residual(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    hd_norm_opt o = options(r, s);
    hd_tensor *sum = NULL;
    hd_tensor *y = hd_norm_residual(r, x[0], x[1], s->gain ? x[2] : NULL, s->bias ? x[2 + s->gain] : NULL, &o,
                                    s->used == NORM_ONLY && !s->rms ? NULL : &sum);
    if (s->used == NORM_ONLY || !y) return y;
    return s->used == SUM_ONLY ? sum : hd_mul(r, y, hd_add(r, sum, hd_scale(r, y, 0.5f)));
}

static hd_tensor *norm_of_itself(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    hd_norm_opt o = options(r, s);
    return hd_norm_residual(r, x[0], x[0], x[1], x[2], &o, NULL);
}

/* Two pre-norm blocks: the stream runs through both. */
static hd_tensor *stream(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    hd_norm_opt o = options(r, s);
    hd_tensor *one = NULL, *two = NULL;
    hd_tensor *h = hd_norm_residual(r, x[0], x[1], x[2], x[3], &o, &one);
    h = hd_norm_residual(r, one, hd_linear(r, h, x[4], NULL, HD_tanh), x[2], x[3], &o, &two);
    return h && two ? hd_concat_cols(r, (hd_tensor *const[]){h, two}, 2) : NULL;
}

#define SHAPE(...)        \
    .opt = &(const shape) \
    {                     \
        __VA_ARGS__       \
    }
#define X    LEAF("x", 5, 7)
#define B    LEAF("branch", 5, 7)
#define GAIN LEAF("gain", 1, 7)
#define BIAS LEAF("bias", 1, 7)

static const gradient_case cases[] = {
    CASE("norm", norm, LEAVES_OF(X), SHAPE(.eps = 1e-5f)),
    CASE("norm, large eps", norm, LEAVES_OF(X), SHAPE(.eps = 0.5f)),
    CASE("norm gain", norm, LEAVES_OF(X, GAIN), SHAPE(.eps = 1e-5f, .gain = true)),
    CASE("norm bias", norm, LEAVES_OF(X, BIAS), SHAPE(.eps = 1e-5f, .bias = true)),
    CASE("norm gain bias", norm, LEAVES_OF(X, GAIN, BIAS), SHAPE(.eps = 1e-5f, .gain = true, .bias = true)),
    CASE("norm of many rows", norm, LEAVES_OF(LEAF("x", 150, 3), LEAF("gain", 1, 3), LEAF("bias", 1, 3)),
         SHAPE(.eps = 0.1f, .gain = true, .bias = true)),
    CASE("rms", norm, LEAVES_OF(X), SHAPE(.eps = 1e-5f, .rms = true)),
    CASE("rms, large eps", norm, LEAVES_OF(X), SHAPE(.eps = 0.5f, .rms = true)),
    CASE("rms gain", norm, LEAVES_OF(X, GAIN), SHAPE(.eps = 1e-5f, .rms = true, .gain = true)),
    CASE("rms gain from 1", norm, LEAVES_OF(X, GAIN),
         SHAPE(.eps = 1e-5f, .rms = true, .gain = true, .from_one = true)),
    CASE("rms residual gain from 1", norm_residual, LEAVES_OF(X, B, GAIN),
         SHAPE(.eps = 1e-5f, .rms = true, .gain = true, .from_one = true, .used = BOTH)),
    CASE("rms gain bias", norm, LEAVES_OF(X, GAIN, BIAS),
         SHAPE(.eps = 1e-5f, .rms = true, .gain = true, .bias = true)),
    CASE("norm residual", norm_residual, LEAVES_OF(X, B), SHAPE(.eps = 1e-5f)),
    CASE("norm residual gain bias", norm_residual, LEAVES_OF(X, B, GAIN, BIAS),
         SHAPE(.eps = 1e-5f, .gain = true, .bias = true)),
    CASE("norm residual dropout", norm_residual, LEAVES_OF(X, B, GAIN, BIAS),
         SHAPE(.eps = 1e-5f, .dropout = 0.4f, .gain = true, .bias = true)),
    CASE("norm residual dropout segments", norm_residual, LEAVES_OF(X, B, GAIN, BIAS),
         SHAPE(.eps = 1e-5f, .dropout = 0.4f, .gain = true, .bias = true, .segments = true)),
    CASE("norm residual, sum used", norm_residual, LEAVES_OF(X, B, GAIN, BIAS),
         SHAPE(.eps = 1e-5f, .gain = true, .bias = true, .used = BOTH)),
    CASE("norm residual dropout, sum used", norm_residual, LEAVES_OF(X, B, GAIN, BIAS),
         SHAPE(.eps = 1e-5f, .dropout = 0.4f, .gain = true, .bias = true, .used = BOTH)),
    CASE("norm residual, only sum used", norm_residual, LEAVES_OF(X, B),
         SHAPE(.eps = 1e-5f, .used = SUM_ONLY)),
    CASE("norm residual dropout, only sum used", norm_residual, LEAVES_OF(X, B),
         SHAPE(.eps = 1e-5f, .dropout = 0.4f, .segments = true, .used = SUM_ONLY)),
    CASE("norm residual drop path", norm_residual, LEAVES_OF(X, B, GAIN, BIAS),
         SHAPE(.eps = 1e-5f, .drop_path = 0.4f, .gain = true, .bias = true, .segments = true, .used = BOTH)),
    CASE("norm residual drop path and dropout", norm_residual, LEAVES_OF(X, B, GAIN, BIAS),
         SHAPE(.eps = 1e-5f, .dropout = 0.3f, .drop_path = 0.4f, .gain = true, .bias = true,
               .segments = true)),
    CASE("norm residual drop path, only sum used", norm_residual, LEAVES_OF(X, B),
         SHAPE(.eps = 1e-5f, .drop_path = 0.4f, .segments = true, .used = SUM_ONLY)),
    CASE("rms residual dropout", norm_residual, LEAVES_OF(X, B, GAIN),
         SHAPE(.eps = 1e-5f, .dropout = 0.4f, .rms = true, .gain = true)),
    CASE("rms residual dropout, sum used", norm_residual, LEAVES_OF(X, B, GAIN),
         SHAPE(.eps = 1e-5f, .dropout = 0.4f, .rms = true, .gain = true, .used = BOTH)),
    CASE("norm residual wider than a mask's run", norm_residual,
         LEAVES_OF(LEAF("x", 2, 133), LEAF("branch", 2, 133)), SHAPE(.eps = 1e-5f, .dropout = 0.4f)),
    CASE("norm residual of x and x", norm_of_itself, LEAVES_OF(X, GAIN, BIAS),
         SHAPE(.eps = 1e-5f, .dropout = 0.4f)),
    CASE("two pre-norm blocks", stream, LEAVES_OF(X, B, GAIN, BIAS, LEAF("w", 7, 7)),
         SHAPE(.eps = 1e-5f, .dropout = 0.2f)),
};

static void norms_follow_differences(void **state)
{
    (void)state;
    check_gradients(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_follow_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
