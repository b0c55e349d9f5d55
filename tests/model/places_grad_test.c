/* Blocks whose attention has places: positions go to queries and keys but not to values, groups see what a
   mask would let them see, and gradients agree with differences. */
#include "model/stack.h"
#include "op/gradient.h"

enum { C = 8, HEADS = 2, ITEMS = 2, ROWS = 9, MEMORY = 7 };

static hd_stack decoder, encoder;
static hd_params params;

static void open_stacks(hd_backend *b)
{
    hd_err err = {0};
    hd_stack_opt o = {.layers = 2, .heads = HEADS, .width = C, .inner = 12, .eps = 1e-5f, .act = HD_tanh};
    hd_params_init(&params, b);
    o.name = "model.encoder";
    assert_int_equal(hd_stack_make(&encoder, &params, &o, &err), HD_OK);
    o.name = "model.decoder", o.cross = true;
    assert_int_equal(hd_stack_make(&decoder, &params, &o, &err), HD_OK);
    assert_int_equal(hd_params_ready(&params, false, &err), HD_OK);
    assert_int_equal(hd_params_draw(&params, 5, &err), HD_OK);
}

static void close_stacks(void)
{
    hd_stack_release(&decoder), hd_stack_release(&encoder);
    hd_params_release(&params);
}

/* Item 0 has 2 queries and groups of 1 and 1 rows, item 1 has 2 queries and a group of 3: rows 0 .. 8. */
static const int32_t lens[ITEMS] = {4, 5}, memory_lens[ITEMS] = {4, 3};
static const int32_t asking[] = {2, 1, 1, 2, 3}, asked[] = {2, 3, 3, 2, 5};
static const int32_t seen[] = {0, 1, 0, 1, 2, 0, 1, 3, 4, 5, 4, 5, 6, 7, 8};

static hd_places places_of(hd_run *r, hd_tensor *query, hd_tensor *memory, bool groups)
{
    hd_places p = {.query = query, .memory = memory};
    if (!groups) return p;
    p.self.rows = hd_ints(r, seen, COUNT_OF(seen));
    p.self.asking = hd_seg_of(r, asking, COUNT_OF(asking), NULL);
    p.self.asked = hd_seg_of(r, asked, COUNT_OF(asked), NULL);
    return p;
}

/* Whether a row of an item sees another: queries see queries, groups see queries and themselves. */
static bool sees(int item, int row, int other)
{
    static const int group[ITEMS][5] = {{0, 0, 1, 2}, {0, 0, 1, 1, 1}};
    return !group[item][other] || group[item][row] == group[item][other];
}

static hd_tensor *mask_of(hd_run *r)
{
    hd_real score[4 * 4 + 5 * 5][HEADS];
    size_t n = 0;
    for (int i = 0; i < ITEMS; i++)
        for (int q = 0; q < lens[i]; q++)
            for (int k = 0; k < lens[i]; k++, n++)
                for (int h = 0; h < HEADS; h++) score[n][h] = sees(i, q, k) ? 0 : -1e30;
    return hd_from(r, n, HEADS, &score[0][0]);
}

static hd_tensor *projected(hd_run *r, hd_tensor *x, hd_param *w, hd_param *b)
{
    return hd_linear(r, x, &w->t, &b->t, HD_IDENTITY);
}

static void groups_see_what_a_mask_lets_them_see(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    open_stacks(b);
    hd_mha *m = &decoder.block[0].self;
    hd_run_begin(&r, HD_INFERENCE);
    hd_rows x = {random_rows(&r, ROWS, C, 1, 1), hd_seg_of(&r, lens, ITEMS, NULL)};
    hd_tensor *at = random_rows(&r, ROWS, C, 1, 2), *moved = hd_add(&r, x.t, at);
    hd_places p = places_of(&r, at, NULL, true);
    hd_tensor *y = hd_mha_placed(&r, m, x, x, &p).t;
    hd_attend_opt o = {.heads = HEADS, .ragged = mask_of(&r)};
    hd_rows z = hd_attend(&r, hd_rows_with(x, projected(&r, moved, m->q, m->q_bias)),
                          hd_rows_with(x, projected(&r, moved, m->k, m->k_bias)),
                          hd_rows_with(x, projected(&r, x.t, m->v, m->v_bias)), &o);
    hd_tensor *want = hd_dense_of(&r, &m->out, z.t, HD_IDENTITY);
    assert_run_ok(&r);
    hd_real *have = host_copy(&r, y), *right = host_copy(&r, want);
    for (size_t i = 0; i < ROWS * C; i++)
        if (fabs((double)(have[i] - right[i])) > 1e-12)
            fail_msg("row %zu: %g, not %g", i / C, (double)have[i], (double)right[i]);
    free(have), free(right);
    close_stacks();
    hd_run_release(&r);
    hd_backend_free(b);
}

/* n: 1 with groups, 2 recomputed. Leaves: rows, their positions, memory, its positions. */
static hd_tensor *through(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    hd_rows memory = {x[2], hd_seg_of(r, memory_lens, ITEMS, NULL)}, rows = {x[0], NULL};
    hd_places of_memory = {.query = x[3]}, p = places_of(r, x[1], x[3], c->n & 1);
    decoder.opt.recompute = encoder.opt.recompute = c->n & 2;
    rows.seg = hd_seg_of(r, lens, ITEMS, NULL);
    memory = hd_stack_placed(r, &encoder, 0, 2, memory, (hd_rows){0}, &of_memory);
    rows = hd_stack_placed(r, &decoder, 0, 1, rows, memory, &p);
    return hd_stack_placed(r, &decoder, 1, 1, rows, memory, &p).t;
}

#define PLACED(name_, n_)                                                                    \
    CASE(name_, through,                                                                     \
         LEAVES_OF(LEAF("rows", ROWS, C), LEAF("query", ROWS, C), LEAF("memory", MEMORY, C), \
                   LEAF("places", MEMORY, C)),                                               \
         .n = n_)

static void gradients_reach_rows_and_places(void **state)
{
    (void)state;
    static const gradient_case cases[] = {PLACED("all rows of an item", 0), PLACED("groups", 1),
                                          PLACED("all rows, recomputed", 2), PLACED("groups, recomputed", 3)};
    hd_backend *b = backend_of("cpu", 1);
    open_stacks(b);
    check_gradients(cases, COUNT_OF(cases));
    close_stacks();
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_see_what_a_mask_lets_them_see),
        cmocka_unit_test(gradients_reach_rows_and_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
