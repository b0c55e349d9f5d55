/* What the lectures show a model do, done by the program from a text of a few lines: completing a sentence,
   translating one, sizes and speed beside each other. */
#include "check.h"
#include "cli/shell.h"

#include <jansson.h>

static int make_texts(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    char out[SHELL_ROOM];
    if (shell(out,
              "for i in 1 2; do printf '%s\\n' 'where there is a will , there is a way' 'where there is "
              "smoke , there is "
              "fire' 'practice makes perfect , they say' 'all is well that ends well'; done > sayings.txt"))
        return -1; /* twice: a word that comes once is unknown */
    put_file(at("pairs.fr"), "je suis étudiant\nje suis professeur\nil est étudiant\nelle est professeur\n"
                             "nous sommes ici\nils sont ici\nje suis ici\nil est ici\n");
    put_file(at("pairs.en"), "i am a student\ni am a teacher\nhe is a student\nshe is a teacher\n"
                             "we are here\nthey are here\ni am here\nhe is here\n");
    return 0;
}

/* "Where there is will, there": what comes next, word by word, the likeliest each time. */
static void a_sentence_is_completed(void **state)
{
    (void)state;
    static const char *const models[] = {
        "ngram --order 5",
        "lstm --layers 1 --width 32 --dropout 0 --batch-size 4 --steps 150 --lr 0.02 --warmup 5",
        ("gpt --layers 1 --heads 2 --width 32 --dropout 0 --batch-size 4 --context 16 --steps 150 --lr 0.01 "
         "--warmup 5")};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "rm -rf m; $HEED train -q --device cpu --task lm --unit word --train sayings.txt "
                 "--model %s --out m && $HEED generate m --greedy --stop '\\n' --prompt 'where there is a "
                 "will , there'",
                 models[i]);
        const char *said = must_run(command);
        if (strcmp(said, "where there is a will , there is a way\n")) fail_msg("%s: %s", models[i], said);
    }
}

static void a_student_is_translated(void **state)
{
    (void)state;
    must_run(
        "rm -rf fr; $HEED train -q --device cpu --train pairs.fr pairs.en --tokenizer words "
        "--encoder-layers 1 "
        "--decoder-layers 1 --heads 2 --width 32 --ffn-size 64 --dropout 0 --label-smoothing 0 --lr 0.01 "
        "--warmup 10 "
        "--steps 150 --out fr");
    assert_prints("echo 'je suis étudiant' | $HEED translate fr", 0, "i am a student\n");
    assert_prints("$HEED translate fr < pairs.fr | diff - pairs.en", 0, "");
}

static const json_t *model_at(const json_t *table, size_t i)
{
    const json_t *one = json_array_get(json_object_get(table, "models"), i);
    assert_true(json_is_object(one));
    return one;
}

/* Not all Transformers are alike, and they are larger than an LSTM that knows the same words: the table
 * tells. */
static void sizes_and_speed_stand_beside_each_other(void **state)
{
    (void)state;
    json_error_t e;
    json_t *all = json_loads(must_run("rm -rf ladder; $HEED compare -q --json --task lm --unit word --models "
                                      "'lstm(layers=1,width=32),gpt(layers=2,heads=2,width=32,context=16),"
                                      "gpt(layers=4,heads=2,width=32,context=16)' "
                                      "--train sayings.txt --steps 5 --out ladder"),
                             0, &e);
    if (!all) fail_msg("%s", e.text);
    double before = 0;
    for (size_t i = 0; i < 3; i++) {
        const json_t *one = model_at(all, i);
        double size = json_number_value(json_object_get(one, "parameters"));
        assert_true(size > before);
        before = size;
        assert_true(json_number_value(json_object_get(one, "tokens_per_second")) > 0);
        assert_true(json_number_value(json_object_get(one, "training_seconds")) > 0);
    }
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_sentence_is_completed),
                                       cmocka_unit_test(a_student_is_translated),
                                       cmocka_unit_test(sizes_and_speed_stand_beside_each_other)};
    return cmocka_run_group_tests(tests, make_texts, scratch_remove);
}
