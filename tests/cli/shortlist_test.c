/* heed shortlist and heed translate --shortlist as a user meets them. */
#include "check.h"
#include "cli/shell.h"
#include "cli/translating.h"

static int make_model(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    translating_folder(at("t"));
    put_file(at("a"), "a b c\nd e\nf\n");
    put_file(at("b"), "A B C\nD E\nF\n");
    return 0;
}

static void translations_have_listed_tokens_alone(void **state)
{
    (void)state;
    must_run("printf 'B a 0.5\\nC a 0.25\\nD b 1\\n' > l; printf 'a a\\nb\\na b\\n' > in");
    static const char *const searches[] = {"--beam 1",
                                           "--beam 3",
                                           "--sample --seed 3",
                                           "--beam 3 --precision int8",
                                           "--beam 2 --precision bf16",
                                           "--exhaustive --max-length 2"};
    for (size_t i = 0; i < COUNT_OF(searches); i++) {
        char command[512];
        snprintf(
            command, sizeof command,
            "$HEED translate --device cpu t in %s --min-length 2 --shortlist l,1,1 > out; "
            "$HEED translate --device cpu t in %s --min-length 2 > full; cmp -s out full && echo no effect; "
            "sed -n 1p out | tr -d 'B \\n'; sed -n 2p out | tr -d 'D \\n'; "
            "sed -n 3p out | tr -d 'BD \\n'",
            searches[i], searches[i]);
        assert_prints(command, 0, "");
        snprintf(command, sizeof command,
                 "$HEED translate --device cpu t in %s --min-length 2 --shortlist l,1,2 | tr -d 'BCD \\n'",
                 searches[i]);
        assert_prints(command, 0, "");
    }
}

static void a_list_is_made_of_pairs(void **state)
{
    (void)state;
    must_run("$HEED shortlist -q t a b -o l; paste a b > ab.tsv; $HEED shortlist -q t ab.tsv > l2; cmp l l2");
    assert_prints("grep -c NULL l; grep -cP '^[A-F]\\t[a-f]\\t[0-9.e-]+$' l; grep 'F.f' l", 0,
                  "6\n6\nF\tf\t1\n");
    must_run("$HEED translate --device cpu t a --shortlist l > out; test $(wc -l < out) = 3");
}

static void the_batch_changes_nothing(void **state)
{
    (void)state;
    must_run("$HEED shortlist -q t a b -o l; for i in 1 2 3 4 5; do cat a; done > many; "
             "$HEED translate --device cpu t many --shortlist l,1,1 --json --beam 3 > one; "
             "$HEED translate --device cpu t many --shortlist l,1,1 --json --beam 3 --batch 3 --threads 1 > "
             "two; cmp one two");
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    assert_fails("$HEED translate --device cpu t a --shortlist nowhere", 1, "nowhere|No such file");
    assert_fails("$HEED translate --device cpu t a --shortlist a", 1, "a:1|TARGET SOURCE PROBABILITY");
    assert_fails("$HEED translate --device cpu t a --shortlist /dev/null", 1, "no lines");
    assert_fails("$HEED shortlist -q t a b -o l; $HEED translate --device cpu t a --force --shortlist l", 2,
                 "--force");
    assert_fails("$HEED shortlist t nowhere b", 1, "nowhere");
    assert_fails("head -n 2 b > short; $HEED shortlist -q t a short -o x", 1, "short");
    assert_fails("$HEED shortlist t", 2, "SOURCE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(translations_have_listed_tokens_alone),
        cmocka_unit_test(a_list_is_made_of_pairs),
        cmocka_unit_test(the_batch_changes_nothing),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, make_model, scratch_remove);
}
