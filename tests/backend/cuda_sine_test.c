/* The sine code of positions on the device against the cpu, and its way back. */
#include "backend/pair.h"

static const struct {
    size_t rows, axes, each;
} shapes[] = {{1, 2, 2}, {5, 2, 6}, {33, 4, 16}, {300, 2, 128}, {125, 4, 128}};

static void sine(void **state)
{
    pair *p = pair_of(state);
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(shapes); i++)
            for (int back = 0; back < 2; back++) {
                size_t rows = shapes[i].rows, axes = shapes[i].axes, cols = axes * shapes[i].each;
                begin_case(p, "sine of %zu x %zu, %zu each, back %d", rows, axes, shapes[i].each, back);
                float *v = normals(p, rows * axes, 0.3f);
                twin *x = twin_from(p, "x", rows, axes, REAL, v);
                if (back) {
                    twin *dy = twin_from(p, "dy", rows, cols, ACT, normals(p, rows * cols, 1)),
                         *dx = twin_from(p, "dx", rows, axes, REAL, normals(p, rows * axes, 1));
                    RUN(p, sine, .dx = ON(dx), .dy = ON(dy), .x = ON(x), .scale = 20, .temperature = 100);
                    check(p, dx);
                } else {
                    twin *y = twin_result(p, "y", rows, cols, ACT, false);
                    RUN(p, sine, .y = ON(y), .x = ON(x), .scale = 20, .temperature = 100);
                    check(p, y);
                }
            }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(sine))
