/* Rows moved about on the device against the cpu: gather, scatter, append to a cache, fold. */
#include "backend/pair.h"

static const struct {
    size_t rows, of, cols;
} sizes[] = {{1, 1, 1},        {9, 5, 3},         {4, 9, 7},         {20, 6, 8},
             {33, 17, 17},     {50, 40, 33},      {12, 100, 100},    {64, 20, 64},
             {300, 1000, 512}, {2000, 1000, 512}, {1000, 32000, 512}};
enum { LARGE = 8 };

#define EACH_SIZE(p, i)                                         \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++) \
        for (size_t i = 0; i < COUNT_OF(sizes); i++)            \
            if (i < LARGE || (!small_only() && (p)->layout == DENSE))

/* Rows of `of`, some out of range; many fall on the first few, as words do. */
static twin_ints *index_of(pair *p, size_t rows, size_t of, bool once)
{
    int32_t *v = pair_take(p, 2, (rows + of + 1) * sizeof *v), *shuffled = v + rows;
    hd_rng rng = hd_rng_make(3, p->seed++);
    for (size_t i = 0; i < of; i++) shuffled[i] = (int32_t)i;
    for (size_t i = of; i > 1; i--) {
        size_t j = hd_rng_below(&rng, (uint32_t)i);
        int32_t t = shuffled[i - 1];
        shuffled[i - 1] = shuffled[j], shuffled[j] = t;
    }
    for (size_t i = 0; i < rows; i++) {
        v[i] = (int32_t)(hd_rng_below(&rng, 2) ? hd_rng_below(&rng, (uint32_t)of)
                                               : hd_rng_below(&rng, (uint32_t)(of + 3) / 4));
        if (once) v[i] = i < of ? shuffled[i] : -1;
        if (i % 7 == 3) v[i] = i % 2 ? -1 : (int32_t)of;
        if (i % 29 == 13) v[i] = i % 2 ? INT32_MIN : INT32_MAX;
    }
    return ints_from(p, v, rows);
}

static void gather(void **state)
{
    pair *p = pair_of(state);
    const int kinds[][2] = {{ACT, ACT}, {ACT, PARAM}, {REAL, REAL}, {ACT, REAL}}; /* y, x */
    EACH_SIZE(p, i)
    for (size_t k = 0; k < (p->bf16 ? COUNT_OF(kinds) : 1); k++)
        for (int how = 0; how < 4; how++) {
            size_t n = sizes[i].cols;
            begin_case(p, "gather %zu of %zu x %zu kinds %zu how %d", sizes[i].rows, sizes[i].of, n, k, how);
            twin_ints *index = index_of(p, sizes[i].rows, sizes[i].of, false);
            twin *x = twin_normal(p, "x", sizes[i].of, n, kinds[k][1], 1),
                 *y = twin_result(p, "y", sizes[i].rows, n, kinds[k][0], how & 1);
            RUN(p, gather, .y = ON(y), .x = ON(x), .index = index->on[side], .scale = how & 2 ? 22.6f : 1,
                .add = how & 1);
            if (!how && kinds[k][0] == kinds[k][1]) check_same(p, y, NULL);
            check(p, y);
        }
    pair_done(p);
}

/* Sums of repeated rows are made in the order of the index. */
static void scatter(void **state)
{
    pair *p = pair_of(state);
    const int kinds[][2] = {{ACT, ACT}, {REAL, ACT}, {REAL, REAL}}; /* y, x */
    EACH_SIZE(p, i)
    for (size_t k = 0; k < (p->bf16 ? COUNT_OF(kinds) : 1); k++)
        for (int how = 0; how < 4; how++) {
            size_t n = sizes[i].cols;
            bool add = how & 1;
            begin_case(p, "scatter %zu to %zu x %zu kinds %zu how %d", sizes[i].rows, sizes[i].of, n, k, how);
            twin_ints *index = index_of(p, sizes[i].rows, sizes[i].of, !add);
            twin *x = twin_normal(p, "x", sizes[i].rows, n, kinds[k][1], 1),
                 *y = twin_result(p, "y", sizes[i].of, n, kinds[k][0], true);
            RUN(p, scatter, .y = ON(y), .x = ON(x), .index = index->on[side], .scale = how & 2 ? 0.7f : 1,
                .add = add);
            /* bf16 sums may be rounded after each of the rows that meet, a few as a rule */
            bool sums = add && p->bf16 && kinds[k][0] == ACT;
            compare(p, y, (close_enough){.tolerance = sums ? 4 * TOLERANCE_BF16 : tolerance_of(p, y)});
        }
    pair_done(p);
}

static const struct {
    size_t items, cols;
    int least, most;
} batches[] = {{1, 1, 1, 1},  {3, 3, 0, 2},    {5, 7, 1, 1},    {8, 16, 0, 5},
               {6, 33, 0, 9}, {16, 512, 1, 1}, {30, 512, 0, 60}};

/* A cache: every item has room for what it holds and what comes. */
static void append(void **state)
{
    pair *p = pair_of(state);
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(batches); i++)
            for (int how = 0; how < 4; how++) {
                size_t items = batches[i].items, n = batches[i].cols, rows = 2;
                begin_case(p, "append %zu items of %d-%d, %zu columns, how %d", items, batches[i].least,
                           batches[i].most, n, how);
                twin_seg *from = seg_from(p, lengths(p, items, batches[i].least, batches[i].most), items,
                                          (how & 2 ? GAPS | FILL : 0) | LOOSE);
                int32_t *held = lengths(p, items, 0, 6), *begin = pair_take(p, 2, items * sizeof *begin);
                for (size_t j = 0; j < items; j++) {
                    begin[j] = (int32_t)rows;
                    rows += (size_t)(held[j] + from->len[j]) + 3;
                }
                twin_ints *b = ints_from(p, begin, items), *l = ints_from(p, held, items);
                twin *x = twin_normal(p, "x", from->rows, n, ACT, 1),
                     *y = twin_result(p, "y", rows, n, ACT, false);
                RUN(p, append, .y = ON(y), .x = ON(x), .from = ON(from), .begin = b->on[side],
                    .len = l->on[side], .advance = how & 1);
                check_same(p, y, NULL);
                check_ints(p, "len", l);
            }
    pair_done(p);
}

