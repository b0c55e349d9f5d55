/* Rotary positions on the device against the cpu, there and back. */
#include "backend/pair.h"

static const struct {
    size_t rows;
    int heads, turned, width, first, pairs, learned;
    int32_t far; /* the last position is about here */
    bool interleaved;
} shapes[] = {{1, 1, 1, 2, 0, 1, 0, 0, false},           {7, 3, 2, 8, 0, 4, 0, 100, false},
              {33, 4, 3, 64, 0, 32, 0, 4000, false},     {20, 2, 2, 64, 0, 32, 0, 4000, true},
              {64, 6, 5, 128, 0, 64, 0, 130000, false},  {9, 2, 2, 192, 128, 32, 0, 3000, true},
              {12, 2, 1, 256, 0, 64, 0, 8000, false},    {40, 2, 2, 16, 0, 8, 20, 200, false},
              {3000, 36, 24, 64, 0, 32, 0, 1024, false}, {40000, 2, 2, 64, 0, 32, 0, 1024, false}};

static void rotate(void **state)
{
    pair *p = pair_of(state);
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(shapes); i++)
            for (int back = 0; back < 2; back++) {
                size_t rows = shapes[i].rows, cols = (size_t)(shapes[i].heads * shapes[i].width);
                if (small_only() && rows > 100) continue;
                begin_case(p, "rotate %zu x %zu, back %d", rows, cols, back);
                int32_t *pos = pair_take(p, 2, rows * sizeof *pos);
                for (size_t r = 0; r < rows; r++) pos[r] = (int32_t)(r * (size_t)shapes[i].far / rows);
                twin_ints *at = ints_from(p, pos, rows);
                twin *x = twin_from(p, "x", rows, cols, ACT, normals(p, rows * cols, 1));
                hd_rotation t = {.width = shapes[i].width,
                                 .first = shapes[i].first,
                                 .pairs = shapes[i].pairs,
                                 .learned = shapes[i].learned,
                                 .grow = 2,
                                 .theta = 10000,
                                 .interleaved = shapes[i].interleaved,
                                 .factor = 1.1f};
                for (int k = 0; k < t.pairs; k++) t.inverse[k] = powf(10000, -(float)k / (float)t.pairs);
                RUN(p, rotate, .x = ON(x), .pos = at->on[side], .by = &t, .heads = shapes[i].turned,
                    .back = back);
                check(p, x);
            }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(rotate))
