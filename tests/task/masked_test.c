/* What a masked language model learns from and is asked: the shares that are masked, whole words, the folder,
   hostile ones too, the blanks of a text, and vectors of a word that differ with what stands around it. */
#include "check.h"
#include "scratch.h"

#include "base/file/folder.h"
#include "base/mem.h"
#include "show/embed.h"
#include "task/masked/training.h"
#include "task/owned.h"
#include "task/session.h"
#include "task/speaker.h"
#include "unseal.h"

static hd_backend *backend;
static hd_run run;

static hd_line line_from(const char *text)
{
    return (hd_line){text, strlen(text)};
}

static hd_tokenizer *tokenizer_of(hd_tokenizer_kind kind)
{
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    speaker_lines lines = {speaker_text};
    if (hd_tokenizer_train(&t, kind, (hd_feed){speaker_next, &lines}, &(hd_tokenizer_opt){.vocab = 300},
                           &err))
        fail_msg("%s", err.text);
    return t;
}

/* -- masks -- */

static void a_share_of_the_tokens_is_asked_for_and_most_of_it_hidden(void **state)
{
    (void)state;
    enum { ITEMS = 2000 };
    hd_err err = {0};
    hd_tokenizer *t = tokenizer_of(HD_TOKENIZER_words);
    hd_ids ids = speaker_ids(t, speaker_text);
    hd_masking how = {t, false};
    hd_masked_rows m;
    hd_rng rng = hd_rng_make(3, 3);
    if (hd_masked_rows_init(&m, ITEMS, ids.count + 1, &err)) fail_msg("%s", err.text);
    size_t words = 0, hidden = 0, other = 0;
    for (size_t i = 0; i < ids.count; i++) words += !hd_masked_is_special(t, ids.at[i]);
    for (int i = 0; i < ITEMS; i++) hd_masked_rows_add(&m, &how, ids.at, ids.count, &rng);
    assert_int_equal(m.asked, ITEMS * (size_t)(0.15 * (double)words + 0.5));
    for (size_t i = 0; i < m.rows; i++) {
        size_t at = i % (ids.count + 1);
        int32_t was = at ? ids.at[at - 1] : hd_tokenizer_special(t).start;
        if (m.target[i] < 0) {
            assert_int_equal(m.ids[i], was);
            continue;
        }
        assert_int_equal(m.target[i], was);
        assert_false(hd_masked_is_special(t, was));
        hidden += m.ids[i] == hd_masked_id(t);
        other += m.ids[i] != hd_masked_id(t) && m.ids[i] != was;
        assert_true(m.ids[i] == hd_masked_id(t) || !hd_masked_is_special(t, m.ids[i]));
    }
    /* 14000 draws: a share errs by 0.0034 at most times in three; a word may be drawn for itself */
    double n = (double)m.asked;
    assert_true(fabs((double)hidden / n - 0.8) < 0.015);
    assert_true(fabs((double)other / n - 0.1) < 0.015);
    hd_masked_rows_release(&m);
    hd_ids_release(&ids);
    hd_tokenizer_free(t);
}

static void words_are_masked_whole_or_not_at_all(void **state)
{
    (void)state;
    static const hd_tokenizer_kind kinds[] = {HD_TOKENIZER_sentencepiece, HD_TOKENIZER_characters};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        hd_err err = {0};
        hd_tokenizer *t = tokenizer_of(kinds[k]);
        hd_masking how = {t, true};
        hd_masked_rows m;
        hd_ids ids = {0};
        size_t parts = 0, asked = 0;
        if (hd_tokenizer_encode_ids(t, "thorn thorn", 11, &ids, &err) ||
            hd_masked_rows_init(&m, 1, ids.count + 1, &err))
            fail_msg("%s", err.text);
        bool spaced = kinds[k] == HD_TOKENIZER_characters; /* the space is a token of its own */
        size_t word = (ids.count - spaced) / 2;
        for (uint64_t seed = 0; seed < 50; seed++) {
            hd_rng rng = hd_rng_make(seed, 0);
            hd_masked_rows_clear(&m);
            hd_masked_rows_add(&m, &how, ids.at, ids.count, &rng);
            size_t first = 0, last = 0;
            for (size_t i = 0; i < word; i++)
                first += m.target[1 + i] >= 0, last += m.target[1 + word + spaced + i] >= 0;
            assert_true((first == 0 || first == word) && (last == 0 || last == word));
            parts += first + last == word;
            asked += m.asked;
        }
        assert_true(word > 1 && parts > 10 && asked > 50);
        hd_masked_rows_release(&m);
        hd_ids_release(&ids);
        hd_tokenizer_free(t);
    }
}

