/* Frequencies of rotary positions. Every step is rounded to float where transformers does so: frequencies
   that differ in the last bit are other angles at position 100,000. */
#include "nn/block/rotary.h"

#include <math.h>

#define X(NAME, name) #name,
const char *const hd_rotary_names[HD_ROTARIES + 1] = {HD_ROTARY_LIST(X) NULL};
const char *const hd_rotary_scaling_names[HD_ROTARY_SCALINGS + 1] = {HD_ROTARY_SCALING_LIST(X) NULL};
#undef X

static double theta_of(const hd_rotary *o)
{
    return o->theta > 0 ? o->theta : 10000;
}

static double given(double x, double otherwise)
{
    return x > 0 ? x : otherwise;
}

/* Rounded on its own: compilers that join it with a sum would keep more digits than transformers has. */
static float product(float a, float b)
{
    return (float)((double)a * (double)b);
}

hd_status hd_rotary_check(const hd_rotary *o, size_t head_width, hd_err *err)
{
    const hd_rotary_scaling *s = &o->scaling;
    size_t columns = o->columns ? o->columns : head_width;
    if (!o->kind) return HD_OK;
    if (columns % 2 || columns < 2 || columns > head_width || columns / 2 > HD_ROTATION_PAIRS)
        return hd_err_set(err, HD_EARG,
                          "rotary positions turn pairs of columns, at most %d of a head: not %zu of %zu",
                          2 * HD_ROTATION_PAIRS, columns, head_width);
    if (!(theta_of(o) > 1)) return hd_err_set(err, HD_EARG, "rotary positions: theta is %g", o->theta);
    if (!s->kind) return HD_OK;
    if (!(s->factor >= 1) || isinf(s->factor))
        return hd_err_set(err, HD_EARG,
                          "rotary positions: the factor of %s scaling is %g, it must be 1 or more",
                          hd_rotary_scaling_names[s->kind], s->factor);
    if (s->kind != HD_ROTARY_LINEAR && (!s->original || s->original > INT32_MAX / 2))
        return hd_err_set(err, HD_EARG, "rotary positions: %s scaling of %zu learned positions",
                          hd_rotary_scaling_names[s->kind], s->original);
    if (s->kind == HD_ROTARY_DYNAMIC && columns < 4)
        return hd_err_set(err, HD_EARG, "rotary positions: dynamic scaling needs 4 columns or more");
    if (s->kind == HD_ROTARY_LLAMA3 && !(given(s->high, 4) > given(s->low, 1)))
        return hd_err_set(err, HD_EARG, "rotary positions: llama3 scaling from %g to %g", s->low, s->high);
    return HD_OK;
}

/* Long waves are slowed down, short ones stay, between the two it fades. */
static void scale_llama3(hd_rotation *t, const hd_rotary_scaling *s)
{
    const double low = given(s->low, 1), high = given(s->high, 4), learned = (double)s->original;
    const float factor = (float)s->factor, longest = (float)(learned / low),
                shortest = (float)(learned / high);
    for (int k = 0; k < t->pairs; k++) {
        float inverse = t->inverse[k], wave = (float)(2 * M_PI) / inverse;
        if (wave > longest)
            t->inverse[k] = inverse / factor;
        else if (!(wave < shortest)) {
            float smooth = ((float)learned / wave - (float)low) / (float)(high - low);
            t->inverse[k] = product(1 - smooth, inverse) / factor + product(smooth, inverse);
        }
    }
}

/* The pair whose wave fits `turns` times into the learned positions. */
static double pair_of(const hd_rotary *o, int columns, double turns)
{
    return columns * log((double)o->scaling.original / (turns * 2 * M_PI)) / (2 * log(theta_of(o)));
}

static double mscale(double factor, double by)
{
    return factor <= 1 ? 1 : 0.1 * by * log(factor) + 1;
}

static void scale_yarn(hd_rotation *t, const hd_rotary *o)
{
    const hd_rotary_scaling *s = &o->scaling;
    const int columns = 2 * t->pairs;
    double low = pair_of(o, columns, given(s->beta_fast, 32)),
           high = pair_of(o, columns, given(s->beta_slow, 1));
    if (!s->no_rounding) low = floor(low), high = ceil(high);
    low = fmax(low, 0), high = fmin(high, columns - 1);
    if (low == high) high += 0.001;
    for (int k = 0; k < t->pairs; k++) {
        float exponent = (float)(2 * k) / (float)columns, wave = (float)pow(theta_of(o), (double)exponent);
        float ramp = ((float)k - (float)low) / (float)(high - low), kept = 1 - (ramp < 0   ? 0
                                                                                : ramp > 1 ? 1
                                                                                           : ramp);
        t->inverse[k] = product(1.0f / ((float)s->factor * wave), 1 - kept) + product(1.0f / wave, kept);
    }
    double usual = s->mscale > 0 && s->mscale_all > 0
                       ? mscale(s->factor, s->mscale) / mscale(s->factor, s->mscale_all)
                       : mscale(s->factor, 1);
    t->factor = (float)given(s->attention_factor, usual);
}

hd_rotation hd_rotary_make(const hd_rotary *o, size_t head_width, size_t first)
{
    const hd_rotary_scaling *s = &o->scaling;
    const size_t columns = o->columns ? o->columns : head_width - first;
    hd_rotation t = {.width = (int)head_width,
                     .first = (int)first,
                     .pairs = (int)(columns / 2),
                     .interleaved = o->kind == HD_ROTARY_INTERLEAVED,
                     .factor = 1};
    for (int k = 0; k < t.pairs; k++) {
        float exponent = (float)(2 * k) / (float)columns;
        t.inverse[k] = 1.0f / (float)pow(theta_of(o), (double)exponent);
        if (s->kind == HD_ROTARY_LINEAR) t.inverse[k] /= (float)s->factor;
    }
    if (s->kind == HD_ROTARY_LLAMA3) scale_llama3(&t, s);
    if (s->kind == HD_ROTARY_YARN) scale_yarn(&t, o);
    if (s->kind == HD_ROTARY_DYNAMIC)
        t.learned = (int)s->original, t.grow = (float)s->factor, t.theta = theta_of(o);
    return t;
}
