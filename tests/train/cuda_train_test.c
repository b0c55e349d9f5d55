/* Training on the device as the trainer does it: a shape's first step runs directly, the second is captured,
   then it is replayed. What must hold: a replayed step is the step that would have been run directly, to the
   bit, whatever changed since the capture: the batch, the draws, the rate, the count of updates, a gradient
   that is no number. */
#include "device.h"
#include "model/toy.h"
#include "op/replay.h"

typedef struct pupil {
    toy m;
    bool captures;
    hd_step found;   /* what the last step left */
    size_t replayed; /* steps */
} pupil;

typedef struct kind {
    const char *name;
    bool gpt, pre_norm, recompute;
    float dropout;
} kind;

static const kind kinds[] = {{"post-norm", .dropout = 0.1f},
                             {"pre-norm, recompute", .pre_norm = true, .recompute = true, .dropout = 0.1f},
                             {"gpt", .gpt = true, .dropout = 0.1f}};

static const hd_optimizer_opt adamw = {.kind = HD_OPT_ADAMW, .decay = 0.01f, .clip = 1, .average = 0.99f};

/* Lives where it was opened. */
static void pupil_open(pupil *p, const kind *k, hd_precision precision, bool captures,
                       const hd_optimizer_opt *o)
{
    hd_err err = {0};
    hd_backend *b = device_new(precision);
    hd_encdec_opt t = toy_opt();
    hd_gpt_opt g = toy_gpt_opt();
    t.stack.pre_norm = k->pre_norm, t.stack.recompute = k->recompute;
    t.stack.dropout = t.stack.attention_dropout = t.stack.inner_dropout = g.stack.dropout =
        g.stack.attention_dropout = k->dropout;
    device_count_replays(b);
    *p = (pupil){.m = {.backend = b, .run = run_on(b)}, .captures = captures};
    p->m.run.captures = true; /* both are filled up */
    if (k->gpt)
        p->m.g = toy_gpt(b, &g, true), p->m.params = &p->m.g->params;
    else
        p->m.t = toy_transformer(b, &t, true), p->m.params = &p->m.t->params;
    stir(p->m.params);
    if (hd_optimizer_init(&p->m.optimizer, p->m.params, o, &err)) fail_msg("%s", err.text);
}

/* -- one step -- */

typedef struct lesson {
    const toy_batch *batch;
    uint32_t number;
    double rate, weight;
    const hd_bounds *in, *out; /* what the batch is filled up to; NULL: as the trainer does */
} lesson;

typedef struct sent {
    const hd_seg *in, *out;
    const int32_t *source, *input, *target;
} sent;

static const int32_t *tokens(hd_run *r, const int32_t *ids, size_t count, size_t rows)
{
    int32_t *all = hd_host_take(r, (rows + 1) * sizeof *all);
    for (size_t i = 0; all && i < rows; i++) all[i] = i < count ? ids[i] : -1;
    return all ? hd_ints(r, all, rows) : NULL;
}

static uint64_t send(hd_run *r, sent *s, const lesson *l)
{
    const toy_batch *b = l->batch;
    hd_bounds in = l->in ? *l->in : hd_bounds_now(r, b->source_len, b->items),
              out = l->out ? *l->out : hd_bounds_now(r, b->target_len, b->items);
    *s = (sent){.in = hd_seg_within(r, b->source_len, b->items, b->key, in),
                .out = hd_seg_within(r, b->target_len, b->items, b->key, out),
                .source = tokens(r, b->source, b->source_rows, in.rows),
                .input = tokens(r, b->input, b->target_rows, out.rows),
                .target = tokens(r, b->target, b->target_rows, out.rows)};
    uint64_t shape = hd_shape_mix(hd_shape_mix(in.items, in.rows), in.longest);
    shape = hd_shape_mix(hd_shape_mix(shape, out.rows), out.longest);
    bool full[] = {b->source_rows == in.rows, b->target_rows == out.rows};
    return hd_shape_mix(hd_shape_mix(shape, full[0]), full[1]);
}

