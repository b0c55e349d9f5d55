/* The file of a shortlist: what is read of it, which files are refused, and that alignment by attention
   writes what is read. */
#include "check.h"
#include "scratch.h"
#include "task/small.h"
#include "data/reader.h"
#include "task/translate/aligner.h"
#include "task/translate/lexicon.h"

typedef struct subject {
    hd_backend *backend;
    hd_model_folder *t;
} subject;

static subject subject_of(bool shared)
{
    hd_backend *b = backend_of("cpu", 1);
    return (subject){b, small_make(b, HD_TOKENIZER_words, shared, false)};
}

static void subject_free(subject *s)
{
    folder_free(s->t);
    hd_backend_free(s->backend);
}

static int32_t target(const subject *s, const char *piece)
{
    int32_t id = hd_tokenizer_id(s->t->tokenizer[1], piece);
    assert_true(id >= 0);
    return id;
}

/* The targets of a source token, or of all: "A B", in their order. */
static const char *targets(const hd_shortlist *l, const subject *s, const char *source)
{
    static char text[256];
    const int32_t id = source ? hd_tokenizer_id(s->t->tokenizer[0], source) : 0;
    const int32_t *at = source ? l->target + l->begin[id] : l->always;
    const size_t count = source ? l->begin[id + 1] - l->begin[id] : l->always_count;
    *text = 0;
    for (size_t i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
                 hd_tokenizer_piece(s->t->tokenizer[1], at[i]));
    return text;
}

static hd_shortlist *open_text(const subject *s, const char *text, hd_lexicon_opt opt)
{
    hd_err err = {0};
    hd_shortlist *l = NULL;
    put_file(at("lex"), text);
    if (hd_lexicon_open(&l, at("lex"), s->t, &opt, &err)) fail_msg("%s", err.text);
    return l;
}

static void the_best_of_each_source_token_are_read(void **state)
{
    (void)state;
    subject s = subject_of(false);
    hd_shortlist *l = open_text(&s, "B a 0.25\nA a 0.5\nC a 0.125\nNULL a 0.1\nD b 1e-3\nH\tc\t0\n",
                                (hd_lexicon_opt){.first = 2, .best = 2});
    assert_string_equal(targets(l, &s, "a"), "A B");
    assert_string_equal(targets(l, &s, "b"), "D");
    assert_string_equal(targets(l, &s, "c"), "");
    /* the end, and the first of the vocabulary */
    assert_int_equal(l->always_count, 3);
    assert_int_equal(l->always[0], hd_tokenizer_special(s.t->tokenizer[1]).end);
    assert_int_equal(l->always[1], 0);
    assert_int_equal(l->always[2], 1);
    assert_false(l->copies);
    hd_shortlist_free(l);
    subject_free(&s);
}

static void frequent_tokens_are_those_of_null(void **state)
{
    (void)state;
    subject s = subject_of(false);
    hd_shortlist *l =
        open_text(&s, "A\ta\t1\nG\tNULL\t0.5\nF\tNULL\t0.75\nH\tNULL\t0.1\n", (hd_lexicon_opt){.first = 2});
    assert_int_equal(l->always_count, 3);
    assert_int_equal(l->always[1], target(&s, "F"));
    assert_int_equal(l->always[2], target(&s, "G"));
    hd_shortlist_free(l);
    subject_free(&s);
    s = subject_of(true);
    l = open_text(&s, "a\ta\t1\n", (hd_lexicon_opt){0});
    assert_true(l->copies);
    hd_shortlist_free(l);
    subject_free(&s);
}

static void counts_follow_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *end;
        size_t always, best;
    } cases[] = {{"", 8, 3}, {",2", 3, 3}, {",3,1", 4, 1}, {",1,2", 2, 2}};
    subject s = subject_of(false);
    hd_err err = {0};
    put_file(at("l"),
             "A a 1\nB a 1\nC a 1\nA NULL .1\nB NULL .1\nC NULL .1\nD NULL .1\nE NULL .1\nF NULL .1\n"
             "G NULL .1\n");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char given[512];
        hd_shortlist *l = NULL;
        snprintf(given, sizeof given, "%s%s", at("l"), cases[i].end);
        if (hd_lexicon_open_given(&l, given, s.t, NULL, &err)) fail_msg("%s", err.text);
        const int32_t a = hd_tokenizer_id(s.t->tokenizer[0], "a");
        assert_int_equal(l->always_count, cases[i].always);
        assert_int_equal(l->begin[a + 1] - l->begin[a], cases[i].best);
        hd_shortlist_free(l);
    }
    subject_free(&s);
}

