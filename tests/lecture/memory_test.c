/* Memory of whole models: every allocation may fail, a dry run measures what a step needs, and equal steps
 * use equal addresses. */
#include <dirent.h>
#include <unistd.h>

#include "model/toy.h"

static const hd_optimizer_opt adam = {.kind = HD_OPT_ADAM, .clip = 1, .average = 0.9f};
static char folder[64], path[96];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/heed-memory-test-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* What one life of a model computes; compared by its bits. */
typedef struct outcome {
    double loss, norm;
} outcome;

typedef enum kind { TRANSFORMER, GPT, RECURRENT } kind;

typedef hd_status life(kind k, outcome *out, hd_err *err);

/* Both directions, attention that asks before every word. */
static void make_recurrent(hd_encdec_opt *o)
{
    hd_err err = {0};
    if (hd_stages_read(&o->encoder, "bi-gru:1", &err) ||
        hd_stages_read(&o->decoder, "lstm:2+transformer:1", &err))
        fail_msg("%s", err.text);
    o->recurrent = (hd_recurrent_decoder_opt){.locality = HD_LOCALITY_MONOTONE, .read = HD_READING_deep};
}

static hd_status training_step(toy *m, const toy_batch *b, outcome *out, hd_err *err)
{
    hd_run_begin(&m->run, HD_TRAIN);
    out->loss = hd_loss_total(&m->run, toy_loss(m, b, 0.1f));
    hd_backward(&m->run);
    hd_status s = hd_optimizer_step(&m->run, &m->optimizer, 0.001, (double)b->target_rows, &out->norm, NULL);
    if (s) *err = m->run.err;
    return s;
}

static hd_status new_model(toy *m, kind k, hd_err *err)
{
    hd_encdec_opt o = toy_opt();
    hd_gpt_opt g = toy_gpt_opt();
    o.encoder_layers = o.decoder_layers = g.stack.layers = 1;
    o.stack.dropout = g.stack.dropout = 0.1f, o.output_bias = true;
    if (k == RECURRENT) make_recurrent(&o);
    hd_status s = k == GPT ? hd_gpt_new(&m->g, m->backend, &g, true, err)
                           : hd_encdec_new(&m->t, m->backend, &o, true, err);
    if (!s) m->params = k == GPT ? &m->g->params : &m->t->params;
    return s;
}

static void close_all(toy *m)
{
    hd_optimizer_release(&m->optimizer);
    hd_encdec_free(m->t);
    hd_gpt_free(m->g);
    hd_run_release(&m->run);
    hd_backend_free(m->backend);
}

static hd_status train_once(kind k, outcome *out, hd_err *err)
{
    toy m = {0};
    const toy_batch b = toy_range(0, 6);
    hd_status s = hd_backend_new(&m.backend, "cpu", &(hd_backend_opt){.threads = 2}, err);
    if (!s) s = new_model(&m, k, err);
    if (!s) s = hd_params_draw(m.params, 1, err);
    if (!s) s = hd_optimizer_init(&m.optimizer, m.params, &adam, err);
    if (!s) s = hd_run_init(&m.run, m.backend, err);
    if (!s) s = training_step(&m, &b, out, err);
    close_all(&m);
    return s;
}

static hd_status load_once(kind k, outcome *out, hd_err *err)
{
    toy m = {0};
    hd_safetensors *file = NULL;
    hd_status s = hd_backend_new(&m.backend, "cpu", &(hd_backend_opt){.threads = 1}, err);
    if (!s) s = new_model(&m, k, err);
    if (!s) s = hd_safetensors_open(&file, path, err);
    if (!s) s = hd_params_load(m.params, file, err);
    for (size_t i = 0; !s && i < m.params->trainable; i++)
        out->loss += (double)m.params->value[i] * (double)(i + 1);
    hd_safetensors_free(file);
    close_all(&m);
    return s;
}

