/* DETR: its loss does not depend on the order of objects, noised boxes change nothing of what queries answer,
   and pictures of a batch do not know of each other. */
#include "model/detr_toy.h"

static double loss_of(detr_toy *t, const hd_detr_object *object, int groups)
{
    hd_run_begin(&t->run, HD_TRAIN);
    double loss = hd_loss_total(&t->run, dt_loss(&t->run, t->m, object, groups));
    assert_run_ok(&t->run);
    return loss;
}

static void the_order_of_objects_does_not_matter(void **state)
{
    (void)state;
    for (int anchors = 0; anchors < 2; anchors++) {
        detr_toy t;
        hd_detr_opt o = dt_opt(anchors, 2);
        dt_open(&t, &o, 1);
        hd_detr_object other[DT_OBJECTS] = {dt_objects[1], dt_objects[0], dt_objects[2]};
        double a = loss_of(&t, dt_objects, 0), b = loss_of(&t, other, 0);
        assert_true(a > 0 && fabs(a - b) < 1e-5 * a); /* rows are added in the same order: rounding alone */
        other[0].x -= 0.2f;
        assert_true(fabs(a - loss_of(&t, other, 0)) > 1e-3 * a);
        dt_close(&t);
    }
}

typedef struct answers {
    hd_real *logits, *box;
} answers;

static answers answers_of(detr_toy *t, int groups)
{
    hd_run *r = &t->run;
    hd_tensor *place = NULL;
    hd_run_begin(r, HD_INFERENCE);
    hd_rows memory = hd_detr_encode_cells(r, t->m, dt_cells(r), &place);
    hd_detr_truth truth = {dt_objects, dt_first, DT_PICTURES};
    hd_detr_noise noise = {.groups = groups, .box = .4f, .seed = 1};
    hd_detr_queries q = hd_detr_ask(r, t->m, memory.seg, DT_PICTURES, &truth, groups ? &noise : NULL);
    hd_detr_found f = hd_detr_decode(r, t->m, memory, place, &q, false);
    assert_run_ok(r);
    return (answers){host_copy(r, f.logits), host_copy(r, f.box)};
}

static void queries_do_not_see_noised_boxes(void **state)
{
    (void)state;
    detr_toy t;
    hd_detr_opt o = dt_opt(true, 3);
    dt_open(&t, &o, 1);
    answers alone = answers_of(&t, 0), beside = answers_of(&t, 3);
    size_t row = 0;
    for (size_t i = 0; i < DT_PICTURES; row += 3 * (dt_first[i + 1] - dt_first[i]), i++)
        for (size_t q = 0; q < DT_QUERIES; q++, row++)
            for (size_t k = 0; k < DT_LABELS + 1; k++) {
                double a = (double)alone.logits[(i * DT_QUERIES + q) * (DT_LABELS + 1) + k],
                       b = (double)beside.logits[row * (DT_LABELS + 1) + k];
                if (fabs(a - b) > 1e-5) fail_msg("picture %zu, query %zu: %g, not %g", i, q, b, a);
            }
    free(alone.logits), free(alone.box), free(beside.logits), free(beside.box);
    dt_close(&t);
}

static void take_nothing(void *context, hd_run *r, const hd_offer *o)
{
    (void)context, (void)r, (void)o;
}

/* Copies of what is near, and a mask over all cells, which a probe sees. */
static void what_is_near_is_seen_alone(void **state)
{
    (void)state;
    detr_toy t;
    hd_detr_opt o = dt_opt(true, 2);
    hd_probe probe = {.take = take_nothing};
    dt_open(&t, &o, 1);
    answers all = answers_of(&t, 2), near[2];
    t.m->opt.reach = 0.5f;
    near[0] = answers_of(&t, 2);
    t.run.probe = &probe;
    near[1] = answers_of(&t, 2);
    t.run.probe = NULL;
    double apart = 0, between = 0;
    for (size_t i = 0; i < (DT_PICTURES * DT_QUERIES + 2 * DT_OBJECTS) * 4; i++) {
        double a = fabs((double)(near[0].box[i] - all.box[i])),
               b = fabs((double)(near[0].box[i] - near[1].box[i]));
        if (a > apart) apart = a; /* no fmax: GCC 12 for aarch64 fails on it here */
        if (b > between) between = b;
    }
    if (apart < 1e-4 || between > 1e-6)
        fail_msg("%g from all cells, %g between the two ways", apart, between);
    t.m->opt.reach = 1e5f; /* the whole picture */
    free(near[1].logits), free(near[1].box);
    near[1] = answers_of(&t, 2);
    for (size_t i = 0; i < DT_PICTURES * DT_QUERIES * 4; i++)
        assert_true(fabs((double)(near[1].box[i] - all.box[i])) < 1e-5);
    free(all.logits), free(all.box);
    for (int i = 0; i < 2; i++) free(near[i].logits), free(near[i].box);
    dt_close(&t);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    hd_real *first = NULL;
    for (int threads = 1; threads <= 4; threads++) {
        detr_toy t;
        hd_detr_opt o = dt_opt(true, 2);
        dt_open(&t, &o, threads);
        hd_run_begin(&t.run, HD_TRAIN);
        assert_non_null(dt_loss(&t.run, t.m, dt_objects, 2));
        hd_backward(&t.run);
        assert_run_ok(&t.run);
        size_t bytes = t.m->params.trainable * sizeof(hd_real);
        if (!first) first = memcpy(malloc(bytes), t.m->params.grad, bytes);
        assert_memory_equal(first, t.m->params.grad, bytes);
        dt_close(&t);
    }
    free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_objects_does_not_matter),
        cmocka_unit_test(queries_do_not_see_noised_boxes),
        cmocka_unit_test(what_is_near_is_seen_alone),
        cmocka_unit_test(threads_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
