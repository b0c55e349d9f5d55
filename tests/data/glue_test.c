/* The sets of GLUE are read as they are distributed, and labels of models are found by what they are called.
 */
#include "check.h"
#include "scratch.h"

#include <sys/stat.h>

#include "data/labels/glue.h"

#define MNLI                                                                                            \
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t" \
    "sentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n"                                       \
    "0\t1\t2\tfiction\tp\tp\tp\tp\tone\ttwo\tneutral\tneutral\n"

static const char *const files[HD_GLUE_SETS] = {
    MNLI,
    MNLI,
    "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n7\t1\t2\tone\ttwo\t1\n8\t1\n", /* one is cut short */
    "index\tquestion\tsentence\tlabel\n0\tone\ttwo\tnot_entailment\n",
    "sentence\tlabel\none\t1\n",
    "gj04\t1\t\tone\n",
    ("index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
     "0\tg\tf\t2012\t1\tnone\tnone\tone\ttwo\t1.000\n"),
    "\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t702876\t702977\tone\ttwo\n",
    "index\tsentence1\tsentence2\tlabel\n0\tone\ttwo\tnot_entailment\n"};

static void sets_are_read_as_they_are(void **state)
{
    (void)state;
    char path[HD_PATH], own[HD_PATH];
    for (int i = 0; i < HD_GLUE_SETS; i++) {
        const hd_glue_set *set = &hd_glue_sets[i];
        hd_err err = {0};
        hd_labeled x;
        assert_false(hd_glue_path(path, set, at(".")));
        snprintf(path, sizeof path, "%s/%s", at("%s", set->folder), set->file);
        mkdir(at("%s", set->folder), 0777);
        put_file(path, files[i]);
        snprintf(own, sizeof own, "%s//", at("%s", set->folder));
        assert_true(hd_glue_path(path, set, own) && hd_glue_path(path, set, at(".")));
        if (hd_glue_read(&x, set, path, &err)) fail_msg("%s: %s", set->name, err.text);
        assert_int_equal(x.count, 1);
        bool pair = strcmp(set->name, "CoLA") && strcmp(set->name, "SST-2");
        assert_int_equal(hd_labeled_pairs(&x), pair);
        assert_memory_equal(hd_labeled_unit(&x, 0).text, "one", 3);
        if (pair) assert_memory_equal(hd_labeled_unit(&x, 1).text, "two", 3);
        if (hd_glue_labels(set))
            assert_int_equal(x.label[0], 1);
        else
            assert_true(x.value[0] == 1);
        hd_labeled_release(&x);
    }
}

static void labels_have_many_names(void **state)
{
    (void)state;
    static const char *const given[][2] = {
        {"0", "1"}, {"LABEL_0", "LABEL_1"}, {"NEGATIVE", "POSITIVE"}, {"no", "yes"}};
    const hd_glue_set *set = &hd_glue_sets[4];
    assert_string_equal(set->name, "SST-2");
    for (size_t i = 0; i < COUNT_OF(given); i++) {
        hd_vocab v = {0};
        hd_err err = {0};
        for (int k = 1; k >= 0; k--)
            assert_int_equal(hd_vocab_add(&v, given[i][k], strlen(given[i][k]), &err), HD_OK);
        assert_int_equal(hd_glue_label(set, 1, &v), i == 3 ? -1 : 0);
        assert_int_equal(hd_glue_label(set, 0, &v), i == 3 ? -1 : 1);
        hd_vocab_release(&v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sets_are_read_as_they_are),
                                       cmocka_unit_test(labels_have_many_names)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
