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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_that_share_keys_are_what_they_are_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