static hd_tensor *loss_of(pupil *p, const sent *s)
{
    hd_run *r = &p->m.run;
    hd_loss_opt o = {.coef = 1, .smoothing = 0.1f};
    if (p->m.g)
        return hd_gpt_loss(r, p->m.g, hd_gpt_forward(r, p->m.g, s->input, s->out, NULL), s->target, &o);
    hd_encoded memory = hd_encdec_encode(r, p->m.t, &(hd_items){.seg = s->in, .ids = s->source});
    return hd_encdec_loss(r, p->m.t, hd_encdec_decode(r, p->m.t, s->input, s->out, memory, NULL), s->target,
                          &o);
}

/* As the trainer's run_part; `update` false leaves the gradient to be read. */
static void learn_or(pupil *p, const lesson *l, bool update)
{
    hd_run *r = &p->m.run;
    sent s;
    r->now.number = l->number, r->now.rate = (float)l->rate, r->now.weight = l->weight;
    hd_run_begin(r, HD_TRAIN);
    uint64_t shape = hd_shape_mix(send(r, &s, l), update);
    if (p->captures && hd_replay(r, p->m.optimizer.serial, shape, NULL)) {
        p->replayed++;
    } else {
        if (p->captures) hd_capture(r, p->m.optimizer.serial, shape);
        hd_loss_put(r, loss_of(p, &s));
        hd_backward(r);
        if (update) hd_optimizer_update(r, &p->m.optimizer);
        if (p->captures) hd_captured(r, NULL);
    }
    assert_run_ok(r);
    r->backend->download(r->backend, &p->found, r->block, sizeof p->found);
    assert_string_equal(r->backend->error, "");
}

static void learn(pupil *p, const lesson *l)
{
    learn_or(p, l, true);
}

static lesson lesson_of(const toy_batch *b, uint32_t number, double rate)
{
    return (lesson){.batch = b, .number = number, .rate = rate, .weight = (double)b->target_rows};
}

/* -- comparing -- */

static void same_flat(const char *what, uint32_t step, pupil *a, pupil *b, const hd_real *x, const hd_real *y)
{
    if (!x) return;
    hd_real *u = toy_copy(&a->m, x), *v = toy_copy(&b->m, y);
    for (size_t i = 0; i < a->m.params->trainable; i++)
        if (memcmp(&u[i], &v[i], sizeof *u))
            fail_msg("step %u: %s %zu is %.9g, run directly %.9g", step, what, i, (double)u[i], (double)v[i]);
    free(u), free(v);
}

/* a was captured, b was not: all they know is the same. */
static void assert_same(pupil *a, pupil *b, uint32_t step)
{
    const hd_optimizer *o = &a->m.optimizer, *p = &b->m.optimizer;
    if (memcmp(&a->found.loss, &b->found.loss, sizeof a->found.loss))
        fail_msg("step %u: loss %.9g, run directly %.9g", step, (double)a->found.loss, (double)b->found.loss);
    assert_int_equal(a->found.skip, b->found.skip);
    assert_int_equal(hd_optimizer_updates(o), hd_optimizer_updates(p));
    if (!a->found.skip) {
        assert_memory_equal(&a->found.norm, &b->found.norm, sizeof a->found.norm);
        assert_memory_equal(&a->found.clip, &b->found.clip, sizeof a->found.clip);
        assert_int_equal(a->found.updates, b->found.updates);
    }
    same_flat("value", step, a, b, a->m.params->value, b->m.params->value);
    same_flat("gradient", step, a, b, a->m.params->grad, b->m.params->grad);
    same_flat("first moment", step, a, b, o->first, p->first);
    same_flat("second moment", step, a, b, o->second, p->second);
    same_flat("average", step, a, b, o->mean, p->mean);
}

/* So many of the steps ran from a capture; nothing is captured on a cpu. */
static void assert_replayed(const pupil *p, size_t least)
{
    size_t launched = device_replays();
    if (!p->m.backend->capture) return;
    print_message("%zu steps replayed\n", p->replayed);
    assert_int_equal(launched, p->replayed);
    if (p->replayed < least) fail_msg("%zu steps were replayed, expected %zu", p->replayed, least);
}