static hd_status save_once(kind k, outcome *out, hd_err *err)
{
    toy m = {0};
    (void)out;
    hd_status s = hd_backend_new(&m.backend, "cpu", &(hd_backend_opt){.threads = 1}, err);
    if (!s) s = new_model(&m, k, err);
    if (!s) s = hd_params_draw(m.params, 1, err);
    if (!s) s = hd_params_save(m.params, path, &(hd_meta){"format", "pt"}, 1, err);
    close_all(&m);
    return s;
}

static size_t files_in_folder(void)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(d);
    return n;
}

/* Fails each allocation in turn. `absorbed`: how many may fail without anybody noticing, because the step
 * arena asks again for less. */
static void fail_each(const char *name, life *live, kind k, size_t absorbed)
{
    hd_err err = {0};
    outcome good = {0};
    if (live(k, &good, &err)) fail_msg("%s: %s", name, err.text);
    size_t start = hd_mem_now().blocks, calls = hd_mem_now().calls, unnoticed = 0, files = files_in_folder();
    outcome again = {0};
    assert_int_equal(live(k, &again, &err), HD_OK);
    assert_memory_equal(&good, &again, sizeof good);
    calls = hd_mem_now().calls - calls;
    for (size_t n = 1; n <= calls + 1; n++) {
        outcome out = {0};
        err = (hd_err){0};
        hd_mem_fail_at(n);
        hd_status s = live(k, &out, &err);
        hd_mem_fail_at(0);
        if (hd_mem_now().blocks != start)
            fail_msg("%s: allocation %zu of %zu failed and %zu blocks leaked", name, n, calls,
                     hd_mem_now().blocks - start);
        if (n > calls) assert_int_equal(s, HD_OK);
        if (!s) {
            unnoticed += n <= calls;
            assert_memory_equal(&good, &out, sizeof good);
            continue;
        }
        if (s != HD_ENOMEM || err.status != HD_ENOMEM || !strstr(err.text, "out of memory"))
            fail_msg("%s: allocation %zu of %zu failed: status %d, '%s'", name, n, calls, (int)s, err.text);
        assert_int_equal(files_in_folder(), files); /* no half-written file stays */
        if (live == save_once && n % 25) continue;  /* to wait for the disk that often would take seconds */
        out = (outcome){0}, err = (hd_err){0};
        assert_int_equal(live(k, &out, &err), HD_OK); /* the next try succeeds */
        assert_memory_equal(&good, &out, sizeof good);
    }
    print_message("%s: %zu allocations, %zu failed unnoticed\n", name, calls, unnoticed);
    assert_int_equal(unnoticed, absorbed);
}

static void every_allocation_of_a_training_step_may_fail(void **state)
{
    (void)state;
    fail_each("transformer, training", train_once, TRANSFORMER, 1);
    fail_each("gpt, training", train_once, GPT, 1);
    fail_each("recurrent, training", train_once, RECURRENT, 1);
}

static void every_allocation_of_saving_and_loading_may_fail(void **state)
{
    (void)state;
    fail_each("transformer, saving", save_once, TRANSFORMER, 0);
    fail_each("transformer, loading", load_once, TRANSFORMER, 0);
    fail_each("gpt, saving", save_once, GPT, 0);
    fail_each("gpt, loading", load_once, GPT, 0);
}

/* Step after step with growing batches: arenas, pool and scratch grow. A step that failed is repeated on the
 * same run, its half-made gradients cleared. */
