/* Shortlists: with all tokens a search finds what it finds without, with some of them it finds these alone,
   and whatever stands beside a sentence changes no bit of what it gives. */
#include "decode/babble.h"
#include "model/encdec/shortlist.h"
#include "model/prepare.h"
#include "model/toy.h"

enum { V = 600, ITEMS = 10, LIMIT = 12, START = 1, END = 2, FIRST = 5, EACH = 40 };

typedef struct subject {
    hd_backend *backend;
    hd_run r;
    hd_encdec *t;
    int32_t source[ITEMS][TOY_LONGEST], len[ITEMS];
} subject;

static const int32_t forward[ITEMS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

static subject *subject_of(hd_precision precision, const char *decoder, bool bias)
{
    hd_err err = {0};
    subject *s = calloc(1, sizeof *s);
    if (hd_backend_new(&s->backend, "cpu", &(hd_backend_opt){.threads = 2, .precision = precision}, &err))
        fail_msg("%s", err.text);
    s->r = run_on(s->backend);
    hd_encdec_opt o = toy_opt();
    o.source_vocab = o.target_vocab = V, o.output_bias = bias;
    if (hd_stages_read(&o.encoder, *decoder == 'g' ? "bi-gru:1" : "transformer:2", &err) ||
        hd_stages_read(&o.decoder, decoder, &err))
        fail_msg("%s", err.text);
    s->t = toy_transformer(s->backend, &o, false);
    stir(&s->t->params);
    hd_rng rng = hd_rng_make(4, 2);
    for (size_t i = 0; i < ITEMS; i++) {
        s->len[i] = 1 + (int32_t)(i % TOY_LONGEST);
        for (int32_t j = 0; j < s->len[i]; j++) s->source[i][j] = (int32_t)hd_rng_below(&rng, V);
    }
    if (hd_encdec_prepare(s->t, HD_DECODING, &err)) fail_msg("%s", err.text);
    return s;
}

static void subject_free(subject *s)
{
    hd_encdec_free(s->t);
    hd_run_release(&s->r);
    hd_backend_free(s->backend);
    free(s);
}

/* Random tokens for each source token, `each` of them; V: all. */
static hd_shortlist *list_of(size_t each)
{
    hd_shortlist *l = hd_mem_zero(sizeof *l);
    hd_rng rng = hd_rng_make(9, 1);
    *l = (hd_shortlist){.sources = V,
                        .targets = V,
                        .begin = hd_mem_array(V + 1, sizeof *l->begin),
                        .target = hd_mem_array(V * each, sizeof *l->target),
                        .always = hd_mem_array(FIRST, sizeof *l->always),
                        .always_count = FIRST};
    for (int32_t i = 0; i < FIRST; i++) l->always[i] = i;
    for (size_t i = 0; i <= V; i++) l->begin[i] = i * each;
    for (size_t i = 0; i < V * each; i++)
        l->target[i] = each == V ? (int32_t)(i % V) : (int32_t)hd_rng_below(&rng, V);
    return l;
}

static bool lists(const hd_shortlist *l, const subject *s, int32_t item, int32_t token)
{
    if (token < FIRST) return true;
    for (int32_t j = 0; j < s->len[item]; j++)
        for (size_t i = l->begin[s->source[item][j]]; i < l->begin[s->source[item][j] + 1]; i++)
            if (l->target[i] == token) return true;
    return false;
}

static hd_found *search(subject *s, const int32_t *which, size_t n, const hd_shortlist *l, hd_search_opt o)
{
    int32_t ids[ITEMS * TOY_LONGEST], len[ITEMS];
    size_t rows = 0;
    hd_err err = {0};
    hd_stepper st = {0};
    hd_found *f = NULL;
    for (size_t i = 0; i < n; i++) {
        len[i] = s->len[which[i]];
        memcpy(ids + rows, s->source[which[i]], (size_t)len[i] * sizeof *ids);
        rows += (size_t)len[i];
    }
    o.key = which;
    if (hd_encdec_stepper(&st, s->t, ids, len, n, START, &err) ||
        (l && hd_encdec_narrow(&st, l, o.prefix, o.prefix_len, &err)) || hd_search(&f, &s->r, &st, &o, &err))
        fail_msg("%s", err.text);
    hd_stepper_release(&st);
    return f;
}

static hd_search_opt option_of(hd_search_kind k)
{
    static const int32_t banned[] = {0, 7};
    hd_search_opt o = {.kind = k,
                       .end = END,
                       .max_length = LIMIT,
                       .min_length = 3,
                       .beam = 4,
                       .best = 4,
                       .temperature = 1.5f,
                       .top_p = 0.9f,
                       .seed = 8,
                       .banned = banned,
                       .banned_count = 2};
    if (k == HD_SEARCH_GREEDY) o.best = 1;
    if (k == HD_SEARCH_EXHAUSTIVE) o.max_length = 1, o.min_length = 0;
    return o;
}

static const struct {
    hd_precision precision;
    const char *decoder;
    bool bias;
} subjects[] = {{HD_PRECISION_F32, "transformer:2", false},
                {HD_PRECISION_F32, "gru:1", true},
                {HD_PRECISION_BF16, "transformer:2", true},
                {HD_PRECISION_INT8, "transformer:2", true},
                {HD_PRECISION_INT8, "transformer:1", false}};

static void a_list_of_all_tokens_changes_no_bit(void **state)
{
    (void)state;
    hd_shortlist *all = list_of(V);
    for (size_t i = 0; i < COUNT_OF(subjects); i++) {
        subject *s = subject_of(subjects[i].precision, subjects[i].decoder, subjects[i].bias);
        for (int k = 0; k < HD_SEARCHES; k++) {
            hd_search_opt o = option_of((hd_search_kind)k);
            hd_found *f = search(s, forward, ITEMS, all, o), *g = search(s, forward, ITEMS, NULL, o);
            assert_same_found(f, g);
            hd_found_free(f), hd_found_free(g);
        }
        subject_free(s);
    }
    hd_shortlist_free(all);
}

static void only_listed_tokens_are_found(void **state)
{
    (void)state;
    hd_shortlist *some = list_of(EACH);
    for (size_t i = 0; i < COUNT_OF(subjects); i++) {
        subject *s = subject_of(subjects[i].precision, subjects[i].decoder, subjects[i].bias);
        size_t others = 0;
        for (int k = 0; k < HD_SEARCHES; k++) {
            hd_search_opt o = option_of((hd_search_kind)k);
            hd_found *f = search(s, forward, ITEMS, some, o), *g = search(s, forward, ITEMS, NULL, o);
            for (size_t item = 0; item < ITEMS; item++)
                for (size_t j = 0; j < hd_found_count(f, item); j++)
                    for (size_t t = 0; t < hd_found_at(f, item)[j].length; t++)
                        assert_true(lists(some, s, (int32_t)item, hd_found_at(f, item)[j].ids[t]));
            for (size_t item = 0; item < ITEMS; item++)
                for (size_t j = 0; j < hd_found_count(g, item); j++)
                    for (size_t t = 0; t < hd_found_at(g, item)[j].length; t++)
                        others += !lists(some, s, (int32_t)item, hd_found_at(g, item)[j].ids[t]);
            hd_found_free(f), hd_found_free(g);
        }
        assert_true(others > 0);
        subject_free(s);
    }
    hd_shortlist_free(some);
}

/* Alone, in other orders, a few at a time. */
static void what_stands_beside_a_sentence_changes_no_bit(void **state)
{
    (void)state;
    static const int32_t order[ITEMS] = {9, 3, 3, 0, 7, 1, 8, 2, 5, 6};
    hd_shortlist *some = list_of(EACH);
    for (size_t i = 0; i < COUNT_OF(subjects); i++) {
        subject *s = subject_of(subjects[i].precision, subjects[i].decoder, subjects[i].bias);
        for (int k = 0; k < HD_SEARCHES; k++) {
            hd_search_opt o = option_of((hd_search_kind)k);
            hd_found *first = search(s, forward, ITEMS, some, o);
            for (o.seats = 0; o.seats <= 12; o.seats += 4) {
                hd_found *f = search(s, order, ITEMS, some, o);
                for (size_t item = 0; item < ITEMS; item++)
                    assert_same_item(f, item, first, (size_t)order[item]);
                hd_found_free(f);
            }
            for (size_t item = 0; item < ITEMS; item++) {
                hd_found *f = search(s, &forward[item], 1, some, o);
                assert_same_item(f, 0, first, item);
                hd_found_free(f);
            }
            hd_found_free(first);
        }
        subject_free(s);
    }
    hd_shortlist_free(some);
}

static void forced_tokens_need_not_be_listed(void **state)
{
    (void)state;
    int32_t prefix[2 * ITEMS], len[ITEMS];
    hd_shortlist *none = list_of(0);
    subject *s = subject_of(HD_PRECISION_F32, "transformer:2", false);
    for (int32_t i = 0; i < ITEMS; i++) len[i] = i % 3, prefix[2 * i] = 100 + i, prefix[2 * i + 1] = 300 + i;
    for (int k = 0; k < HD_SEARCHES; k++) {
        hd_search_opt o = option_of((hd_search_kind)k);
        o.prefix = prefix, o.prefix_len = len, o.max_length = LIMIT, o.min_length = 0;
        if (k == HD_SEARCH_EXHAUSTIVE) o.max_length = 3;
        size_t at = 0;
        hd_found *f = search(s, forward, ITEMS, none, o);
        for (size_t i = 0; i < ITEMS; at += (size_t)len[i++])
            for (size_t j = 0; j < hd_found_count(f, i); j++) {
                const hd_guess *g = &hd_found_at(f, i)[j];
                assert_true(isfinite(g->sum) && (int32_t)g->length >= len[i]);
                assert_memory_equal(g->ids, prefix + at, (size_t)len[i] * sizeof *prefix);
            }
        hd_found_free(f);
    }
    subject_free(s);
    hd_shortlist_free(none);
}

static void a_list_of_other_vocabularies_is_refused(void **state)
{
    (void)state;
    const int32_t ids[] = {3}, len[] = {1};
    hd_err err = {0};
    hd_stepper st = {0};
    hd_shortlist *l = list_of(1);
    subject *s = subject_of(HD_PRECISION_F32, "transformer:1", false);
    l->targets--;
    assert_int_equal(hd_encdec_stepper(&st, s->t, ids, len, 1, START, &err), HD_OK);
    assert_int_equal(hd_encdec_narrow(&st, l, NULL, NULL, &err), HD_EARG);
    hd_stepper_release(&st);
    subject_free(s);
    hd_shortlist_free(l);
}

/* As on cards. */
static void a_device_without_narrow_says_so(void **state)
{
    (void)state;
    const int32_t ids[] = {3}, len[] = {1};
    hd_err err = {0};
    hd_stepper st = {0};
    hd_found *f = NULL;
    hd_shortlist *l = list_of(1);
    subject *s = subject_of(HD_PRECISION_F32, "transformer:1", false);
    s->backend->narrow = NULL;
    hd_search_opt o = option_of(HD_SEARCH_GREEDY);
    assert_int_equal(hd_encdec_stepper(&st, s->t, ids, len, 1, START, &err), HD_OK);
    assert_int_equal(hd_encdec_narrow(&st, l, NULL, NULL, &err), HD_OK);
    assert_int_equal(hd_search(&f, &s->r, &st, &o, &err), HD_EMISSING);
    assert_non_null(strstr(err.text, "--device cpu"));
    hd_stepper_release(&st);
    subject_free(s);
    hd_shortlist_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_all_tokens_changes_no_bit),
        cmocka_unit_test(only_listed_tokens_are_found),
        cmocka_unit_test(what_stands_beside_a_sentence_changes_no_bit),
        cmocka_unit_test(forced_tokens_need_not_be_listed),
        cmocka_unit_test(a_list_of_other_vocabularies_is_refused),
        cmocka_unit_test(a_device_without_narrow_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
