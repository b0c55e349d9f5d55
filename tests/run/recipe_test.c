/* The columns of the table of training options: which tasks and models a row belongs to, what a model to
   begin with and a resumed run do with it, and presets. */
#include "check.h"
#include "task/list.h"

typedef struct run {
    hd_train_options options;
    hd_given given[HD_TRAIN_MOST_ROWS];
    hd_option_set set;
    hd_err err;
} run;

static void begin(run *r, int task)
{
    *r = (run){0};
    r->set = (hd_option_set){hd_train_table, &r->options, r->given, NULL};
    assert_int_equal(hd_option_set_defaults(&r->set, &r->err), HD_OK);
    r->options.task = task;
}

static void give(run *r, const char *option, const char *value, hd_given how)
{
    hd_option_place at = hd_option_find(&r->set, option);
    if (!at.option) fail_msg("no option %s", option);
    if (hd_option_read(at.option, at.field, value, &r->err)) fail_msg("%s: %s", option, r->err.text);
    *at.given = how;
}

static hd_status fill(run *r)
{
    return hd_recipe_fill(hd_tasks[r->options.task]->recipe, &r->set, &r->err);
}

static void a_row_is_refused_by_other_tasks_and_by_no_other(void **state)
{
    (void)state;
    int refused = 0;
    for (int task = 0; task < HD_TRAIN_TASKS; task++)
        for (size_t i = 1; hd_train_table[i].name; i++) {
            const hd_option *row = &hd_train_table[i];
            bool foreign = row->tasks && !(row->tasks >> task & 1);
            run r;
            begin(&r, task);
            if (!strcmp(row->name, "from")) continue; /* is a folder */
            r.given[i] = HD_GIVEN_HERE;
            fill(&r);
            if (foreign != (strstr(r.err.text, "is an option of --task") != NULL))
                fail_msg("--task %s --%s: %s", hd_train_tasks[task], row->name, r.err.text);
            refused += foreign;
        }
    assert_in_range(refused, 100, 2000);
}

