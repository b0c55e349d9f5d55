/* The file of an n-gram model: the same bytes every time, and nothing but a whole one is taken. Also every
   allocation that may fail, since that is where files are half written. */
#include "decode/search.h"
#include "model/ngram_corpus.h"
#include "scratch.h"

static const hd_smoothing all_smoothings[] = {HD_SMOOTHING_ADD_K, HD_SMOOTHING_KNESER_NEY,
                                              HD_SMOOTHING_KNESER_NEY_3};

static hd_ngram *open_good(const char *path)
{
    hd_err err = {0};
    hd_ngram *m = NULL;
    if (hd_ngram_open(&m, path, &err)) fail_msg("%s", err.text);
    return m;
}

static void a_loaded_model_is_the_saved_one(void **state)
{
    (void)state;
    corpus c = grammar_corpus(200, 1);
    for (size_t s = 0; s < COUNT_OF(all_smoothings); s++)
        for (int order = 1; order <= HD_NGRAM_MOST; order += order < 3 ? 1 : 3) {
            hd_ngram_opt o = opt_of(&c, order, all_smoothings[s]);
            hd_ngram *m = model_of(&c, &o), *twin = model_of(&c, &o);
            assert_int_equal(hd_ngram_save(m, at("a"), NULL), HD_OK);
            assert_int_equal(hd_ngram_save(twin, at("b"), NULL), HD_OK);
            hd_ngram *loaded = open_good(at("a"));
            assert_int_equal(hd_ngram_save(loaded, at("c"), NULL), HD_OK);
            assert_same_file(at("a"), at("b"));
            assert_same_file(at("a"), at("c"));
            const hd_ngram_opt *got = hd_ngram_options(loaded);
            assert_true(got->vocab == o.vocab && got->order == order && got->smoothing == o.smoothing &&
                        got->k == o.k && got->discount == o.discount);
            assert_true(got->start == o.start && got->end == o.end && got->unk == o.unk);
            assert_int_equal(hd_ngram_bytes(loaded), hd_ngram_bytes(m));
            for (size_t d = 0; d < c.documents; d++) {
                size_t n = c.begin[d + 1] - c.begin[d];
                assert_true(hd_ngram_score(m, c.ids + c.begin[d], n, NULL) ==
                            hd_ngram_score(loaded, c.ids + c.begin[d], n, NULL));
            }
            hd_ngram_free(m);
            hd_ngram_free(twin);
            hd_ngram_free(loaded);
        }
    corpus_free(&c);
}

static void a_model_that_still_counts_is_not_saved(void **state)
{
    (void)state;
    corpus c = hand_corpus();
    hd_ngram_opt o = opt_of(&c, 3, HD_SMOOTHING_ADD_K);
    hd_ngram *m = NULL;
    hd_err err = {0};
    assert_int_equal(hd_ngram_new(&m, &o, NULL), HD_OK);
    assert_int_equal(hd_ngram_save(m, at("unfinished"), &err), HD_EARG);
    assert_non_null(strstr(err.text, "unfinished"));
    assert_false(is_there(at("unfinished")));
    hd_ngram_free(m);
    corpus_free(&c);
}

/* Whether the bytes are taken; a refusal must name the file. What is taken must be a model, whatever it says.
 */
static bool taken(const char *bytes, size_t size)
{
    hd_ngram *m = NULL;
    hd_err err = {0};
    put_bytes(at("broken"), bytes, size);
    size_t blocks = hd_mem_now().blocks;
    hd_status s = hd_ngram_open(&m, at("broken"), &err);
    if (s) {
        assert_true(s == HD_EFORMAT && err.status == s && strstr(err.text, "broken") && !m);
        assert_int_equal(hd_mem_now().blocks, blocks);
        return false;
    }
    const hd_ngram_opt *o = hd_ngram_options(m);
    if (o->vocab < 1000) {
        double *row = malloc(o->vocab * sizeof *row), sum = 0;
        for (int32_t token = -1; token < 8; token++) {
            hd_ngram_row(m, (int32_t[]){START, token, token + 1}, token < 0 ? 0 : 3, row);
            sum = 0;
            for (size_t i = 0; i < o->vocab; i++) {
                double p = exp(
                    hd_ngram_logp(m, (int32_t[]){START, token, token + 1}, token < 0 ? 0 : 3, (int32_t)i));
                assert_near(row[i], p, 1e-12);
                sum += row[i];
            }
            assert_near(sum, 1, 1e-9);
        }
        free(row);
    }
    assert_true(hd_ngram_logp(m, (int32_t[]){START, 4, 5}, 3, 6) <= 0);
    hd_ngram_free(m);
    assert_int_equal(hd_mem_now().blocks, blocks);
    return true;
}

static char *bytes_of(hd_smoothing smoothing, size_t *size)
{
    corpus c = zipf_corpus(60, 12, 5);
    hd_ngram_opt o = opt_of(&c, 4, smoothing);
    hd_ngram *m = model_of(&c, &o);
    assert_int_equal(hd_ngram_save(m, at("whole"), NULL), HD_OK);
    hd_ngram_free(m);
    corpus_free(&c);
    return get_file(at("whole"), size);
}