static void windows_are_whole_lines_where_they_fit(void **state)
{
    (void)state;
    static const int32_t ids[] = {5, 6, 3, 7, 3, 8, 9, 10, 11, 12};
    assert_int_equal(hd_masked_window(ids, 10, 0, 10, 3), 5);
    assert_int_equal(hd_masked_window(ids, 10, 0, 4, 3), 3);
    assert_int_equal(hd_masked_window(ids, 10, 0, 2, 3), 2);
    assert_int_equal(hd_masked_window(ids, 10, 5, 3, 3), 3);
    assert_int_equal(hd_masked_window(ids, 10, 8, 5, 3), 2);
}

/* -- a folder -- */

static hd_train_options small_opt(const char *train, const char *out)
{
    hd_train_options o = plain_options(HD_TRAIN_MLM, out);
    o.train = one_text(train);
    o.unit = HD_TRAIN_WORD, o.vocab_size = HD_TRAIN_ALL_PIECES;
    o.layers = 2, o.heads = 2, o.width = 32, o.ffn_size = 64, o.context = 16;
    o.schedule = HD_SCHEDULE_linear; /* so that it does not matter which update is the last */
    o.clip = 1, o.batch_size = 8, o.seed = 3, o.lr = 0.003, o.warmup = 10, o.beta2 = 0.98;
    o.activation = 1; /* gelu, as of a BERT */
    o.steps = 800, o.report_every = 1000;
    return o;
}

static hd_model_folder *opened(const char *folder)
{
    hd_err err = {0};
    hd_model_folder *m = NULL;
    if (folder_open(&m, folder, "mlm", backend, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    return m;
}

/* Two senses of one word, each with words of its kind in its place. */
static void put_senses(const char *path)
{
    static const char *const fruit[] = {"apple", "pear", "plum"}, *const firm[] = {"apple", "acme", "orbit"};
    static const char *const eaten[] = {"i eat a red %s with sugar", "she ate the sweet %s with cream",
                                        "we eat one green %s with sugar"},
                             *const sold[] = {"shares of the firm %s rose today",
                                              "phones of the maker %s sold today",
                                              "profits of the firm %s fell today"};
    char text[8192];
    size_t n = 0;
    for (int sense = 0; sense < 2; sense++)
        for (int i = 0; i < 36; i++, text[n++] = '\n') {
            const char *format = (sense ? sold : eaten)[i % 3], *word = (sense ? firm : fruit)[i / 3 % 3];
            const char *place = strstr(format, "%s");
            n += (size_t)snprintf(text + n, sizeof text - n, "%.*s%s%s", (int)(place - format), format, word,
                                  place + 2);
        }
    put_bytes(path, text, n);
}

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    backend = backend_of("cpu", 2);
    run = run_on(backend);
    put_file(at("text"), speaker_text);
    put_senses(at("apples"));
    hd_train_options o = small_opt(at("text"), at("m"));
    session_train(&o);
    o = small_opt(at("apples"), at("fruit"));
    session_train(&o);
    return 0;
}

static int remove_models(void **state)
{
    hd_run_release(&run);
    hd_backend_free(backend);
    return scratch_remove(state);
}

static void it_fills_in_what_it_has_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word[2];
    } cases[] = {{"the dog sat on the [MASK]", {"log", NULL}},
                 {"the [MASK] sat on the mat", {"cat", NULL}},
                 {"[MASK] is the dog? the dog is [MASK] the log", {"where", "on"}}};
    hd_model_folder *m = opened(at("m"));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_filled f;
        if (hd_masked_fill(&f, &run, m, line_from(cases[i].text), 3, &err)) fail_msg("%s", err.text);
        assert_int_equal(f.masks, cases[i].word[1] ? 2 : 1);
        assert_int_equal(f.top, 3);
        for (size_t k = 0; k < f.masks; k++) {
            const hd_filling *best = f.choice + k * f.top;
            assert_string_equal(hd_tokenizer_piece(m->tokenizer[0], best->id), cases[i].word[k]);
            assert_true(best[0].p >= best[1].p && best[1].p >= best[2].p);
            assert_true(best[0].p > 0.5 && best[0].p + best[1].p + best[2].p < 1 + 1e-6);
        }
        hd_filled_release(&f);
    }
    folder_free(m);
}

