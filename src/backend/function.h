/* The elementwise functions: one line gives enum, name, kernel, gradient and test in every backend. Each
   backend defines hd_max, hd_exp, hd_tanh, ... for its own vector type. The derivative is written in x or in
   y = f(x); the second column says which of the two is kept. */
#ifndef HD_BACKEND_FUNCTION_H
#define HD_BACKEND_FUNCTION_H

/* name, kept, f(x), f'(x or y) */
#define HD_UNARY_LIST(X)                                                                        \
    X(relu, y, hd_max(hd_set(0), x), hd_positive(y))                                            \
    X(gelu, x, x *hd_phi(x), hd_gelu_slope(x))                                                  \
    X(gelu_tanh, x, x *hd_half_tanh(hd_gelu_inner(x)), hd_gelu_tanh_slope(x))                   \
    X(silu, x, x *hd_sigmoid(x), hd_sigmoid(x) * (hd_set(1) + x * (hd_set(1) - hd_sigmoid(x)))) \
    X(sigmoid, y, hd_sigmoid(x), y *(hd_set(1) - y))                                            \
    X(tanh, y, hd_tanh(x), hd_set(1) - y * y)                                                   \
    X(exp, y, hd_exp(x), y)                                                                     \
    X(log, x, hd_log(x), hd_set(1) / x)

typedef enum hd_unary {
    HD_IDENTITY,
#define X(name, kept, f, slope) HD_##name,
    HD_UNARY_LIST(X)
#undef X
        HD_UNARIES
} hd_unary;

const char *hd_unary_name(hd_unary f);
int hd_unary_keeps_x(hd_unary f);    /* the derivative needs the argument, not the value */
int hd_unary_find(const char *name); /* -1: there is none */

#endif
