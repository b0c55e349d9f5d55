/* Captions as they are learned: lower-cased, in ids, another one of a picture in every epoch. */
#include "check.h"
#include "scratch.h"

#include "outcome.h"
#include "task/caption/captions.h"

enum { PICTURES = 5 };

static int make_data(void **state)
{
    hd_err err = {0};
    hd_image im;
    if (scratch_make(state) || hd_image_make(&im, 4, 4, 3, "test", &err)) return -1;
    memset(im.pixel, 100, hd_image_bytes(&im));
    FILE *f = fopen(at("captions.txt"), "w");
    for (int i = 0; i < PICTURES; i++) {
        hd_status s = hd_image_write_png(&im, at("%d.png", i), &err);
        if (s) leave_out("%s", err.text);
        for (int k = 0; k <= i; k++)
            fprintf(f, "%d.png#%d\tA DOG \xc3\x84 number %d of Picture %d\n", i, k, k, i);
    }
    fclose(f);
    f = fopen(at("some.txt"), "w");
    fputs("3.png\n1.png\n", f);
    fclose(f);
    hd_image_release(&im);
    return 0;
}

static hd_captions open(const char *names, bool cased)
{
    hd_err err = {0};
    hd_captions c;
    const char *path = at("captions.txt");
    hd_captions_read how = {.path = path, .names = names, .cased = cased};
    if (hd_captions_open(&c, &how, &err)) fail_msg("%s", err.text);
    return c;
}

static void texts_are_lower_cased_unless_told_otherwise(void **state)
{
    (void)state;
    hd_captions c = open(NULL, false), d = open(NULL, true);
    assert_int_equal(c.set.count, PICTURES);
    assert_int_equal(c.texts.count, 15);
    assert_string_equal(c.texts.text[0].text, "a dog \xc3\xa4 number 0 of picture 0");
    assert_string_equal(d.texts.text[0].text, "A DOG \xc3\x84 number 0 of Picture 0");
    hd_captions_release(&c), hd_captions_release(&d);
    char names[256];
    snprintf(names, sizeof names, "%s", at("some.txt"));
    c = open(names, false);
    assert_int_equal(c.set.count, 2);
    assert_int_equal(c.texts.count, 6);
    hd_captions_release(&c);
}

/* In as many epochs as a picture has captions each is taken once, whatever the seed. */
static void epochs_take_every_caption_in_turn(void **state)
{
    (void)state;
    hd_captions c = open(NULL, false);
    size_t differ = 0;
    for (size_t i = 0; i < PICTURES; i++) {
        size_t n = hd_captions_of(&c, i), first = c.set.first_caption[i];
        for (uint64_t seed = 1; seed < 4; seed++) {
            bool seen[PICTURES] = {0};
            for (uint64_t epoch = 7; epoch < 7 + n; epoch++) {
                size_t at_ = hd_captions_choose(&c, i, seed, epoch);
                assert_in_range(at_, first, first + n - 1);
                assert_false(seen[at_ - first]);
                seen[at_ - first] = true;
                assert_int_equal(at_, hd_captions_choose(&c, i, seed, epoch));
            }
            differ += hd_captions_choose(&c, i, seed, 0) != hd_captions_choose(&c, i, seed + 1, 0);
        }
    }
    assert_true(differ > 0);
    assert_int_equal(hd_captions_sided(&c), 0);
    hd_captions_release(&c);
}

static void long_captions_are_cut_and_counted(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    hd_captions c = open(NULL, false), held = {0};
    hd_targets_walk walk = {&c.texts, 0};
    if (hd_tokenizer_train(&t, HD_TOKENIZER_words, hd_targets_feed(&walk), &(hd_tokenizer_opt){0}, &err))
        fail_msg("%s", err.text);
    assert_int_equal(hd_captions_encode(&c, t, 100, &err), HD_OK);
    assert_int_equal(c.texts.begin[c.texts.count], 15 * 8);
    assert_int_equal(c.cut, 0);
    assert_int_equal(hd_captions_encode(&c, t, 5, &err), HD_OK);
    assert_int_equal(c.texts.begin[c.texts.count], 15 * 5);
    assert_int_equal(c.cut, 15);
    assert_int_equal(hd_captions_split(&c, 0.4, 1, &held, &err), HD_OK);
    assert_int_equal(c.set.count + held.set.count, PICTURES);
    assert_int_equal(c.texts.count + held.texts.count, 15);
    assert_true(held.texts.count > 0 &&
                strstr(held.texts.text[0].text, "a dog \xc3\xa4") == held.texts.text[0].text);
    hd_tokenizer_free(t);
    hd_captions_release(&c), hd_captions_release(&held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_are_lower_cased_unless_told_otherwise),
                                       cmocka_unit_test(epochs_take_every_caption_in_turn),
                                       cmocka_unit_test(long_captions_are_cut_and_counted)};
    return outcome(cmocka_run_group_tests(tests, make_data, scratch_remove));
}
