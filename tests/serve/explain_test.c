/* heed's own interface: probabilities, alternatives, hypotheses, attention, factors of heads. */
#include "check.h"

#include "serve/client.h"

/* The answer to a request in JSON, which must have this status; good until the test program ends. */
static const json_t *answer(const char *path, const char *body, int status)
{
    char line[64], begin_of[32];
    snprintf(line, sizeof line, "POST %s", path);
    snprintf(begin_of, sizeof begin_of, "HTTP/1.1 %d ", status);
    const char *said = ask(&usual, line, JSON, body);
    if (strncmp(said, begin_of, strlen(begin_of))) fail_msg("%s: %s", body, said);
    return json_of(said);
}

static const char *text_of(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static double number_of(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static const json_t *item(const json_t *o, const char *key, size_t i)
{
    return json_array_get(json_object_get(o, key), i);
}

static void the_translation_is_that_of_heed_translate(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder f = {0};
    hd_translations found = {0};
    hd_translate_opt opt = usual_options().engine.translate;
    const hd_line l = {"i ate an apple .", 16};
    opt.search.best = 5, opt.search.unscored = false;
    if (hd_model_folder_open(&f, at("model"), "translate", b, HD_WEIGHTS_BEST, &err) ||
        hd_translate(&found, &r, &f, &l, NULL, 1, &opt, &err))
        fail_msg("%s", err.text);
    const hd_hypothesis *h = found.of[0].hypothesis;
    const json_t *x = answer("/v1/explain", "{\"text\": \"i ate an apple .\"}", 200);
    assert_string_equal(text_of(x, "text"), h->text);
    assert_true(fabs(number_of(x, "score") - h->score) <= 1e-8 * fabs(h->score));
    assert_int_equal(json_array_size(json_object_get(x, "target")), h->length);
    assert_int_equal(json_array_size(json_object_get(x, "hypotheses")), found.of[0].count);
    for (size_t i = 0; i < h->length; i++) {
        assert_int_equal(number_of(item(x, "target", i), "id"), h->ids[i]);
        assert_float_equal(number_of(item(x, "target", i), "logp"), (double)h->logp[i], 1e-7);
        /* the likeliest are the first, and the token itself is where its rank says */
        size_t rank = (size_t)number_of(item(x, "target", i), "rank");
        if (rank <= 10)
            assert_int_equal(number_of(item(item(x, "target", i), "top", rank - 1), "id"), h->ids[i]);
    }
    hd_translations_release(&found);
    hd_model_folder_release(&f);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* From the last token of the best hypothesis back to the first step, by parents. */
static void hypotheses_of_a_beam_lead_back_to_their_beginning(void **state)
{
    (void)state;
    const json_t *x = answer("/v1/explain", "{\"text\": \"are you tired ?\", \"beam\": 3}", 200);
    const json_t *steps = json_object_get(x, "beams"), *target = json_object_get(x, "target");
    size_t last = json_array_size(target) - 1, at = SIZE_MAX;
    double sum = number_of(x, "sum");
    for (size_t i = 0; i < json_array_size(json_array_get(steps, last)); i++) {
        const json_t *n = json_array_get(json_array_get(steps, last), i);
        if (!strcmp(text_of(n, "state"), "finished") && fabs(number_of(n, "sum") - sum) < 1e-6) at = i;
    }
    for (size_t i = last + 1; i--;) {
        const json_t *n = json_array_get(json_array_get(steps, i), at);
        assert_non_null(n);
        assert_int_equal(number_of(n, "id"), number_of(json_array_get(target, i), "id"));
        if (i < last) assert_string_equal(text_of(n, "state"), "live");
        at = (size_t)(long)number_of(n, "parent"); /* -1 where it begins: not of a double straight away */
    }
    assert_int_equal(at, (size_t)-1);
}

static void a_head_that_is_off_changes_it_and_one_that_is_on_again_does_not(void **state)
{
    (void)state;
    static char before[ANSWER_ROOM];
    const char *plain = "{\"text\": \"i ate an apple .\"}";
    snprintf(before, sizeof before, "%s", body_of(ask(&usual, "POST /v1/explain", JSON, plain)));
    const char *off = body_of(ask(&usual, "POST /v1/explain", JSON,
                                  "{\"text\": \"i ate an apple .\", \"heads\": \"enc.1.self.0=0\"}"));
    assert_string_not_equal(off, before);
    assert_string_equal(body_of(ask(&usual, "POST /v1/explain", JSON,
                                    "{\"text\": \"i ate an apple .\", \"heads\": \"enc.1.self.0=1\"}")),
                        before);
    assert_string_equal(body_of(ask(&usual, "POST /v1/explain", JSON, plain)), before);
}

static void what_is_forced_comes_first(void **state)
{
    (void)state;
    const json_t *x = answer("/v1/explain", "{\"text\": \"i ate an apple .\"}", 200);
    int other = (int)number_of(item(item(x, "target", 0), "top", 2), "id");
    char body[256];
    snprintf(body, sizeof body, "{\"text\": \"i ate an apple .\", \"prefix\": [%d]}", other);
    const json_t *y = answer("/v1/explain", body, 200);
    assert_int_equal(number_of(item(y, "target", 0), "id"), other);
    assert_true(json_is_true(json_object_get(item(y, "target", 0), "given")));
    assert_int_equal(number_of(item(y, "target", 0), "rank"), 3);
    assert_true(number_of(y, "sum") < 0 && number_of(y, "forced") == 1);
    y = answer("/v1/explain", "{\"text\": \"i ate an apple .\", \"target\": \"ich müde\"}", 200);
    assert_string_equal(text_of(y, "text"), "ich müde");
    assert_int_equal(json_array_size(json_object_get(y, "target")), 3); /* and the end */
    assert_null(json_object_get(y, "beams"));
}

static void attention_adds_up_to_one_and_heads_are_chosen_by_name(void **state)
{
    (void)state;
    const json_t *all = answer("/v1/attention", "{\"text\": \"are you tired ?\"}", 200);
    assert_int_equal(json_array_size(json_object_get(all, "attention")), 3 * TINY_LAYERS * TINY_HEADS);
    for (size_t i = 0; i < json_array_size(json_object_get(all, "attention")); i++) {
        const json_t *h = item(all, "attention", i), *rows = json_object_get(h, "weights");
        assert_int_equal(json_array_size(rows), number_of(h, "rows"));
        for (size_t k = 0; k < json_array_size(rows); k++) {
            double sum = 0;
            for (size_t c = 0; (double)c < number_of(h, "cols"); c++)
                sum += json_number_value(json_array_get(json_array_get(rows, k), c));
            assert_float_equal(sum, 1, 1e-4); /* six digits of each */
        }
    }
    const json_t *some = answer(
        "/v1/attention", "{\"text\": \"are you tired ?\", \"select\": \"dec.*.cross.1,enc.0.self.0\"}", 200);
    assert_int_equal(json_array_size(json_object_get(some, "attention")), TINY_LAYERS + 1);
    assert_string_equal(text_of(item(some, "attention", 0), "name"), "enc.0.self.0");
    assert_string_equal(text_of(item(some, "attention", 1), "name"), "dec.0.cross.1");
    some = answer("/v1/attention",
                  "{\"text\": \"are you tired ?\", \"select\": \"enc.0.self.0\", \"encoding\": \"base64\"}",
                  200);
    const json_t *h = item(some, "attention", 0);
    size_t bytes = (size_t)(number_of(h, "rows") * number_of(h, "cols") * 4);
    assert_int_equal(json_string_length(json_object_get(h, "weights")), (bytes + 2) / 3 * 4);
}

static void limits_and_mistakes_are_told(void **state)
{
    (void)state;
    static char longest[9000];
    static const struct {
        const char *path, *body;
        int status;
        const char *says;
    } cases[] = {
        {"/v1/explain", "{}", 400, "'text' is required"},
        {"/v1/explain", "{\"text\": \"  \"}", 400, "the text is empty"},
        {"/v1/explain", "{\"text\": \"a\", \"model\": \"none\"}", 404, "does not exist"},
        {"/v1/explain", "{\"text\": \"a\", \"beam\": 99}", 400, "'beam' must be a whole number from 0 to 16"},
        {"/v1/explain", "{\"text\": \"a\", \"temperature\": \"hot\"}", 400, "'temperature' must be a number"},
        {"/v1/explain", "{\"text\": \"a\", \"heads\": \"enc.7.self.0=0\"}", 400,
         "its heads are enc.0-1.self"},
        {"/v1/explain", "{\"text\": \"a\", \"prefix\": [99999]}", 404, "there is no token 99999"},
        {"/v1/explain", "{\"text\": \"a\", \"prefix\": [\"x\"]}", 400, "whole numbers"},
        {"/v1/explain", "{\"text\": \"a\", \"part\": 3}", 400, "there is no sentence 3"},
        {"/v1/explain", "{\"text\": \"a\", \"length_penalty\": \"much\"}", 400, "'length_penalty' must be"},
        {"/v1/attention", "{\"text\": \"a\", \"encoding\": \"hex\"}", 400, "float, base64 or bytes"},
        {"/v1/attention", "{\"text\": \"a\", \"select\": \"enc.9.self.0\"}", 400, "no head enc.9.self.0"},
        {"/v1/explain", longest, 413, "at most 8192"},
    };
    size_t n = (size_t)snprintf(longest, sizeof longest, "{\"text\": \"");
    memset(longest + n, 'a', 8500);
    snprintf(longest + n + 8500, sizeof longest - n - 8500, "\"}");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const json_t *x = answer(cases[i].path, cases[i].body, cases[i].status);
        const char *says = text_of(json_object_get(x, "error"), "message");
        if (!says || !strstr(says, cases[i].says)) fail_msg("%s: %s", cases[i].body, says);
    }
}

static void models_say_what_can_be_asked(void **state)
{
    (void)state;
    assert_answer(
        ask(&usual, "GET /v1/explain", "", NULL), 200,
        "\"kind\": \"translator\"|\"source\": \"en\"|{\"name\": \"dec.1.cross\", \"kind\": \"cross\", "
        "\"heads\": 2}|\"limits\": {|\"device\": \"cpu, |\"precision\": \"f32\"");
}

static void the_page_is_part_of_the_program(void **state)
{
    (void)state;
    assert_answer(ask(&usual, "GET /", "", NULL), 200,
                  "<!doctype html>|Content-Type: text/html|Content-Security-Policy: default-src 'self'|"
                  "frame-ancestors 'none'\r\n|nosniff");
    assert_answer(ask(&usual, "GET /page/index.html", "", NULL), 200, "<!doctype html>");
    assert_answer(ask(&usual, "GET /page/../page.c", "", NULL), 404, "Not found");
    assert_answer(ask(&usual, "GET /page/", "", NULL), 404, "Not found");
    assert_answer(ask(&usual, "GET /nowhere", "", NULL), 404, "Not found");
}

int main(void)
{
    if (!HEED_MICROHTTPD) return puts("skipped: built without libmicrohttpd"), 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_translation_is_that_of_heed_translate),
        cmocka_unit_test(hypotheses_of_a_beam_lead_back_to_their_beginning),
        cmocka_unit_test(a_head_that_is_off_changes_it_and_one_that_is_on_again_does_not),
        cmocka_unit_test(what_is_forced_comes_first),
        cmocka_unit_test(attention_adds_up_to_one_and_heads_are_chosen_by_name),
        cmocka_unit_test(limits_and_mistakes_are_told),
        cmocka_unit_test(models_say_what_can_be_asked),
        cmocka_unit_test(the_page_is_part_of_the_program),
    };
    return outcome(cmocka_run_group_tests(tests, usual_begin, usual_end));
}
