/* Single queries of heads that share keys and values, as in decoding: the bits are those of every head alone,
   on any number of threads, whether heads, keys or columns are shared out. */
#include "check.h"

enum { ITEMS = 3 };

static const int32_t lengths[ITEMS] = {150, 1, 37};

typedef struct shape {
    int items, heads, kv_heads;
    size_t d, dv;
    int window;
    bool gate;
} shape;

/* Heads [first, first + count) of an attention over `groups` heads of keys; in new memory. */
static hd_real *attend(hd_backend *b, const shape *s, int first, int count, int groups)
{
    hd_run r = run_on(b);
    size_t rows = 0, h = (size_t)s->heads, g = (size_t)s->kv_heads, each = h / g;
    int32_t ones[ITEMS] = {1, 1, 1};
    for (int i = 0; i < s->items; i++) rows += (size_t)lengths[i];
    hd_real *q = malloc((size_t)s->items * h * s->d * sizeof *q), *k = malloc(rows * g * s->d * sizeof *k),
            *v = malloc(rows * g * s->dv * sizeof *v), *gate = malloc(h * sizeof *gate);
    fill_normal(q, (size_t)s->items * h * s->d, 1, 1), fill_normal(k, rows * g * s->d, 1, 2);
    fill_normal(v, rows * g * s->dv, 1, 3), fill_normal(gate, h, 1, 4);
    hd_run_begin(&r, HD_INFERENCE);
    const size_t from = (size_t)first, group = from / each;
    hd_tensor *all_q = hd_from(&r, (size_t)s->items, h * s->d, q), *all_k = hd_from(&r, rows, g * s->d, k),
              *all_v = hd_from(&r, rows, g * s->dv, v), *all_gate = hd_from(&r, 1, h, gate);
    const hd_seg *one = hd_seg_of(&r, ones, (size_t)s->items, NULL),
                 *keys = hd_seg_of(&r, lengths, (size_t)s->items, NULL);
    hd_attend_opt o = {.heads = count, .kv_heads = groups, .mask = HD_CAUSAL, .window = s->window};
    if (s->gate) o.gate = hd_slice_cols(&r, all_gate, from, (size_t)count);
    hd_rows y =
        hd_attend(&r, (hd_rows){hd_slice_cols(&r, all_q, from * s->d, (size_t)count * s->d), one},
                  (hd_rows){hd_slice_cols(&r, all_k, group * s->d, (size_t)groups * s->d), keys},
                  (hd_rows){hd_slice_cols(&r, all_v, group * s->dv, (size_t)groups * s->dv), keys}, &o);
    if (r.err.status) fail_msg("%s", r.err.text);
    hd_real *found = host_copy(&r, y.t);
    free(q), free(k), free(v), free(gate);
    hd_run_release(&r);
    return found;
}

static void heads_that_share_keys_are_what_they_are_alone(void **state)
{
    (void)state;
    static const shape shapes[] = {{1, 16, 1, 36, 32, 0, false}, {3, 16, 1, 36, 32, 0, false},
                                   {1, 6, 2, 20, 24, 0, false},  {3, 12, 2, 20, 16, 9, true},
                                   {1, 70, 1, 8, 40, 0, true},   {1, 8, 2, 20, 30, 0, false}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const shape *s = &shapes[i];
        const size_t h = (size_t)s->heads, each = h / (size_t)s->kv_heads;
        hd_backend *one = backend_of("cpu", 1);
        hd_real *alone[80];
        for (size_t k = 0; k < h; k++) alone[k] = attend(one, s, (int)k, 1, 1);
        hd_backend_free(one);
        for (int threads = 1; threads <= 4; threads++) {
            hd_backend *b = backend_of("cpu", threads);
            hd_real *all = attend(b, s, 0, s->heads, s->kv_heads);
            for (size_t item = 0; item < (size_t)s->items; item++)
                for (size_t k = 0; k < h; k++)
                    if (memcmp(all + (item * h + k) * s->dv, alone[k] + item * s->dv, s->dv * sizeof *all))
                        fail_msg("shape %zu, %d threads: head %zu of %zu is another", i, threads, k, each);
            free(all);
            hd_backend_free(b);
        }
        for (size_t k = 0; k < h; k++) free(alone[k]);
    }
}

enum { PAGED = 7, HEADS = 6, SIZE = 32, WIDE = HEADS * SIZE, BLOCKS = 13 };

/* One query for each item over keys `length` long, in blocks or one after the other, the first `same` items
   over the same; in new memory. */