static void a_cut_or_longer_file_is_refused(void **state)
{
    (void)state;
    size_t size;
    char *bytes = bytes_of(HD_SMOOTHING_KNESER_NEY, &size);
    assert_true(taken(bytes, size));
    for (size_t n = 0; n < size; n++) assert_false(taken(bytes, n));
    assert_false(taken(bytes, size + 1)); /* get_file puts a zero behind */
    free(bytes);
}

static void repair_checksum(char *bytes, size_t size)
{
    uint64_t mark = 14695981039346656037u;
    for (size_t i = 0; i + 8 < size; i++) mark = (mark ^ (uint8_t)bytes[i]) * 1099511628211u;
    memcpy(bytes + size - 8, &mark, 8);
}

/* First as damage finds it, then as malice makes it: with the checksum set right. */
static void a_changed_file_is_refused_or_harmless(void **state)
{
    (void)state;
    size_t size, harmless = 0, tries = 0;
    for (size_t s = 0; s < COUNT_OF(all_smoothings); s++) {
        char *bytes = bytes_of(all_smoothings[s], &size), *copy = malloc(size);
        hd_rng rng = hd_rng_make(s, 8);
        memcpy(copy, bytes, size);
        repair_checksum(copy, size);
        assert_memory_equal(copy, bytes, size);
        for (size_t i = 0; i < size; i++) {
            memcpy(copy, bytes, size);
            copy[i] = (char)(copy[i] ^ 1 << hd_rng_below(&rng, 8));
            assert_false(taken(copy, size));
        }
        for (size_t i = 0; i < 4 * size; i++) {
            memcpy(copy, bytes, size);
            for (uint32_t n = 1 + hd_rng_below(&rng, 3); n; n--)
                copy[i < size ? i : hd_rng_below(&rng, (uint32_t)size)] = (char)hd_rng_u32(&rng);
            repair_checksum(copy, size);
            harmless += taken(copy, size), tries++;
        }
        for (int i = 0; i < 2000; i++) { /* sizes, of all kinds */
            static const uint64_t sizes[] = {0,
                                             1,
                                             0x7FFFFFFF,
                                             0xFFFFFFFF,
                                             0x100000000,
                                             0x3FFFFFFFFFFFFFFF,
                                             0x4000000000000000,
                                             0xFFFFFFFFFFFFFFFF};
            memcpy(copy, bytes, size);
            memcpy(copy + 56 + 8 * hd_rng_below(&rng, 4), &sizes[hd_rng_below(&rng, COUNT_OF(sizes))], 8);
            repair_checksum(copy, size);
            assert_false(taken(copy, size));
        }
        free(bytes);
        free(copy);
    }
    print_message("%zu of %zu changed files with a right checksum are models\n", harmless, tries);
}

