/* heed explain MODEL TEXT as a user meets it; the worked example has its test in tests/task. */
#include "check.h"
#include "cli/shell.h"
#include "task/small.h"
#include "task/speaker.h"

#include <jansson.h>

static void translator_folder(const char *path)
{
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_model_folder *t = small_make(b, HD_TOKENIZER_words, false, false);
    assert_int_equal(mkdir(path, 0777), 0);
    if (hd_model_folder_write(t, path, &err)) fail_msg("%s", err.text);
    folder_free(t);
    hd_backend_free(b);
}

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    translator_folder(at("m"));
    speaker_folder(at("gpt"), HD_LM_gpt, HD_TOKENIZER_words);
    speaker_folder(at("ngram"), HD_LM_ngram, HD_TOKENIZER_characters);
    assert_int_equal(mkdir(at("other"), 0777), 0);
    put_file(at("other/config.json"), "{\"format\": 1, \"task\": \"dance\"}");
    return 0;
}

static json_t *parsed(const char *command)
{
    json_error_t e;
    json_t *o = json_loads(must_run(command), JSON_REJECT_DUPLICATES, &e);
    if (!o) fail_msg("%s: %s", command, e.text);
    return o;
}

static void a_sentence_from_tokens_to_the_distribution(void **state)
{
    (void)state;
    const char *out = must_run("$HEED explain m 'a b' --step 2");
    static const char *const parts[] = {"</s> 3",
                                        "Translation, step by step",
                                        "enc.0.self.softmax",
                                        "dec.0.self.softmax",
                                        "dec.0.cross.softmax",
                                        "dec.0.ffn.relu",
                                        "dec.norm",
                                        "logits",
                                        "probs"};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const char *found = strstr(out, parts[i]);
        if (!found) fail_msg("no '%s', or not in its place", parts[i]);
        out = found;
    }
    out = must_run("$HEED explain m 'a b' --step all");
    assert_non_null(strstr(out, "looks most at"));
    assert_null(strstr(out, "softmax"));
}

static void steps_heads_and_names_are_picked(void **state)
{
    (void)state;
    json_t *o = parsed("$HEED explain m 'a b' --step 2 --json --only '*.cross.*'");
    assert_int_equal(json_integer_value(json_object_get(o, "step")), 2);
    assert_int_equal(json_array_size(json_object_get(json_object_get(o, "tokens"), "read")), 2);
    const json_t *all = json_object_get(o, "matrices");
    const char *name;
    json_t *value;
    assert_true(json_object_size(all) >= 8);
    json_object_foreach((json_t *)all, name, value) assert_non_null(strstr(name, ".cross."));
    const json_t *w = json_object_get(all, "dec.0.cross.softmax"); /* heads, rows, source */
    assert_int_equal(json_array_size(w), 2);
    assert_int_equal(json_array_size(json_array_get(json_array_get(w, 1), 0)), 3);
    json_decref(o);
    const char *out = must_run("$HEED explain m 'a b' --head 2 --only '*.cross.softmax'");
    assert_non_null(strstr(out, "head 2 of 2"));
    out = must_run("$HEED explain m 'a b' --columns 2 --digits 4 --only dec.emb");
    assert_non_null(strstr(out, "… 14 more"));
}

/* -- printed numbers, recomputed -- */

enum { MOST = 16 };
typedef struct printed {
    size_t rows, cols;
    double at[MOST][MOST], root; /* root: what stands in the sqrt of the formula, or 0 */
} printed;

/* A matrix as it stands on a page; rows is 0 where there is none. A row over tokens runs down, one over
   channels across; several rows over tokens have those above them. */
