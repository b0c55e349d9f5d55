/* Scores of small corpora, made with sacreBLEU 2.6.0 (CPython 3.11); signatures, sentence level, hostile
   input, and every allocation failing once. */
#include "metric/corpus.h"

#include "metric/corpus/bleu.h"

struct values {
    double bleu, bleu_lc, chrf2, chrf2_lc, chrf2pp, chrf2pp_lc, ter;
};

static const struct {
    const char *name;
    int lines, refs;
    const char *hyp[CORPUS_LINES], *ref[CORPUS_REFS][CORPUS_LINES];
    struct values is;
} cases[] = {
    {"one reference",
     3,
     1,
     {"The dog bit the man.", "It was not unexpected.", "The man bit him first."},
     {{"The dog bit the man.", "It was not unexpected.", "The man bit him first!"}},
     {91.31149144781443, 91.31149144781443, 97.77370289372703, 97.77370289372703, 96.70212590979106,
      96.70212590979106, 7.142857142857142}},
    {"two references",
     3,
     2,
     {"The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."},
     {{"The dog bit the man.", "It was not unexpected.", "The man bit him first."},
      {"The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."}},
     {48.530827009929865, 48.530827009929865, 59.72751782684763, 60.02302725455764, 59.15310444399262,
      59.374750531852115, 40.0}},
    {"German",
     3,
     1,
     {"Ein Mann mit einem orangefarbenen Hut starrt.", "Zwei Hunde LAUFEN über die Straße",
      "Preis: 3.50 € (ca. 4-5 Stück)"},
     {{"Ein Mann mit einem orangefarbenen Hut, der etwas anstarrt.", "Zwei Hunde laufen über eine Straße.",
       "Preis: 3,50 € (etwa 4-5 Stück)."}},
     {39.129796144172396, 45.853929418630024, 62.05242964982411, 70.88584988719296, 57.94465425058161,
      66.12444808944413, 42.857142857142854}},
    {"French",
     3,
     1,
     {"L’homme n'est pas «là» aujourd'hui ...", "il a dit &quot;oui&quot; &amp; non",
      "été\u00a0: 1 000,5 km"},
     {{"L'homme n’est pas « là » aujourd’hui…", "Il a dit \"oui\" & \"non\"", "Été : 1.000,5 km"}},
     {30.64409050749728, 39.640237166757395, 53.04733052756071, 56.29982730100234, 43.829044974990246,
      49.12356160663883, 64.70588235294117}},
    {"case that is more than letter by letter",
     3,
     1,
     {"Ο ΣΊΣΥΦΟΣ ΤΗΣ ΟΔΟΎ", "İSTANBUL'A GİDİYORUM", "STRASSE ẞ straße"},
     {{"ο σίσυφος της οδού", "i\u0307stanbul'a gi\u0307di\u0307yorum", "strasse ß straße"}},
     {9.910059291689342, 100.00000000000004, 8.12107295733718, 100.0, 7.480517977904083, 100.0, 0.0}},
    {"shifted blocks",
     3,
     1,
     {"d e f a b c g h", "on the mat the cat sat quietly today", "w x y z w x y z"},
     {{"a b c d e f g h", "the cat sat quietly on the mat today", "z y x w z y x w"}},
     {30.64409050749728, 30.64409050749728, 67.62265512265513, 67.62265512265513, 69.1693722943723,
      69.1693722943723, 29.166666666666668}},
    {"empty lines",
     4,
     1,
     {"", "a b c d", "", "x"},
     {{"a b c", "", "", "x"}},
     {15.106876986783844, 15.106876986783844, 29.411764705882355, 29.411764705882355, 29.411764705882355,
      29.411764705882355, 175.0}},
};

static void scores_are_those_of_sacrebleu(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct values *is = &cases[i].is;
        const struct {
            hd_metric_kind kind;
            double exact, lower;
        } all[] = {{HD_METRIC_bleu, is->bleu, is->bleu_lc},
                   {HD_METRIC_chrf2, is->chrf2, is->chrf2_lc},
                   {HD_METRIC_chrf2pp, is->chrf2pp, is->chrf2pp_lc},
                   {HD_METRIC_ter, is->ter, is->ter}};
        for (size_t k = 0; k < COUNT_OF(all); k++)
            for (int lower = 0; lower < 2; lower++) {
                const hd_metric_opt opt = {.refs = cases[i].refs, .lowercase = lower};
                assert_same(finish(metric_over(all[k].kind, opt, cases[i].lines, cases[i].hyp, cases[i].ref)),
                            lower ? all[k].lower : all[k].exact, cases[i].name);
            }
    }
}

