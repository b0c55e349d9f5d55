/* TEI's interface: vectors, masks, labels and rankings, by models that the program trains in a moment. */
#include "check.h"

#include <math.h>

#include "serve/client.h"

static served all;

/* "TASK" of a table or lines of a few words. */
static int train(const char *task, const char *file, const char *more)
{
    char command[1200];
    snprintf(command, sizeof command,
             "cd %s && %s train -q -d cpu --task %s --train %s --unit word --layers 1 --width 16 --seed 1 "
             "--steps 20 --lr 0.01 %s --out %s",
             scratch, HEED_PROGRAM, task, file, more, task);
    return system(command);
}

static void write_table(const char *name, const char *head, bool pairs)
{
    static const char *const words[] = {"good", "nice", "bad", "sad"}, *const things[] = {"dog", "cat",
                                                                                          "day"};
    char path[HD_PATH];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    if (head) fprintf(f, "%s\n", head);
    for (int i = 0; i < 60; i++) {
        const char *word = words[i % 4], *thing = things[i % 3], *other = things[i / 4 % 3];
        if (pairs)
            fprintf(f, "%d.0\tthe %s\ta %s %s\n", thing == other, thing, word, other);
        else if (head)
            fprintf(f, "%s\ta %s %s\n", i % 4 < 2 ? "good" : "bad", word, thing);
        else
            fprintf(f, "the %s and a %s %s\n", thing, word, other);
    }
    fclose(f);
}

static int begin(void **state)
{
    static char folder[4][HD_PATH];
    static const char *const name[] = {"model", "classify", "regress", "mlm"};
    hd_err err = {0};
    if (scratch_make(state)) return -1;
    hd_arena_init(&answers, hd_allocator_host, 0);
    if (!HEED_MICROHTTPD) return 0;
    write_table("c.tsv", "label\ttext", false);
    write_table("r.tsv", "label\ttext\ttext2", true);
    write_table("lines.txt", NULL, false);
    if (train("classify", "c.tsv", "") || train("regress", "r.tsv", "") ||
        train("mlm", "lines.txt", "--heads 2"))
        return -1;
    if (hd_folder_make(at("model"), NULL, &err) || tiny_write(at("model"), &err)) return -1;
    for (size_t i = 0; i < 4; i++) {
        snprintf(folder[i], HD_PATH, "%s/%s", scratch, name[i]);
        if (hd_served_read(&all.model[i], folder[i], i ? NULL : "en:de", &err)) return -1;
    }
    serve_models(&all, usual_options(), 4);
    return 0;
}

static int end(void **state)
{
    unserve(&all);
    hd_arena_release(&answers);
    return scratch_remove(state);
}

static const json_t *answer(const char *path, const char *body)
{
    char line[64];
    snprintf(line, sizeof line, "POST %s", path);
    const char *said = ask(&all, line, JSON, body);
    assert_answer(said, 200, "application/json");
    return json_of(said);
}

static double number(const json_t *list, size_t i, const char *key)
{
    return json_number_value(json_object_get(json_array_get(list, i), key));
}

static const char *text(const json_t *list, size_t i, const char *key)
{
    return json_string_value(json_object_get(json_array_get(list, i), key));
}

/* What `heed classify` says of a line: a number behind this key. */
static double classified(const char *task, const char *line, const char *key)
{
    char command[600], said[1000] = "";
    snprintf(command, sizeof command, "printf '%s\\n' | %s classify %s/%s -d cpu --json --top 9", line,
             HEED_PROGRAM, scratch, task);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_non_null(fgets(said, sizeof said, p));
    pclose(p);
    const char *found = strstr(said, key);
    assert_non_null(found);
    return strtod(found + strlen(key), NULL);
}

/* -- labels -- */

static void labels_are_those_of_heed_classify(void **state)
{
    (void)state;
    const json_t *x = answer("/predict", "{\"inputs\": \"a good dog\"}");
    assert_int_equal(json_array_size(x), 2);
    assert_string_equal(text(x, 0, "label"), "good");
    assert_float_equal(number(x, 0, "score"),
                       classified("classify", "a good dog", "\"good\", \"probability\": "), 1e-8);
    assert_true(fabs(number(x, 0, "score") + number(x, 1, "score") - 1) < 1e-6);
    const json_t *raw = answer("/predict", "{\"inputs\": \"a good dog\", \"raw_scores\": true}");
    assert_float_equal(exp(number(raw, 0, "score")), number(x, 0, "score"), 1e-6);
    /* a model that gives numbers gives one */
    x = answer("/predict", "{\"inputs\": [\"the dog\", \"a sad dog\"], \"model\": \"regress\"}");
    assert_int_equal(json_array_size(x), 1);
    assert_float_equal(number(x, 0, "score"), classified("regress", "the dog\\ta sad dog", "\"number\": "),
                       1e-7);
}

