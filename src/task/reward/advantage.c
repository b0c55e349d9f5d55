/* Advantages of the texts of a group. */
#include <math.h>

#include "task/reward/reward.h"

static const double LEAST = 1e-4; /* added to a deviation, as TRL does */

bool hd_advantages(double *out, const double *reward, size_t n, bool scaled)
{
    double mean = 0, squares = 0, low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        mean += reward[i] / (double)n;
        low = fmin(low, reward[i]), high = fmax(high, reward[i]);
    }
    bool alive = high > low;
    for (size_t i = 0; i < n; i++) {
        out[i] = alive ? reward[i] - mean : 0;
        squares += out[i] * out[i];
    }
    double by = scaled && alive ? 1 / (sqrt(squares / (double)(n - 1)) + LEAST) : 1;
    for (size_t i = 0; i < n; i++) out[i] *= by;
    return alive;
}

double hd_length_penalty(size_t tokens, size_t most, size_t slack)
{
    if (!slack || tokens + slack <= most) return 0;
    return -(double)(tokens + slack - most) / (double)slack;
}
