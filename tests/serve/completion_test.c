/* OpenAI's completions and chat, as its clients write requests and read answers. */
#include "check.h"

#include "serve/client.h"
#include "task/speaker.h"
#include "view/draw/json_members.h"

static served three; /* "lm", "talk", which has a template, and "wide", which sees 32 tokens */

static int begin(void **state)
{
    static char folder[3][HD_PATH];
    static const char *const name[] = {"lm", "talk", "wide"};
    static const char form[] = "{% for m in messages %}{{ m.content }} {% endfor %}";
    hd_err err = {0};
    if (scratch_make(state)) return -1;
    for (int i = 0; i < 3; i++) {
        snprintf(folder[i], HD_PATH, "%s/%s", scratch, name[i]);
        speaker_folder_seeing(folder[i], HD_LM_gpt, HD_TOKENIZER_words, i == 2 ? 32 : 8);
        if (hd_served_read(&three.model[i], folder[i], NULL, &err)) return -1;
    }
    put_bytes(at("talk/chat_template.jinja"), form, strlen(form));
    if (!HEED_MICROHTTPD) return 0;
    hd_server_opt o = usual_options();
    o.models = (hd_models){three.model, 3};
    if (hd_server_open(&three.server, &o, &err)) return print_error("%s\n", err.text), -1;
    three.port = atoi(strrchr(hd_server_url(three.server), ':') + 1);
    return 0;
}

static int end(void **state)
{
    unserve(&three);
    return scratch_remove(state);
}

static const char *complete(const char *body)
{
    return ask(&three, "POST /v1/completions", JSON, body);
}

static const char *chat(const char *body)
{
    return ask(&three, "POST /v1/chat/completions", JSON, body);
}

/* What `heed generate` writes, as a JSON string. */
static const char *expected(const char *prompt, hd_generate_opt o)
{
    static char text[2048];
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder f = {0};
    hd_generated g = {0};
    hd_line l = {prompt, strlen(prompt)};
    hd_text out = {0};
    if (hd_model_folder_open(&f, at("lm"), "lm", b, HD_WEIGHTS_BEST, &err) ||
        hd_generate(&g, &r, &f, &l, 1, &o, &err))
        fail_msg("%s", err.text);
    hd_member_text(&out, NULL, g.text.data ? g.text.data : "");
    snprintf(text, sizeof text, "%s", out.data);
    hd_text_release(&out);
    hd_generated_release(&g);
    hd_model_folder_release(&f);
    hd_run_release(&r);
    hd_backend_free(b);
    return text;
}

static void need_server(void)
{
    if (!HEED_MICROHTTPD) leave_out("built without libmicrohttpd");
}

static void completions_are_those_of_heed_generate(void **state)
{
    (void)state;
    need_server();
    char part[2400];
    snprintf(part, sizeof part,
             "\"object\": \"text_completion\"|\"model\": \"lm\"|\"text\": %s, \"logprobs\": null, "
             "\"finish_reason\": \"length\"|\"usage\": {\"prompt_tokens\": 3, \"completion_tokens\": 12, "
             "\"total_tokens\": 15, \"prompt_tokens_details\": {\"cached_tokens\": 0}}",
             expected("the cat", (hd_generate_opt){.tokens = 12, .temperature = 1, .seed = 3}));
    assert_answer(complete("{\"model\": \"lm\", \"prompt\": \"the cat\", \"max_tokens\": 12, \"seed\": 3}"),
                  200, part);
    /* two prompts, two samples each: choices prompt after prompt */
    assert_answer(complete("{\"model\": \"lm\", \"prompt\": [\"the\", \"a\"], \"max_tokens\": 3, \"n\": 2, "
                           "\"seed\": 3, \"temperature\": null}"),
                  200, "\"index\": 0|\"index\": 3|\"completion_tokens\": 12");
    snprintf(part, sizeof part, "\"text\": \"the cat%s",
             expected("the cat", (hd_generate_opt){.tokens = 16}) + 1);
    assert_answer(
        complete("{\"model\": \"lm\", \"prompt\": \"the cat\", \"temperature\": 0, \"echo\": true}"), 200,
        part);
    assert_answer(complete("{\"model\": \"lm\", \"prompt\": \"the\", \"max_tokens\": 2, \"logprobs\": 2}"),
                  200, "\"tokens\": [|\"token_logprobs\": [-|\"top_logprobs\": [{\"|\"text_offset\": [0, ");
}