static void what_has_no_effect_is_refused(void **state)
{
    (void)state;
    static const struct {
        int task;
        const char *with, *value; /* another option */
        const char *option, *given, *says;
    } cases[] = {
        {HD_TRAIN_LM, "model", "ngram", "steps", "5", "--steps needs a model that is trained by updates"},
        {HD_TRAIN_LM, "model", "lstm", "heads", "4",
         "--heads needs transformer layers: here --model is lstm"},
        {HD_TRAIN_LM, "model", "ngram", "add-k", "0.5", "--add-k needs --smoothing add-k"},
        {HD_TRAIN_LM, "schedule", "constant", "min-lr-ratio", "0.1", "--schedule cosine or linear"},
        {HD_TRAIN_LM, "optimizer", "sgd", "beta1", "0.8", "--beta1 needs --optimizer adam, adamw or muon"},
        {HD_TRAIN_LM, "optimizer", "adam", "momentum", "0.8", "--momentum needs --optimizer sgd"},
        {HD_TRAIN_LM, "optimizer", "adamw", "muon-lr", "0.1", "--muon-lr needs --optimizer muon"},
        {HD_TRAIN_LM, "optimizer", "adam", "muon-momentum", "0.1", "--muon-momentum needs --optimizer muon"},
        {HD_TRAIN_LM, "unit", "char", "character-coverage", "0.99", "a subword vocabulary"},
        {HD_TRAIN_MLM, "layers", "1", "patience", "2", "--patience needs --valid or --valid-fraction"},
        {HD_TRAIN_CLASSIFY, "model", "gru", "ffn-size", "64", "--ffn-size needs transformer layers"},
        {HD_TRAIN_CLASSIFY, "model", "transformer", "one-hot", "true", "begins with rnn, gru or lstm"},
        {HD_TRAIN_CLASSIFY, "model", "gru", "scratch", "true", "--scratch needs --from"},
        {HD_TRAIN_CLASSIFY, "model", "resnet", "patch-size", "8", "--patch-size needs a vit"},
        {HD_TRAIN_CLASSIFY, "model", "resnet", "conv-stem", "2", "the model is a resnet, which reads"},
        {HD_TRAIN_CLASSIFY, "model", "resnet", "drop-path", "0.1", "--drop-path needs a vit"},
        {HD_TRAIN_CLASSIFY, "model", "vit", "resnet", "8x1", "--resnet needs a resnet that reads pictures"},
        {HD_TRAIN_CLASSIFY, "model", "gru", "patch-size", "8", "--patch-size needs a vit"},
        {HD_TRAIN_CAPTION, "image-encoder", "resnet", "conv-stem", "2", "--conv-stem needs a vit"},
        {HD_TRAIN_CAPTION, "image-encoder", "vit", "resnet-norm", "group", "--resnet-norm needs a resnet"},
        {HD_TRAIN_DETECT, "image-encoder", "resnet", "patch-size", "8",
         "--patch-size needs a vit that reads pictures: here --image-encoder is resnet"},
        {HD_TRAIN_DETECT, "image-encoder", "vit", "resnet-stem", "small", "--resnet-stem needs a resnet"},
        {HD_TRAIN_DETECT, "query-kind", "learned", "denoise-groups", "2",
         "--denoise-groups needs --query-kind anchors"},
        {HD_TRAIN_DETECT, "query-kind", "learned", "query-reach", "1",
         "--query-reach needs --query-kind anchors: here --image-encoder is resnet, --query-kind learned"},
        {HD_TRAIN_TRANSLATE, "layers", "2", "attention-score", "dot", "--attention-score needs a recurrent"},
        {HD_TRAIN_TRANSLATE, "layers", "2", "separate-vocab", "true", "--separate-vocab needs --untied"},
        {HD_TRAIN_TRANSLATE, "decoder", "gru", "temperature", "2",
         "--decoder-input free, scheduled or gumbel"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        run r;
        begin(&r, cases[i].task);
        give(&r, cases[i].with, cases[i].value, HD_GIVEN_HERE);
        assert_int_equal(fill(&r), HD_OK);
        give(&r, cases[i].option, cases[i].given, HD_GIVEN_HERE);
        if (fill(&r) != HD_EARG || !strstr(r.err.text, cases[i].says))
            fail_msg("--%s: '%s' does not say '%s'", cases[i].option, r.err.text, cases[i].says);
    }
}

/* training.yml of an earlier heed holds options that have no effect, with the values they have anyway. */
static void a_file_may_say_what_holds_without_it(void **state)
{
    (void)state;
    run r;
    begin(&r, HD_TRAIN_LM);
    give(&r, "model", "lstm", HD_GIVEN_FILE);
    give(&r, "heads", "1", HD_GIVEN_FILE);
    assert_int_equal(fill(&r), HD_OK);
    give(&r, "heads", "8", HD_GIVEN_FILE);
    assert_int_equal(fill(&r), HD_EARG);
}

/* The same of learned queries, and of a backbone that is no vit. */
static void a_file_may_say_what_a_detector_has_not(void **state)
{
    (void)state;
    run r;
    begin(&r, HD_TRAIN_DETECT);
    give(&r, "query-kind", "learned", HD_GIVEN_FILE);
    give(&r, "denoise-groups", "0", HD_GIVEN_FILE);
    give(&r, "query-reach", "0", HD_GIVEN_FILE);
    give(&r, "patch-size", "16", HD_GIVEN_FILE);
    assert_int_equal(fill(&r), HD_OK);
    give(&r, "patch-size", "8", HD_GIVEN_FILE);
    assert_int_equal(fill(&r), HD_EARG);
}

static void presets_are_made_of_options_of_their_task(void **state)
{
    (void)state;
    for (int p = 0; p < HD_PRESET_NONE; p++)
        for (const hd_setting *x = hd_presets[p].settings; x->option; x++) {
            run r;
            begin(&r, 0);
            give(&r, x->option, x->value, HD_GIVEN_HERE);
            const hd_option *row = hd_option_find(&r.set, x->option).option;
            if (hd_presets[p].name && !hd_recipe_has_task(row, hd_presets[p].task))
                fail_msg("%s: --%s", hd_presets[p].name, x->option);
        }
}

static void values_are_marked_with_where_they_are_from(void **state)
{
    (void)state;
    run r;
    begin(&r, HD_TRAIN_LM);
    give(&r, "preset", "gpt2-medium", HD_GIVEN_HERE);
    give(&r, "width", "64", HD_GIVEN_FILE);
    assert_int_equal(fill(&r), HD_OK);
    static const struct {
        const char *option, *value;
        hd_given from;
    } cases[] = {{"width", "64", HD_GIVEN_FILE},
                 {"layers", "24", HD_GIVEN_PRESET},
                 {"context", "1024", HD_GIVEN_PRESET},
                 {"schedule", "cosine", HD_GIVEN_NOT},
                 {"ffn-size", "256", HD_GIVEN_BY_OTHERS},
                 {"batch-size", "480", HD_GIVEN_BY_OTHERS},
                 {"seed", "1", HD_GIVEN_NOT}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_option_place at = hd_option_find(&r.set, cases[i].option);
        hd_text t = {0};
        hd_option_value(&t, at.option, &r.options);
        if (strcmp(t.data, cases[i].value) || *at.given != cases[i].from)
            fail_msg("--%s is %s, from %d", cases[i].option, t.data, *at.given);
        hd_text_release(&t);
    }
}

static void a_preset_is_of_its_task(void **state)
{
    (void)state;
    run r;
    begin(&r, HD_TRAIN_MLM);
    give(&r, "preset", "gpt2", HD_GIVEN_HERE);
    assert_int_equal(fill(&r), HD_EARG);
    assert_string_equal(r.err.text,
                        "--preset gpt2 is for --task lm; those of --task mlm are bert-tiny, bert-mini, "
                        "bert-base");
}

/* A resumed run may end later and report otherwise, and be nothing else. */
static void what_may_change_is_known(void **state)
{
    (void)state;
    char may[256] = "";
    for (const hd_option *row = hd_train_table; row->name; row++)
        if (row->keep == HD_KEEP_LIMIT || row->keep == HD_KEEP_REPORT) strcat(strcat(may, row->name), " ");
    assert_string_equal(may, "picture-memory epochs steps patience save-every report-every device ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_refused_by_other_tasks_and_by_no_other),
        cmocka_unit_test(what_has_no_effect_is_refused),
        cmocka_unit_test(a_file_may_say_what_holds_without_it),
        cmocka_unit_test(a_file_may_say_what_a_detector_has_not),
        cmocka_unit_test(presets_are_made_of_options_of_their_task),
        cmocka_unit_test(values_are_marked_with_where_they_are_from),
        cmocka_unit_test(a_preset_is_of_its_task),
        cmocka_unit_test(what_may_change_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