static void every_tokenizer_scores_as_sacrebleu(void **state)
{
    (void)state;
    static const struct {
        hd_bleu_tokenizer by;
        double bleu;
    } all[] = {{HD_BLEU_TOKENIZER_intl, 32.201805772513346},
               {HD_BLEU_TOKENIZER_char, 65.75331407353885},
               {HD_BLEU_TOKENIZER_none, 27.20877832421806}};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        assert_same(finish(metric_over(HD_METRIC_bleu, (hd_metric_opt){.refs = 1, .tokenizer = all[i].by}, 3,
                                       cases[2].hyp, cases[2].ref)),
                    all[i].bleu, hd_bleu_tokenizer_names[all[i].by]);
}

static void segments_score_as_sentences(void **state)
{
    (void)state;
    static const double expected[HD_METRIC_ter + 1][3] = {
        {100.00000000000004, 14.794015674776452, 29.071536848410968},
        {100.0, 35.34635301425291, 51.87740799504779},
        {100.0, 29.14513880802484, 52.00714394858371},
        {0.0, 75.0, 54.54545454545454}};
    for (int k = 0; k <= HD_METRIC_ter; k++)
        for (int lines = 1; lines <= 3; lines++) {
            hd_metric *m = metric_over((hd_metric_kind)k, (hd_metric_opt){.refs = 2, .sentence = true}, lines,
                                       cases[1].hyp, cases[1].ref);
            assert_same(hd_metric_last(m), expected[k][lines - 1], hd_metric_keys[k]);
            assert_int_equal(hd_metric_count(m), lines);
            hd_metric_free(m);
        }
}

/* Three tokens have no 4-gram: the corpus scores 0, the sentence is judged by what it has. */
static void effective_order_is_for_sentences(void **state)
{
    (void)state;
    assert_same(score_pair(HD_METRIC_bleu, (hd_metric_opt){0}, "a b c", "a b c"), 0, "corpus");
    assert_same(score_pair(HD_METRIC_bleu, (hd_metric_opt){.sentence = true}, "a b c", "a b c"),
                100.00000000000004, "sentence");
}

/* An empty hypothesis scores 0 against both; the reference that is kept then weighs in the corpus. */
static void the_first_of_equal_references_is_kept(void **state)
{
    (void)state;
    static const char *const hyp[CORPUS_LINES] = {"", "ab cd"};
    static const char *const short_first[CORPUS_REFS][CORPUS_LINES] = {{"a", "ab ce"}, {"abcdef", "ab ce"}};
    static const char *const long_first[CORPUS_REFS][CORPUS_LINES] = {{"abcdef", "ab ce"}, {"a", "ab ce"}};
    const hd_metric_opt opt = {.refs = 2};
    assert_same(finish(metric_over(HD_METRIC_chrf2, opt, 2, hyp, short_first)), 44.868963486454646,
                "short first");
    assert_same(finish(metric_over(HD_METRIC_chrf2, opt, 2, hyp, long_first)), 20.481278992710404,
                "long first");
}

static void details_of_bleu_are_shown(void **state)
{
    (void)state;
    hd_text text = {0};
    hd_metric *m = metric_over(HD_METRIC_bleu, (hd_metric_opt){.refs = 2}, 3, cases[1].hyp, cases[1].ref);
    hd_metric_detail(m, &text);
    assert_string_equal(text.data,
                        "82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)");
    hd_bleu b = hd_bleu_of(hd_metric_sums(m), false);
    static const double correct[] = {14, 7, 5, 3}, total[] = {17, 14, 11, 8};
    for (int n = 0; n < HD_BLEU_ORDER; n++) {
        assert_same(b.correct[n], correct[n], "correct");
        assert_same(b.total[n], total[n], "total");
    }
    hd_text_release(&text);
    hd_metric_free(m);
}