static void a_step_that_ran_out_of_memory_can_be_repeated(void **state)
{
    (void)state;
    for (int recompute = 0; recompute < 2; recompute++) {
        double losses[4] = {0};
        size_t failures = 0, calls = 0;
        for (size_t n = 0; n <= calls; n++) { /* n = 0: none fails, they are counted */
            toy m;
            hd_encdec_opt o = toy_opt();
            o.stack.recompute = recompute, o.stack.dropout = 0.1f;
            toy_open(&m, 2, &o, NULL, &adam);
            size_t before = hd_mem_now().calls, failed = 0;
            hd_mem_fail_at(n);
            for (int t = 0; t < 4; t++) {
                const toy_batch b = toy_range(0, 8 + 8 * t);
                hd_err err = {0};
                outcome out = {0};
                m.run.now.number = (uint32_t)t;
                hd_status s = training_step(&m, &b, &out, &err);
                if (s) {
                    assert_int_equal(s, HD_ENOMEM);
                    failed++;
                    m.backend->clear(m.backend, m.params->grad, m.params->trainable * sizeof(hd_real));
                    assert_int_equal(training_step(&m, &b, &out, &err), HD_OK);
                }
                if (!n) losses[t] = out.loss;
                assert_true(out.loss == losses[t]);
            }
            hd_mem_fail_at(0);
            if (!n) calls = hd_mem_now().calls - before;
            assert_true(failed <= 1);
            failures += failed;
            toy_close(&m);
        }
        print_message("%s: %zu of %zu allocations ended a step\n", recompute ? "recompute" : "keep", failures,
                      calls);
        assert_true(
            failures + 4 >= calls &&
            failures <=
                calls); /* an arena that cannot join its chunks keeps them; a first chunk may be smaller */
    }
}

typedef struct plan {
    const char *name;
    bool gpt, recurrent, pre_norm, untied, recompute;
    float dropout;
} plan;

static const plan plans[] = {
    {"post-norm", .dropout = 0.1f},
    {"pre-norm, untied", .pre_norm = true, .untied = true},
    {"post-norm, recompute", .recompute = true},
    {"pre-norm, recompute", .pre_norm = true, .recompute = true, .dropout = 0.1f},
    {"gpt", .gpt = true, .dropout = 0.1f},
    {"recurrent", .recurrent = true, .dropout = 0.1f},
};

/* Wide enough that the first step needs more than one chunk of 4 MiB. */
static void open_plan(toy *m, const char *backend, const plan *p)
{
    hd_encdec_opt o = toy_opt();
    hd_gpt_opt g = toy_gpt_opt();
    o.stack.width = 128, o.stack.inner = 512, g.stack.width = 256, g.stack.layers = 4;
    o.stack.pre_norm = p->pre_norm, o.tied = !p->untied, o.stack.recompute = p->recompute,
    o.stack.dropout = g.stack.dropout = p->dropout;
    if (p->recurrent) make_recurrent(&o);
    toy_open_on(m, backend, 2, p->gpt ? NULL : &o, p->gpt ? &g : NULL, &adam);
}

static void a_dry_run_measures_what_a_step_needs(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT_OF(plans); c++) {
        toy real, dry;
        open_plan(&real, "cpu", &plans[c]), open_plan(&dry, "null", &plans[c]);
        size_t used = hd_mem_now().used;
        for (int t = 0; t < 4; t++) {
            const toy_batch b = toy_range(t, 8 + 8 * t);
            toy_step(&dry, &b, 0.1f, 0.001, 1);
        }
        size_t cost = hd_mem_now().used - used;
        for (int t = 0; t < 4; t++) {
            const toy_batch b = toy_range(t, 8 + 8 * t);
            toy_step(&real, &b, 0.1f, 0.001, 1);
        }
        print_message("%-22s activations %zu, gradients %zu, held %zu bytes; the dry run itself took %zu\n",
                      plans[c].name, dry.run.step.peak, dry.run.grads.peak, dry.run.grads.owned, cost);
        assert_true(real.run.step.peak > 0 && real.run.grads.peak > 0);
        assert_int_equal(dry.run.step.peak, real.run.step.peak);
        assert_int_equal(dry.run.grads.peak, real.run.grads.peak);
        assert_int_equal(dry.run.grads.owned, real.run.grads.owned);
        assert_int_equal(dry.run.host.peak, real.run.host.peak);
        assert_true(cost < 2 << 20); /* descriptions only */
        toy_close(&real), toy_close(&dry);
    }
}

