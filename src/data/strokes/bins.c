/* Rings and directions. Easy to get wrong: a place in a bin must be in that bin again, also after rounding.
 */
#include "data/strokes/bins.h"

#include <math.h>

/* Offsets inside a stroke are about 0.6 deviations long in heed's data, and jumps up to 20. */
enum { DIRECTIONS = 48, LENGTHS = 20, MOST = 4096 };
static const float nearest = 0.2f;

#define TURN 6.283185307179586476925

hd_status hd_pen_bins_measure(hd_pen_bins *to, const hd_pen_scale *scale, const hd_strokes *s, hd_err *err)
{
    double most = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 1; k < hd_strokes_points(s, i); k++) {
            const hd_pen_point *p = hd_strokes_line(s, i) + k - 1;
            most = fmax(most, hypot(hd_pen_offset(p, 0) / (double)scale->deviation[0],
                                    hd_pen_offset(p, 1) / (double)scale->deviation[1]));
        }
    *to = (hd_pen_bins){DIRECTIONS, LENGTHS, nearest, (float)fmax(1.001 * most, 2 * (double)nearest)};
    return hd_pen_bins_check(to, err);
}

hd_status hd_pen_bins_check(const hd_pen_bins *b, hd_err *err)
{
    bool good = b->directions >= 1 && b->directions <= MOST && b->lengths >= 2 && b->lengths <= MOST &&
                b->nearest > 0 && b->farthest > b->nearest && isfinite(b->farthest);
    return good ? HD_OK
                : hd_err_set(err, HD_EARG, "%d directions and %d lengths from %g to %g are no bins of a pen",
                             b->directions, b->lengths, (double)b->nearest, (double)b->farthest);
}

/* ln of the factor by which rings grow. */
static double growth(const hd_pen_bins *b)
{
    return log((double)b->farthest / (double)b->nearest) / (b->lengths - 1);
}

/* Where a ring begins. */
static double begin(const hd_pen_bins *b, int ring)
{
    return ring ? (double)b->nearest * exp(growth(b) * (ring - 1)) : 0;
}

int32_t hd_pen_bin_of(const hd_pen_bins *b, const double offset[2], bool lift)
{
    double length = hypot(offset[0], offset[1]), turn = atan2(offset[1], offset[0]) / TURN;
    int ring = 0, direction = (int)floor(turn * b->directions + 0.5);
    if (length >= (double)b->nearest) {
        double rings = log(length / (double)b->nearest) / growth(b);
        ring = rings < b->lengths - 2 ? 1 + (int)rings : b->lengths - 1;
    }
    direction = (direction % b->directions + b->directions) % b->directions;
    return 2 * (ring * b->directions + direction) + lift;
}

int32_t hd_pen_bin_behind(const hd_pen_bins *b, const hd_pen_scale *scale, const hd_pen_point *p)
{
    const double offset[2] = {hd_pen_offset(p, 0) / (double)scale->deviation[0],
                              hd_pen_offset(p, 1) / (double)scale->deviation[1]};
    return hd_pen_bin_of(b, offset, p[1].lift);
}

double hd_pen_bin_area(const hd_pen_bins *b, int32_t bin)
{
    int ring = bin / 2 / b->directions;
    double from = begin(b, ring), to = begin(b, ring + 1);
    return (to * to - from * from) * TURN / 2 / b->directions;
}

void hd_pen_bin_place(const hd_pen_bins *b, int32_t bin, double out, double around, double offset[2])
{
    int ring = bin / 2 / b->directions, direction = bin / 2 % b->directions;
    double from = begin(b, ring), to = begin(b, ring + 1);
    double length = sqrt(from * from + out * (to * to - from * from));
    double turn = TURN * (direction + around - 0.5) / b->directions;
    offset[0] = length * cos(turn), offset[1] = length * sin(turn);
}
