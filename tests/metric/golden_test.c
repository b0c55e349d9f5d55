/* The 22 corpora of the shared material, in every column of their table of numbers, and their lines tokenized
   by 13a. Skipped where the material is absent. */
#include "metric/corpus.h"

#include <unistd.h>

#include "metric/corpus/bleu.h"
#include "outcome.h"

#define CASES HEED_SHARED "/ref/sacrebleu-cases/"

enum { CASE_COUNT = 22 };

enum column {
    NAME,
    SEGS,
    NREFS,
    BLEU,
    BLEU_LC,
    CHRF2,
    CHRF2PP,
    TER,
    SYS_LEN,
    REF_LEN,
    BP,
    COUNTS,
    TOTALS,
    EDITS,
    TER_REF_LEN,
    COLUMNS
};

struct row {
    char text[512], *field[COLUMNS];
};

static hd_lines *open_lines(const char *name, const char *suffix)
{
    char path[512];
    hd_err err = {0};
    hd_lines *l = NULL;
    snprintf(path, sizeof path, CASES "%s%s", name, suffix);
    if (hd_lines_open(&l, path, &(hd_lines_opt){.utf8 = true}, &err)) fail_msg("%s", err.text);
    return l;
}

static bool next_line(hd_lines *l, hd_line *line)
{
    hd_err err = {0};
    if (hd_lines_next(l, line, &err)) fail_msg("%s", err.text);
    return line->text;
}

/* The next row of the table; false at its end. */
static bool next_row(hd_lines *table, struct row *row)
{
    hd_line line;
    if (!next_line(table, &line)) return false;
    snprintf(row->text, sizeof row->text, "%s", line.text);
    char *rest = row->text;
    for (int c = 0; c < COLUMNS; c++) row->field[c] = strsep(&rest, "\t");
    assert_non_null(row->field[COLUMNS - 1]);
    return true;
}

static hd_metric *count_case(const struct row *row, hd_metric_kind kind, bool lowercase)
{
    int refs = atoi(row->field[NREFS]);
    hd_lines *hyp = open_lines(row->field[NAME], ".hyp"),
             *ref[2] = {open_lines(row->field[NAME], ".ref"), NULL};
    if (refs == 2) ref[1] = open_lines(row->field[NAME], ".ref2");
    hd_err err = {0};
    hd_metric *m = NULL;
    assert_int_equal(hd_metric_new(&m, kind, &(hd_metric_opt){.refs = refs, .lowercase = lowercase}, &err),
                     HD_OK);
    for (hd_line h, r[2]; next_line(hyp, &h);) {
        for (int i = 0; i < refs; i++) assert_true(next_line(ref[i], &r[i]));
        if (hd_metric_add(m, h, r, &err)) fail_msg("%s", err.text);
    }
    hd_lines_close(hyp);
    hd_lines_close(ref[0]);
    hd_lines_close(ref[1]);
    assert_int_equal(hd_metric_count(m), atoi(row->field[SEGS]));
    return m;
}

static void assert_field(const struct row *row, enum column c, double is)
{
    char what[600];
    snprintf(what, sizeof what, "%s, column %d", row->field[NAME], c);
    assert_same(is, strtod(row->field[c], NULL), what);
}

static void assert_list(const struct row *row, enum column c, const double *is)
{
    char text[128];
    snprintf(text, sizeof text, "%.0f/%.0f/%.0f/%.0f", is[0], is[1], is[2], is[3]);
    assert_string_equal(text, row->field[c]);
}

static void check_bleu(const struct row *row)
{
    hd_metric *m = count_case(row, HD_METRIC_bleu, false);
    hd_bleu b = hd_bleu_of(hd_metric_sums(m), false);
    assert_field(row, BLEU, b.score);
    assert_field(row, SYS_LEN, b.hyp_len);
    assert_field(row, REF_LEN, b.ref_len);
    assert_field(row, BP, b.penalty);
    assert_list(row, COUNTS, b.correct);
    assert_list(row, TOTALS, b.total);
    hd_metric_free(m);
    assert_field(row, BLEU_LC, finish(count_case(row, HD_METRIC_bleu, true)));
}

static void check_ter(const struct row *row)
{
    hd_metric *m = count_case(row, HD_METRIC_ter, false);
    assert_field(row, EDITS, hd_metric_sums(m)[0]);
    assert_field(row, TER_REF_LEN, hd_metric_sums(m)[1]);
    assert_field(row, TER, finish(m));
}

static void every_column_of_every_case_agrees(void **state)
{
    (void)state;
    if (access(CASES "golden.tsv", R_OK)) leave_out(CASES "golden.tsv is not there");
    hd_lines *table = open_lines("golden", ".tsv");
    struct row row;
    int count = 0;
    assert_true(next_row(table, &row));
    assert_string_equal(row.field[TER_REF_LEN], "ter_ref_len"); /* the columns are those we know */
    for (; next_row(table, &row); count++) {
        check_bleu(&row);
        assert_field(&row, CHRF2, finish(count_case(&row, HD_METRIC_chrf2, false)));
        assert_field(&row, CHRF2PP, finish(count_case(&row, HD_METRIC_chrf2pp, false)));
        check_ter(&row);
    }
    assert_int_equal(count, CASE_COUNT);
    hd_lines_close(table);
}

static void assert_joined(const hd_bleu_words *t, hd_line expected)
{
    hd_runes text = {0};
    hd_err err = {0};
    size_t at = 0;
    assert_int_equal(hd_runes_decode(&text, expected, &err), HD_OK);
    for (size_t i = 0; i < t->words.count; i++) {
        if (i) assert_int_equal(text.at[at++], ' ');
        for (size_t k = 0; k < t->words.word[i].count; k++, at++) {
            assert_true(at < text.count);
            assert_int_equal(text.at[at], t->words.word[i].at[k]);
        }
    }
    assert_int_equal(at, text.count);
    hd_runes_release(&text);
}

static void lines_tokenized_by_13a_agree(void **state)
{
    (void)state;
    static const char *const names[] = {"fr_punct", "ws_tricky", "chrf_punct"};
    static const char *const sides[][2] = {{".hyp", ".hyp.13a"}, {".ref", ".ref.13a"}};
    if (access(CASES "golden.tsv", R_OK)) leave_out(CASES "golden.tsv is not there");
    hd_bleu_words t = {0};
    int lines = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (size_t side = 0; side < COUNT_OF(sides); side++) {
            hd_lines *raw = open_lines(names[i], sides[side][0]), *cut = open_lines(names[i], sides[side][1]);
            for (hd_line from, expected; next_line(raw, &from); lines++) {
                hd_err err = {0};
                assert_true(next_line(cut, &expected));
                assert_int_equal(hd_bleu_tokenize(&t, HD_BLEU_TOKENIZER_13a, false, from, &err), HD_OK);
                assert_joined(&t, expected);
            }
            hd_lines_close(raw);
            hd_lines_close(cut);
        }
    assert_true(lines > 50);
    hd_bleu_words_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_of_every_case_agrees),
        cmocka_unit_test(lines_tokenized_by_13a_agree),
    };
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}