static void all_pieces_can_be_asked_for_and_no_special_is_among_them(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_filled f;
    hd_model_folder *m = opened(at("m"));
    if (hd_masked_fill(&f, &run, m, line_from("[MASK]"), 100000, &err)) fail_msg("%s", err.text);
    assert_int_equal(f.top, hd_model_folder_bert(m)->opt.vocab - 5);
    double sum = 0;
    for (size_t i = 0; i < f.top; i++) {
        sum += f.choice[i].p;
        assert_false(hd_masked_is_special(m->tokenizer[0], f.choice[i].id));
        for (size_t k = 0; k < i; k++) assert_int_not_equal(f.choice[i].id, f.choice[k].id);
    }
    assert_true(sum <= 1 + 1e-5 && sum > 0.5);
    hd_filled_release(&f);
    folder_free(m);
}

static void what_cannot_be_filled_in_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        hd_status status;
        const char *says;
    } cases[] = {
        {"the cat", HD_EARG, "there is no [MASK]"},
        {"", HD_EARG, "there is no [MASK]"},
        {"the \xff [MASK]", HD_EFORMAT, "not UTF-8"},
        {"a a a a a a a a a a a a a a a [MASK]", HD_ELIMIT, "the text has 18 tokens: the model takes 16"}};
    hd_model_folder *m = opened(at("m"));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_filled f;
        assert_int_equal(hd_masked_fill(&f, &run, m, line_from(cases[i].text), 3, &err), cases[i].status);
        if (!strstr(err.text, cases[i].says)) fail_msg("'%s'", err.text);
    }
    folder_free(m);
}

static void a_text_is_judged_alike_every_time(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_masked_judged a, b;
    hd_model_folder *m = opened(at("m"));
    hd_masking how = {m->tokenizer[0], false};
    hd_ids ids = speaker_ids(m->tokenizer[0], speaker_text);
    hd_stream_text text = {.ids = ids.at, .count = ids.count};
    if (hd_masked_judge(&a, &run, m, &how, &text, &err) || hd_masked_judge(&b, &run, m, &how, &text, &err))
        fail_msg("%s", err.text);
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(a.asked >= 4 && a.right * 3 > a.asked && a.nats > 0);
    assert_true(a.nats / (double)a.asked < log((double)hd_model_folder_bert(m)->opt.vocab));
    int32_t end = hd_tokenizer_special(m->tokenizer[0]).end;
    assert_int_equal(hd_masked_judge(&a, &run, m, &how, &(hd_stream_text){.ids = &end, .count = 1}, &err),
                     HD_EARG);
    hd_ids_release(&ids);
    folder_free(m);
}

static void a_folder_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } cases[] = {{"\"mlm\"", "\"lm\"", "this is a language model, which `heed generate` reads"},
                 {"\"mlm\"", "\"xyz\"", "\"task\" is \"xyz\""},
                 {"\"bert\"", "\"elmo\"", "there is no model \"elmo\""},
                 {"\"heads\": 2", "\"heads\": 5", "a width of 32 cannot be split over 5 heads"},
                 {"\"width\": 32", "\"width\": 0", "\"width\" is 0"},
                 {"\"layers\": 2", "\"layers\": 1000000", "\"layers\" is 1000000"},
                 {"\"context\": 16", "\"context\": 2", "\"context\" is 2"},
                 {"\"vocabulary\": ", "\"vocabulary\": 1", "pieces with [MASK], but \"vocabulary\""},
                 {"\"eps\": ", "\"eps\": 2, \"was\": ", "\"eps\" is 2"},
                 {"\"types\": 2", "\"types\": 3", "bert.embeddings.token_type_embeddings.weight"},
                 {"\"headless\": false", "\"headless\": 0", "\"headless\" is not true or false"},
                 {"\"pooler\": false", "\"pooler\": true", "bert.pooler.dense.weight"},
                 {"\"pooler\": false", "\"longest\": 17", "\"longest\" is 17"},
                 {"\"inner\": 64", "\"inner\": 65", "bert.encoder.layer.0.intermediate.dense.weight"}};
    unseal(at("m"));
    char *config = get_file(at("m/config.json"), NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char changed[2048], *place = strstr(config, cases[i].from);
        hd_err err = {0};
        hd_model_folder *m = NULL;
        if (!place) fail_msg("config.json has no %s", cases[i].from);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(place - config), config, cases[i].to,
                 place + strlen(cases[i].from));
        put_file(at("m/config.json"), changed);
        hd_status s = folder_open(&m, at("m"), "mlm", backend, HD_WEIGHTS_BEST, &err);
        put_file(at("m/config.json"), config);
        assert_null(m);
        assert_true(s != HD_OK);
        if (!strstr(err.text, cases[i].says)) fail_msg("%s: '%s'", cases[i].to, err.text);
    }
    free(config);
}

