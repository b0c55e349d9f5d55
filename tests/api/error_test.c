/* What heed.h refuses, and that nothing is left behind. */
#include <math.h>

#include "api/subject.h"

static const char *const line[] = {"you ate it", "are you tired ?"};

static void a_folder_without_a_model_is_refused(void **state)
{
    const subject *s = *state;
    heed_error error;
    heed_model *m = NULL;
    char path[128], other[128];
    assert_int_equal(heed_model_open(&m, "/nowhere/at/all", NULL, &error), HEED_EFILE);
    assert_string_equal(error.text, "/nowhere/at/all: there is no such folder");
    assert_int_equal(heed_model_open(&m, "/tmp", NULL, NULL), HEED_EFILE);
    snprintf(path, sizeof path, "%s/train/current", s->folder);
    snprintf(other, sizeof other, "%s/train/away", s->folder);
    assert_int_equal(rename(path, other), 0);
    heed_model_options o;
    heed_model_options_init(&o, sizeof o);
    o.checkpoint = HEED_CHECKPOINT_LAST;
    assert_int_equal(heed_model_open(&m, s->folder, &o, &error), HEED_EFILE);
    assert_non_null(strstr(error.text, s->folder));
    rename(other, path);
    snprintf(path, sizeof path, "%s/config.json", s->folder);
    snprintf(other, sizeof other, "%s/config.whole", s->folder);
    assert_int_equal(rename(path, other), 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("{\"format\": 2}", f);
    fclose(f);
    assert_int_equal(heed_model_open(&m, s->folder, NULL, &error), HEED_EFORMAT);
    assert_non_null(strstr(error.text, "newer heed"));
    rename(other, path);
    assert_null(m);
}

static void a_model_option_that_makes_no_sense_is_refused(void **state)
{
    const subject *s = *state;
    heed_error error;
    heed_model *m = NULL;
    heed_context *c = NULL;
    heed_model_options o;
    heed_context_options co;
    heed_model_options_init(&o, sizeof o);
    o.device = "abacus";
    assert_int_equal(heed_model_open(&m, s->folder, &o, &error), HEED_EMISSING);
    assert_non_null(strstr(error.text, "abacus"));
    o.device = "null";
    assert_int_equal(heed_model_open(&m, s->folder, &o, &error), HEED_EMISSING);
    o.device = NULL, o.checkpoint = (heed_checkpoint)2;
    assert_int_equal(heed_model_open(&m, s->folder, &o, &error), HEED_EARG);
    o.checkpoint = HEED_CHECKPOINT_BEST, o.precision = (heed_precision)4;
    assert_int_equal(heed_model_open(&m, s->folder, &o, &error), HEED_EARG);
    assert_non_null(strstr(error.text, "precision 4"));
    heed_context_options_init(&co, sizeof co);
    co.threads = -1;
    assert_int_equal(heed_context_new(&c, s->model, &co, &error), HEED_EARG);
    co.threads = 1 << 20;
    assert_int_equal(heed_context_new(&c, s->model, &co, &error), HEED_ELIMIT);
    co.threads = 1, co.log_most = (heed_level)9;
    assert_int_equal(heed_context_new(&c, s->model, &co, &error), HEED_EARG);
    assert_null(m);
    assert_null(c);
}

static void a_search_option_that_makes_no_sense_is_refused(void **state)
{
    const subject *s = *state;
    static const char *const prefix[] = {"du", "bist"};
    enum { CASES = 19 };
    heed_translate_options o[CASES];
    static const char *const says[CASES] = {"search", "length_penalty", "stop",       "too_long", "beam",
                                            "beam",   "n_best",         "n_best",     "alpha",    "max_ratio",
                                            "top_p",  "temperature",    "max_length", "force",    "force",
                                            "batch",  "max_source",     "exhaustive", "sentences"};
    for (size_t i = 0; i < CASES; i++) o[i] = options_of();
    o[0].search = (heed_search)3, o[1].length_penalty = (heed_length_penalty)-1, o[2].stop = (heed_stop)4;
    o[3].too_long = (heed_long)3, o[4].beam = 0, o[5].beam = 1001, o[6].n_best = 0, o[7].n_best = 6;
    o[8].alpha = NAN, o[9].max_ratio = 0, o[10].top_p = 1.5, o[11].temperature = -1,
    o[12].max_length = SIZE_MAX;
    o[13].force = true, o[14].force = true, o[14].prefix = prefix, o[14].n_best = 2, o[15].batch = SIZE_MAX;
    o[16].max_source = SIZE_MAX, o[17].search = HEED_SEARCH_EXHAUSTIVE, o[18].sentences = (heed_sentences)3;
    for (size_t i = 0; i < CASES; i++) {
        heed_error error;
        heed_results *r = NULL;
        assert_int_equal(heed_translate(s->context, line, 2, &o[i], &r, &error), HEED_EARG);
        if (!strstr(error.text, says[i])) fail_msg("case %zu: %s", i, error.text);
        assert_null(r);
    }
}

static void null_is_refused_where_it_says_nothing(void **state)
{
    const subject *s = *state;
    static const char *const gap[] = {"you", NULL};
    heed_error error;
    heed_model *m = NULL;
    heed_context *c = NULL;
    heed_results *r = NULL;
    assert_int_equal(heed_model_open(NULL, s->folder, NULL, &error), HEED_EARG);
    assert_int_equal(heed_model_open(&m, NULL, NULL, &error), HEED_EARG);
    assert_string_equal(error.text, "heed_model_open: folder is NULL");
    assert_int_equal(heed_context_new(NULL, s->model, NULL, &error), HEED_EARG);
    assert_int_equal(heed_context_new(&c, NULL, NULL, NULL), HEED_EARG);
    assert_int_equal(heed_translate(NULL, line, 2, NULL, &r, &error), HEED_EARG);
    assert_int_equal(heed_translate(s->context, NULL, 2, NULL, &r, &error), HEED_EARG);
    assert_int_equal(heed_translate(s->context, line, 2, NULL, NULL, &error), HEED_EARG);
    assert_int_equal(heed_translate(s->context, gap, 2, NULL, &r, &error), HEED_EARG);
    assert_string_equal(error.text, "line 2 of 2 is NULL");
    heed_translate_options o = options_of();
    o.prefix = gap, o.force = true;
    assert_int_equal(heed_translate(s->context, line, 2, &o, &r, &error), HEED_EARG);
    assert_string_equal(error.text, "prefix 2 of 2 is NULL");
    assert_int_equal(heed_translate(s->context, line, SIZE_MAX, NULL, &r, &error), HEED_ENOMEM);
    heed_model_options_init(NULL, 100);
    heed_context_options_init(NULL, 100);
    heed_translate_options_init(NULL, 100);
    heed_model_free(NULL);
    heed_context_free(NULL);
    heed_results_free(NULL);
    assert_null(r);
}

static void a_line_too_long_for_its_places_is_refused(void **state)
{
    const subject *s = *state;
    heed_error error;
    heed_results *r = NULL;
    heed_translate_options o = options_of();
    const size_t size[] = {3, (size_t)1 << 33};
    o.line_size = size;
    assert_int_equal(heed_translate(s->context, line, 2, &o, &r, &error), HEED_ELIMIT);
    assert_non_null(strstr(error.text, "line 2 of 2 has 8589934592 bytes"));
}

/* A caller compiled against another heed.h has a struct of another size. */
static void options_of_older_and_newer_callers(void **state)
{
    const subject *s = *state;
    struct {
        heed_translate_options known;
        uint64_t more[4];
    } newer;
    heed_error error;
    heed_results *r = NULL, *plain;
    heed_translate_options_init(&newer.known, sizeof newer);
    assert_int_equal(newer.known.size, sizeof newer);
    assert_int_equal(newer.more[3], 0);
    newer.known.beam = 1;
    r = translate(s->context, line, 2, &newer.known);
    heed_translate_options o = options_of();
    o.beam = 1;
    plain = translate(s->context, line, 2, &o);
    assert_same(r, plain);
    heed_results_free(r);
    newer.more[2] = 1, r = NULL;
    assert_int_equal(heed_translate(s->context, line, 2, &newer.known, &r, &error), HEED_EARG);
    assert_non_null(strstr(error.text, "newer heed.h"));

    memset(&o, 0xEE, sizeof o); /* what an older caller does not have must not be looked at */
    heed_translate_options_init(&o, offsetof(heed_translate_options, n_best));
    assert_int_equal(o.n_best, (size_t)0xEEEEEEEEEEEEEEEE);
    o.beam = 1;
    r = translate(s->context, line, 2, &o);
    assert_same(r, plain);
    heed_results_free(r);
    heed_results_free(plain);

    o = (heed_translate_options){.beam = 5};
    r = NULL;
    assert_int_equal(heed_translate(s->context, line, 2, &o, &r, &error), HEED_EARG);
    assert_string_equal(error.text, "the options are not initialized: call heed_translate_options_init");
}

static heed_status take(void *user, const heed_attention *a)
{
    size_t *calls = user;
    *calls += a->rows > 0;
    return HEED_OK;
}

static hd_status everything(const char *folder, size_t *calls, heed_results **r, heed_error *error)
{
    heed_model *m = NULL;
    heed_context *c = NULL;
    heed_context_options co;
    heed_translate_options o = options_of();
    heed_context_options_init(&co, sizeof co);
    co.threads = 1;
    o.beam = o.n_best = 2, o.attention = take, o.attention_user = calls;
    heed_status s = heed_model_open(&m, folder, NULL, error);
    if (!s) s = heed_context_new(&c, m, &co, error);
    if (!s) s = heed_translate(c, line, 2, &o, r, error);
    if (!s) heed_results_free(*r), *r = NULL, s = heed_translate(c, line, 2, &o, r, error);
    heed_context_free(c);
    heed_model_free(m);
    return (hd_status)s;
}

static void every_failed_allocation_is_reported(void **state)
{
    const subject *s = *state;
    heed_results *whole = NULL;
    heed_error error;
    size_t calls = 0, used = 0, reported = 0, n = 0, failed = 0;
    assert_int_equal(everything(s->folder, &calls, &whole, &error), HD_OK);
    assert_int_equal(calls, 12);
    size_t blocks = hd_mem_now().blocks;
    for (used = n; used >= n;) {
        heed_results *r = NULL;
        size_t before = hd_mem_now().calls;
        hd_mem_fail_at(++n);
        hd_status st = everything(s->folder, &calls, &r, &error);
        hd_mem_fail_at(0);
        used = hd_mem_now().calls - before;
        if (st && (st != HD_ENOMEM || !*error.text)) fail_msg("allocation %zu: %s", n, error.text);
        if (st) assert_null(r);
        if (!st) assert_same(r, whole);
        failed += st != HD_OK, reported += st == HD_ENOMEM;
        heed_results_free(r);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    print_message("%zu of %zu failed allocations ended the call\n", reported, n);
    assert_true(reported > 100 && reported == failed);
    heed_results_free(whole);
}

/* So many hypotheses that showing them takes memory of its own. */
static void failed_allocations_of_large_results_are_reported(void **state)
{
    const subject *s = *state;
    heed_translate_options o = options_of();
    o.search = HEED_SEARCH_SAMPLE, o.n_best = 200, o.max_length = 4;
    size_t before = hd_mem_now().calls, reported = 0;
    heed_results *whole = translate(s->context, line, 2, &o);
    size_t used = hd_mem_now().calls - before;
    for (size_t n = 1; n <= used; n++) {
        heed_results *r = NULL;
        heed_error error;
        hd_mem_fail_at(n);
        heed_status st = heed_translate(s->context, line, 2, &o, &r, &error);
        hd_mem_fail_at(0);
        if (st && (st != HEED_ENOMEM || !*error.text)) fail_msg("allocation %zu: %s", n, error.text);
        reported += st == HEED_ENOMEM;
        if (!st) assert_same(r, whole);
        heed_results_free(r);
    }
    print_message("%zu of %zu failed allocations ended the call\n", reported, used);
    assert_true(reported > 50);
    heed_results_free(whole);
}

static void a_context_is_good_after_a_failure(void **state)
{
    const subject *s = *state;
    heed_results *whole = translate(s->context, line, 2, NULL), *r = NULL;
    for (size_t n = 1; n < 40; n += 3) {
        hd_mem_fail_at(n);
        heed_status st = heed_translate(s->context, line, 2, NULL, &r, NULL);
        hd_mem_fail_at(0);
        if (!st) heed_results_free(r);
        r = translate(s->context, line, 2, NULL);
        assert_same(r, whole);
        heed_results_free(r);
        r = NULL;
    }
    heed_results_free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_without_a_model_is_refused),
        cmocka_unit_test(a_model_option_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_search_option_that_makes_no_sense_is_refused),
        cmocka_unit_test(null_is_refused_where_it_says_nothing),
        cmocka_unit_test(a_line_too_long_for_its_places_is_refused),
        cmocka_unit_test(options_of_older_and_newer_callers),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(failed_allocations_of_large_results_are_reported),
        cmocka_unit_test(a_context_is_good_after_a_failure),
    };
    return finish(cmocka_run_group_tests(tests, open_subject, close_subject));
}
