/* The experiment on handwriting: what it says of the engine as it is, and of one that is broken. */
#include "lab/lab.h"

/* A window that covers nothing, and goes back. */
static hd_status astray(hd_backend *b, const hd_window_args *a)
{
    hd_status s = lab_whole.window(b, a);
    hd_real *kappa = a->kappa->data;
    for (size_t i = 0; i < hd_count_of(a->kappa); i++) kappa[i] = -kappa[i];
    memset(a->y->data, 0, hd_bytes_of(a->y));
    return s;
}

static void a_window_tells_what_to_write(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    assert_true(hd_paper_held(lab_run(&l, "window")));
    l.backend->kernel.window = astray;
    const hd_paper *p = lab_run(&l, "window");
    for (size_t i = 0; i < p->claims; i++) assert_false(p->claim[i].held);
    lab_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_tells_what_to_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
