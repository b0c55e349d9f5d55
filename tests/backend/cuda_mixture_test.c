/* Mixtures of Gaussians and the window over characters on the device against the cpu. */
#include "backend/pair.h"

static const struct {
    size_t rows, count;
} mixtures[] = {{1, 1}, {5, 3}, {64, 20}, {301, 20}, {33, 40}, {10, 128}};

static void mixture(void **state)
{
    pair *p = pair_of(state);
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(mixtures); i++)
            for (int back = 0; back < 2; back++) {
                size_t rows = mixtures[i].rows, cols = 1 + 6 * mixtures[i].count;
                begin_case(p, "%zu rows of %zu components, back %d", rows, mixtures[i].count, back);
                float *at = normals(p, 3 * rows, 1);
                for (size_t r = 0; r < rows; r++) at[3 * r + 2] = r % 5 == 3 ? -1.f : (float)(r % 2);
                twin *x = twin_normal(p, "x", rows, cols, ACT, 0.7),
                     *target = twin_from(p, "target", rows, 3, REAL, at),
                     *weight = i % 2 ? twin_normal(p, "weight", rows, 1, REAL, 1) : NULL,
                     *loss = back ? NULL : twin_result(p, "loss", rows, 1, REAL, false),
                     *dx = back ? twin_from(p, "dx", rows, cols, ACT, normals(p, rows * cols, 1)) : NULL;
                RUN(p, mixture, .loss = ON(loss), .dx = ON(dx), .x = ON(x), .target = ON(target),
                    .weight = ON(weight), .coef = 0.5f);
                check(p, loss);
                check(p, dx);
            }
    pair_done(p);
}

static const struct {
    size_t items, count, cols;
    int points, letters;
    bool start, last;
    int how;
} windows[] = {{1, 1, 1, 1, 1, .last = true},
               {3, 2, 5, 1, 4, .start = true, .last = true},
               {8, 10, 60, 1, 30, .start = true, .last = true},
               {5, 10, 33, 20, 12, .how = GAPS | FILL},
               {4, 3, 8, 9, 300, .start = true, .last = true, .how = LOOSE},
               {40, 64, 80, 2, 17, .start = true}};

typedef struct window_case {
    twin_seg *seg, *of;
    twin *p, *text, *start;
} window_case;

static window_case window_for(pair *p, size_t i)
{
    window_case w = {0};
    size_t items = windows[i].items;
    begin_case(p, "window of %zu Gaussians, %zu items, %d points, %d letters", windows[i].count, items,
               windows[i].points, windows[i].letters);
    w.seg = seg_from(p, lengths(p, items, windows[i].points > 1 ? 0 : 1, windows[i].points), items,
                     windows[i].how);
    w.of = seg_from(p, lengths(p, items, 0, windows[i].letters), items, 0);
    w.p = twin_owned(p, "p", w.seg, 3 * windows[i].count, ACT, 0.5);
    w.text = twin_owned(p, "text", w.of, windows[i].cols, ACT, 1);
    w.start = windows[i].start ? twin_normal(p, "start", items, windows[i].count, REAL, 1) : NULL;
    return w;
}

#define WINDOW(w_)                                                                         \
    {                                                                                      \
        ON((w_).p), ON((w_).text), ON((w_).start), &(w_).seg->on[side], &(w_).of->on[side] \
    }

static void window(void **state)
{
    pair *p = pair_of(state);
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(windows); i++) {
            window_case w = window_for(p, i);
            twin *y = twin_result(p, "y", w.seg->rows, windows[i].cols, ACT, false),
                 *kappa = twin_result(p, "kappa", w.seg->rows, windows[i].count, REAL, false),
                 *last = windows[i].last
                             ? twin_result(p, "last", windows[i].items, windows[i].count, REAL, false)
                             : NULL;
            RUN(p, window, .y = ON(y), .kappa = ON(kappa), .last = ON(last), .w = WINDOW(w));
            check_rows(p, y, w.seg->owned);
            check_rows(p, kappa, w.seg->owned);
            check(p, last);
        }
    pair_done(p);
}

static void window_back(void **state)
{
    pair *p = pair_of(state);
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(windows); i++) {
            window_case w = window_for(p, i);
            size_t rows = w.seg->rows, count = windows[i].count, cols = windows[i].cols;
            twin *kappa = twin_owned(p, "kappa", w.seg, count, REAL, 3),
                 *dy = twin_owned(p, "dy", w.seg, cols, ACT, 1),
                 *dlast = windows[i].last ? twin_normal(p, "dlast", windows[i].items, count, REAL, 1) : NULL,
                 *dp = twin_from(p, "dp", rows, 3 * count, ACT, normals(p, rows * 3 * count, 1)),
                 *dtext = i % 2
                              ? twin_from(p, "dtext", w.of->rows, cols, ACT, normals(p, w.of->rows * cols, 1))
                              : NULL,
                 *dstart = w.start ? twin_from(p, "dstart", windows[i].items, count, REAL,
                                               normals(p, windows[i].items * count, 1))
                                   : NULL;
            RUN(p, window_back, .dp = ON(dp), .dtext = ON(dtext), .dstart = ON(dstart), .dy = ON(dy),
                .dlast = ON(dlast), .kappa = ON(kappa), .w = WINDOW(w));
            check(p, dp);
            check(p, dtext);
            check(p, dstart);
        }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(mixture), PAIR_TEST(window), PAIR_TEST(window_back))
