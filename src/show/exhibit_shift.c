/* The claim that positions can be shifted by one matrix, with its numbers. */
#include <stdio.h>

#include "nn/position.h"
#include "show/exhibit_parts.h"

/* y = p M^T, in double: a sum of two products that are not zero. */
static void turn(hd_real *y, const hd_real *p, const hd_real *m, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            double sum = 0;
            for (size_t k = 0; k < cols; k++) sum += (double)p[i * cols + k] * (double)m[j * cols + k];
            y[i * cols + j] = (hd_real)sum;
        }
}

static hd_status fill(hd_exhibit *x, size_t positions, size_t width, size_t by, hd_err *err)
{
    static const char part[] = "Positions that are shifted";
    const hd_sinusoid paper = {0};
    size_t all = positions + by;
    hd_real *p = hd_shown_take(&x->memory, all * width, sizeof *p, err),
            *m = hd_shown_take(&x->memory, width * width, sizeof *m, err),
            *y = hd_shown_take(&x->memory, positions * width, sizeof *y, err);
    x->read = hd_shown_take(&x->memory, all, sizeof *x->read, err);
    if (!p || !m || !y || !x->read) return HD_ENOMEM;
    for (x->reads = 0; x->reads < all; x->reads++) {
        char name[32];
        snprintf(name, sizeof name, "position %zu", x->reads);
        x->read[x->reads] = (hd_shown_token){.id = (int32_t)x->reads, .piece = hd_exhibit_copy(x, name, err)};
        if (!x->read[x->reads].piece) return HD_ENOMEM;
    }
    hd_sinusoid_fill(p, all, width, &paper);
    hd_sinusoid_shift(m, width, (double)by, &paper);
    turn(y, p, m, positions, width);
    const hd_exhibit_item items[] = {
        {"pe", part, "sin and cos of position / 10000^(2i / columns), in turn", HD_EXHIBIT_READ,
         HD_EXHIBIT_CHANNELS, 0, all, width, p},
        {"M", part, "every pair of columns turned by its own angle, the same for all positions",
         HD_EXHIBIT_CHANNELS, HD_EXHIBIT_CHANNELS, 0, width, width, m},
        {"pe.shifted", part, "pe M^T: each row is the one of pe that lies further on", HD_EXHIBIT_READ,
         HD_EXHIBIT_CHANNELS, 0, positions, width, y}};
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < sizeof items / sizeof *items; i++) s = hd_exhibit_add(x, &items[i], err);
    return s;
}

hd_status hd_exhibit_shift(hd_exhibit **out, size_t positions, size_t width, size_t by, hd_err *err)
{
    hd_exhibit *x;
    hd_status s = hd_exhibit_new(&x, HD_EXHIBIT_LANGUAGE, NULL, err);
    if (!s) x->model = "positions", s = fill(x, positions, width, by, err);
    return hd_exhibit_give(out, x, s);
}