/* Whole blocks of 16 tokens. */
static void what_was_read_for_others_is_counted(void **state)
{
    (void)state;
    need_server();
    static const char long_one[] =
        "{\"model\": \"wide\", \"prompt\": \"a a the a cat the a the the cat a a cat the a cat "
        "the cat a the\", \"max_tokens\": 1}";
    assert_answer(complete(long_one), 200, "\"prompt_tokens\": 21|\"cached_tokens\": 0}");
    assert_answer(complete(long_one), 200, "\"prompt_tokens\": 21|\"cached_tokens\": 16}");
}

static void stops_end_texts(void **state)
{
    (void)state;
    need_server();
    const char *whole = expected("the", (hd_generate_opt){.tokens = 16});
    char stop[8] = {0}, body[200], part[64];
    stop[0] = whole[3]; /* a letter of the first word */
    const char *first = strchr(whole, stop[0]);
    snprintf(part, sizeof part, "\"text\": %.*s\", ", (int)(first - whole), whole);
    snprintf(body, sizeof body,
             "{\"model\": \"lm\", \"prompt\": \"the\", \"temperature\": 0, \"stop\": [\"%s\"]}", stop);
    assert_answer(complete(body), 200, part);
    assert_answer(complete(body), 200, "\"finish_reason\": \"stop\"");
}

static void chats_go_through_the_template(void **state)
{
    (void)state;
    need_server();
    assert_answer(
        chat("{\"model\": \"talk\", \"messages\": [{\"role\": \"user\", \"content\": \"the cat\"}], "
             "\"max_tokens\": 4, \"temperature\": 0, \"logprobs\": true, \"top_logprobs\": 1}"),
        200,
        "\"object\": \"chat.completion\"|\"message\": {\"role\": \"assistant\", \"content\": \"|"
        "\"logprobs\": {\"content\": [{\"token\": \"|\"bytes\": [|\"top_logprobs\": [{\"token\": |"
        "\"prompt_tokens\": ");
    assert_answer(
        chat("{\"model\": \"talk\", \"messages\": [{\"role\": \"developer\", \"content\": "
             "[{\"type\": \"text\", \"text\": \"the\"}]}, {\"role\": \"user\", \"content\": null}]}"),
        200, "\"role\": \"assistant\"");
    assert_answer(chat("{\"model\": \"lm\", \"messages\": [{\"role\": \"user\", \"content\": \"the\"}]}"),
                  400, "no chat template|\"type\": \"invalid_request_error\"");
    assert_answer(chat("{\"model\": \"talk\", \"messages\": [{\"role\": \"user\", \"content\": "
                       "\"the the the the the the the the the the\"}]}"),
                  400, "shorten them");
}

static void streams_are_events_that_end(void **state)
{
    (void)state;
    need_server();
    const char *a = complete("{\"model\": \"lm\", \"prompt\": \"the\", \"max_tokens\": 5, \"stream\": true, "
                             "\"temperature\": 0, \"stream_options\": {\"include_usage\": true}}");
    assert_answer(a, 200,
                  "Content-Type: text/event-stream|Cache-Control: no-cache|data: {\"id\": \"cmpl-|"
                  "\"finish_reason\": null}], \"usage\": null}\n\n|\"finish_reason\": \"length\"|"
                  "\"choices\": [], \"usage\": {\"prompt_tokens\": 2, \"completion_tokens\": 5, |"
                  "data: [DONE]\n\n");
    /* the pieces are the text */
    char text[1024] = {0};
    for (const char *at = a; (at = strstr(at, "\"text\": \"")); at += 9)
        strncat(text, at + 9, strcspn(at + 9, "\""));
    const char *whole = expected("the", (hd_generate_opt){.tokens = 5});
    assert_int_equal(strlen(text), strlen(whole) - 2);
    assert_memory_equal(text, whole + 1, strlen(text));
    assert_answer(chat("{\"model\": \"talk\", \"messages\": [{\"role\": \"user\", \"content\": \"the\"}], "
                       "\"max_tokens\": 3, \"stream\": true}"),
                  200,
                  "\"object\": \"chat.completion.chunk\"|\"delta\": {\"role\": \"assistant\", \"content\": "
                  "\"\"}|\"delta\": {}, \"logprobs\": null, \"finish_reason\": \"|data: [DONE]");
    assert_answer(chat("{\"model\": \"lm\", \"messages\": [{\"role\": \"user\", \"content\": \"the\"}], "
                       "\"stream\": true}"),
                  400, "no chat template");
}