/* Each thing that is checked, as the only thing that is wrong. */
static void every_check_has_its_message(void **state)
{
    (void)state;
    size_t size;
    char *bytes = bytes_of(HD_SMOOTHING_KNESER_NEY, &size), *copy = malloc(size);
    uint64_t count;
    memcpy(&count, bytes + 56, 8);
    uint32_t *token = (uint32_t *)(copy + 56 + 4 * 8), *seen = token + count, *first = seen + count;
    const struct {
        uint32_t *at, value;
        const char *message;
    } cases[] = {{token + 1, 99, "not in the vocabulary"},
                 {token + 1, START, "out of order"},
                 {token + 2, START, "out of order"},
                 {seen + 1, 0, "never seen"},
                 {seen + 2, UINT32_MAX, "too large"},
                 {first, 1, "children"},
                 {first + 2, UINT32_MAX, "children"},
                 {first + 2, 0, "children"},
                 {first + count, 1, "children"},
                 {(uint32_t *)(copy + 36), 1, "no sense"},
                 {(uint32_t *)(copy + 12), 13, "no sense"},
                 {(uint32_t *)(copy + 12), 0, "order is 0"},
                 {(uint32_t *)(copy + 16), 2, "vocabulary has 2"},
                 {(uint32_t *)(copy + 20), 3, "no sense"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_ngram *m = NULL;
        hd_err err = {0};
        memcpy(copy, bytes, size);
        *cases[i].at = cases[i].value;
        repair_checksum(copy, size);
        put_bytes(at("broken"), copy, size);
        assert_int_equal(hd_ngram_open(&m, at("broken"), &err), HD_EFORMAT);
        if (!strstr(err.text, cases[i].message)) fail_msg("case %zu: %s", i, err.text);
    }
    free(bytes);
    free(copy);
}

static void other_files_are_told_apart(void **state)
{
    (void)state;
    size_t size;
    char *bytes = bytes_of(HD_SMOOTHING_ADD_K, &size);
    hd_ngram *m = NULL;
    hd_err err = {0};
    bytes[8] = 2;
    put_bytes(at("newer"), bytes, size);
    assert_int_equal(hd_ngram_open(&m, at("newer"), &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "version 2"));
    err = (hd_err){0};
    put_file(at("text"), "this is a text");
    assert_int_equal(hd_ngram_open(&m, at("text"), &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "is no n-gram model"));
    err = (hd_err){0};
    assert_int_equal(hd_ngram_open(&m, at("absent"), &err), HD_EFILE);
    free(bytes);
}

/* ---- memory ---- */

/* All of a model's life: counted, finished, saved, loaded, searched. */
static hd_status live(const corpus *c, hd_run *r, hd_smoothing smoothing, hd_err *err)
{
    hd_ngram_opt o = opt_of(c, 3, smoothing);
    hd_search_opt how = {.kind = HD_SEARCH_BEAM, .beam = 3, .end = END, .max_length = 4};
    hd_ngram *m = NULL, *loaded = NULL;
    hd_stepper step = {0};
    hd_found *f = NULL;
    hd_status s = hd_ngram_new(&m, &o, err);
    for (size_t i = 0; !s && i < c->documents; i++)
        s = hd_ngram_count(m, c->ids + c->begin[i], c->begin[i + 1] - c->begin[i], err);
    if (!s) s = hd_ngram_finish(m, err);
    if (!s) s = hd_ngram_save(m, at("model"), err);
    if (!s) s = hd_ngram_open(&loaded, at("model"), err);
    if (!s) s = hd_ngram_stepper(&step, loaded, (int32_t[]){START, 4, START}, (int32_t[]){2, 1}, 2, err);
    if (!s) s = hd_search(&f, r, &step, &how, err);
    hd_found_free(f);
    hd_stepper_release(&step);
    hd_ngram_free(loaded);
    hd_ngram_free(m);
    return s;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    hd_backend *backend = backend_of("cpu", 1);
    corpus c = grammar_corpus(900, 6); /* the text grows once */
    for (size_t s = 0; s < COUNT_OF(all_smoothings); s++) {
        size_t failures = 0, blocks = 0, calls = 0, n = 0;
        int files = 0;
        do { /* n = 0: none fails */
            hd_run r = run_on(backend);
            hd_err err = {0};
            size_t before = hd_mem_now().calls;
            hd_mem_fail_at(n);
            hd_status status = live(&c, &r, all_smoothings[s], &err);
            hd_mem_fail_at(0);
            hd_run_release(&r);
            if (!n)
                blocks = hd_mem_now().blocks, calls = hd_mem_now().calls - before,
                files = entries_in(scratch);
            if (status)
                assert_true(n && status == HD_ENOMEM && err.status == HD_ENOMEM &&
                            strstr(err.text, "out of memory"));
            failures += !!status;
            if (hd_mem_now().blocks != blocks)
                fail_msg("allocation %zu failed and %zu blocks leaked", n, hd_mem_now().blocks - blocks);
            assert_int_equal(entries_in(scratch), files); /* no half-written file stays */
        } while (n++ < calls);
        print_message("%s: %zu of %zu failing allocations ended it\n", hd_smoothing_names[all_smoothings[s]],
                      failures, calls);
        assert_true(failures + 1 >= calls); /* an arena asks again for less */
    }
    corpus_free(&c);
    hd_backend_free(backend);
}

static void what_could_not_be_finished_can_be_finished_later(void **state)
{
    (void)state;
    corpus c = grammar_corpus(100, 7);
    hd_ngram_opt o = opt_of(&c, 4, HD_SMOOTHING_KNESER_NEY_3);
    hd_ngram *m = NULL, *twin = model_of(&c, &o);
    assert_int_equal(hd_ngram_new(&m, &o, NULL), HD_OK);
    for (size_t i = 0; i < c.documents; i++)
        assert_int_equal(hd_ngram_count(m, c.ids + c.begin[i], c.begin[i + 1] - c.begin[i], NULL), HD_OK);
    size_t blocks = hd_mem_now().blocks, n = 0;
    for (hd_status s = HD_ENOMEM; s;) {
        hd_mem_fail_at(++n);
        s = hd_ngram_finish(m, NULL);
        hd_mem_fail_at(0);
        if (s) assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_true(n > 20);
    assert_int_equal(hd_ngram_save(m, at("late"), NULL), HD_OK);
    assert_int_equal(hd_ngram_save(twin, at("soon"), NULL), HD_OK);
    assert_same_file(at("late"), at("soon"));
    hd_ngram_free(m);
    hd_ngram_free(twin);
    corpus_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loaded_model_is_the_saved_one),
        cmocka_unit_test(a_model_that_still_counts_is_not_saved),
        cmocka_unit_test(a_cut_or_longer_file_is_refused),
        cmocka_unit_test(a_changed_file_is_refused_or_harmless),
        cmocka_unit_test(every_check_has_its_message),
        cmocka_unit_test(other_files_are_told_apart),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(what_could_not_be_finished_can_be_finished_later),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
