/* heed corpus as a user meets it: the files, that they are disjoint, and what is refused. */
#include "check.h"

#include "cli/shell.h"

static void six_files_of_the_sizes_asked_for(void **state)
{
    (void)state;
    assert_prints("$HEED corpus --pairs 3000 --valid 200 --test 100 --out demo/", 0,
                  "heed: wrote 3000 training, 200 validation and 100 test pairs to demo/\n");
    assert_prints("ls demo | tr '\\n' ' '", 0, "test.de test.en train.de train.en valid.de valid.en ");
    assert_prints("cat demo/*.en | wc -l; cat demo/*.de | wc -l; wc -l <demo/valid.de", 0,
                  "3300\n3300\n200\n");
    assert_prints("cat demo/*.en | sort | uniq -d | wc -l", 0, "0\n"); /* disjoint, and none twice */
    assert_prints("grep -cx 'I ate an apple \\.' demo/*.en", 1,
                  "demo/test.en:0\ndemo/train.en:0\ndemo/valid.en:0\n");
    assert_prints("grep -cvE '^[A-ZÄÖÜ].* \\.$' demo/*", 1,
                  "demo/test.de:0\ndemo/test.en:0\ndemo/train.de:0\ndemo/train.en:0\ndemo/valid.de:0\ndemo/"
                  "valid.en:0\n");
}

static void the_seed_decides(void **state)
{
    (void)state;
    assert_prints(
        "$HEED corpus -q -n 500 -o a && $HEED corpus -q -n 500 -o b && $HEED corpus -q -n 500 --seed 2 -o c",
        0, "");
    assert_prints("diff -r a b", 0, "");
    assert_prints("cmp -s a/train.en c/train.en", 1, "");
}

static void nothing_is_overwritten_unasked(void **state)
{
    (void)state;
    assert_prints("mkdir kept && echo mine >kept/valid.de", 0, "");
    assert_prints("$HEED corpus -n 10 -o kept", 1,
                  "heed corpus: kept/valid.de: exists already (--overwrite replaces it)\n");
    assert_prints("ls kept; cat kept/valid.de", 0, "valid.de\nmine\n"); /* nor is anything left beside it */
    assert_prints("$HEED corpus -q -n 10 -o kept --overwrite && wc -l <kept/valid.de", 0, "500\n");
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    assert_prints("$HEED corpus", 2,
                  "heed corpus: --out is required: the folder for the files (try 'heed help corpus')\n");
    assert_prints("$HEED corpus --pairs 0 -o x", 2,
                  "heed corpus: --pairs: 0 is not between 1 and 10000000 (try 'heed help corpus')\n");
    assert_prints("touch file && $HEED corpus -o file", 1, "heed corpus: file: is a file, not a folder\n");
    assert_prints("$HEED corpus -o no/such", 1,
                  "heed corpus: no/such: cannot make the folder: No such file or directory\n");
    /* a limit of 1 or 2 MiB, as the shell counts: the thread sanitizer cannot start below 512 KiB */
    assert_prints("ulimit -f 2048; $HEED corpus -q -n 60000 -o full", 1,
                  "heed corpus: full/train.de: cannot write: File too large\n"); /* German is longer */
    assert_prints("ls -d full", 2, "ls: cannot access 'full': No such file or directory\n");
}

static void splits_may_be_left_out(void **state)
{
    (void)state;
    assert_prints("$HEED corpus -q -n 10 --valid 0 --test 0 -o two && ls two", 0, "train.de\ntrain.en\n");
}

/* Whatever moment a kill comes at, a new corpus is there whole or not at all, and the next run tidies up. */
static void a_killed_one_leaves_no_half(void **state)
{
    (void)state;
    assert_prints(
        "for n in 01 02 04 06 08 10 12 14 16 18 20 25; do rm -rf half; "
        "timeout -s KILL 0.$n $HEED corpus -q -n 6000 -o half; "
        "case $(ls half 2>/dev/null | grep -v '^heed.lock$' | wc -l) in 0 | 6) ;; *) ls half ;; esac; done "
        "2>/dev/null; rm -rf half; mkdir half.tmp.77.0 && $HEED corpus -q -n 10 -o half && ls -d half* && ls "
        "half",
        0, "half\ntest.de\ntest.en\ntrain.de\ntrain.en\nvalid.de\nvalid.en\n");
}

static void exercises_are_written(void **state)
{
    (void)state;
    assert_prints("$HEED corpus --task reverse -n 300 --valid 50 --test 40 --words 4 --min-length 3 "
                  "--max-length 6 -o back && ls back | tr '\\n' ' '",
                  0,
                  "heed: wrote 300 training, 50 validation and 40 test pairs to back\n"
                  "test.source test.target train.source train.target valid.source valid.target ");
    assert_prints("for s in train valid test; do rev back/$s.source | cmp - back/$s.target; done; "
                  "cat back/* | grep -cvE '^[a-d]( [a-d]){2,5}$'",
                  1, "0\n");
    assert_prints("for s in train valid test; do sort -u back/$s.source; done | sort | uniq -d | wc -l", 0,
                  "0\n");
    assert_prints(
        "for t in copy expand gap sums brackets questions; do $HEED corpus -q --task $t -n 5 -o $t && "
        "wc -l <$t/train.target; done",
        0, "5\n5\n5\n5\n5\n5\n");
    assert_prints("$HEED corpus --words 3 -o x", 2,
                  "heed corpus: --words needs --task, an exercise (try 'heed help corpus')\n");
    assert_prints("$HEED corpus --task copy --min-length 20 -o x", 2,
                  "heed corpus: --min-length 20 is above --max-length 10 (try 'heed help corpus')\n");
    assert_prints("$HEED corpus --task copy --words 1 --max-length 2 -o x; ls -d x", 2,
                  "heed corpus: there are too few exercises of these lengths and words for separate sets\n"
                  "ls: cannot access 'x': No such file or directory\n");
}

int main(void)
{
    shell_prepare();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(six_files_of_the_sizes_asked_for),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(nothing_is_overwritten_unasked),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(splits_may_be_left_out),
        cmocka_unit_test(a_killed_one_leaves_no_half),
        cmocka_unit_test(exercises_are_written),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