/* The model of the folder "m" with another text in the place of what config.json says from "eps" on. */
static hd_model_folder *opened_with(const char *keys)
{
    unseal(at("m"));
    char *config = get_file(at("m/config.json"), NULL), changed[2048];
    const char *from = strstr(config, "\"eps\""), *to = strstr(config, "\"activation\"");
    assert_true(from && to);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(from - config), config, keys, to);
    put_file(at("m/config.json"), changed);
    hd_err err = {0};
    hd_model_folder *m = NULL;
    hd_status s = folder_open(&m, at("m"), "mlm", backend, HD_WEIGHTS_BEST, &err);
    put_file(at("m/config.json"), config);
    free(config);
    if (s) fail_msg("%s", err.text);
    return m;
}

static void what_older_folders_do_not_say_is_as_it_was(void **state)
{
    (void)state;
    hd_model_folder *now = opened(at("m")), *older = opened_with("");
    assert_memory_equal(&hd_model_folder_bert(now)->opt, &hd_model_folder_bert(older)->opt,
                        sizeof hd_model_folder_bert(now)->opt);
    assert_int_equal(older->longest, hd_model_folder_bert(older)->opt.positions);
    folder_free(older);
    folder_free(now);
}

static void without_a_head_nothing_is_filled_in(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_filled f;
    hd_model_folder *m = opened_with("\"headless\": true, ");
    assert_int_equal(hd_masked_fill(&f, &run, m, line_from("the [MASK]"), 3, &err), HD_EARG);
    assert_non_null(strstr(err.text, "has no head that predicts words"));
    folder_free(m);
}

static void a_text_is_cut_where_the_folder_says(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        hd_err err = {0};
        hd_embeddings e;
        hd_model_folder m = owned(opened_with(own ? "\"longest\": 5, " : ""));
        hd_line line[] = {
            line_from("the dog sat on the log the cat sat on the mat the dog sat on the log"),
            line_from(own ? "the dog sat" : "the dog sat on the log the cat sat on the mat the dog")};
        const hd_embed_opt opt = {.pool = HD_POOLING_NONE, .cut = true};
        if (hd_embed_lines(&e, &run, &m, line, 2, &opt, &err)) fail_msg("%s", err.text);
        assert_int_equal(e.of[0].tokens, own ? 5 : 16);
        assert_int_equal(e.of[1].tokens, e.of[0].tokens);
        assert_memory_equal(e.of[0].ids, e.of[1].ids, e.of[0].tokens * sizeof *e.of[0].ids);
        assert_memory_equal(e.of[0].vector, e.of[1].vector, e.of[0].vectors * e.width * sizeof(hd_real));
        hd_embeddings_release(&e);
        hd_model_folder_release(&m);
    }
}

static void no_allocation_that_fails_leaks(void **state)
{
    (void)state;
    size_t blocks = hd_mem_now().blocks;
    bool done = false;
    for (size_t n = 1; !done && n < 3000; n++) {
        hd_err err = {0};
        hd_model_folder *m = NULL;
        hd_filled f = {0};
        hd_run r = run_on(backend);
        hd_mem_fail_at(n);
        hd_status s = folder_open(&m, at("m"), "mlm", backend, HD_WEIGHTS_BEST, &err);
        if (!s) s = hd_masked_fill(&f, &r, m, line_from("a [MASK] b"), 3, &err);
        hd_mem_fail_at(0);
        done = !s;
        hd_filled_release(&f);
        folder_free(m);
        hd_run_release(&r);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_true(done);
}

/* -- vectors -- */

static double cosine(const hd_real *a, const hd_real *b, size_t n)
{
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; i++)
        ab += (double)a[i] * (double)b[i], aa += (double)a[i] * (double)a[i],
            bb += (double)b[i] * (double)b[i];
    return ab / sqrt(aa * bb);
}

