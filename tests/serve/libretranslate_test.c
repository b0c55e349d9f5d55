/* LibreTranslate's interface, as its clients write requests and read answers. */
#include "check.h"

#include "serve/client.h"

static served both;

static int begin(void **state)
{
    if (scratch_make(state)) return -1;
    if (HEED_MICROHTTPD) serve(&both, usual_options(), true);
    return 0;
}

static int end(void **state)
{
    unserve(&both);
    return scratch_remove(state);
}

/* What `heed translate` gives for a line. */
static const char *expected(const char *line, size_t which)
{
    static char text[512];
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder f = {0};
    hd_translations found = {0};
    hd_translate_opt opt = usual_options().engine.translate;
    opt.search.best = which + 1;
    hd_line l = {line, strlen(line)};
    if (hd_model_folder_open(&f, at("model"), "translate", b, HD_WEIGHTS_BEST, &err) ||
        hd_translate(&found, &r, &f, &l, NULL, 1, &opt, &err))
        fail_msg("%s", err.text);
    snprintf(text, sizeof text, "\"%s\"", found.of[0].hypothesis[which].text);
    hd_translations_release(&found);
    hd_model_folder_release(&f);
    hd_run_release(&r);
    hd_backend_free(b);
    return text;
}

static void all_ways_to_write_a_request_give_the_same(void **state)
{
    (void)state;
    char all[600], part[900];
    snprintf(all, sizeof all, "{\"translatedText\": %s}", expected("i ate an apple .", 0));
    assert_answer(ask(&both, "POST /translate", FORM, "q=i+ate+an%20apple+.&source=en&target=de"), 200, all);
    assert_answer(
        ask(&both, "POST /translate", JSON,
            "{\"q\": \"i ate an apple .\", \"source\": \"EN\", \"target\": \"de\", \"api_key\": null, "
            "\"secret\": 1}"),
        200, all);
    assert_answer(ask(&both, "POST /translate?q=i+ate+an%20apple+.&source=en&target=de", "", ""), 200, all);
    assert_answer(ask(&both, "POST /translate", "Content-Type: multipart/form-data; boundary=xyz\r\n",
                      "--xyz\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\ni ate an apple .\r\n"
                      "--xyz\r\ncontent-disposition: form-data; name=source\r\n\r\nen\r\n"
                      "--xyz\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nde\r\n--xyz--\r\n"),
                  200, all);
    /* the query wins over the form, and the first of two */
    assert_answer(
        ask(&both, "POST /translate?q=i+ate+an+apple+.", FORM, "q=dog&source=en&target=de&target=xx"), 200,
        all);
    snprintf(part, sizeof part, "\"translatedText\": [%s, ", expected("are you tired ?", 0));
    assert_answer(ask(&both, "POST /translate", JSON,
                      "{\"q\": [\"are you tired ?\", \"i ate an apple .\"], \"source\": \"en\", \"target\": "
                      "\"de\"}"),
                  200, part);
}

static void lines_are_translated_one_by_one(void **state)
{
    (void)state;
    char one[512], both_lines[1100];
    snprintf(one, sizeof one, "%s", expected("i ate an apple .", 0));
    one[strlen(one) - 1] = 0;
    snprintf(both_lines, sizeof both_lines, "%s\\u000a\\u000a%s", one, expected("are you tired ?", 0) + 1);
    assert_answer(
        ask(&both, "POST /translate", FORM, "q=i+ate+an+apple+.%0d%0a%0aare+you+tired+?&source=en&target=de"),
        200, both_lines);
}

static void alternatives_are_the_next_best(void **state)
{
    (void)state;
    char second[600];
    snprintf(second, sizeof second, "\"alternatives\": [%s]", expected("i ate an apple .", 1));
    assert_answer(
        ask(&both, "POST /translate", FORM, "q=i+ate+an+apple+.&source=en&target=de&alternatives=1"), 200,
        second);
    assert_answer(ask(&both, "POST /translate", JSON,
                      "{\"q\": [\"i ate it\"], \"source\": \"en\", \"target\": \"de\", \"alternatives\": 1}"),
                  200, "\"alternatives\": [[\"|\"]], ");
    assert_null(strstr(ask(&both, "POST /translate", FORM, "q=i+ate&source=en&target=de&alternatives=-3"),
                       "alternatives"));
    assert_answer(ask(&both, "POST /translate", FORM, "q=i+ate&source=en&target=de&alternatives=many"), 400,
                  "alternatives");
    assert_answer(ask(&both, "POST /translate", FORM, "q=i+ate&source=en&target=de&alternatives=99"), 400,
                  "alternatives");
}

static void languages_are_found_by_what_the_models_read(void **state)
{
    (void)state;
    assert_answer(ask(&both, "POST /translate", FORM, "q=are+you+tired+?&source=auto&target=de"), 200,
                  "\"detectedLanguage\": {\"confidence\": |\"language\": \"en\"}");
    /* both tiny models were made from English to German words: texts of either are told apart by these */
    assert_answer(ask(&both, "POST /detect", FORM, "q=are+you+tired"), 200,
                  "[{\"confidence\": |\"language\": ");
    assert_answer(
        ask(&both, "GET /languages", "", NULL), 200,
        "[{\"code\": \"en\", \"name\": \"English\", \"targets\": [\"de\"]}, {\"code\": \"de\", \"name\": "
        "\"German\", \"targets\": [\"en\"]}]");
    assert_answer(ask(&both, "GET /languages", FORM, "api_key=x"), 200, "\"English\"");
    assert_answer(ask(&both, "POST /translate", FORM, "q=Hund&source=de&target=de"), 200,
                  "{\"translatedText\": \"Hund\"}");
}