/* Of an endless text nothing is computed any more soon after its reader has left. */
static void who_hangs_up_frees_the_seats(void **state)
{
    (void)state;
    need_server();
    static const char body[] = "{\"model\": \"lm\", \"prompt\": \"the\", \"max_tokens\": 1000000, "
                               "\"temperature\": 0, \"stream\": true}";
    char request[512];
    int c = dial(three.port);
    snprintf(request, sizeof request,
             "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n" JSON "Content-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    say(c, request, strlen(request));
    assert_true(recv(c, request, sizeof request, 0) > 0);
    close(c);
    double from = hd_seconds();
    while (hd_engine_now(three.model[0].engine).running) {
        assert_true(hd_seconds() - from < (HEED_SANITIZED ? 5 : 0.2));
        usleep(1000);
    }
    assert_int_equal(hd_engine_now(three.model[0].engine).jobs[HD_JOB_CANCELED], 1);
}

/* Events of one text after those of another: which texts go on side by side is nobody's business. */
static int by_text(const void *a, const void *b)
{
    const hd_line *x = a, *y = b;
    int one = atoi(x->text), other = atoi(y->text);
    return one != other ? one - other : (x->text > y->text) - (x->text < y->text);
}

/* What events have behind the request's own number and time. */
static char *sort_events(char *all, size_t *size)
{
    static const char mark[] = "\"index\": ";
    enum { MOST = 1 << 16 };
    hd_line *line = malloc(MOST * sizeof *line);
    char *to = malloc(*size), *end = all + *size, *at = all;
    size_t n = 0;
    assert_true(line && to);
    for (char *stop; n < MOST && (at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1)); at = stop) {
        at += sizeof mark - 1;
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) break;
        line[n++] = (hd_line){at, (size_t)(stop - at)};
    }
    qsort(line, n, sizeof *line, by_text);
    *size = 0;
    for (size_t i = 0; i < n; i++) memcpy(to + *size, line[i].text, line[i].size), *size += line[i].size;
    free(line);
    free(all);
    return to;
}

/* A stream of many texts. Who reads sleeps first, and meanwhile nothing is computed but what others ask for.
 */