static void signatures_are_those_of_sacrebleu(void **state)
{
    (void)state;
    static const struct {
        hd_metric_kind kind;
        hd_metric_opt opt;
        hd_metric_trials trials;
        const char *text;
    } all[] = {
        {HD_METRIC_bleu, {.refs = 2}, {0, 0}, "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:heed-"},
        {HD_METRIC_bleu,
         {.refs = 1, .lowercase = true, .sentence = true, .tokenizer = HD_BLEU_TOKENIZER_intl},
         {1000, 12345},
         "nrefs:1|bs:1000|seed:12345|case:lc|eff:yes|tok:intl|smooth:exp|version:heed-"},
        {HD_METRIC_chrf2, {.refs = 1}, {0, 0}, "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:heed-"},
        {HD_METRIC_chrf2pp,
         {.refs = 1, .lowercase = true},
         {0, 0},
         "nrefs:1|case:lc|eff:yes|nc:6|nw:2|space:no|version:heed-"},
        {HD_METRIC_ter,
         {.refs = 1},
         {0, 0},
         "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:heed-"},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        hd_err err = {0};
        hd_metric *m = NULL;
        hd_text text = {0};
        assert_int_equal(hd_metric_new(&m, all[i].kind, &all[i].opt, &err), HD_OK);
        hd_metric_sign(m, all[i].trials, &text);
        if (strncmp(text.data, all[i].text, strlen(all[i].text)))
            fail_msg("%s, expected %s...", text.data, all[i].text);
        hd_text_release(&text);
        hd_metric_free(m);
    }
}

