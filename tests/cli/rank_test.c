/* heed rank as a user meets it: groups in their order, lines in that of their scores, both formats. */
#include "check.h"
#include "cli/shell.h"
#include "cli/translating.h"
#include "task/speaker.h"

#include <jansson.h>

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    translating_folder(at("t"));
    speaker_folder(at("lm"), HD_LM_ngram, HD_TOKENIZER_words);
    put_file(at("pairs"), "a b\tA B\tx\na b\tB A\ny\tA\na b\tC\tk\tl\na b\tA B\tagain\na b\tD D\n");
    put_file(at("sources"), "a b\nunused\nc d e\n");
    put_file(at("moses"), "0 ||| A B ||| f= 1 ||| -3\n0 ||| B A ||| f= 2 ||| -4\n2 ||| C |||\n2 ||| D\n");
    put_file(at("spoken"), "mat the\nthe cat sat\nlog log log log log\n");
    return 0;
}

/* The score of one pair, as heed translate --force gives it. */
static double forced(const char *source, const char *text)
{
    char command[256];
    snprintf(command, sizeof command,
             "printf '%s\\t%s\\n' | $HEED translate t --force --scores --length-penalty none | cut -f2",
             source, text);
    return atof(must_run(command));
}

static void groups_are_sorted_by_forced_scores(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    snprintf(out, sizeof out, "%s", must_run("$HEED rank t < pairs"));
    static const char *const lines[] = {"a b\tA B\tx",  "a b\tB A",        "y\tA",
                                        "a b\tC\tk\tl", "a b\tA B\tagain", "a b\tD D"};
    static const int group[] = {0, 0, 1, 2, 2, 2};
    static const char *const text[] = {"A B", "B A", "A", "C", "A B", "D D"};
    int seen[6] = {0}, last_group = 0;
    double last = INFINITY;
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n")) {
        char *tab = strrchr(line, '\t');
        size_t i = 0;
        assert_non_null(tab);
        *tab = 0;
        while (i < 6 && strcmp(lines[i], line)) i++;
        if (i == 6 || seen[i]++) fail_msg("'%s' is none of the lines", line);
        double score = atof(tab + 1);
        assert_true(fabs(score - forced(group[i] == 1 ? "y" : "a b", text[i])) < 2e-6);
        assert_true(group[i] > last_group || (group[i] == last_group && score <= last));
        last = score, last_group = group[i];
    }
    for (int i = 0; i < 6; i++) assert_int_equal(seen[i], 1);
}

static void the_best_are_the_first_of_all(void **state)
{
    (void)state;
    assert_prints("$HEED rank t < pairs > all; awk -F'\\t' '$1 != last { print; last = $1 }' all > first; "
                  "$HEED rank t -n 1 < pairs | cmp - first; gzip -kf pairs; $HEED rank t pairs.gz "
                  "--batch 1 --threads 1 | cmp - all; $HEED rank t --normalize < pairs | wc -l",
                  0, "6\n");
}

static void moses_lists_find_their_sources(void **state)
{
    (void)state;
    char expected[512];
    double s[4] = {forced("a b", "A B"), forced("a b", "B A"), forced("c d e", "C"), forced("c d e", "D")};
    static const char *const line[] = {"0 ||| A B ||| f= 1 ||| -3", "0 ||| B A ||| f= 2 ||| -4",
                                       "2 ||| C |||", "2 ||| D"};
    int order[4] = {s[0] >= s[1] ? 0 : 1, s[0] >= s[1] ? 1 : 0, s[2] >= s[3] ? 2 : 3, s[2] >= s[3] ? 3 : 2};
    int used = 0;
    for (int i = 0; i < 4; i++)
        used += snprintf(expected + used, sizeof expected - (size_t)used, "%s ||| %.6f\n", line[order[i]],
                         s[order[i]]);
    assert_prints("$HEED rank t --source sources < moses", 0, expected);
    /* the same with ids from 1, as heed translate --n-best writes them */
    assert_prints("$HEED rank t --source sources < moses | sed 's/^2/3/; s/^0/1/' > b; "
                  "sed 's/^2/3/; s/^0/1/' moses | $HEED rank t --source sources | cmp - b",
                  0, "");
    assert_prints("$HEED translate t --n-best 3 --max-length 10 < sources | $HEED rank t --source sources "
                  "--best 1 | wc -l",
                  0, "3\n");
}

static void a_language_model_ranks_texts(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    snprintf(out, sizeof out, "%s", must_run("$HEED rank lm < spoken"));
    double last = 0;
    int count = 0;
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"), count++) {
        double score = atof(strchr(line, '\t') + 1);
        assert_true(score <= last);
        last = score;
    }
    assert_int_equal(count, 3);
    json_error_t e;
    json_t *one = json_loads(must_run("echo 'the cat sat' | $HEED rank lm --json"), 0, &e);
    json_t *measured = json_loads(must_run("echo 'the cat sat' | $HEED perplexity lm --json"), 0, &e);
    assert_true(fabs(json_number_value(json_object_get(one, "logprob")) -
                     json_number_value(json_object_get(measured, "logprob"))) < 1e-5);
    assert_true(json_equal(json_object_get(one, "token_count"), json_object_get(measured, "token_count")));
    assert_null(json_object_get(one, "source"));
    json_decref(one);
    json_decref(measured);
    /* a source is not read, and needs not be there */
    assert_prints("$HEED rank lm --moses < moses > a; $HEED rank lm --source sources < moses | cmp - a; "
                  "sed 's/^/x\\t/' spoken | $HEED rank lm | cut -f2- > b; $HEED rank lm < spoken | cmp - b",
                  0, "");
}