static void errors_are_worded_as_clients_expect(void **state)
{
    (void)state;
    static const struct {
        const char *line, *type, *body;
        int status;
        const char *says;
    } cases[] = {
        {"POST /translate", FORM, "source=en&target=de", 400,
         "{\"error\": \"Invalid request: missing q parameter\"}"},
        {"POST /translate", FORM, "q=a&target=de", 400, "missing source parameter"},
        {"POST /translate", FORM, "q=a&source=en", 400, "missing target parameter"},
        {"POST /translate", FORM, "q=a&source=fr&target=de", 400, "fr is not supported"},
        {"POST /translate", FORM, "q=a&source=en&target=xx", 400, "xx is not supported"},
        {"POST /translate", JSON, "[1]", 400, "Invalid JSON format"},
        {"POST /translate", JSON, "{\"q\": \"a\", \"q\": \"b\"}", 400, "Invalid JSON format"},
        {"POST /translate", JSON, "{\"q\": \"\\ud800\"}", 400, "Invalid JSON format"},
        {"POST /translate", JSON, "{\"q\": [1], \"source\": \"en\", \"target\": \"de\"}", 400,
         "Invalid request"},
        {"POST /translate", FORM, "q=%ff&source=en&target=de", 400, "not UTF-8"},
        {"POST /translate", FORM, "q=%4&source=en&target=de", 400, "not escaped well"},
        {"POST /translate", FORM, "q=%00&source=en&target=de", 400, "not escaped well"},
        {"POST /detect", FORM, "a=b", 400, "missing q parameter"},
        {"POST /suggest", FORM, "q=a", 403, "error"},
        {"POST /translate_file", FORM, "q=a", 403, "error"},
        {"GET /translate", "", NULL, 405, "Allow: POST, OPTIONS"},
        {"GET /nowhere", "", NULL, 404, "{\"error\": \"Not found\"}"},
        {"GET /%2e%2e/etc/passwd", "", NULL, 404, "error"},
        {"OPTIONS /translate", "", NULL, 204, "Allow: POST, OPTIONS"},
        {"GET /health", "", NULL, 200, "{\"status\": \"ok\"}"},
        {"GET /frontend/settings", "", NULL, 200, "\"charLimit\": -1|\"keyRequired\": false"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_answer(ask(&both, cases[i].line, cases[i].type, cases[i].body), cases[i].status,
                      cases[i].says);
}

static void text_that_is_html_is_data(void **state)
{
    (void)state;
    assert_answer(ask(&both, "POST /translate", FORM, "q=%3Cb%3E&source=de&target=de"), 200,
                  "Content-Type: application/json|nosniff");
}

/* With random weights words may go anywhere: what stays is each passage's translation, and the tags. */
static void tags_of_html_stay_and_the_rest_is_translated(void **state)
{
    (void)state;
    char part[1200], one[512];
    snprintf(one, sizeof one, "%s", expected("i ate an apple .", 0));
    one[strlen(one) - 1] = 0;
    snprintf(part, sizeof part, "\"translatedText\": \"<p>%s</p><script>a<b</script>\"", one + 1);
    assert_answer(ask(&both, "POST /translate", JSON,
                      "{\"q\": \"<p>i ate an apple .</p><script>a<b</script>\", \"source\": \"en\", "
                      "\"target\": \"de\", \"format\": \"html\"}"),
                  200, part);
    /* all of a passage */
    snprintf(part, sizeof part,
             "\"alternatives\": [[], []], \"translatedText\": [\"<p><b id='x'>%s</b></p>\", \"1 &lt; <br>\"]",
             one + 1);
    assert_answer(ask(&both, "POST /translate", JSON,
                      "{\"q\": [\"<p><b id='x'>i ate an apple .</b></p>\", \"1 &lt; <br>\"], \"source\": "
                      "\"en\", \"target\": \"de\", \"format\": \"html\", \"alternatives\": 2}"),
                  200, part);
    /* within one */
    const char *said =
        body_of(ask(&both, "POST /translate", FORM,
                    "q=i+%3Ci%3Eate%3C/i%3E+an+%3Cb%3Eapple%3C/b%3E+.&source=en&target=de&format=html"));
    char plain[600] = "";
    const char *text = strstr(said, "\": \"");
    assert_non_null(text);
    assert_true(strstr(said, "<i>") && strstr(said, "</i>") && strstr(said, "<b>") && strstr(said, "</b>"));
    for (text += 4; strncmp(text, "\"}", 2); text++) {
        if (*text == '<') text = strchr(text, '>');
        if (*text != '>') strncat(plain, text, 1);
    }
    assert_string_equal(plain, one + 1);
    assert_answer(ask(&both, "POST /translate", FORM, "q=a&source=en&target=de&format=pdf"), 400,
                  "pdf format is not supported");
}

int main(void)
{
    if (!HEED_MICROHTTPD) return puts("skipped: built without libmicrohttpd"), 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_to_write_a_request_give_the_same),
        cmocka_unit_test(lines_are_translated_one_by_one),
        cmocka_unit_test(alternatives_are_the_next_best),
        cmocka_unit_test(languages_are_found_by_what_the_models_read),
        cmocka_unit_test(errors_are_worded_as_clients_expect),
        cmocka_unit_test(text_that_is_html_is_data),
        cmocka_unit_test(tags_of_html_stay_and_the_rest_is_translated),
    };
    return outcome(cmocka_run_group_tests(tests, begin, end));
}
