/* Training a translator from inside a program: what the plan promises, and what failures leave. */
#include "check.h"
#include "cli/shell.h"

#include "base/file/folder.h"
#include "task/translate/train.h"

static char path[5][128]; /* the corpus and the model */

static int make_corpus(void **state)
{
    static const char *const names[] = {"c/train.en", "c/train.de", "c/valid.en", "c/valid.de", "m"};
    char out[SHELL_ROOM];
    shell_prepare();
    if (scratch_make(state) || shell(out, "$HEED corpus -q --pairs 1000 --valid 100 --test 0 --out c"))
        return -1;
    for (int i = 0; i < 5; i++) snprintf(path[i], sizeof path[i], "%s", at("%s", names[i]));
    return 0;
}

static hd_translate_train_opt usual(size_t width, bool valid)
{
    return (hd_translate_train_opt){
        .data = {.train = {path[0], path[1]},
                 .valid = {valid ? path[2] : NULL, valid ? path[3] : NULL},
                 .longest = 60,
                 .kind = HD_TOKENIZER_words},
        .model = {.encoder_layers = 2,
                  .decoder_layers = 2,
                  .stack.heads = 4,
                  .stack.width = width,
                  .stack.inner = 4 * width,
                  .tied = true,
                  .stack.pre_norm = true,
                  .stack.eps = 1e-5f,
                  .stack.act = HD_relu,
                  .stack.dropout = 0.1f,
                  .positions = 128,
                  .sinusoid = {.halves = true}},
        .optimizer = {.kind = HD_OPT_ADAM, .average = 0.9f},
        .smoothing = 0.1f,
        .batch_tokens = 2000,
        .judged = 20,
        .device = "cpu",
        .threads = 2,
        .trainer = {.folder = path[4], .seed = 1, .schedule = {.peak = 0.001}, .epochs = 1}};
}

/* Row by row, with attention. */
static void make_recurrent(hd_translate_train_opt *o)
{
    o->model.encoder = (hd_stages){{{HD_STAGE_gru, true, 1}}, 1};
    o->model.decoder = (hd_stages){{{HD_STAGE_gru, false, 2}}, 1};
    o->model.recurrent = (hd_recurrent_decoder_opt){.begin = HD_BEGINNING_map, .read = HD_READING_deep};
}

static void train(const hd_translate_train_opt *o, hd_translate_result *result)
{
    hd_err err = {0};
    must_run("rm -rf m; mkdir m");
    if (hd_translate_train(result, o, &err)) fail_msg("%s", err.text);
}

/* The most memory a run holds is what was planned, to a quarter. The rest is the corpus and what the kernels
   keep. */
static void the_plan_knows_the_memory_of_a_run(void **state)
{
    (void)state;
    static const struct {
        size_t width, parts;
        bool recompute, valid, recurrent;
        hd_feeding feeding;
        uint64_t sampling_decay;
    } cases[] = {{.width = 64, .parts = 1},
                 {.width = 64, .parts = 4},
                 {.width = 64, .parts = 1, .recompute = true},
                 {.width = 32, .parts = 1, .valid = true},
                 {.width = 48, .parts = 1, .recurrent = true},
                 {.width = 32,
                  .parts = 2,
                  .recurrent = true,
                  .feeding = {HD_FEEDING_gumbel, 0.5f, 1},
                  .sampling_decay = 3}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_translate_train_opt o = usual(cases[i].width, cases[i].valid);
        hd_translate_result result;
        hd_translate_plan plan;
        hd_err err = {0};
        o.parts = cases[i].parts, o.model.stack.recompute = cases[i].recompute;
        if (cases[i].recurrent) make_recurrent(&o);
        o.feeding = cases[i].feeding, o.sampling_decay = cases[i].sampling_decay;
        if (hd_translate_plan_make(&plan, &o, &err)) fail_msg("%s", err.text);
        size_t before = hd_mem_now().used;
        hd_mem_peak_reset();
        train(&o, &result);
        double peak = (double)(hd_mem_now().peak - before), planned = (double)plan.memory;
        assert_int_equal(hd_mem_now().used, before);
        assert_int_equal(plan.batches, result.progress.step);
        if (fabs(planned / peak - 1) > 0.25)
            fail_msg("case %zu: %.1f MiB are planned, %.1f MiB used", i, planned / 1048576, peak / 1048576);
    }
}

