/* Experiments on pictures: what they say of the engine as it is, and of one that is broken. */
#include "lab/lab.h"

/* Patches with two numbers exchanged. */
static hd_status askew(hd_backend *b, const hd_pixels_args *a)
{
    hd_status s = lab_whole.pixels(b, a);
    const size_t cols = hd_cols_of(a->y), rows = hd_rows_of(a->y);
    hd_real *y = a->y->data;
    for (size_t i = 0; i < rows; i++, y += cols) {
        hd_real first = y[0];
        y[0] = y[1], y[1] = first;
    }
    return s;
}

/* Nothing is added to rows, such as vectors of positions. */
static hd_status nowhere(hd_backend *b, const hd_gather_args *a)
{
    return a->add ? HD_OK : lab_whole.gather(b, a);
}

static void positions_tell_where_patches_were(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "patches")));
    l.backend->kernel.pixels = askew, l.backend->kernel.gather = nowhere;
    const hd_paper *p = lab_run(&l, "patches");
    assert_true(!hd_paper_held(p) && !p->claim[0].held && !p->claim[1].held);
    lab_close(&l);
}

/* Every key counts the same. */
static void blind(hd_attention *at)
{
    at->scale = 0;
}

static void queries_find_what_is_on_a_picture(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "queries")));
    lab_break_attention(&l, blind);
    const hd_paper *p = lab_run(&l, "queries");
    assert_true(!hd_paper_held(p) && p->claim[0].held && !p->claim[2].held);
    lab_close(&l);
}

static void captions_look_at_what_they_name(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "caption")));
    lab_break_attention(&l, blind);
    const hd_paper *p = lab_run(&l, "caption");
    assert_true(!hd_paper_held(p) && p->claim[0].held && !p->claim[2].held);
    lab_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_tell_where_patches_were),
        cmocka_unit_test(queries_find_what_is_on_a_picture),
        cmocka_unit_test(captions_look_at_what_they_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
