/* heed plot as a user meets it: two runs in the terminal and in pictures, and what cannot be drawn. */
#include "check.h"
#include "cli/shell.h"

#define LINE(step, kind, time, rest) "{\"step\":" step ",\"kind\":\"" kind "\",\"time\":" time "," rest "}\n"

static int make_logs(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    char out[SHELL_ROOM];
    if (shell(out, "mkdir -p one/train two/train three")) return -1;
    put_file(at("one/train/log.jsonl"),
             LINE("100", "train", "60", "\"loss\":5.0,\"epoch\":0")
                 LINE("200", "train", "120", "\"loss\":3.0,\"epoch\":1")
                     LINE("200", "valid", "121", "\"loss\":4.0,\"bleu\":10.0")
                         LINE("400", "train", "240", "\"loss\":1.0,\"epoch\":2")
                             LINE("400", "valid", "241", "\"loss\":2.0,\"bleu\":30.0"));
    put_file(at("two/train/log.jsonl"), LINE("100", "train", "60", "\"loss\":2.0,\"epoch\":0")
                                            LINE("400", "train", "240", "\"loss\":2.0,\"epoch\":2"));
    return 0;
}

/* The flat line of run two is one row from a quarter of the axis to its end; A ends where it does. */
static void runs_are_drawn_in_the_terminal(void **state)
{
    (void)state;
    const char *out = must_run("COLUMNS=80 $HEED plot one two");
    static const char *const says[] = {
        "loss\na one, training: 1 at the end\nA one, validation: 2 at the end\n",
        "b two, training: 2 at the end\n",
        "        5 |",
        "        1 |",
        "updates",
        " 400\n"};
    for (size_t i = 0; i < COUNT_OF(says); i++)
        if (!strstr(out, says[i])) fail_msg("'%s' does not say '%s'", out, says[i]);
    assert_prints("COLUMNS=80 $HEED plot two | grep -cE '\\| +a+$'", 0, "1\n");
    assert_prints("COLUMNS=80 $HEED plot two | grep -E '\\| +a+$' | tr -cd a | wc -c | tr -d ' '", 0, "52\n");
    out = must_run("$HEED plot one --metric bleu");
    if (!strstr(out, "A one, validation: 30 at the end\n") || strstr(out, "a one")) fail_msg("%s", out);
    out = must_run("$HEED plot one --lines train --smooth 0.5 --over epochs");
    if (!strstr(out, "a one, training: 2.14286 at the end\n") || !strstr(out, "epochs") ||
        strstr(out, "A one"))
        fail_msg("%s", out); /* (4 * 1 + 2 * 3 + 5) / 7 */
    assert_non_null(strstr(must_run("$HEED plot one --over time"), "minutes since the first report"));
}

/* One line for each step from point to point, thin and wide, and three in the legend; a mark for each
 * validation. */
static void runs_are_drawn_as_pictures(void **state)
{
    (void)state;
    must_run("$HEED plot one two --out both.svg");
    assert_prints("grep -o '<line' both.svg | wc -l | tr -d ' '; grep -c 'one, validation' both.svg", 0,
                  "7\n1\n");
    assert_prints("grep -o '>minutes since the first report<' both.svg | wc -l | tr -d ' '", 0, "0\n");
    char out[SHELL_ROOM];
    if (!shell(out, "$HEED plot one --out a.png && $HEED plot one --out a.pdf"))
        assert_prints("head -c 4 a.png | tail -c 3; head -c 4 a.pdf", 0, "PNG%PDF");
    else if (!strstr(out, "Cairo"))
        fail_msg("%s", out);
}

static void what_cannot_be_drawn_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED plot", 2, "MODEL... is missing");
    assert_fails("$HEED plot three", 1, "three/train/log.jsonl: cannot open: No such file");
    assert_fails("$HEED plot one --metric blue", 2, "one: no blue in its log, which has: loss, epoch, bleu");
    assert_fails("$HEED plot two --lines valid", 2, "two: no loss of valid in its log");
    assert_fails("$HEED plot one --out a.gif", 2, "a.gif: a plot file must end in .svg");
    assert_fails("$HEED plot one --smooth 1", 2, "--smooth: 1 is not between 0 and 0.999");
    assert_fails("$HEED plot one --out no/a.svg", 1, "no/a.svg");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_drawn_in_the_terminal),
        cmocka_unit_test(runs_are_drawn_as_pictures),
        cmocka_unit_test(what_cannot_be_drawn_is_said_once),
    };
    return cmocka_run_group_tests(tests, make_logs, scratch_remove);
}
