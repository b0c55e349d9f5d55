/* Experiments on decoding: what they say of the engine as it is, and of one that is broken. */
#include "lab/lab.h"

/* The experiment holds; the caller breaks the engine and asks again. */
static void whole(laboratory *l, const char *name)
{
    lab_open(l);
    assert_true(hd_paper_held(lab_run(l, name)));
}

static void turns(laboratory *l, const char *name, size_t claim)
{
    const hd_paper *p = lab_run(l, name);
    assert_true(!hd_paper_held(p) && claim < p->claims && !p->claim[claim].held);
    lab_close(l);
}

/* The unlikeliest words first. */
static hd_status upside_down(hd_backend *b, const hd_top_args *a)
{
    hd_real *x = a->x->data;
    size_t n = hd_count_of(a->x);
    for (size_t i = 0; i < n; i++) x[i] = isfinite(x[i]) ? -x[i] : x[i];
    hd_status s = lab_whole.top(b, a);
    for (size_t i = 0; i < n; i++) x[i] = isfinite(x[i]) ? -x[i] : x[i];
    for (size_t i = 0; a->values && i < hd_count_of(a->values); i++)
        ((hd_real *)a->values->data)[i] = -((hd_real *)a->values->data)[i];
    return s;
}

static void beams_find_what_greedy_search_misses(void **state)
{
    (void)state;
    laboratory l;
    whole(&l, "search");
    l.backend->kernel.top = upside_down;
    turns(&l, "search", 2);
}

/* What attention gives depends on how many ask. */
static hd_status crowded(hd_backend *b, const hd_attend_args *a)
{
    hd_status s = lab_whole.attend(b, a);
    hd_real *y = a->y->data;
    for (size_t i = 0; !s && i < hd_count_of(a->y); i++) y[i] += (hd_real)0.01 * (hd_real)hd_rows_of(a->y);
    return s;
}

static void siblings_see_what_their_parent_saw(void **state)
{
    (void)state;
    laboratory l;
    whole(&l, "siblings");
    l.backend->kernel.attend = crowded;
    turns(&l, "siblings", 0);
}

static hd_status lukewarm(hd_backend *b, const hd_sample_args *a)
{
    hd_sample_args other = *a;
    other.temperature = 1;
    return lab_whole.sample(b, &other);
}

static void temperature_sharpens_draws(void **state)
{
    (void)state;
    laboratory l;
    whole(&l, "sampling");
    l.backend->kernel.sample = lukewarm;
    turns(&l, "sampling", 0);
}

static hd_status noiseless(hd_backend *b, const hd_gumbel_args *a)
{
    (void)b;
    memcpy(a->y->data, a->x->data, hd_count_of(a->x) * sizeof(hd_real));
    return HD_OK;
}

static void noise_makes_a_draw(void **state)
{
    (void)state;
    laboratory l;
    whole(&l, "gumbel");
    l.backend->kernel.gumbel = noiseless;
    turns(&l, "gumbel", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beams_find_what_greedy_search_misses),
        cmocka_unit_test(siblings_see_what_their_parent_saw),
        cmocka_unit_test(temperature_sharpens_draws),
        cmocka_unit_test(noise_makes_a_draw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
