/* Length penalties. */
#include "decode/length.h"

#include <math.h>

const char *const hd_length_names[HD_LENGTHS + 1] = {
#define X(NAME, name, text) #name,
    HD_LENGTH_LIST(X)
#undef X
};

double hd_length_divisor(const hd_length *l, size_t length)
{
    if (!length || l->kind == HD_LENGTH_NONE) return 1;
    if (l->kind == HD_LENGTH_AVERAGE) return (double)length;
    return pow((5 + (double)length) / 6, l->alpha);
}

/* Rounded here, once: a compiler would fuse it with the sum in some places and not in others. */
double hd_length_bonus(const hd_length *l, size_t length)
{
    return l->bonus * (double)length;
}