/* A number that is none, in the gradient that the next step adds to. */
static void poison(pupil *p, float with)
{
    hd_backend *b = p->m.backend;
    b->upload(b, p->m.params->grad + p->m.params->trainable / 2, &with, sizeof with);
}

static toy_batch batches[6];

static int make_batches(void **state)
{
    (void)state;
    const int32_t first[] = {0, 40, 80, 7, 200, 300}, count[] = {32, 32, 31, 5, 1, 30};
    for (size_t i = 0; i < COUNT_OF(batches); i++) batches[i] = toy_range(first[i], count[i]);
    return 0;
}

/* -- the tests -- */

static void replayed_steps_have_the_bits_of_direct_ones(void **state)
{
    (void)state;
    static pupil a, b;
    for (const hd_precision *p = device_precisions(); *p; p++)
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            pupil_open(&a, &kinds[k], *p, true, &adamw);
            pupil_open(&b, &kinds[k], *p, false, &adamw);
            for (uint32_t i = 1; i <= 24; i++) { /* two shapes and more in turn */
                lesson l = lesson_of(&batches[i % 3 ? i % 2 : i % 6], i, 1e-3 * (1 + i % 3));
                if (i == 15) poison(&a, INFINITY), poison(&b, INFINITY);
                learn(&a, &l);
                learn(&b, &l);
                assert_same(&a, &b, i);
                assert_int_equal(a.found.skip, i == 15);
            }
            assert_int_equal(b.replayed, 0);
            assert_replayed(&a, 8);
            toy_close(&a.m), toy_close(&b.m);
        }
}

/* Weights stay (the rate is 0), so only the masks can move the loss. */
static void masks_change_from_step_to_step_as_they_would(void **state)
{
    (void)state;
    static pupil a, b;
    enum { STEPS = 10 };
    hd_real loss[STEPS + 1];
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        pupil_open(&a, &kinds[k], HD_PRECISION_F32, true, &adamw);
        pupil_open(&b, &kinds[k], HD_PRECISION_F32, false, &adamw);
        for (uint32_t i = 1; i <= STEPS; i++) {
            lesson l = lesson_of(&batches[0], i, 0);
            learn(&a, &l), learn(&b, &l);
            assert_same(&a, &b, i);
            loss[i] = a.found.loss;
            for (uint32_t j = 1; j < i; j++) assert_true(loss[j] != loss[i]);
        }
        learn(&a, &(lesson){&batches[0], 4, 0, 1, NULL, NULL}); /* the fourth once more */
        assert_true(a.found.loss == loss[4]);
        a.m.run.now.seed++; /* and with another seed */
        learn(&a, &(lesson){&batches[0], 4, 0, 1, NULL, NULL});
        assert_true(a.found.loss != loss[4]);
        assert_replayed(&a, 8);
        toy_close(&a.m), toy_close(&b.m);
    }
}

/* Plain gradient descent without draws: the same gradient at rate 0 first, then weights move by rate times
 * it. */
static void the_rate_of_each_step_is_obeyed(void **state)
{
    (void)state;
    static pupil p;
    static const double rates[] = {0, 0, 0.1, 0, 0.025, 0.05, 0, 0.2};
    pupil_open(&p, &(kind){"", .dropout = 0}, HD_PRECISION_F32, true,
               &(hd_optimizer_opt){.kind = HD_OPT_SGD});
    size_t n = p.m.params->trainable;
    for (uint32_t i = 0; i < COUNT_OF(rates); i++) {
        hd_real *before = toy_copy(&p.m, p.m.params->value);
        lesson l = lesson_of(&batches[0], i, rates[i]);
        learn(&p, &l);
        hd_real *after = toy_copy(&p.m, p.m.params->value);
        double moved = distance_between(before, after, n), expected = rates[i] * p.found.norm;
        print_message("rate %.3f: moved by %.6f\n", rates[i], moved);
        if (rates[i] > 0)
            assert_true(fabs(moved - expected) <= 1e-4 * expected);
        else
            assert_memory_equal(before, after, n * sizeof *before);
        free(before), free(after);
    }
    assert_replayed(&p, 5);
    toy_close(&p.m);
}

