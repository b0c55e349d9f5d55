/* Training a translator from inside a program: what the plan promises, and what failures leave. */
#include "check.h"
#include "cli/shell.h"

#include "model/encdec/encdec.h"
#include "task/session.h"

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

static hd_train_options usual(int width, bool valid)
{
    hd_train_options o = plain_options(HD_TRAIN_TRANSLATE, path[4]);
    o.train = (hd_texts){.text = {path[0], path[1]}, .count = 2};
    if (valid) o.valid = (hd_texts){.text = {path[2], path[3]}, .count = 2};
    o.max_length = 60, o.tokenizer = HD_TOKENIZER_words, o.vocab_size = HD_TRAIN_ALL_PIECES;
    o.encoder_layers = o.decoder_layers = 2;
    o.width = width, o.ffn_size = 4 * width, o.dropout = 0.1, o.max_positions = 128;
    o.ema = 0.9, o.label_smoothing = 0.1, o.lr = 0.001;
    o.batch_tokens = 2000, o.bleu_sentences = 20, o.epochs = 1;
    return o;
}

/* Row by row, with attention. */
static void make_recurrent(hd_train_options *o)
{
    o->encoder = "bi-gru:1", o->decoder = "gru:2";
    o->decoder_init = HD_BEGINNING_map, o->readout = HD_READING_deep;
}

static const hd_task *const task = &hd_task_translate;
static const hd_session_hooks two = {.threads = 2};

static hd_outcome train(const hd_train_options *o, const hd_session_hooks *hooks)
{
    hd_outcome result;
    hd_err err = {0};
    must_run("rm -rf m; mkdir m");
    if (hd_session_train(&result, task, o, hooks, &err)) fail_msg("%s", err.text);
    return result;
}

static hd_plan planned(const hd_train_options *o)
{
    hd_plan plan;
    hd_err err = {0};
    if (hd_session_plan(&plan, task, o, &two, &err)) fail_msg("%s", err.text);
    return plan;
}

static const char *fact(const hd_plan *p, const char *name)
{
    for (size_t i = 0; i < p->facts.count; i++)
        if (!strcmp(p->facts.at[i].name, name)) return p->facts.at[i].text;
    fail_msg("the plan says nothing of %s", name);
    return NULL;
}

/* The most memory a run holds is what was planned, to a quarter. The rest is the corpus and what the kernels
   keep. */
static void the_plan_knows_the_memory_of_a_run(void **state)
{
    (void)state;
    static const struct {
        int width, parts;
        bool recompute, valid, recurrent;
        int feeding, sampling_decay;
    } cases[] = {
        {.width = 64, .parts = 1},
        {.width = 64, .parts = 4},
        {.width = 64, .parts = 1, .recompute = true},
        {.width = 32, .parts = 1, .valid = true},
        {.width = 48, .parts = 1, .recurrent = true},
        {.width = 32, .parts = 2, .recurrent = true, .feeding = HD_FEEDING_gumbel, .sampling_decay = 3}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_train_options o = usual(cases[i].width, cases[i].valid);
        o.micro_batches = cases[i].parts, o.recompute = cases[i].recompute;
        if (cases[i].recurrent) make_recurrent(&o);
        o.decoder_input = cases[i].feeding, o.sampling_decay = cases[i].sampling_decay;
        hd_plan plan = planned(&o);
        size_t before = hd_mem_now().used;
        hd_mem_peak_reset();
        hd_outcome result = train(&o, &two);
        double peak = (double)(hd_mem_now().peak - before), planned = (double)plan.memory;
        assert_int_equal(hd_mem_now().used, before);
        assert_int_equal(plan.batches, result.progress.step);
        if (fabs(planned / peak - 1) > 0.25)
            fail_msg("case %zu: %.1f MiB are planned, %.1f MiB used", i, planned / 1048576, peak / 1048576);
    }
}

static void assert_plan_counts(bool recurrent)
{
    hd_train_options o = usual(32, true);
    double pairs = 0, tokens = 0;
    char target[64];
    if (recurrent) make_recurrent(&o);
    must_run("rm -rf m");
    hd_plan plan = planned(&o);
    assert_false(is_there(path[4]));
    assert_string_equal(fact(&plan, "pairs"), "1,000, 100 to validate");
    assert_true(plan.parameters && plan.trainable == plan.parameters);
    assert_int_equal(fact(&plan, "vocabulary")[1], ','); /* some thousand, and the same for both sides */
    assert_null(strstr(fact(&plan, "vocabulary"), "and"));
    assert_int_equal(sscanf(fact(&plan, "an update"), "%lf pairs and %lf tokens", &pairs, &tokens), 2);
    assert_true(tokens > 1500 && tokens <= 2000 && fabs(pairs * (double)plan.batches - 1000) < 1);
    hd_outcome result = train(&o, &two);
    char grouped[32];
    snprintf(target, sizeof target, ", %s target", hd_grouped(result.progress.tokens, grouped));
    assert_non_null(strstr(fact(&plan, "tokens an epoch"), target));
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
    hd_train_options o = usual(16, true);
    hd_outcome result;
    hd_err wrong = {0}, refused = {0}, none = {0};
    opening seen = {0};
    hd_session_hooks hooks = {.threads = 2, .open = open_folder, .context = &seen};
    must_run("rm -rf m");
    o.steps = 1;
    o.valid.text[1] = path[1]; /* of another length */
    assert_int_equal(hd_session_train(&result, task, &o, &hooks, &wrong), HD_EFORMAT);
    assert_int_equal(seen.calls, 0);
    o.valid.text[1] = path[3];
    seen.refuse = true;
    assert_int_equal(hd_session_train(&result, task, &o, &hooks, &refused), HD_ELIMIT);
    assert_true(seen.calls == 1 && !is_there(path[4]));
    seen.refuse = false;
    if (hd_session_train(&result, task, &o, &hooks, &none)) fail_msg("%s", none.text);
    assert_true(seen.calls == 2 && !seen.was_there && result.progress.step == 1);
    o.resume = true, o.steps = 2;
    if (hd_session_train(&result, task, &o, &hooks, &none)) fail_msg("%s", none.text);
    assert_true(seen.calls == 2 && result.progress.step == 2); /* a run that goes on has its folder */
}

/* Not each of some ten thousand, but many, from the first to the last. */
static void failing_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    hd_train_options o = usual(16, true);
    const hd_session_hooks one = {.threads = 1};
    o.steps = 2, o.valid_every = 1, o.bleu_sentences = 2;
    o.train.text[0] = path[2], o.train.text[1] = path[3];
    train(&o, &one);
    size_t calls = hd_mem_now().calls, blocks = hd_mem_now().blocks;
    train(&o, &one);
    calls = hd_mem_now().calls - calls;
    assert_int_equal(hd_mem_now().blocks, blocks);
    for (size_t n = 1; n <= calls; n += 1 + calls / 60) {
        hd_err err = {0};
        hd_outcome result;
        must_run("rm -rf m; mkdir m");
        hd_mem_fail_at(n);
        hd_status s = hd_session_train(&result, task, &o, &one, &err);
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
