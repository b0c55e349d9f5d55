/* Draws by the engine, judged by chi-square. */
#include "lab/decoding/chance.h"

#include <math.h>

#include "lab/desk.h"

enum { MANY = HD_CHANCE_DRAWS };

hd_status hd_chance_draw(double *share, hd_run *r, const double *score, size_t words, const hd_draw_opt *o,
                         hd_err *err)
{
    hd_run_begin(r, HD_INFERENCE);
    hd_lot *lot = hd_host_take(r, MANY * sizeof *lot);
    int32_t *token = hd_host_take(r, MANY * sizeof *token);
    hd_tensor *x = hd_desk_rows(r, 1, words, score);
    for (int32_t i = 0; lot && i < MANY; i++) lot[i] = (hd_lot){.key = i, .number = 1};
    if (lot && token) hd_draw_tokens(r, x, lot, MANY, o, token);
    hd_status s = hd_run_status(r, err);
    for (size_t i = 0; i < words; i++) share[i] = 0;
    for (int i = 0; !s && i < MANY; i++) share[token[i]] += 1.0 / MANY;
    return s;
}

double hd_chance_off(const double *share, const double *p, size_t words)
{
    double sum = 0;
    for (size_t i = 0; i < words; i++)
        sum += p[i] > 0 ? MANY * pow(share[i] - p[i], 2) / p[i] : share[i] > 0 ? (double)INFINITY : 0;
    return sum;
}