/* What Adam's update t makes of the moments it leaves, computed here. */
static void adam_counts_its_updates(void **state)
{
    (void)state;
    static pupil p;
    const hd_optimizer_opt opt = {.kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-6f};
    pupil_open(&p, &kinds[0], HD_PRECISION_F32, true, &opt);
    uint32_t t = 0;
    for (uint32_t i = 1; i <= 12; i++) {
        double rate = 1e-3 * i, worst = 0;
        bool broken = i == 6 || i == 7;
        hd_real *before = toy_copy(&p.m, p.m.params->value);
        lesson l = lesson_of(&batches[i % 2], i, rate);
        if (broken) poison(&p, NAN);
        learn(&p, &l);
        t += !broken;
        assert_int_equal(hd_optimizer_updates(&p.m.optimizer), t);
        assert_int_equal(p.found.skip, broken);
        if (!broken) assert_int_equal(p.found.updates, t);
        hd_real *after = toy_copy(&p.m, p.m.params->value), *m = toy_copy(&p.m, p.m.optimizer.first),
                *v = toy_copy(&p.m, p.m.optimizer.second);
        for (size_t k = 0; !broken && k < p.m.params->trainable; k++) {
            double step =
                rate / (1 - pow(0.9, t)) * (double)m[k] / (sqrt((double)v[k] / (1 - pow(0.98, t))) + 1e-6);
            double off = fabs((double)after[k] - ((double)before[k] - step));
            worst = fmax(worst, off / (1e-4 * fabs(step) + 2e-7 * fabs((double)before[k]) + 1e-12));
        }
        if (!(worst <= 1)) fail_msg("update %u: off by %.2f times the limit", t, worst);
        free(before), free(after), free(m), free(v);
    }
    assert_replayed(&p, 6);
    toy_close(&p.m);
}

/* A weight of 0 makes the norm infinite; so do numbers that are none in the gradient itself. */
static void a_gradient_that_is_no_number_is_skipped(void **state)
{
    (void)state;
    static pupil a, b;
    for (const hd_precision *p = device_precisions(); *p; p++) {
        pupil_open(&a, &kinds[0], *p, true, &adamw);
        pupil_open(&b, &kinds[0], *p, false, &adamw);
        for (uint32_t i = 1; i <= 14; i++) {
            lesson l = lesson_of(&batches[0], i, 1e-3);
            bool broken = i == 5 || i == 8 || i == 9 || i == 12;
            hd_real *before = toy_copy(&a.m, a.m.params->value), *mean = toy_copy(&a.m, a.m.optimizer.mean);
            uint32_t updates = hd_optimizer_updates(&a.m.optimizer);
            if (i == 5 || i == 8) l.weight = 0;
            if (i == 9) poison(&a, -INFINITY), poison(&b, -INFINITY);
            if (i == 12) poison(&a, NAN), poison(&b, NAN);
            learn(&a, &l), learn(&b, &l);
            hd_real *after = toy_copy(&a.m, a.m.params->value), *then = toy_copy(&a.m, a.m.optimizer.mean),
                    *grad = toy_copy(&a.m, a.m.params->grad);
            size_t bytes = a.m.params->trainable * sizeof *after;
            assert_int_equal(a.found.skip, broken);
            assert_int_equal(hd_optimizer_updates(&a.m.optimizer), updates + !broken);
            assert_int_equal(!memcmp(before, after, bytes), broken);
            assert_int_equal(!memcmp(mean, then, bytes), broken);
            assert_true(norm_of(grad, a.m.params->trainable) == 0);
            assert_same(&a, &b, i);
            free(before), free(after), free(mean), free(then), free(grad);
        }
        assert_replayed(&a, 10);
        toy_close(&a.m), toy_close(&b.m);
    }
}

/* Other sentences of the same lengths, then other lengths within the same bounds: a replay reads the batch of
   its own step. The cpu computes the same loss from the batch as it is. */