static printed printed_of(const char *page, const char *scope, const char *last, int head)
{
    printed p = {0};
    char title[64], mark[32];
    snprintf(title, sizeof title, "\n%s.%s  ", scope, last);
    snprintf(mark, sizeof mark, "head %d of 2", head);
    const char *at = page;
    while ((at = strstr(at, title))) {
        const char *end = strchr(++at, '\n'), *is = strstr(at, mark), *root = strstr(at, "sqrt(");
        if (!is || is > end) continue;
        p.root = root && root < end ? atof(root + 5) : 0;
        bool tokens = strchr("s m", *last), turned = tokens && !strncmp(strstr(at, "  ") + 2, "1 ", 2);
        if (tokens && !turned) end = strchr(end + 1, '\n');
        for (at = end + 1; *at == ' '; at = strchr(at, '\n') + 1, p.rows++) {
            char *next = (char *)at + strspn(at, " ");
            next += strcspn(next, " "); /* the token */
            for (p.cols = 0; *next == ' ' && p.cols < MOST; p.cols++) {
                char *from = next;
                p.at[p.rows][p.cols] = strtod(from, &next);
                if (next == from) break; /* a bar */
            }
        }
        if (turned) {
            printed t = {.rows = 1, .cols = p.rows, .root = p.root};
            for (size_t j = 0; j < p.rows; j++) t.at[0][j] = p.at[j][0];
            return t;
        }
        return p;
    }
    return p;
}

static void assert_printed(const char *scope, const char *what, double got, double want)
{
    if (!(fabs(got - want) <= 1e-6 * (1 + fabs(want)))) /* float32 sums, printed to nine places */
        fail_msg("%s.%s: %.9f is printed, the formula gives %.9f", scope, what, got, want);
}

static void check_head(const char *page, const char *scope, int head)
{
    printed q = printed_of(page, scope, "Q", head), k = printed_of(page, scope, "K", head),
            v = printed_of(page, scope, "V", head), scores = printed_of(page, scope, "scores", head),
            scaled = printed_of(page, scope, "scaled", head),
            masked = printed_of(page, scope, "masked", head),
            weights = printed_of(page, scope, "softmax", head),
            out = printed_of(page, scope, "attn_out", head);
    const printed *s = masked.rows ? &masked : &scaled;
    if (!q.rows || !k.rows || !weights.rows || q.cols != k.cols || scores.cols != k.rows ||
        scaled.root != (double)q.cols)
        fail_msg("%s: a matrix is missing, or is not of head %d", scope, head);
    for (size_t i = 0; i < q.rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < k.rows; j++) {
            double dot = 0;
            for (size_t c = 0; c < q.cols; c++) dot += q.at[i][c] * k.at[j][c];
            assert_printed(scope, "scores", scores.at[i][j], dot);
            assert_printed(scope, "scaled", scaled.at[i][j], scores.at[i][j] / sqrt(scaled.root));
            if (masked.rows && !isinf(masked.at[i][j]))
                assert_printed(scope, "masked", masked.at[i][j], scaled.at[i][j]);
            sum += exp(s->at[i][j]);
        }
        for (size_t j = 0; j < k.rows; j++)
            assert_printed(scope, "softmax", weights.at[i][j], exp(s->at[i][j]) / sum);
        for (size_t c = 0; c < v.cols; c++) {
            double mix = 0;
            for (size_t j = 0; j < k.rows; j++) mix += weights.at[i][j] * v.at[j][c];
            assert_printed(scope, "attn_out", out.at[i][c], mix);
        }
    }
}

static void printed_numbers_satisfy_the_printed_formulas(void **state)
{
    (void)state;
    static const char *const scopes[] = {"enc.0.self", "dec.0.self", "dec.0.cross"};
    static const char wide[] =
        "LC_ALL=C.UTF-8 COLUMNS=5000 $HEED explain m 'a b c' --step 2 --digits 9 --columns 100";
    char command[256];
    for (int head = 1; head <= 2; head++)
        for (int all = 0; all < 2; all++) {
            char pick[16] = "";
            if (all)
                snprintf(pick, sizeof pick, " --head all");
            else if (head > 1) /* the first is shown by default */
                snprintf(pick, sizeof pick, " --head %d", head);
            snprintf(command, sizeof command, "%s%s", wide, pick);
            char *page = strdup(must_run(command));
            for (size_t i = 0; i < COUNT_OF(scopes); i++) check_head(page, scopes[i], head);
            if (!all) assert_null(strstr(page, head == 1 ? "head 2 of 2" : "head 1 of 2"));
            free(page);
        }
    assert_non_null(strstr(must_run("$HEED explain m 'a b' --head mean"), "mean of 2 heads  = mean of Q K"));
}