/* Scores follow from these by hand. */
static void hand_cases(void **state)
{
    (void)state;
    static const struct {
        hd_metric_kind kind;
        const char *hyp, *ref;
        double score;
    } all[] = {
        {HD_METRIC_ter, "", "", 0},                /* nothing to edit */
        {HD_METRIC_ter, "a b", "", 100},           /* by definition */
        {HD_METRIC_ter, "", "a b", 100},           /* two insertions of two words */
        {HD_METRIC_ter, "A  b", "a B ", 0},        /* case and spaces are nothing */
        {HD_METRIC_ter, "b c d a", "a b c d", 25}, /* one shift */
        {HD_METRIC_ter, "a x c d", "a b c d", 25},
        {HD_METRIC_chrf2, "", "", 0},
        {HD_METRIC_chrf2, "", "a", 0},
        {HD_METRIC_chrf2, "ab cd", "a b c d", 100}, /* spaces do not count */
        {HD_METRIC_chrf2, "a", "ab", 500.0 / 9},    /* precision 1, recall 1/2: (5 * 1/2) / (4 + 1/2) */
        {HD_METRIC_bleu, "", "a", 0},
        {HD_METRIC_bleu, "a b c d", "a b c d", 100.00000000000004},
        {HD_METRIC_bleu, "x", "a", 0},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        assert_same(score_pair(all[i].kind, (hd_metric_opt){0}, all[i].hyp, all[i].ref), all[i].score,
                    all[i].hyp);
}

static void a_segment_that_is_refused_is_not_counted(void **state)
{
    (void)state;
    static const char *const bad[] = {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"};
    for (int k = 0; k < HD_METRICS; k++) {
        hd_metric *m = metric_over((hd_metric_kind)k, (hd_metric_opt){.refs = 1, .keep = true}, 1,
                                   cases[0].hyp, cases[0].ref);
        double before = hd_metric_last(m);
        for (size_t i = 0; i < COUNT_OF(bad); i++)
            for (int in_ref = 0; in_ref < 2; in_ref++) {
                hd_err err = {0};
                hd_line good = line_of("a b c"), wrong = line_of(bad[i]);
                assert_int_equal(hd_metric_add(m, in_ref ? good : wrong, in_ref ? &wrong : &good, &err),
                                 HD_EFORMAT);
                assert_non_null(strstr(err.text, "segment 2: not UTF-8: byte 0x"));
            }
        assert_int_equal(hd_metric_count(m), 1);
        assert_same(finish(m), before, hd_metric_keys[k]);
    }
}

static void nul_is_a_character_like_others(void **state)
{
    (void)state;
    const hd_line with = {"a\0b c", 5}, without = {"ab c", 4};
    for (int k = 0; k <= HD_METRIC_ter; k++) {
        hd_err err = {0};
        hd_metric *m = NULL;
        assert_int_equal(
            hd_metric_new(&m, (hd_metric_kind)k, &(hd_metric_opt){.refs = 1, .sentence = true}, &err), 0);
        assert_int_equal(hd_metric_add(m, with, &with, &err), HD_OK);
        double equal = hd_metric_last(m);
        assert_int_equal(hd_metric_add(m, with, &without, &err), HD_OK);
        assert_true(equal == (k == HD_METRIC_ter ? 0 : hd_metric_last(m) < equal ? equal : -1));
        assert_true(hd_metric_last(m) != equal);
        hd_metric_free(m);
    }
}

/* A line of 1 MiB. TER has a limit of its own: its time grows with the square. */
static void huge_lines_are_scored_or_refused(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) text[i] = i % 2 ? ' ' : (char)('a' + i * i / 2 % 26);
    for (int k = 0; k <= HD_METRIC_ter; k++) {
        hd_err err = {0};
        hd_metric *m = NULL;
        hd_line line = {text, SIZE};
        assert_int_equal(hd_metric_new(&m, (hd_metric_kind)k, &(hd_metric_opt){.refs = 1}, &err), HD_OK);
        if (k == HD_METRIC_ter) {
            assert_int_equal(hd_metric_add(m, line, &line, &err), HD_ELIMIT);
            assert_string_equal(err.text, "TER, segment 1: 524288 words, the most is 65536");
        } else {
            assert_int_equal(hd_metric_add(m, line, &line, &err), HD_OK);
            assert_true(fabs(hd_metric_last(m) - 100) < 1e-9);
        }
        hd_metric_free(m);
    }
    free(text);
}

static void nothing_to_score_is_an_error(void **state)
{
    (void)state;
    for (int k = 0; k < HD_METRICS; k++) {
        hd_err err = {0};
        hd_metric *m = NULL;
        double score = -1;
        assert_int_equal(hd_metric_new(&m, (hd_metric_kind)k, &(hd_metric_opt){.refs = 0}, &err), HD_EARG);
        err = (hd_err){0};
        assert_int_equal(hd_metric_new(&m, (hd_metric_kind)k, &(hd_metric_opt){.refs = 65}, &err), HD_EARG);
        err = (hd_err){0};
        assert_null(m);
        assert_int_equal(hd_metric_new(&m, (hd_metric_kind)k, &(hd_metric_opt){.refs = 64}, &err), HD_OK);
        assert_int_equal(hd_metric_finish(m, &score, &err), HD_EARG);
        assert_true(score == -1);
        hd_metric_free(m);
    }
}

/* Everything a metric does, until `fail_at` allocations are done. */
static hd_status whole_life(hd_metric_kind kind, double *score, hd_err *err)
{
    hd_metric *m = NULL;
    hd_status s = hd_metric_new(
        &m, kind,
        &(hd_metric_opt){.refs = 2, .lowercase = true, .keep = true, .tokenizer = HD_BLEU_TOKENIZER_13a},
        err);
    for (int i = 0; !s && i < 3; i++) {
        const hd_line refs[2] = {line_of(cases[1].ref[0][i]), line_of(cases[1].ref[1][i])};
        s = hd_metric_add(m, line_of(cases[1].hyp[i]), refs, err);
    }
    /* long enough that everything grows again */
    char longer[1000];
    for (size_t i = 0; i + 1 < sizeof longer; i++) longer[i] = i % 3 ? (char)('a' + i * i % 13) : ' ';
    longer[sizeof longer - 1] = 0;
    if (!s)
        s = hd_metric_add(m, line_of(longer), (hd_line[]){line_of(longer + 500), line_of(longer + 100)}, err);
    if (!s) s = hd_metric_finish(m, score, err);
    hd_metric_free(m);
    return s;
}

static void failing_allocations_leak_nothing(void **state)
{
    (void)state;
    for (int k = 0; k < HD_METRICS; k++) {
        double expected = -1;
        assert_int_equal(whole_life((hd_metric_kind)k, &expected, NULL), HD_OK);
        size_t before = hd_mem_now().blocks, failures = 0;
        for (size_t n = 1;; n++) {
            hd_err err = {0};
            double score = -1;
            hd_mem_fail_at(n);
            hd_status s = whole_life((hd_metric_kind)k, &score, &err);
            hd_mem_fail_at(0);
            assert_int_equal(hd_mem_now().blocks, before);
            if (!s) {
                assert_true(score == expected);
                break;
            }
            assert_int_equal(s, HD_ENOMEM);
            assert_true(*err.text);
            failures++;
        }
        assert_true(failures > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_sacrebleu),
        cmocka_unit_test(every_tokenizer_scores_as_sacrebleu),
        cmocka_unit_test(segments_score_as_sentences),
        cmocka_unit_test(effective_order_is_for_sentences),
        cmocka_unit_test(the_first_of_equal_references_is_kept),
        cmocka_unit_test(details_of_bleu_are_shown),
        cmocka_unit_test(signatures_are_those_of_sacrebleu),
        cmocka_unit_test(hand_cases),
        cmocka_unit_test(a_segment_that_is_refused_is_not_counted),
        cmocka_unit_test(nul_is_a_character_like_others),
        cmocka_unit_test(huge_lines_are_scored_or_refused),
        cmocka_unit_test(nothing_to_score_is_an_error),
        cmocka_unit_test(failing_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
