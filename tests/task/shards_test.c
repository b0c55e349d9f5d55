/* Training from token shards: the same bytes as from memory where the order is the same, the same pairs where
   it is not, from several files, and resumed bit for bit. */
#include "check.h"
#include "cli/shell.h"

#include "data/shards/shards.h"
#include "task/session.h"

static int make_corpus(void **state)
{
    char out[SHELL_ROOM];
    shell_prepare();
    if (scratch_make(state) || shell(out, "$HEED corpus -q --pairs 600 --valid 50 --test 0 --out c"))
        return -1;
    return shell(
        out, "cd c; head -n 250 train.en > 1.en; tail -n +251 train.en > 2.en; head -n 250 train.de > 1.de; "
             "tail -n +251 train.de > 2.de; gzip -k 2.de; paste train.en train.de | head -n 400 > 1.tsv; "
             "paste train.en train.de | tail -n +401 > 2.tsv; mkdir tsv texts; mv 1.tsv 2.tsv tsv; "
             "cp 1.en 2.en texts");
}

static char paths[40][160];

static const char *keep(const char *name)
{
    static int turn;
    turn = (turn + 1) % 40;
    snprintf(paths[turn], sizeof paths[turn], "%s", at("%s", name));
    return paths[turn];
}

static hd_train_options translating(const char *out)
{
    hd_train_options o = plain_options(HD_TRAIN_TRANSLATE, keep(out));
    o.train = (hd_texts){.text = {keep("c/train.en"), keep("c/train.de")}, .count = 2};
    o.valid_fraction = 0.1, o.max_length = 12, o.max_positions = 128;
    o.tokenizer = HD_TOKENIZER_words, o.vocab_size = HD_TRAIN_ALL_PIECES;
    o.encoder_layers = o.decoder_layers = 1, o.width = 16, o.ffn_size = 32, o.lr = 0.01;
    o.batch_tokens = 500, o.epochs = 1;
    return o;
}

static hd_train_options speaking(hd_train_task task, int kind, int unit, const char *out)
{
    hd_train_options o = plain_options(task, keep(out));
    o.train = one_text(keep("c/train.en"));
    o.valid_fraction = 0.05, o.unit = unit,
    o.vocab_size = unit == HD_TRAIN_SUBWORD ? 320 : HD_TRAIN_ALL_PIECES;
    o.model = kind, o.width = 16, o.ffn_size = 32, o.layers = 1, o.heads = 2;
    o.batch_size = 4, o.context = 12, o.steps = 5, o.lr = 0.01;
    return o;
}

static void assert_same_model(const char *a, const char *b)
{
    char command[200];
    snprintf(command, sizeof command, "cmp %s/model.safetensors %s/model.safetensors", a, b);
    must_run(command);
}

static void texts_on_shards_teach_the_same(void **state)
{
    (void)state;
    static const struct {
        hd_train_task task;
        int kind, unit;
    } cases[] = {{HD_TRAIN_LM, HD_LM_gpt, HD_TRAIN_SUBWORD},
                 {HD_TRAIN_LM, HD_LM_ffnn, HD_TRAIN_CHAR},
                 {HD_TRAIN_LM, HD_LM_lstm, HD_TRAIN_WORD},
                 {HD_TRAIN_MLM, 0, HD_TRAIN_SUBWORD}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        must_run("rm -rf a b s");
        hd_train_options a = speaking(cases[i].task, cases[i].kind, cases[i].unit, "a"), b = a;
        b.out = keep("b"), b.shards = keep("s");
        b.train = (hd_texts){.text = {keep("c/1.en"), keep("c/2.en")}, .count = 2};
        session_train(&a);
        session_train(&b);
        assert_same_model("a", "b");
        must_run("rm -rf b");
        b.train = one_text(keep("c/texts")); /* the same files, and the shards that are there */
        session_train(&b);
        assert_same_model("a", "b");
    }
}