static void broken_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "no lines"},
        {"\n\n", "no lines"},
        {"A a 0.5\nB a", "lex:2: a line of a shortlist"},
        {"A a 0.5\nB a 0.", NULL}, /* cut off within a number: it is one still */
        {"A a 0.5\nB a x\n", "lex:2: a line of a shortlist"},
        {"A a -0.5\n", "lex:1: a line of a shortlist"},
        {"A a nan\n", "lex:1: a line of a shortlist"},
        {"A a 1e999\n", "lex:1: a line of a shortlist"},
        {"A a 0.5 0.5\n", "lex:1: a line of a shortlist"},
        {"A\ta\t0.5\t\n", NULL},
        {"A\t\t0.5\n", "lex:1: a line of a shortlist"},
        {"A a 0.5\n\xff\xfe b 1\n", "not UTF-8"},
        {"unheard of 1\nA unheard 1\n", "made for another"},
        {"A NULL 1\n", "no line has a source token"},
        {"NULL NULL 1\n", "no lines"},
    };
    subject s = subject_of(false);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_shortlist *l = NULL;
        put_file(at("lex"), cases[i].text);
        hd_status st = hd_lexicon_open(&l, at("lex"), s.t, &(hd_lexicon_opt){0}, &err);
        if (!cases[i].says != !st || (st && !strstr(err.text, cases[i].says)))
            fail_msg("case %zu: %d %s", i, st, err.text);
        hd_shortlist_free(l);
    }
    hd_err err = {0};
    hd_shortlist *l = NULL;
    assert_int_equal(hd_lexicon_open(&l, at("nowhere"), s.t, &(hd_lexicon_opt){0}, &err), HD_EFILE);
    subject_free(&s);
}

static void words_too_long_and_unknown_ones_are_no_fault(void **state)
{
    (void)state;
    enum { LONG = 5000 };
    char *text = malloc(2 * LONG);
    subject s = subject_of(false);
    hd_err err = {0};
    hd_shortlist *l = NULL;
    memset(text, 'x', LONG);
    strcpy(text + LONG, " a 1\n");
    put_file(at("lex"), text);
    assert_int_equal(hd_lexicon_open(&l, at("lex"), s.t, &(hd_lexicon_opt){0}, &err), HD_EFORMAT);
    hd_shortlist *known = open_text(&s, "A a 0.5\nunheard a 0.75\nA unheard 1\n", (hd_lexicon_opt){0});
    assert_string_equal(targets(known, &s, "a"), "A");
    hd_shortlist_free(known);
    free(text);
    subject_free(&s);
}

/* The file that aligning these lines gives. */
static void align_lines(hd_text *to, hd_run *r, const hd_model_folder *t, const char *from, const char *into)
{
    hd_err err = {0};
    hd_sentences text = {0};
    hd_corpus ids = {0};
    hd_aligner *a = NULL;
    char paths[2][512];
    for (int side = 0; side < 2; side++)
        snprintf(paths[side], sizeof *paths, "%s", at(side ? "b" : "a")),
            put_file(paths[side], side ? into : from);
    if (hd_sentences_read(&text, &(hd_read_opt){.source = paths[0], .target = paths[1]}, NULL, &err) ||
        hd_corpus_make(&ids, &text, (const hd_tokenizer *const *)t->tokenizer, &(hd_corpus_opt){0}, NULL,
                       &err) ||
        hd_aligner_new(&a, t, &err) || hd_aligner_add(a, r, &ids, &err) || hd_aligner_write(a, 10, to, &err))
        fail_msg("%s", err.text);
    hd_aligner_free(a);
    hd_corpus_release(&ids);
    hd_sentences_release(&text);
}

static void alignment_counts_every_target_token_once(void **state)
{
    (void)state;
    static const char *const decoders[] = {"transformer", "gru:1"};
    for (size_t i = 0; i < COUNT_OF(decoders); i++) {
        hd_backend *b = backend_of("cpu", 2);
        subject s = {b, small_staged(b, HD_TOKENIZER_words, false, false, i ? "bi-gru:1" : "transformer",
                                     decoders[i], &(hd_recurrent_decoder_opt){0})};
        hd_run r = run_on(b);
        hd_text text = {0};
        align_lines(&text, &r, s.t, "a b c\nd\ne f", "A B\nC C C\nD E F G");
        put_bytes(at("lex"), text.data, text.size);
        hd_err err = {0};
        hd_shortlist *l = NULL;
        if (hd_lexicon_open(&l, at("lex"), s.t, &(hd_lexicon_opt){0}, &err)) fail_msg("%s", err.text);
        assert_string_equal(targets(l, &s, "d"), "C");
        size_t all = l->begin[l->sources];
        assert_int_equal(all, 2 + 1 + 4); /* pairs of tokens, as many as target tokens that differ */
        assert_non_null(strstr(text.data, "C\tNULL\t0.333333\n"));
        assert_non_null(strstr(text.data, "C\td\t1\n"));
        hd_shortlist_free(l);
        hd_text_release(&text);
        hd_run_release(&r);
        subject_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_each_source_token_are_read),
        cmocka_unit_test(frequent_tokens_are_those_of_null),
        cmocka_unit_test(counts_follow_the_file),
        cmocka_unit_test(broken_files_are_refused),
        cmocka_unit_test(words_too_long_and_unknown_ones_are_no_fault),
        cmocka_unit_test(alignment_counts_every_target_token_once),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
