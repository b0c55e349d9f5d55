/* Norms of feature maps: what is learned, what changes by itself, what files hold; a folded norm gives the
 * same numbers. */
#include <string.h>

#include "check.h"

#include "nn/map_norm.h"

enum { ROWS = 40, IN = 5, WIDTH = 12 };

typedef struct world {
    hd_backend *b;
    hd_run r;
    hd_params p;
    hd_param *w;
    hd_map_norm norm;
} world;

static void open_world(world *w, hd_map_norm_kind kind)
{
    hd_err err = {0};
    w->b = backend_of("cpu", 1);
    w->r = run_on(w->b);
    hd_params_init(&w->p, w->b);
    w->w = hd_param_add(&w->p, WIDTH, IN, (hd_init){HD_INIT_NORMAL, 1, 0}, "w");
    w->norm = hd_map_norm_make(&w->p, WIDTH, kind, "bn");
    assert_int_equal(hd_params_ready(&w->p, true, &err), HD_OK);
    assert_int_equal(hd_params_draw(&w->p, 1, &err), HD_OK);
}

static void close_world(world *w)
{
    hd_params_release(&w->p);
    hd_run_release(&w->r);
    hd_backend_free(w->b);
}

static hd_real *passed(world *w, hd_mode mode, uint64_t seed)
{
    const int32_t len[] = {25, 15};
    hd_run_begin(&w->r, mode);
    hd_tensor *x = random_rows(&w->r, ROWS, IN, 2, seed);
    hd_rows y = {hd_linear(&w->r, x, &w->w->t, NULL, HD_IDENTITY), hd_seg_of(&w->r, len, 2, NULL)};
    return host_copy(&w->r, hd_map_norm_of(&w->r, &w->norm, y, NULL, HD_relu).t);
}

static void each_kind_has_its_parameters(void **state)
{
    (void)state;
    for (int kind = 0; hd_map_norm_names[kind]; kind++) {
        world w;
        open_world(&w, (hd_map_norm_kind)kind);
        bool learns = kind != HD_MAP_NORM_frozen, moves = kind == HD_MAP_NORM_batch;
        assert_int_equal(w.norm.gain->trainable, learns);
        assert_int_equal(w.p.moving != 0, moves);
        assert_int_equal(!w.norm.mean, kind == HD_MAP_NORM_group);
        assert_int_equal(w.norm.groups, 12);
        hd_real before = w.norm.mean ? ((hd_real *)w.norm.mean->t.data)[0] : 0;
        free(passed(&w, HD_TRAIN, 7));
        if (w.norm.mean) assert_int_equal(((hd_real *)w.norm.mean->t.data)[0] != before, moves);
        close_world(&w);
    }
}

static void a_folded_norm_gives_the_same(void **state)
{
    (void)state;
    world w;
    hd_err err = {0};
    open_world(&w, HD_MAP_NORM_batch);
    fill_normal(w.norm.gain->t.data, WIDTH, 1, 8);
    fill_normal(w.norm.bias->t.data, WIDTH, 1, 9);
    for (uint64_t i = 0; i < 30; i++) free(passed(&w, HD_TRAIN, i));
    hd_real *before = passed(&w, HD_INFERENCE, 99), *w0 = malloc(sizeof(hd_real));
    w0[0] = ((hd_real *)w.w->t.data)[0];
    assert_int_equal(hd_map_norm_fold(&w.p, &w.norm, w.w, &err), HD_OK);
    assert_true(((hd_real *)w.w->t.data)[0] != w0[0]);
    assert_true(((hd_real *)w.norm.mean->t.data)[3] == 0 && ((hd_real *)w.norm.variance->t.data)[3] == 1);
    hd_real *after = passed(&w, HD_INFERENCE, 99);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        assert_true(fabs((double)(before[i] - after[i])) < 1e-5 * (1 + fabs((double)before[i])));
    free(before), free(after), free(w0);
    close_world(&w);
    open_world(&w, HD_MAP_NORM_group);
    assert_int_equal(hd_map_norm_fold(&w.p, &w.norm, w.w, &err), HD_EARG);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_its_parameters),
        cmocka_unit_test(a_folded_norm_gives_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
