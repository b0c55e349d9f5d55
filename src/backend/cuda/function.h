/* What backend/function.h asks of a backend, for one float on the device; backend/cpu/vector.h says what each
   means. A NaN in the second argument of hd_max and hd_min comes through: constants go first. */
#ifndef HD_BACKEND_CUDA_FUNCTION_H
#define HD_BACKEND_CUDA_FUNCTION_H

#include "backend/cuda/device.h"

DEVICE float hd_set(double x)
{
    return (float)x;
}
DEVICE float hd_max(float a, float b)
{
    return a > b ? a : b;
}
DEVICE float hd_min(float a, float b)
{
    return a < b ? a : b;
}
DEVICE float hd_positive(float x)
{
    return x > 0 ? 1.0f : 0.0f;
}
DEVICE float hd_log(float x)
{
    return logf(x);
}
DEVICE float hd_tanh(float x)
{
    return tanhf(x);
}

/* no subnormals, as on the cpu */
DEVICE float hd_exp(float x)
{
    return x < -87.33654f ? 0.0f : expf(x);
}

/* exp of what lies below its row's maximum: two instructions, the relative error grows with |x| by 6e-8 */
DEVICE float quick_exp(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950408889634f));
    return y;
}

/* the cpu's ratio of polynomials: no branch, which erff has */
DEVICE float hd_erf(float x)
{
    float c = hd_min(3.9f, hd_max(-3.9f, x)), s = c * c;
    float p = 2.06646542e-06f, q = 3.82699848e-05f;
    p = p * s + 2.85063079e-04f, q = q * s + 1.15738610e-03f;
    p = p * s + 3.73838765e-03f, q = q * s + 1.49143611e-02f;
    p = p * s + 5.26682130e-02f, q = q * s + 1.13819362e-01f;
    p = p * s + 1.89667800e-01f, q = q * s + 5.01421493e-01f;
    p = p * s + 1.12837915f, q = q * s + 1;
    return __fdividef(c * p, q);
}

DEVICE float hd_sigmoid(float x)
{
    return __fdividef(1.0f, 1.0f + hd_exp(-x));
}
DEVICE float hd_phi(float x)
{
    return hd_max(0.0f, 0.5f * (1.0f + hd_erf(x * 0.70710678f)));
}
/* Abramowitz and Stegun 7.1.26, off by 1.5e-7 at most, which a gradient can do with: one exponential serves
   the error function and its slope. */
DEVICE float hd_gelu_slope(float x)
{
    float c = hd_min(32.0f, hd_max(-32.0f, x)); /* beyond, its slope is 0, and 0 times infinity is NaN */
    float e = quick_exp(-0.5f * c * c), t = __fdividef(1.0f, 1.0f + 0.23164189f * fabsf(c));
    float p = 0.5307027145f;
    p = p * t - 0.7265760135f;
    p = p * t + 0.7107068705f;
    p = p * t - 0.142248368f;
    p = p * t + 0.127414796f;
    float tail = p * t * e; /* of the smaller side */
    return (c > 0 ? 1 - tail : tail) + c * e * 0.39894228f;
}
DEVICE float hd_half_tanh(float u)
{
    return hd_sigmoid(u + u);
}
DEVICE float hd_gelu_inner(float x)
{
    return 0.79788456f * (x + 0.044715f * x * x * x);
}

DEVICE float hd_gelu_tanh_slope(float x)
{
    float h = __fdividef(1.0f, 1.0f + quick_exp(-2 * hd_gelu_inner(x))); /* a gradient can do with it */
    float c = hd_min(32.0f, hd_max(-32.0f, x)); /* beyond, h (1 - h) is 0, and 0 times infinity is NaN */
    return h + c * 2 * h * (1 - h) * (0.79788456f * (1 + 3 * 0.044715f * c * c));
}

/* n values through f, in place. Where f is a constant to the compiler only its own line is left. */
template <int n> DEVICE void unary_values(float *v, int f)
{
    switch (f) {
#define X(name, kept, value, slope)   \
    case HD_##name:                   \
        for (int i = 0; i < n; i++) { \
            float x = v[i];           \
            v[i] = value;             \
        }                             \
        break;
        HD_UNARY_LIST(X)
#undef X
    default:
        break;
    }
}

/* d *= f'(kept) */
template <int n> DEVICE void unary_slopes(float *d, const float *kept, int f)
{
    switch (f) {
#define X(name, which, value, slope)  \
    case HD_##name:                   \
        for (int i = 0; i < n; i++) { \
            float x = kept[i], y = x; \
            (void)x, (void)y;         \
            d[i] *= slope;            \
        }                             \
        break;
        HD_UNARY_LIST(X)
#undef X
    default:
        break;
    }
}

#endif