static hd_real *attend_paged(hd_backend *b, const int32_t *length, size_t same, bool blocks, int window)
{
    hd_run r = run_on(b);
    enum { MOST = BLOCKS * HD_PAGE_ROWS };
    static hd_real q[PAGED * WIDE], kv[MOST * WIDE], spread[MOST * WIDE];
    int32_t ones[PAGED], page[PAGED * BLOCKS] = {0}, zeros[PAGED] = {0};
    size_t at = 0, taken = 0, longest = 0;
    fill_normal(q, PAGED * WIDE, 1, 1), fill_normal(kv, MOST * WIDE, 1, 2);
    for (size_t i = 0; i < MOST * WIDE; i++) spread[i] = NAN; /* what is no key must not matter */
    for (size_t i = 0; i < PAGED; i++) {
        const size_t len = (size_t)length[i];
        const bool again = i && i < same;
        if (again) memcpy(page + i * BLOCKS, page, BLOCKS * sizeof *page);
        for (size_t j = 0; j < len; j++, at++) {
            if (again) memcpy(kv + at * WIDE, kv + j * WIDE, WIDE * sizeof *kv);
            if (j % HD_PAGE_ROWS == 0 && !again)
                page[i * BLOCKS + j / HD_PAGE_ROWS] = (int32_t)(taken++ * 5 % BLOCKS); /* in no order */
            const size_t row = (size_t)page[i * BLOCKS + j / HD_PAGE_ROWS] * HD_PAGE_ROWS + j % HD_PAGE_ROWS;
            memcpy(spread + row * WIDE, kv + at * WIDE, WIDE * sizeof *kv);
        }
        longest = len > longest ? len : longest, ones[i] = 1;
    }
    assert_true(taken <= BLOCKS);
    hd_run_begin(&r, HD_INFERENCE);
    const hd_seg *one = hd_seg_of(&r, ones, PAGED, NULL);
    const hd_seg paged = {.begin = hd_ints(&r, zeros, PAGED),
                          .len = hd_ints(&r, length, PAGED),
                          .host_len = length,
                          .page = hd_ints(&r, page, PAGED * BLOCKS),
                          .pages = BLOCKS,
                          .items = PAGED,
                          .rows = MOST,
                          .longest = longest,
                          .overlap = true};
    hd_tensor *rows = hd_from(&r, blocks ? MOST : at, WIDE, blocks ? spread : kv);
    const hd_rows keys = {rows, blocks ? &paged : hd_seg_of(&r, length, PAGED, NULL)};
    const hd_attend_opt o = {.heads = HEADS, .kv_heads = HEADS, .mask = HD_CAUSAL, .window = window};
    hd_rows y = hd_attend(&r, (hd_rows){hd_from(&r, PAGED, WIDE, q), one}, keys, keys, &o);
    if (r.err.status) fail_msg("%s", r.err.text);
    hd_real *found = host_copy(&r, y.t);
    hd_run_release(&r);
    return found;
}

static void keys_in_blocks_are_keys_one_after_the_other(void **state)
{
    (void)state;
    static const int32_t length[PAGED] = {1, 4, 7, 12, 16, 17, 31};
    hd_backend *b = backend_of("cpu", 1);
    for (int window = 0; window <= 6; window += 6) {
        hd_real *lying = attend_paged(b, length, 1, false, window),
                *blocks = attend_paged(b, length, 1, true, window);
        for (size_t i = 0; i < PAGED; i++)
            if (memcmp(lying + i * WIDE, blocks + i * WIDE, WIDE * sizeof *lying))
                fail_msg("window %d: %d keys in blocks give something else", window, length[i]);
        free(lying), free(blocks);
    }
    hd_backend_free(b);
}

/* Hypotheses of one sentence see the same keys of it; some of them go together, and what others see stands
   beside them. */
static void items_that_see_the_same_blocks_are_what_they_are_alone(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        hd_backend *b = backend_of("cpu", threads);
        for (size_t same = 2; same <= PAGED; same++)
            for (int32_t keys = 2; keys <= 20; keys += 3) {
                int32_t length[PAGED];
                for (size_t i = 0; i < PAGED; i++) length[i] = keys;
                hd_real *lying = attend_paged(b, length, same, false, 0),
                        *blocks = attend_paged(b, length, same, true, 0);
                for (size_t i = 0; i < PAGED; i++)
                    if (memcmp(lying + i * WIDE, blocks + i * WIDE, WIDE * sizeof *lying))
                        fail_msg("%zu items see the same %d keys: item %zu is another", same, keys, i);
                free(lying), free(blocks);
            }
        hd_backend_free(b);
    }
}

/* Fewer scores than a vector has are weighed in registers, but not where a window begins within a block: the
   last keys of many are then weighed as if they were all. */
static void few_keys_weigh_what_the_last_of_many_do(void **state)
{
    (void)state;
    enum { MANY = 9, LAST = 5 };
    static hd_real q[WIDE], k[MANY * WIDE];
    const int32_t one = 1, count[2] = {MANY, LAST};
    hd_real *found[2];
    fill_normal(q, WIDE, 1, 1), fill_normal(k, MANY * WIDE, 1, 2);
    for (int i = 0; i < 2; i++) {
        hd_backend *b = backend_of("cpu", 1);
        hd_run r = run_on(b);
        hd_run_begin(&r, HD_INFERENCE);
        const hd_rows keys = {hd_from(&r, (size_t)count[i], WIDE, k + (size_t)(MANY - count[i]) * WIDE),
                              hd_seg_of(&r, &count[i], 1, NULL)};
        const hd_attend_opt o = {
            .heads = HEADS, .kv_heads = HEADS, .mask = HD_CAUSAL, .window = i ? 0 : LAST - 1};
        hd_rows y =
            hd_attend(&r, (hd_rows){hd_from(&r, 1, WIDE, q), hd_seg_of(&r, &one, 1, NULL)}, keys, keys, &o);
        if (r.err.status) fail_msg("%s", r.err.text);
        found[i] = host_copy(&r, y.t);
        hd_run_release(&r);
        hd_backend_free(b);
    }
    assert_memory_equal(found[0], found[1], WIDE * sizeof(hd_real));
    free(found[0]), free(found[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_that_share_keys_are_what_they_are_alone),
        cmocka_unit_test(keys_in_blocks_are_keys_one_after_the_other),
        cmocka_unit_test(items_that_see_the_same_blocks_are_what_they_are_alone),
        cmocka_unit_test(few_keys_weigh_what_the_last_of_many_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