static void a_word_has_the_vector_of_its_sense(void **state)
{
    (void)state;
    enum { SENTENCES = 6 };
    static const char *const text[SENTENCES] = {
        "i eat a red apple with sugar",         "she ate the sweet apple with cream",
        "we eat one green apple with sugar",    "shares of the firm apple rose today",
        "phones of the maker apple sold today", "profits of the firm apple fell today"};
    hd_err err = {0};
    hd_model_folder m;
    hd_embeddings e;
    hd_line line[SENTENCES];
    const hd_real *apple[SENTENCES] = {NULL};
    for (size_t i = 0; i < SENTENCES; i++) line[i] = line_from(text[i]);
    if (hd_model_folder_open(&m, at("fruit"), NULL, backend, HD_WEIGHTS_BEST, &err) ||
        hd_embed_lines(&e, &run, &m, line, SENTENCES, &(hd_embed_opt){.pool = HD_POOLING_NONE}, &err))
        fail_msg("%s", err.text);
    int32_t id = hd_tokenizer_id(m.tokenizer[0], "apple");
    for (size_t i = 0; i < SENTENCES; i++)
        for (size_t k = 0; k < e.of[i].tokens; k++)
            if (e.of[i].ids[k] == id) apple[i] = e.of[i].vector + k * e.width;
    double within = 0, across = 0; /* means */
    for (size_t i = 0; i < SENTENCES; i++)
        for (size_t k = 0; k < i; k++) {
            double c = cosine(apple[i], apple[k], e.width);
            if (i / 3 == k / 3)
                within += c / 6;
            else
                across += c / 9;
        }
    print_message("within %.3f, across %.3f\n", within, across);
    assert_true(within > across + 0.1);
    hd_embeddings_release(&e);
    hd_model_folder_release(&m);
}

static void lines_have_rows_for_start_tokens_and_end(void **state)
{
    (void)state;
    static const hd_pooling pools[] = {HD_POOLING_NONE, HD_POOLING_FIRST, HD_POOLING_MEAN};
    hd_err err = {0};
    hd_model_folder m;
    hd_embeddings e[3];
    hd_line line[] = {line_from("the cat [MASK]"), line_from(""), line_from("\xff")};
    if (hd_model_folder_open(&m, at("m"), NULL, backend, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < 3; i++)
        if (hd_embed_lines(&e[i], &run, &m, line, 3, &(hd_embed_opt){.pool = pools[i]}, &err))
            fail_msg("%s", err.text);
    const hd_embedded *all = &e[0].of[0];
    assert_int_equal(e[0].width, 32);
    assert_int_equal(all->tokens, 5);
    assert_int_equal(all->ids[0], HD_START_ID);
    assert_int_equal(all->ids[3], hd_masked_id(m.tokenizer[0]));
    assert_int_equal(all->ids[4], HD_END_ID);
    assert_int_equal(e[0].of[1].tokens, 0);
    assert_int_equal(e[0].of[2].status, HD_EFORMAT);
    assert_memory_equal(e[1].of[0].vector, all->vector, 32 * sizeof(hd_real));
    for (size_t c = 0; c < 32; c++) {
        double mean = 0;
        for (size_t k = 0; k < 5; k++) mean += (double)all->vector[k * 32 + c] / 5;
        assert_true(fabs(mean - (double)e[2].of[0].vector[c]) < 1e-5);
    }
    for (int i = 0; i < 3; i++) hd_embeddings_release(&e[i]);
    hd_model_folder_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_of_the_tokens_is_asked_for_and_most_of_it_hidden),
        cmocka_unit_test(words_are_masked_whole_or_not_at_all),
        cmocka_unit_test(windows_are_whole_lines_where_they_fit),
        cmocka_unit_test(it_fills_in_what_it_has_read),
        cmocka_unit_test(all_pieces_can_be_asked_for_and_no_special_is_among_them),
        cmocka_unit_test(what_cannot_be_filled_in_is_said),
        cmocka_unit_test(a_text_is_judged_alike_every_time),
        cmocka_unit_test(a_folder_that_does_not_fit_is_refused),
        cmocka_unit_test(what_older_folders_do_not_say_is_as_it_was),
        cmocka_unit_test(without_a_head_nothing_is_filled_in),
        cmocka_unit_test(a_text_is_cut_where_the_folder_says),
        cmocka_unit_test(no_allocation_that_fails_leaks),
        cmocka_unit_test(a_word_has_the_vector_of_its_sense),
        cmocka_unit_test(lines_have_rows_for_start_tokens_and_end),
    };
    return cmocka_run_group_tests(tests, make_models, remove_models);
}