static void assert_plan_counts(bool recurrent)
{
    hd_translate_train_opt o = usual(32, true);
    hd_translate_result result;
    hd_translate_plan plan;
    hd_err err = {0};
    if (recurrent) make_recurrent(&o);
    must_run("rm -rf m");
    if (hd_translate_plan_make(&plan, &o, &err)) fail_msg("%s", err.text);
    assert_false(is_there(path[4]));
    assert_true(plan.pairs == 1000 && plan.valid_pairs == 100 && plan.trainable == plan.parameters);
    assert_true(plan.model.source_vocab > 1000 && plan.model.source_vocab == plan.model.target_vocab);
    assert_true(plan.batch_tokens > 1500 && plan.batch_tokens <= 2000);
    train(&o, &result);
    assert_int_equal(result.progress.tokens, plan.target_tokens);
    /* the work of single batches, which are not all like the mean */
    assert_true(fabs(result.progress.flops / (plan.flops * (double)plan.batches) - 1) < 0.1);
}

static void the_plan_counts_what_there_is(void **state)
{
    (void)state;
    assert_plan_counts(false);
    assert_plan_counts(true);
}

typedef struct opening {
    int calls;
    bool refuse, was_there;
} opening;

static hd_status open_folder(void *context, hd_err *err)
{
    opening *o = context;
    o->calls++;
    o->was_there = is_there(path[4]);
    return o->refuse ? hd_err_set(err, HD_ELIMIT, "not today") : hd_folder_make(path[4], NULL, err);
}

static void the_folder_is_opened_once_all_is_read(void **state)
{
    (void)state;
    hd_translate_train_opt o = usual(16, true);
    hd_translate_result result;
    hd_err wrong = {0}, refused = {0}, none = {0};
    opening seen = {0};
    must_run("rm -rf m");
    o.open = open_folder, o.trainer.context = &seen, o.trainer.steps = 1;
    o.data.valid[1] = path[1]; /* of another length */
    assert_int_equal(hd_translate_train(&result, &o, &wrong), HD_EFORMAT);
    assert_int_equal(seen.calls, 0);
    o.data.valid[1] = path[3];
    seen.refuse = true;
    assert_int_equal(hd_translate_train(&result, &o, &refused), HD_ELIMIT);
    assert_true(seen.calls == 1 && !is_there(path[4]));
    seen.refuse = false;
    if (hd_translate_train(&result, &o, &none)) fail_msg("%s", none.text);
    assert_true(seen.calls == 2 && !seen.was_there && result.progress.step == 1);
    o.trainer.resume = true, o.trainer.steps = 2;
    if (hd_translate_train(&result, &o, &none)) fail_msg("%s", none.text);
    assert_true(seen.calls == 2 && result.progress.step == 2); /* a run that goes on has its folder */
}

/* Not each of some ten thousand, but many, from the first to the last. */
static void failing_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    hd_translate_train_opt o = usual(16, true);
    hd_translate_result result;
    o.trainer.steps = 2, o.trainer.valid_every = 1, o.judged = 2, o.threads = 1;
    o.data.train[0] = path[2], o.data.train[1] = path[3];
    train(&o, &result);
    size_t calls = hd_mem_now().calls, blocks = hd_mem_now().blocks;
    train(&o, &result);
    calls = hd_mem_now().calls - calls;
    assert_int_equal(hd_mem_now().blocks, blocks);
    for (size_t n = 1; n <= calls; n += 1 + calls / 60) {
        hd_err err = {0};
        must_run("rm -rf m; mkdir m");
        hd_mem_fail_at(n);
        hd_status s = hd_translate_train(&result, &o, &err);
        hd_mem_fail_at(0);
        assert_int_equal(s, err.status); /* a failed join of step memory is none */
        if (hd_mem_now().blocks != blocks) fail_msg("failure %zu of %zu leaves blocks", n, calls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plan_knows_the_memory_of_a_run),
        cmocka_unit_test(the_plan_counts_what_there_is),
        cmocka_unit_test(the_folder_is_opened_once_all_is_read),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_corpus, scratch_remove);
}