static void lectures_stand_beside_the_engine(void **state)
{
    (void)state;
    const char *out = must_run("$HEED explain --lecture 000 --only gru.free.ids");
    assert_non_null(strstr(out, "1    heed     4  3  3\n     lecture  4  3  3\n"));
    assert_null(strstr(out, "gru.enc.E"));
    out = must_run("$HEED explain --lecture 004 --only poll.2");
    assert_non_null(strstr(out, "false    false  Beam search finds the optimal decode.\n"));
    json_t *o = parsed("$HEED explain --lecture 004 --only gumbel.softmax --json");
    assert_true(json_is_object(o));
    json_decref(o);
    must_run("$HEED explain --lecture 000 --only 'cell.*' --out cell.html && test -s cell.html");
    assert_fails("$HEED explain --lecture 000 --only nothing", 2, "no matrix matches 'nothing'");
    assert_fails("$HEED explain --lecture 004 --train 3", 2, "--train is for the example of lecture 003");
    assert_fails("$HEED explain --lecture 001", 2, "--lecture: '001' is not one of 000, 003, 004");
    assert_fails("$HEED explain --out x.html", 2,
                 "--out needs --backward or --beam of a model, or --lecture");
    assert_fails("$HEED explain m a --lecture 000", 2, "--lecture is for the worked example");
}

/* p(t + 2) = M p(t), by the printed numbers. */
static void positions_are_shifted_by_one_matrix(void **state)
{
    (void)state;
    json_t *o = parsed("$HEED explain --shift 2 --json");
    const json_t *all = json_object_get(o, "matrices"), *pe = json_object_get(all, "pe"),
                 *m = json_object_get(all, "M"), *shifted = json_object_get(all, "pe.shifted");
    assert_true(json_array_size(pe) == 5 && json_array_size(m) == 6 && json_array_size(shifted) == 3);
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; i < 6; i++) {
            double sum = 0;
            for (size_t j = 0; j < 6; j++)
                sum += json_number_value(json_array_get(json_array_get(m, i), j)) *
                       json_number_value(json_array_get(json_array_get(pe, t), j));
            assert_printed("explain", "--shift",
                           json_number_value(json_array_get(json_array_get(pe, t + 2), i)), sum);
            assert_printed("explain", "--shift",
                           json_number_value(json_array_get(json_array_get(shifted, t), i)), sum);
        }
    json_decref(o);
    const char *out = must_run("$HEED explain --shift 1 --only M");
    assert_non_null(strstr(out, "0.54"));
    assert_null(strstr(out, "pe.shifted"));
    assert_fails("$HEED explain m a --shift 1", 2, "--shift is for the worked example");
    assert_fails("$HEED explain --shift 1 --train 3", 2, "--shift shows positions alone");
    assert_fails("$HEED explain --shift 1 --only nothing", 2, "no matrix matches 'nothing'");
}

static void a_prompt_and_the_token_after_it(void **state)
{
    (void)state;
    json_t *o = parsed("$HEED explain gpt 'the cat' --json");
    assert_string_equal(json_string_value(json_object_get(o, "model")), "gpt");
    assert_int_equal(json_array_size(json_object_get(o, "distribution")), 5);
    assert_null(json_object_get(o, "steps"));
    json_decref(o);
    o = parsed("$HEED explain ngram 'the c' --json");
    assert_int_equal(json_array_size(json_object_get(o, "shares")), 3);
    json_decref(o);
    assert_non_null(strstr(must_run("$HEED explain ngram 'the c'"), "How a got its probability"));
    assert_non_null(strstr(must_run("$HEED explain gpt ''"), "0.self.softmax"));
}