enum { OFFERS = 1000 };

typedef struct trail { /* where everything lay that a step made, forward and backward */
    const void *at[OFFERS];
    size_t count, gradients;
} trail;

static void note(void *context, hd_run *r, const hd_offer *o)
{
    trail *t = context;
    (void)r;
    assert_true(t->count < OFFERS);
    t->at[t->count++] = o->t->data;
    t->gradients += o->gradient;
}

static void equal_steps_use_equal_addresses_from_the_second_on(void **state)
{
    (void)state;
    static trail trails[6];
    for (size_t c = 0; c < COUNT_OF(plans); c++)
        for (int probed = 0; probed < 2; probed++) {
            if (probed && plans[c].recompute) continue; /* what is recomputed is offered twice */
            toy m;
            open_plan(&m, "cpu", &plans[c]);
            const toy_batch b = toy_range(0, 32);
            for (int t = 0; t < 4; t++) {
                trail *here = &trails[t];
                *here = (trail){0};
                hd_probe probe = {.take = note, .context = here, .gradients = true};
                if (probed) m.run.probe = &probe;
                m.run.now.number = (uint32_t)t;
                hd_run_begin(&m.run, HD_TRAIN);
                hd_rows y = toy_rows(&m, &b);
                hd_loss_opt o = {.coef = 1};
                const int32_t *target = hd_ints(&m.run, b.target, b.target_rows);
                hd_tensor *loss = m.t ? hd_encdec_loss(&m.run, m.t, y, target, &o)
                                      : hd_gpt_loss(&m.run, m.g, y, target, &o);
                assert_run_ok(&m.run);
                const void *made[] = {y.t,        y.t->data, y.seg,      y.t->grad->data,
                                      loss->data, target,    m.run.last, m.run.block};
                if (!probed) memcpy(here->at, made, sizeof made), here->count = COUNT_OF(made);
                hd_backward(&m.run);
                assert_run_ok(&m.run);
                if (t == 0)
                    assert_true(m.run.step.chunks > 1 || plans[c].recompute);
                else
                    assert_int_equal(m.run.step.chunks, 1);
                if (t > 1) assert_memory_equal(here, &trails[1], sizeof *here);
                m.run.probe = NULL;
            }
            if (probed)
                print_message("%s: %zu addresses, %zu of them of gradients\n", plans[c].name, trails[1].count,
                              trails[1].gradients);
            assert_true(!probed || trails[1].gradients > 30);
            toy_close(&m);
        }
}

/* Two shapes in turn: once both have been seen, each has its own addresses. Only activations: the pool gives
 * gradients of other sizes back. */
static void activations_of_shapes_that_come_back_find_their_addresses(void **state)
{
    (void)state;
    static trail trails[10];
    toy m;
    open_plan(&m, "cpu", &plans[0]);
    for (int t = 0; t < 10; t++) {
        const toy_batch b = t % 2 ? toy_range(0, 32) : toy_range(3, 17);
        hd_probe probe = {.take = note, .context = &trails[t]};
        trails[t] = (trail){0};
        m.run.probe = &probe;
        toy_back(&m, &b, 0, 1);
        m.run.probe = NULL;
        if (t > 3) assert_memory_equal(&trails[t], &trails[t - 2], sizeof *trails);
    }
    toy_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_a_training_step_may_fail),
        cmocka_unit_test(every_allocation_of_saving_and_loading_may_fail),
        cmocka_unit_test(a_step_that_ran_out_of_memory_can_be_repeated),
        cmocka_unit_test(a_dry_run_measures_what_a_step_needs),
        cmocka_unit_test(equal_steps_use_equal_addresses_from_the_second_on),
        cmocka_unit_test(activations_of_shapes_that_come_back_find_their_addresses),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