static void pairs_on_shards_are_those_of_memory(void **state)
{
    (void)state;
    hd_train_options o = translating("m");
    hd_plan memory, shards;
    hd_err err = {0};
    hd_session_hooks hooks = {.threads = 2};
    must_run("rm -rf m s");
    o.shards = keep("s"); /* a plan writes nothing */
    if (hd_session_plan(&memory, hd_tasks[o.task], &o, &hooks, &err)) fail_msg("%s", err.text);
    assert_false(hd_shards_there(o.shards));
    session_train(&o);
    assert_true(hd_shards_there(o.shards));
    if (hd_session_plan(&shards, hd_tasks[o.task], &o, &hooks, &err)) fail_msg("%s", err.text);
    assert_int_equal(memory.facts.count, shards.facts.count);
    for (size_t i = 0; i + 1 < memory.facts.count; i++) /* the last one is of updates */
        assert_string_equal(memory.facts.at[i].text, shards.facts.at[i].text);
}

static void files_of_pairs_may_be_several(void **state)
{
    (void)state;
    must_run("rm -rf m n p s");
    hd_train_options one = translating("m"), pairs = translating("n"), table = translating("p");
    pairs.train =
        (hd_texts){.text = {keep("c/1.en"), keep("c/1.de"), keep("c/2.en"), keep("c/2.de.gz")}, .count = 4};
    table.train = one_text(keep("c/tsv"));
    session_train(&one);
    session_train(&pairs);
    session_train(&table);
    assert_same_model("m", "n");
    assert_same_model("m", "p");
    hd_outcome out;
    hd_err err = {0};
    pairs.train.count = 3, pairs.out = keep("q");
    assert_int_equal(session_try(&out, &pairs, &err), HD_EARG);
    assert_non_null(strstr(err.text, "source before target"));
}

static int asked;

static bool stop_soon(void *context)
{
    (void)context;
    return ++asked == 7;
}

static void a_run_on_shards_is_resumed_bit_for_bit(void **state)
{
    (void)state;
    must_run("rm -rf m n s; mkdir n");
    hd_train_options o = translating("m");
    o.shards = keep("s"), o.epochs = 2;
    session_train(&o);
    hd_outcome out;
    hd_err err = {0};
    o.out = keep("n");
    asked = 0;
    if (hd_session_train(&out, hd_tasks[o.task], &o, &(hd_session_hooks){.threads = 1, .stop = stop_soon},
                         &err))
        fail_msg("%s", err.text);
    assert_in_range(out.progress.step, 5, 8);
    o.resume = true;
    if (session_try(&out, &o, &err)) fail_msg("%s", err.text);
    assert_same_model("m", "n");
    must_run("cmp m/train/step-*/weights.safetensors n/train/step-*/weights.safetensors");
}

static void shards_of_other_data_are_refused(void **state)
{
    (void)state;
    must_run("rm -rf m n s");
    hd_train_options o = translating("m");
    o.shards = keep("s");
    session_train(&o);
    hd_outcome out;
    hd_err err = {0};
    o.max_length = 11, o.out = keep("n");
    must_run("mkdir n");
    assert_int_equal(session_try(&out, &o, &err), HD_EARG);
    assert_non_null(strstr(err.text, "of other data: name another folder"));
    must_run("dd if=/dev/zero of=s/tokens-000 bs=1 seek=999 count=8 conv=notrunc 2>/dev/null");
    err = (hd_err){0};
    o = translating("n"), o.shards = keep("s");
    assert_int_equal(session_try(&out, &o, &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "are damaged"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_on_shards_teach_the_same),
        cmocka_unit_test(pairs_on_shards_are_those_of_memory),
        cmocka_unit_test(files_of_pairs_may_be_several),
        cmocka_unit_test(a_run_on_shards_is_resumed_bit_for_bit),
        cmocka_unit_test(shards_of_other_data_are_refused),
    };
    return cmocka_run_group_tests(tests, make_corpus, scratch_remove);
}