static void lists_have_a_list_for_each(void **state)
{
    (void)state;
    const json_t *x = answer("/predict", "{\"inputs\": [[\"a good dog\"], [\"a bad cat\"], [\"a\", \"b\"]]}");
    assert_int_equal(json_array_size(x), 3);
    assert_string_equal(text(json_array_get(x, 0), 0, "label"), "good");
    assert_string_equal(text(json_array_get(x, 1), 0, "label"), "bad");
    const json_t *one = answer("/predict", "{\"inputs\": \"a bad cat\"}");
    assert_true(json_equal(json_array_get(x, 1), one));
    /* one list of texts is a text or a pair */
    assert_true(json_equal(answer("/predict", "{\"inputs\": [\"a bad cat\"]}"), one));
}

/* -- rankings -- */

static void texts_are_ranked_by_what_the_model_says_of_the_pairs(void **state)
{
    (void)state;
    const json_t *x =
        answer("/rerank", "{\"query\": \"the dog\", \"texts\": [\"a sad cat\", \"a good dog\", \"a day\"], "
                          "\"return_text\": true, \"raw_scores\": true}");
    assert_int_equal(json_array_size(x), 3);
    for (size_t i = 0; i < 3; i++) {
        static const char *const texts[] = {"a sad cat", "a good dog", "a day"};
        char pair[64];
        const char *own = texts[(size_t)number(x, i, "index")];
        assert_string_equal(text(x, i, "text"), own);
        snprintf(pair, sizeof pair, "the dog\\t%s", own);
        assert_float_equal(number(x, i, "score"), classified("regress", pair, "\"number\": "), 1e-7);
        if (i) assert_true(number(x, i - 1, "score") >= number(x, i, "score"));
    }
    const json_t *plain =
        answer("/rerank", "{\"query\": \"the dog\", \"texts\": [\"a sad cat\", \"a good dog\", \"a day\"]}");
    assert_true(fabs(number(plain, 0, "score") - 1 / (1 + exp(-number(x, 0, "score")))) < 1e-6);
    assert_null(text(plain, 0, "text"));
    /* as Jina asks */
    const json_t *jina =
        answer("/v1/rerank", "{\"query\": \"the dog\", \"documents\": [\"a sad cat\", \"a good dog\", "
                             "\"a day\"], \"top_n\": 2}");
    const json_t *results = json_object_get(jina, "results");
    assert_int_equal(json_array_size(results), 2);
    assert_float_equal(number(results, 0, "relevance_score"), number(x, 0, "score"), 1e-8);
    assert_string_equal(json_string_value(json_object_get(jina, "model")), "regress");
}

/* -- vectors and masks -- */

static void vectors_have_length_one_unless_told(void **state)
{
    (void)state;
    const json_t *x = answer("/embed", "{\"inputs\": [\"the dog\", \"a sad cat\", \"  \"]}");
    assert_int_equal(json_array_size(x), 3);
    const json_t *plain = answer("/embed", "{\"inputs\": \"the dog\", \"normalize\": false}");
    const json_t *some =
        answer("/embed", "{\"inputs\": \"the dog\", \"normalize\": false, \"dimensions\": 3}");
    assert_int_equal(json_array_size(json_array_get(some, 0)), 3);
    double sum = 0, length = 0;
    for (size_t k = 0; k < 16; k++) {
        double a = json_number_value(json_array_get(json_array_get(x, 0), k)),
               b = json_number_value(json_array_get(json_array_get(plain, 0), k));
        sum += a * a, length += b * b;
        if (k < 3) assert_float_equal(b, json_number_value(json_array_get(json_array_get(some, 0), k)), 1e-8);
        assert_float_equal(json_number_value(json_array_get(json_array_get(x, 2), k)), 0, 0); /* no token */
    }
    assert_float_equal(sum, 1, 1e-6);
    assert_true(fabs(length - 1) > 1e-3);
    /* OpenAI's are the same numbers */
    const json_t *other = answer("/v1/embeddings", "{\"model\": \"mlm\", \"input\": \"the dog\"}");
    other = json_object_get(json_array_get(json_object_get(other, "data"), 0), "embedding");
    assert_true(json_equal(other, json_array_get(plain, 0)));
}

