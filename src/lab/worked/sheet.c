/* Numbers beside numbers. */
#include "lab/worked/sheet.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>

#include "lab/desk.h"

/* Sums of a few products of floats. */
static const double tolerance = 2e-6;

void hd_sheet_begin(hd_sheet *s, const char *example, const char *about)
{
    s->example = example, s->numbers = 0, s->gap = 0;
    hd_run_begin(s->run, HD_INFERENCE);
    if (!s->only) hd_paper_say(s->to, "%s. %s", example, about);
}

bool hd_sheet_wants(hd_sheet *s, const char *name)
{
    bool yes = !s->only || !fnmatch(s->only, name, 0);
    s->matches += yes;
    return yes;
}

static void put_name(hd_sheet *s, const char *const *name, size_t i)
{
    if (name)
        hd_paper_cell(s->to, "%s", name[i]);
    else
        hd_paper_cell(s->to, "%zu", i);
}

/* Columns of whole numbers (ids, counts) have no decimals. */
static int digits_of(const hd_sheet *s, const hd_sheet_matrix *m, const double *x, size_t column)
{
    for (size_t i = 0; i < m->rows; i++)
        if (x[i * m->cols + column] != floor(x[i * m->cols + column])) return s->digits;
    return 0;
}

static void put_row(hd_sheet *s, const hd_sheet_matrix *m, const double *like, const double *x)
{
    for (size_t k = 0; k < m->cols; k++) hd_paper_cell(s->to, "%.*f", digits_of(s, m, like, k), x[k]);
}

void hd_sheet_given(hd_sheet *s, const char *name, size_t rows, size_t cols, const double *x)
{
    char title[96];
    if (!hd_sheet_wants(s, name)) return;
    snprintf(title, sizeof title, "%s, %zu x %zu, given", name, rows, cols);
    hd_paper_table_of(s->to, title, cols + 1, 1);
    hd_paper_cell(s->to, "row");
    for (size_t k = 0; k < cols; k++) hd_paper_cell(s->to, "%zu", k);
    for (size_t i = 0; i < rows; i++) {
        hd_paper_cell(s->to, "%zu", i);
        put_row(s, &(hd_sheet_matrix){.rows = rows, .cols = cols}, x, x + i * cols);
    }
}

void hd_sheet_compare(hd_sheet *s, const hd_sheet_matrix *m, const double *found, const double *lecture)
{
    double gap = 0;
    char title[192];
    for (size_t i = 0; i < m->rows * m->cols; i++) {
        double one = fabs(found[i] - lecture[i]) / fmax(1, fabs(lecture[i]));
        gap = isnan(one) ? (double)INFINITY : fmax(gap, one);
    }
    s->gap = fmax(s->gap, gap), s->numbers += m->rows * m->cols;
    if (!hd_sheet_wants(s, m->name)) return;
    snprintf(title, sizeof title, "%s, %zu x %zu, largest difference %.1g\n= %s", m->name, m->rows, m->cols,
             gap, m->formula);
    hd_paper_table_of(s->to, title, m->cols + 2, 2);
    hd_paper_cell(s->to, "row"), hd_paper_cell(s->to, "by");
    for (size_t k = 0; k < m->cols; k++) put_name(s, m->col, k);
    for (size_t i = 0; i < m->rows; i++) {
        put_name(s, m->row, i), hd_paper_cell(s->to, "heed");
        put_row(s, m, lecture, found + i * m->cols);
        hd_paper_cell(s->to, " "), hd_paper_cell(s->to, "lecture");
        put_row(s, m, lecture, lecture + i * m->cols);
    }
}

void hd_sheet_compare_tensor(hd_sheet *s, const hd_sheet_matrix *m, const hd_tensor *found,
                             const double *lecture)
{
    double *x = hd_host_take(s->run, m->rows * m->cols * sizeof *x);
    if (x && found && hd_count_of(found) == m->rows * m->cols) {
        hd_desk_read(x, s->run, found);
        hd_sheet_compare(s, m, x, lecture);
    } else if (x)
        hd_fail(s->run, HD_ESHAPE, "%s is not %zu x %zu", m->name, m->rows, m->cols);
}

hd_status hd_sheet_end(hd_sheet *s, hd_err *err)
{
    char text[128];
    snprintf(text, sizeof text, "%s: all numbers are the lecture's.", s->example);
    hd_paper_claim(s->to, text, s->gap < tolerance, "%zu numbers; the largest difference is %.1g.",
                   s->numbers, s->gap);
    return hd_run_status(s->run, err);
}
