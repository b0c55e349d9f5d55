/* Fronts of tokens: what a row is the sum of. Norms, types and dropout are in the tests of the models. */
#include "check.h"
#include "device.h"
#include "nn/front.h"

enum { VOCAB = 5, WIDTH = 4, POSITIONS = 6, ROWS = 5 };

static const int32_t ids[ROWS] = {3, 0, 4, 1, 1}, len[] = {3, 2}, place[ROWS] = {0, 1, 2, 0, 1};

/* Rows of a front that is made, filled and drawn here; the caller frees them. */
static hd_real *rows_of(hd_front *f, hd_params *p, hd_run *r, const hd_tokens_opt *o)
{
    hd_err err = {0};
    hd_params_init(p, r->backend);
    *f = hd_tokens_make(p, o);
    assert_int_equal(p->err.status, HD_OK);
    if (hd_params_ready(p, true, &err) || hd_params_draw(p, 3, &err) || hd_front_fill(f, p, &err))
        fail_msg("%s", err.text);
    hd_run_begin(r, HD_INFERENCE);
    return host_copy(
        r,
        hd_front_rows(r, f, &(hd_items){.seg = hd_seg_of(r, len, 2, NULL), .ids = hd_ints(r, ids, ROWS)}).t);
}

static void learned_positions_begin_behind_their_offset(void **state)
{
    (void)state;
    for (size_t offset = 0; offset < 3; offset++) {
        hd_backend *backend = backend_of("cpu", 1);
        hd_run run = run_on(backend);
        hd_params p;
        hd_front f;
        hd_real *x = rows_of(&f, &p, &run,
                             &(hd_tokens_opt){.vocab = VOCAB,
                                              .width = WIDTH,
                                              .positions = POSITIONS,
                                              .position = HD_POSITIONS_LEARNED,
                                              .offset = offset,
                                              .scale = 2,
                                              .init = {HD_INIT_NORMAL, 1, 0},
                                              .table_name = "words",
                                              .position_name = "places"});
        const hd_param *whole = hd_params_find(&p, "places.weight");
        const hd_real *table = f.table->t.data, *places = whole->t.data;
        assert_int_equal(hd_rows_of(&whole->t), POSITIONS + offset);
        for (size_t i = 0; i < ROWS * WIDTH; i++) {
            size_t row = (size_t)place[i / WIDTH] + offset, c = i % WIDTH;
            assert_true(x[i] == 2 * table[(size_t)ids[i / WIDTH] * WIDTH + c] + places[row * WIDTH + c]);
        }
        free(x);
        hd_params_release(&p);
        hd_run_release(&run);
        hd_backend_free(backend);
    }
}

static void one_hot_tokens_have_a_single_one(void **state)
{
    (void)state;
    hd_backend *backend = backend_of("cpu", 1);
    hd_run run = run_on(backend);
    hd_params p;
    hd_front f;
    hd_real *x = rows_of(&f, &p, &run, &(hd_tokens_opt){.vocab = VOCAB, .one_hot = true});
    for (int i = 0; i < ROWS * VOCAB; i++) assert_true(x[i] == (ids[i / VOCAB] == i % VOCAB));
    assert_int_equal(p.trainable, 0);
    free(x);
    hd_params_release(&p);
    hd_run_release(&run);
    hd_backend_free(backend);
}

/* What a model is can be told without computing its tables, however large config.json says they are. */
static void tables_of_a_described_model_are_not_filled(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *backend = backend_of("null", 1);
    hd_params p;
    hd_params_init(&p, backend);
    hd_front f = hd_tokens_make(&p, &(hd_tokens_opt){.vocab = VOCAB,
                                                     .width = 1 << 12,
                                                     .positions = 1 << 14,
                                                     .position = HD_POSITIONS_SINUSOID,
                                                     .init = {HD_INIT_NORMAL, 1, 0},
                                                     .table_name = "words"});
    assert_int_equal(hd_params_ready(&p, false, &err), HD_OK);
    hd_mem_limit(hd_mem_now().used + (1 << 20));
    hd_status s = hd_front_fill(&f, &p, &err);
    hd_mem_limit(0);
    assert_int_equal(s, HD_OK);
    hd_params_release(&p);
    hd_backend_free(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learned_positions_begin_behind_their_offset),
        cmocka_unit_test(one_hot_tokens_have_a_single_one),
        cmocka_unit_test(tables_of_a_described_model_are_not_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