/* The same into blocks, and rows of blocks to other ones of the same store. */
static void append_to_blocks(void **state)
{
    pair *p = pair_of(state);
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(batches); i++) {
            size_t items = batches[i].items, n = batches[i].cols, at = 0;
            begin_case(p, "append %zu items of %d-%d, %zu columns, to blocks", items, batches[i].least,
                       batches[i].most, n);
            twin_seg *from = seg_from(p, lengths(p, items, batches[i].least, batches[i].most), items, LOOSE);
            int32_t *held = lengths(p, items, 0, 40), *page = pair_take(p, 2, 8 * items * sizeof *page);
            for (size_t j = 0; j < items; j++)
                for (int32_t b = 0; b * HD_PAGE_ROWS < held[j] + from->len[j]; b++)
                    page[8 * j + (size_t)b] = (int32_t)(items * 8 - at++ % (items * 8));
            twin_ints *t = ints_from(p, page, 8 * items), *l = ints_from(p, held, items);
            twin *x = twin_normal(p, "x", from->rows, n, ACT, 1),
                 *y = twin_result(p, "y", (items * 8 + 1) * HD_PAGE_ROWS, n, ACT, false);
            RUN(p, append, .y = ON(y), .x = ON(x), .from = ON(from), .page = t->on[side], .pages = 8,
                .len = l->on[side]);
            check_same(p, y, NULL);
            int32_t *begin = pair_take(p, 2, (items + 1) * sizeof *begin),
                    *to = pair_take(p, 2, (items + 1) * sizeof *to);
            for (size_t j = 0; j < items; j++)
                begin[j] = (int32_t)(j * 2 * HD_PAGE_ROWS), to[j] = begin[j] + HD_PAGE_ROWS;
            twin_ints *b = ints_from(p, begin, items), *o = ints_from(p, to, items),
                      *r = ints_from(p, lengths(p, items, 0, HD_PAGE_ROWS - 1), items);
            RUN(p, append, .y = ON(y), .x = ON(y),
                .from = &((hd_seg){.begin = b->on[side], .len = r->on[side], .items = items, .longest = 16}),
                .begin = o->on[side]);
            check_same(p, y, NULL);
        }
    pair_done(p);
}

static void fold(void **state)
{
    pair *p = pair_of(state);
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(batches); i++)
            for (int k = 1; k <= 4; k++)
                for (int how = 0; how < 4; how++) {
                    size_t items = batches[i].items, n = batches[i].cols;
                    bool back = how & 1;
                    begin_case(p, "fold %zu items of %d-%d, %zu columns by %d, how %d", items,
                               batches[i].least, batches[i].most, n, k, how);
                    twin_seg *from = seg_from(p, lengths(p, items, batches[i].least, batches[i].most), items,
                                              how & 2 ? GAPS | FILL : 0);
                    int32_t *len = pair_take(p, 2, (items + 1) * sizeof *len);
                    for (size_t j = 0; j < items; j++) len[j] = (from->len[j] + k - 1) / k;
                    twin_seg *to = seg_from(p, len, items, how & 2 ? FILL | LOOSE : 0);
                    twin *x = back ? twin_result(p, "x", from->rows, n, ACT, true)
                                   : twin_owned(p, "x", from, n, ACT, 1),
                         *y = back ? twin_owned(p, "y", to, n * (size_t)k, ACT, 1)
                                   : twin_result(p, "y", to->rows, n * (size_t)k, ACT, false);
                    RUN(p, fold, .y = ON(y), .x = ON(x), .to = ON(to), .from = ON(from), .k = k,
                        .back = back);
                    if (back)
                        check(p, x);
                    else
                        check_same(p, y, to->owned), check_rows(p, y, to->owned);
                }
    pair_done(p);
}

static void refold(void **state)
{
    pair *p = pair_of(state);
    for (size_t i = 0; i < COUNT_OF(batches); i++)
        for (int k = 1; k <= 4; k++)
            for (size_t more = 0; more < 200; more += 99) {
                size_t n = batches[i].items, rows = more;
                begin_case(p, "segments of %zu items by %d, %zu rows more", n, k, more);
                twin_seg *from = seg_from(p, lengths(p, n, batches[i].least, batches[i].most), n, 0);
                for (size_t j = 0; j < n; j++) rows += (size_t)((from->len[j] + k - 1) / k);
                int32_t *room = pair_take(p, 2, (rows + n + 1) * sizeof *room);
                twin_ints *out[4] = {ints_from(p, room, n), ints_from(p, room, n), ints_from(p, room, rows),
                                     ints_from(p, room, rows)};
                RUN(p, refold, .begin = out[0]->on[side], .len = out[1]->on[side], .item = out[2]->on[side],
                    .pos = out[3]->on[side], .from = &from->on[side], .rows = rows, .k = k);
                if (p->broken) continue;
                static const char *const names[] = {"begin", "len", "item", "pos"};
                for (int j = 0; j < 4; j++) check_ints(p, names[j], out[j]);
            }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(gather), PAIR_TEST(scatter), PAIR_TEST(append), PAIR_TEST(append_to_blocks),
          PAIR_TEST(fold), PAIR_TEST(refold))
