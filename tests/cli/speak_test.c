/* tests/speech/speak: what espeak-ng says becomes lists of sounds that can be trained with. */
#include "check.h"
#include "outcome.h"
#include "scratch.h"

#include <sys/wait.h>

#include "data/sound/loader.h"

static int speak(const char *folder, int seed)
{
    char command[1000];
    snprintf(command, sizeof command, "%s/tests/speech/speak %s %s 8 3 %d >%s 2>&1", HEED_SOURCE,
             HEED_PROGRAM, folder, seed, at("said"));
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void spoken_sentences_are_a_set_of_sounds(void **state)
{
    hd_err err = {0};
    hd_sound_set train, test;
    (void)state;
    const int ended = speak(at("spoken"), 1);
    if (ended == 77) leave_out("there is no espeak-ng");
    if (ended) fail_msg("%s", get_file(at("said"), NULL));
    if (hd_sound_set_open(&train, at("spoken/train.tsv"), false, &err) ||
        hd_sound_set_open(&test, at("spoken/test.tsv"), false, &err))
        fail_msg("%s", err.text);
    assert_int_equal(train.count, 8);
    assert_int_equal(test.count, 3);
    hd_sound_loader *l = NULL;
    const hd_sound_batch *b;
    const hd_sound_loader_opt o = {.set = &train,
                                   .features = hd_features_usual(HD_FEATURES_LOG_MEL, 16000),
                                   .frames = 10000,
                                   .threads = -1};
    if (hd_sound_loader_new(&l, &o, &err) || hd_sound_loader_go(l, (hd_position){0}, &err) ||
        hd_sound_loader_get(l, 0, 8, &b, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < 8; i++) /* a second or so each, and every letter of it */
        assert_true(b->frames[i] > 50 && b->frames[i] < 1000 && train.text[i].size > 8);
    for (size_t i = 0; i < b->rows * b->mels; i++) assert_true(isfinite(b->value[i]));
    hd_sound_loader_free(l);
    hd_sound_set_release(&train);
    hd_sound_set_release(&test);
}

static void the_seed_decides(void **state)
{
    (void)state;
    if (speak(at("again"), 1) == 77) leave_out("there is no espeak-ng");
    assert_int_equal(speak(at("other"), 2), 0);
    assert_same_file(at("spoken/train.tsv"), at("again/train.tsv"));
    assert_same_file(at("spoken/wav/train-00003.wav"), at("again/wav/train-00003.wav"));
    char *a = get_file(at("again/train.tsv"), NULL), *b = get_file(at("other/train.tsv"), NULL);
    assert_string_not_equal(a, b);
    free(a);
    free(b);
    assert_int_equal(speak(at("other"), 2), 1); /* it is there already */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spoken_sentences_are_a_set_of_sounds),
        cmocka_unit_test(the_seed_decides),
    };
    return outcome(cmocka_run_group_tests(tests, scratch_make, scratch_remove));
}