static void a_replay_reads_its_own_batch(void **state)
{
    (void)state;
    static pupil a, b;
    static toy cpu;
    static toy_batch batch;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        kind dry = kinds[k];
        dry.dropout = 0;
        hd_encdec_opt t = toy_opt();
        hd_gpt_opt g = toy_gpt_opt();
        t.stack.pre_norm = dry.pre_norm;
        toy_open(&cpu, 2, dry.gpt ? NULL : &t, &g, NULL);
        stir(cpu.params);
        pupil_open(&a, &dry, HD_PRECISION_F32, true, &adamw);
        pupil_open(&b, &dry, HD_PRECISION_F32, false, &adamw);
        for (uint32_t i = 1; i <= 12; i++) {
            batch = i < 7 ? batches[0] : batches[i % 2];
            for (size_t j = 0; j < batch.source_rows; j++)
                batch.source[j] = 3 + (batch.source[j] + (int32_t)i) % (TOY_VOCAB - 3);
            for (size_t j = 0; j < batch.target_rows; j++)
                batch.input[j] = 3 + (batch.input[j] + (int32_t)i) % (TOY_VOCAB - 3),
                batch.target[j] = 3 + (batch.target[j] + (int32_t)i) % (TOY_VOCAB - 3);
            lesson l = lesson_of(&batch, i, 0); /* the rate is 0: the cpu's weights stay the same */
            learn(&a, &l), learn(&b, &l);
            assert_same(&a, &b, i);
            double expected = toy_back(&cpu, &batch, 0.1f, i);
            if (!(fabs((double)a.found.loss - expected) <= 1e-5 * expected))
                fail_msg("step %u: loss %.8g, expected %.8g", i, (double)a.found.loss, expected);
        }
        assert_replayed(&a, 8);
        toy_close(&a.m), toy_close(&b.m);
        toy_close(&cpu);
    }
}

/* Rows that belong to no item, items without rows and a longer longest weigh nothing: draws too are the same.
 */
static void a_filled_up_batch_gives_the_loss_and_gradients_of_the_exact_one(void **state)
{
    (void)state;
    static pupil a, b;
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (size_t n = 0; n < COUNT_OF(batches); n++) {
            const toy_batch *batch = &batches[n];
            const size_t more[][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 22}, {3, 37, 5}, {64, 300, 54}};
            hd_real *exact = NULL;
            double loss = 0, worst = 0;
            pupil_open(&a, &kinds[k], HD_PRECISION_F32, false, &adamw);
            pupil_open(&b, &kinds[k], HD_PRECISION_F32, true, &adamw);
            size_t count = a.m.params->trainable;
            for (size_t i = 0; i < 2 * COUNT_OF(more);
                 i++) { /* in one run, then each three times in another */
                const size_t *m = more[i % COUNT_OF(more)];
                hd_bounds in = {batch->items + m[0], batch->source_rows + m[1], TOY_LONGEST + 1 + m[2]},
                          out = {batch->items + m[0], batch->target_rows + m[1], TOY_LONGEST + 1 + m[2]};
                lesson l = lesson_of(batch, 9, 0);
                l.in = &in, l.out = &out;
                pupil *p = i < COUNT_OF(more) ? &a : &b;
                for (int times = 0; times < (p == &a ? 1 : 3); times++) {
                    p->m.backend->clear(p->m.backend, p->m.params->grad, count * sizeof(hd_real));
                    learn_or(p, &l, false);
                    hd_real *grad = toy_copy(&p->m, p->m.params->grad);
                    if (!exact) {
                        exact = grad, loss = (double)p->found.loss;
                        continue;
                    }
                    double off = distance_between(exact, grad, count) / norm_of(exact, count);
                    if (!(fabs((double)p->found.loss - loss) <= 1e-5 * loss && off <= 1e-5))
                        fail_msg(
                            "%s, batch %zu, filling %zu: loss %.8g, expected %.8g; gradients off by %.2g",
                            kinds[k].name, n, i, (double)p->found.loss, loss, off);
                    worst = fmax(worst, off);
                    free(grad);
                }
            }
            print_message("%s, %zu items: gradients off by %.1e\n", kinds[k].name, batch->items, worst);
            assert_replayed(&b, COUNT_OF(more) - 2);
            free(exact);
            toy_close(&a.m), toy_close(&b.m);
        }
}