/* The tree of a search: its best is what heed translate says; twigs are in the order of steps. */
static void a_search_is_a_tree(void **state)
{
    (void)state;
    char said[512];
    snprintf(said, sizeof said, "Found: %s", must_run("echo 'a b' | $HEED translate m --beam 3"));
    said[strcspn(said, "\n")] = 0;
    assert_non_null(strstr(must_run("$HEED explain m 'a b' --beam 3"), said));
    json_t *paper = parsed("$HEED explain m 'a b' --beam 3 --json"), *parts = json_object_get(paper, "parts");
    json_t *twigs = json_object_get(json_array_get(parts, 1), "twigs");
    size_t best = 0, pruned = 0;
    for (size_t i = 0; i < json_array_size(twigs); i++) {
        json_t *t = json_array_get(twigs, i);
        const char *is = json_string_value(json_object_get(t, "state"));
        assert_true(json_integer_value(json_object_get(t, "parent")) < (json_int_t)i);
        best += !strcmp(is, "best"), pruned += !strcmp(is, "pruned");
    }
    assert_true(best > 1 && pruned > 1);
    json_decref(paper);
    must_run("$HEED explain m 'a b' --beam 2 --out tree.svg && grep -q '<svg' tree.svg");
    assert_fails("$HEED explain gpt 'a b' --beam 2", 1, "searches no translation");
    assert_fails("$HEED explain m 'a b' --out tree.svg", 2, "--out needs --backward or --beam");
    assert_fails("$HEED explain m 'a b' --beam 2 --backward", 2, "give one of them");
}

static void gradients_are_shown_by_layer_position_and_head(void **state)
{
    (void)state;
    const char *out = must_run("$HEED explain m 'a b' --backward");
    assert_true(strstr(out, "Gradients at the source") && strstr(out, "enc.emb") &&
                strstr(out, "dec.0.cross"));
    out = must_run("$HEED explain gpt 'the cat' --backward");
    assert_true(strstr(out, "what is read before each word") && !strstr(out, "at the source"));
    assert_fails("$HEED explain ngram 'a b' --backward", 1, "gradients are shown of translators");
    must_run("$HEED explain m 'a b' --backward --out g.html && grep -q '<svg' g.html");
}

static void what_cannot_be_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED explain m", 2, "TEXT is missing");
    assert_fails("$HEED explain nowhere a", 1, "nowhere: there is no such folder");
    assert_fails("$HEED explain other a", 1, "other/config.json: \"task\" is \"dance\"");
    assert_fails("$HEED explain m ''", 1, "the sentence is empty");
    assert_fails("$HEED explain m \"$(printf 'a\\377')\"", 1, "not UTF-8");
    assert_fails("$HEED explain gpt \"$(printf 'a\\377')\"", 1, "not UTF-8");
    assert_fails("$HEED explain m 'a a a a a a a a a a a a a a a a a'", 1,
                 "longer than the model can take: 16 tokens");
    assert_fails("$HEED explain gpt 'a a a a a a a a a'", 1, "10 tokens|takes 8");
    assert_fails("$HEED explain m a --step 99", 1, "no step 99");
    assert_fails("$HEED explain m a --step 0", 2, "--step: '0'");
    assert_fails("$HEED explain m a --step 1x", 2, "--step: '1x'");
    assert_fails("$HEED explain m a --step all --only 'dec.*'", 2, "--step all|--only");
    assert_fails("$HEED explain gpt a --step 1", 2, "--step");
    assert_fails("$HEED explain m a --head 3", 2, "no head 3, the model has 2");
    assert_fails("$HEED explain m a --head 0", 2, "--head: '0' is neither");
    assert_fails("$HEED explain m a --only nothing", 2, "no matrix matches 'nothing'");
    assert_fails("$HEED explain m a --train 3", 2, "--train|without MODEL");
    assert_fails("$HEED explain --head 1", 2, "--head needs MODEL");
    assert_fails("$HEED explain m a > /dev/full", 1, "write");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sentence_from_tokens_to_the_distribution),
        cmocka_unit_test(steps_heads_and_names_are_picked),
        cmocka_unit_test(printed_numbers_satisfy_the_printed_formulas),
        cmocka_unit_test(lectures_stand_beside_the_engine),
        cmocka_unit_test(positions_are_shifted_by_one_matrix),
        cmocka_unit_test(a_prompt_and_the_token_after_it),
        cmocka_unit_test(a_search_is_a_tree),
        cmocka_unit_test(gradients_are_shown_by_layer_position_and_head),
        cmocka_unit_test(what_cannot_be_is_said_once),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