static char *read_stream(bool sleeps, size_t *size)
{
    static const char body[] = "{\"model\": \"lm\", \"prompt\": \"the\", \"max_tokens\": 600, \"n\": 60, "
                               "\"seed\": 5, \"logprobs\": 5, \"stream\": true}";
    char request[512];
    int c = dial(three.port);
    int room = 1 << 17; /* small, but more than a packet of the loopback: with less TCP waits for timers */
    setsockopt(c, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    snprintf(request, sizeof request,
             "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n" JSON "Content-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    say(c, request, strlen(request));
    if (sleeps) {
        double before = 0, now = 1, from = hd_seconds();
        while (now > before && hd_seconds() - from < 20) {
            usleep(100000);
            before = now, now = hd_engine_now(three.model[0].engine).batch.sum;
        }
        assert_false(now > before);
        assert_int_equal(hd_engine_now(three.model[0].engine).running, 1);
        assert_answer(complete("{\"model\": \"lm\", \"prompt\": \"the cat\", \"max_tokens\": 12}"), 200,
                      "\"completion_tokens\": 12");
    }
    char *all = hear_chunks(c, size);
    close(c);
    assert_true(*size > 14 && !memcmp(all + *size - 14, "data: [DONE]\n\n", 14));
    return sort_events(all, size);
}

static void who_reads_late_gets_what_others_do(void **state)
{
    (void)state;
    need_server();
    size_t size[2];
    char *at_once = read_stream(false, &size[0]), *late = read_stream(true, &size[1]);
    assert_true(size[0] > 8 << 20);
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(at_once, late, size[0]);
    free(at_once);
    free(late);
}

static void wrong_requests_are_told_so(void **state)
{
    (void)state;
    need_server();
    static const struct {
        int status;
        const char *body, *parts;
    } cases[] = {
        {404, "{\"model\": \"none\", \"prompt\": \"a\"}", "\"code\": \"model_not_found\"|\"param\": null"},
        {400, "{\"prompt\": \"a\"}", "model"},
        {400, "{\"model\": \"lm\", \"prompt\": 7}", "'prompt'"},
        {400, "{\"model\": \"lm\", \"prompt\": [\"a\", 7]}", "'prompt'"},
        {400, "{\"model\": \"lm\", \"prompt\": [99999]}", "'prompt'"},
        {400, "{\"model\": \"lm\", \"prompt\": []}", "'prompt'"},
        {400, "{\"model\": \"lm\", \"prompt\": \"a\", \"n\": 0}", "'n'"},
        {400, "{\"model\": \"lm\", \"prompt\": \"a\", \"temperature\": \"x\"}", "'temperature'"},
        {400, "{\"model\": \"lm\", \"prompt\": \"a\", \"temperature\": 3}", "from 0 to 2"},
        {400, "{\"model\": \"lm\", \"prompt\": \"a\", \"stop\": \"\"}", "'stop'"},
        {400, "{\"model\": \"lm\", \"prompt\": \"a\", \"stream\": 1}", "'stream'"},
        {400, "{\"model\": \"lm\", \"prompt\": \"a\", \"best_of\": 2}", "'best_of'"},
        {400, "{\"model\": \"lm\", \"prompt\": \"a\", \"presence_penalty\": 1}", "'presence_penalty'"},
        {400, "{\"model\": \"lm\", \"prompt\": \"a\", \"logit_bias\": {\"5\": 1}}", "'logit_bias'"},
        {400, "{\"model\": \"lm\", \"prompt\": \"a\", \"seed\": \"x\"}", "'seed'"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_answer(complete(cases[i].body), cases[i].status, cases[i].parts);
    assert_answer(chat("{\"model\": \"talk\", \"messages\": []}"), 400, "'messages'");
    assert_answer(chat("{\"model\": \"talk\", \"messages\": [{\"role\": \"king\", \"content\": \"a\"}]}"),
                  400, "messages[0].role");
    assert_answer(chat("{\"model\": \"talk\", \"messages\": [{\"role\": \"user\", \"content\": "
                       "[{\"type\": \"image_url\"}]}]}"),
                  400, "'content'");
    assert_answer(complete("{\"model\": \"lm\", \"prompt\": [5, 6], \"max_tokens\": 2}"), 200,
                  "\"prompt_tokens\": 2");
    assert_answer(complete("{\"model\": \"lm\", \"max_tokens\": 2}"), 200, "\"completion_tokens\": 2");
}

/* llama-server's ways to look at tokens. */
static void tokens_become_texts_and_back(void **state)
{
    (void)state;
    need_server();
    const char *a = ask(&three, "POST /tokenize", JSON, "{\"content\": \"the cat\", \"add_special\": true}");
    assert_answer(a, 200, "{\"tokens\": [");
    char body[128];
    snprintf(body, sizeof body, "%s", body_of(a));
    assert_answer(ask(&three, "POST /detokenize", JSON, body), 200, "{\"content\": \"the cat\"}");
    assert_answer(ask(&three, "POST /tokenize", JSON, "{\"content\": \"the cat\", \"with_pieces\": true}"),
                  200, "\"piece\": \"the\"}|\"piece\": \"cat\"}");
    assert_answer(ask(&three, "POST /tokenize", JSON, "{\"content\": 1}"), 400, "'content'|\"code\": 400");
    assert_answer(ask(&three, "POST /tokenize", JSON, "{\"model\": \"x\", \"content\": \"a\"}"), 404,
                  "no model");
    assert_answer(ask(&three, "POST /detokenize", JSON, "{\"tokens\": [-1]}"), 400, "tokens[0]");
    assert_answer(ask(&three, "GET /props", "", NULL), 200,
                  "\"n_ctx\": 8|\"total_slots\": 64|\"chat_template\": \"\"|\"build_info\": \"heed");
    assert_answer(ask(&three, "GET /props?model=talk", "", NULL), 200,
                  "\"chat_template\": \"{% for m in messages %}{{ m.content }} {% endfor %}\"");
}

static void llama_servers_completions_are_the_same_texts(void **state)
{
    (void)state;
    need_server();
    char part[2200];
    const hd_generate_opt greedy = {.tokens = 5, .samples = 1};
    snprintf(part, sizeof part,
             "\"content\": %s, \"stop\": true, \"model\": \"lm\", \"tokens_predicted\": 5, |\"stop_type\": "
             "\"limit\", \"stopping_word\": \"\"",
             expected("the cat", greedy));
    assert_answer(ask(&three, "POST /completion", JSON,
                      "{\"prompt\": \"the cat\", \"n_predict\": 5, \"temperature\": 0}"),
                  200, part);
    assert_answer(ask(&three, "POST /completion", JSON,
                      "{\"prompt\": \"the cat\", \"n_predict\": 3, \"temperature\": 0, \"n_probs\": 2}"),
                  200, "\"completion_probabilities\": [{\"token\": |\"top_logprobs\": [{");
    /* as a stream: pieces, then one that says how it ended */
    const char *said =
        ask(&three, "POST /completion", JSON,
            "{\"prompt\": \"the cat\", \"n_predict\": 5, \"temperature\": 0, \"stream\": true}");
    assert_answer(said, 200, "text/event-stream|\"stop\": false|\"stop_type\": \"limit\"");
    assert_null(strstr(said, "[DONE]"));
    assert_answer(ask(&three, "POST /completion", JSON, "{\"prompt\": \"a\", \"n_predict\": -2}"), 400,
                  "'n_predict'|\"code\": 400");
    assert_answer(ask(&three, "POST /completion", JSON, "{}"), 400, "'prompt' must be provided");
    assert_answer(ask(&three, "POST /completion", JSON, "{\"prompt\": [\"a\", \"b\"]}"), 400, "one 'prompt'");
}

static void a_stop_that_ended_a_text_is_named(void **state)
{
    (void)state;
    need_server();
    char body[2300], word[64];
    const hd_generate_opt greedy = {.tokens = 5, .samples = 1};
    const char *text = expected("the cat", greedy);
    assert_int_equal(sscanf(text, "\"%*[^a-z]%63[a-z]", word), 1);
    snprintf(body, sizeof body,
             "{\"prompt\": \"the cat\", \"n_predict\": 5, \"temperature\": 0, \"stop\": [\"zzz\", \"%s\"]}",
             word);
    const char *said = ask(&three, "POST /completion", JSON, body);
    char part[128];
    snprintf(part, sizeof part, "\"stop_type\": \"word\", \"stopping_word\": \"%s\"", word);
    assert_answer(said, 200, part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_are_those_of_heed_generate),
        cmocka_unit_test(what_was_read_for_others_is_counted),
        cmocka_unit_test(stops_end_texts),
        cmocka_unit_test(chats_go_through_the_template),
        cmocka_unit_test(streams_are_events_that_end),
        cmocka_unit_test(who_hangs_up_frees_the_seats),
        cmocka_unit_test(who_reads_late_gets_what_others_do),
        cmocka_unit_test(wrong_requests_are_told_so),
        cmocka_unit_test(tokens_become_texts_and_back),
        cmocka_unit_test(llama_servers_completions_are_the_same_texts),
        cmocka_unit_test(a_stop_that_ended_a_text_is_named),
    };
    return outcome(cmocka_run_group_tests(tests, begin, end));
}