/* A batch that needs more memory makes the step's memory move: what was captured before is captured anew. */
static void captures_do_not_outlive_their_memory(void **state)
{
    (void)state;
    static pupil a, b;
    const hd_bounds large[] = {{64, 4096, 64}, {64, 16384, 64}};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        pupil_open(&a, &kinds[k], HD_PRECISION_F32, true, &adamw);
        pupil_open(&b, &kinds[k], HD_PRECISION_F32, false, &adamw);
        for (uint32_t i = 1; i <= 24; i++) {
            lesson l = lesson_of(&batches[i % 2 ? 3 : 0], i, 1e-3);
            if (i == 9 || i == 10) l.in = l.out = &large[0];
            if (i == 16 || i == 19) l.in = l.out = &large[1];
            learn(&a, &l), learn(&b, &l);
            assert_same(&a, &b, i);
        }
        assert_replayed(&a, 4);
        toy_close(&a.m), toy_close(&b.m);
    }
}

/* The trainer's way, on batches of all shapes, twice; the second time memory lies elsewhere. */
static void one_seed_gives_the_same_bits_twice(void **state)
{
    (void)state;
    static pupil p[2];
    for (const hd_precision *precision = device_precisions(); *precision; precision++)
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            void *block[2] = {NULL, NULL};
            for (int i = 0; i < 2; i++) {
                pupil_open(&p[i], &kinds[k], *precision, true, &adamw);
                hd_backend *b = p[i].m.backend;
                if (i) block[0] = b->alloc(b, 12345), block[1] = b->alloc(b, (4 << 20) + 1);
            }
            for (uint32_t i = 1; i <= 20; i++) {
                toy_batch batch = toy_range((int32_t)(13 * i), (int32_t)(1 + i * 7 % 32));
                lesson l = lesson_of(&batch, i, 1e-3);
                learn(&p[0], &l), learn(&p[1], &l);
                assert_same(&p[0], &p[1], i);
            }
            assert_true(hd_optimizer_updates(&p[0].m.optimizer) == 20);
            hd_backend *b = p[1].m.backend;
            b->release(b, block[0], 12345), b->release(b, block[1], (4 << 20) + 1);
            toy_close(&p[0].m), toy_close(&p[1].m);
            device_replays();
        }
}

/* It learns: the copy task's loss falls as on the cpu, in either precision. */
static void the_copy_task_is_learned(void **state)
{
    (void)state;
    static pupil p;
    enum { STEPS = 120 };
    for (const hd_precision *precision = device_precisions(); *precision; precision++) {
        double first = 0, last = 0;
        pupil_open(&p, &kinds[0], *precision, true, &(hd_optimizer_opt){.kind = HD_OPT_ADAM, .clip = 1});
        for (uint32_t i = 1; i <= STEPS; i++) {
            toy_batch batch = toy_range((int32_t)(32 * (i % 40)), 32);
            lesson l = lesson_of(&batch, i, 3e-3);
            learn(&p, &l);
            if (i == 1) first = (double)p.found.loss / l.weight;
            if (i > STEPS - 10) last += (double)p.found.loss / l.weight / 10;
        }
        print_message("%s: loss %.3f to %.3f\n", *precision == HD_PRECISION_F32 ? "f32" : "bf16", first,
                      last);
        assert_true(last < 0.75 * first);
        assert_replayed(&p, STEPS / 2);
        toy_close(&p.m);
    }
}

int main(void)
{
    if (device_missing()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replayed_steps_have_the_bits_of_direct_ones),
        cmocka_unit_test(masks_change_from_step_to_step_as_they_would),
        cmocka_unit_test(the_rate_of_each_step_is_obeyed),
        cmocka_unit_test(adam_counts_its_updates),
        cmocka_unit_test(a_gradient_that_is_no_number_is_skipped),
        cmocka_unit_test(a_replay_reads_its_own_batch),
        cmocka_unit_test(a_filled_up_batch_gives_the_loss_and_gradients_of_the_exact_one),
        cmocka_unit_test(captures_do_not_outlive_their_memory),
        cmocka_unit_test(one_seed_gives_the_same_bits_twice),
        cmocka_unit_test(the_copy_task_is_learned),
    };
    return cmocka_run_group_tests(tests, make_batches, NULL);
}