static void json_has_all_of_a_line(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    snprintf(out, sizeof out, "%s", must_run("$HEED rank t --json --normalize < pairs"));
    size_t n = 0;
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"), n++) {
        json_error_t e;
        json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, &e);
        long long group, rank, number, tokens;
        double score, sum;
        const char *source, *text;
        if (json_unpack_ex(o, &e, JSON_STRICT, "{s:I, s:I, s:I, s:s, s:s, s:F, s:F, s:I}", "group", &group,
                           "rank", &rank, "line", &number, "source", &source, "text", &text, "score", &score,
                           "logprob", &sum, "token_count", &tokens))
            fail_msg("%s: %s", line, e.text);
        static const long long groups[] = {1, 1, 2, 3, 3, 3}, ranks[] = {1, 2, 1, 1, 2, 3};
        assert_int_equal(group, groups[n]);
        assert_int_equal(rank, ranks[n]);
        assert_true(fabs(score - sum / (double)tokens) < 1e-12);
        assert_string_equal(source, group == 2 ? "y" : "a b");
        json_decref(o);
    }
    assert_int_equal(n, 6);
}

/* More lines than are scored at once, in groups that end before and behind. */
static void large_lists_are_read_in_chunks(void **state)
{
    (void)state;
    assert_prints(
        "awk 'BEGIN { for (g = 0; g < 500; g++) for (i = 0; i < (g == 250 ? 3000 : 5); i++) printf "
        "\"%s\\t%s\\t%d %d\\n\", g % 2 ? \"a\" : \"b c\", i % 3 ? \"A\" : \"B\", g, i }' > many; "
        "$HEED rank t < many > ranked; sort many > x; rev ranked | cut -f2- | rev | sort | cmp - x; "
        "cut -f3 ranked | cut -d' ' -f1 | sort -nc; wc -l < ranked; $HEED rank t --best 1 < many | wc -l",
        0, "5495\n500\n");
}

static void bad_lines_come_last(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    int status = shell(out, "printf 'a\\t\\377\\na\\tA\\nno tab\\n' | $HEED rank t");
    assert_int_equal(status, 1);
    char *first = strstr(out, "a\tA\t-"), *bad = strstr(out, "a\t\377\t-inf\n"),
         *tab = strstr(out, "no tab\t-inf\n");
    assert_true(first && bad && tab && first < bad && bad < tab);
    assert_non_null(strstr(out, "standard input:1: its given translation is not UTF-8: ranked last"));
    assert_non_null(strstr(out, "standard input:3: no tab"));
    assert_non_null(strstr(out, "2 of 3 lines could not be scored"));
    assert_int_equal(shell(out, "printf 'a\\t\\377\\n' | $HEED rank t --json -q"), 1);
    assert_non_null(
        strstr(out, "\"text\": null, \"score\": null, \"logprob\": null, \"token_count\": 0, \"error\": "));
    assert_prints("$HEED rank t < /dev/null", 0, "");
}

static void what_cannot_be_ranked_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED rank", 2, "heed rank: ");
    assert_fails("$HEED rank nowhere < pairs", 1, "nowhere: there is no such folder");
    assert_fails("$HEED rank t --moses < moses", 1, "--source");
    assert_fails("$HEED rank t --source - < moses", 2, "standard input can be read only once");
    assert_fails("$HEED rank t --source nowhere < moses", 1, "nowhere");
    static const char *const cases[][2] = {
        {"$HEED rank t --source sources < pairs", "standard input:1: not 'ID ||| HYPOTHESIS'"},
        {"$HEED rank t --source sources --first 1 < moses", "standard input:1: id 0: give --first"},
        {"printf '5 ||| A\\n' | $HEED rank t --source sources", "id 5: give --first"},
        {"printf '0 ||| A\\n3 ||| A\\n' | $HEED rank t --source sources",
         "standard input:2: no source 3: sources has 3 lines, counted from 0"},
        {"printf '2 ||| A\\n1 ||| A\\n' | $HEED rank lm --moses", "id 1 comes after 2"},
        {"printf '99999999999999999 ||| A\\n' | $HEED rank lm --moses", "standard input:1: "},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[SHELL_ROOM];
        if (shell(out, cases[i][0]) != 1 || !strstr(out, cases[i][1])) fail_msg("%s: '%s'", cases[i][0], out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_sorted_by_forced_scores),
        cmocka_unit_test(the_best_are_the_first_of_all),
        cmocka_unit_test(moses_lists_find_their_sources),
        cmocka_unit_test(a_language_model_ranks_texts),
        cmocka_unit_test(json_has_all_of_a_line),
        cmocka_unit_test(large_lists_are_read_in_chunks),
        cmocka_unit_test(bad_lines_come_last),
        cmocka_unit_test(what_cannot_be_ranked_is_said_once),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