static void masks_are_filled_with_the_likeliest(void **state)
{
    (void)state;
    const json_t *x = answer("/fill-mask", "{\"inputs\": \"the [MASK] and a\", \"top_k\": 3}");
    assert_int_equal(json_array_size(x), 3);
    for (size_t i = 0; i < 3; i++) {
        char whole[64];
        snprintf(whole, sizeof whole, "the %s and a", text(x, i, "token_str"));
        assert_string_equal(text(x, i, "sequence"), whole);
        if (i) assert_true(number(x, i - 1, "score") >= number(x, i, "score"));
    }
    /* of several masks a list for each, of a list of texts, too */
    x = answer("/fill-mask", "{\"inputs\": [\"a [MASK] [MASK]\", \"[MASK]\"]}");
    assert_int_equal(json_array_size(x), 2);
    assert_int_equal(json_array_size(json_array_get(x, 0)), 2);
    assert_int_equal(json_array_size(json_array_get(json_array_get(x, 0), 0)), 5);
    assert_int_equal(json_array_size(json_array_get(x, 1)), 5);
    assert_non_null(strstr(text(json_array_get(json_array_get(x, 0), 1), 0, "sequence"), "a [MASK] "));
}

static void errors_are_those_of_tei(void **state)
{
    (void)state;
    static const struct {
        const char *path, *body;
        int status;
        const char *says;
    } cases[] = {
        {"/predict", "{}", 422, "\"error_type\": \"Validation\""},
        {"/predict", "{\"inputs\": []}", 400, "\"error_type\": \"Empty\""},
        {"/predict", "{\"inputs\": \"\"}", 400, "\"error_type\": \"Empty\""},
        {"/predict", "{\"inputs\": [\"a\", \"b\", \"c\"]}", 422, "lists of one or two"},
        {"/predict", "{\"inputs\": [[\"a\"], \"b\"]}", 422, "Validation"},
        {"/predict", "{\"inputs\": \"a\", \"raw_scores\": 1}", 422, "`raw_scores` must be true or false"},
        {"/predict", "{\"inputs\": \"a\", \"model\": \"mlm\"}", 422, "no model 'mlm' for labels"},
        {"/rerank", "{\"query\": \"a\", \"texts\": []}", 400, "Empty"},
        {"/rerank", "{\"texts\": [\"a\"]}", 422, "`query` must be a text"},
        {"/rerank", "{\"query\": \"a\", \"texts\": [1]}", 422, "`texts` must hold texts"},
        {"/rerank", "{\"query\": \"a\", \"documents\": [\"b\"], \"top_n\": 0}", 422, "`top_n`"},
        {"/rerank", "{\"query\": \"a\", \"texts\": [\"b\"], \"model\": \"classify\"}", 422,
         "no model 'classify'"},
        {"/embed", "{\"inputs\": [\"a\", 1]}", 422, "Validation"},
        {"/embed", "{\"inputs\": \"a\", \"dimensions\": \"3\"}", 422, "`dimensions`"},
        {"/fill-mask", "{\"inputs\": \"a\"}", 400, "MASK"},
        {"/fill-mask", "{\"inputs\": \"[MASK]\", \"top_k\": 0}", 422, "`top_k`"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char line[64];
        snprintf(line, sizeof line, "POST %s", cases[i].path);
        assert_answer(ask(&all, line, JSON, cases[i].body), cases[i].status, cases[i].says);
    }
    /* a server that has no such model */
    served other;
    serve(&other, usual_options(), false);
    assert_answer(ask(&other, "POST /predict", JSON, "{\"inputs\": \"a\"}"), 424,
                  "\"error_type\": \"Backend\"");
    assert_answer(ask(&other, "POST /rerank", JSON, "{\"query\": \"a\", \"texts\": [\"b\"]}"), 424,
                  "Backend");
    assert_answer(ask(&other, "POST /embed", JSON, "{\"inputs\": \"a\"}"), 424, "Backend");
    assert_answer(ask(&other, "POST /fill-mask", JSON, "{\"inputs\": \"[MASK]\"}"), 424, "Backend");
    unserve(&other);
}

int main(void)
{
    if (!HEED_MICROHTTPD) return puts("skipped: built without libmicrohttpd"), 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_those_of_heed_classify),
        cmocka_unit_test(lists_have_a_list_for_each),
        cmocka_unit_test(texts_are_ranked_by_what_the_model_says_of_the_pairs),
        cmocka_unit_test(vectors_have_length_one_unless_told),
        cmocka_unit_test(masks_are_filled_with_the_likeliest),
        cmocka_unit_test(errors_are_those_of_tei),
    };
    return outcome(cmocka_run_group_tests(tests, begin, end));
}
