/* Matrices of gradients: layers down, tokens or heads across. */
#include "view/explain/gradients.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* One matrix, gathered row by row. */
typedef struct sheet {
    const char **row, **col;
    double *value;
    size_t rows, cols;
} sheet;

static hd_status sheet_open(sheet *s, size_t rows, size_t cols, hd_err *err)
{
    *s = (sheet){.cols = cols};
    s->row = hd_mem_array(rows + 1, sizeof *s->row), s->col = hd_mem_array(cols + 1, sizeof *s->col);
    s->value = hd_mem_array(rows * cols + 1, sizeof *s->value);
    return s->row && s->col && s->value ? HD_OK : hd_err_nomem(err, rows * cols * sizeof *s->value);
}

static void sheet_put(hd_paper *to, sheet *s, const char *title, const char *across, const char *downward)
{
    double full = 0;
    for (size_t i = 0; i < s->rows * s->cols; i++)
        if (isfinite(s->value[i])) full = fmax(full, fabs(s->value[i]));
    int digits = full > 0 ? (int)fmax(0, fmin(6, 2 - floor(log10(full)))) : 2;
    if (s->rows && s->cols)
        hd_paper_cells(to, &(hd_cells){.title = title,
                                       .across = across,
                                       .downward = downward,
                                       .value = s->value,
                                       .rows = s->rows,
                                       .cols = s->cols,
                                       .row = s->row,
                                       .col = s->col,
                                       .full = full > 0 ? full : 1,
                                       .digits = digits});
    hd_mem_free(s->row), hd_mem_free(s->col), hd_mem_free(s->value);
}

static hd_status put_positions(hd_paper *to, const hd_gradients *g, bool source, hd_err *err)
{
    const hd_shown_token *token = source ? g->source : g->read;
    sheet m;
    hd_status s = sheet_open(&m, g->layers, source ? g->sources : g->reads, err);
    for (size_t i = 0; !s && i < m.cols; i++) m.col[i] = hd_shown_plain(&token[i]);
    for (size_t i = 0; !s && i < g->layers; i++) {
        const hd_gradient_layer *l = &g->layer[i];
        if (l->source != source) continue;
        m.row[m.rows] = l->name;
        memcpy(m.value + m.rows++ * m.cols, l->norm, m.cols * sizeof *l->norm);
    }
    sheet_put(to, &m, source ? "Gradients at the source" : "Gradients at what is read before each word",
              "token", "what a layer reads");
    return s;
}

static hd_status put_heads(hd_paper *to, const hd_heads *h, hd_err *err)
{
    static const char *const numbers[] = {"0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10",
                                          "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21",
                                          "22", "23", "24", "25", "26", "27", "28", "29", "30", "31"};
    size_t most = 0;
    sheet m;
    for (size_t i = 0; i < h->layers; i++) most = h->layer[i].heads > most ? h->layer[i].heads : most;
    if (!most || most > sizeof numbers / sizeof *numbers) return HD_OK;
    hd_status s = sheet_open(&m, h->layers, most, err);
    for (size_t i = 0; !s && i < most; i++) m.col[i] = numbers[i];
    for (size_t i = 0; !s && i < h->layers; i++, m.rows++) {
        m.row[i] = h->layer[i].name;
        for (size_t k = 0; k < most; k++)
            m.value[i * most + k] = k < h->layer[i].heads ? h->layer[i].slope[k] : (double)NAN;
    }
    sheet_put(to, &m, "d loss / d factor of each head", "head", "attention");
    return s;
}

hd_status hd_gradients_paper(hd_paper *to, const hd_gradients *g, hd_err *err)
{
    double sum = 0;
    for (size_t i = 0; i < g->reads; i++) sum += isfinite(g->loss[i]) ? g->loss[i] : 0;
    hd_paper_say(
        to,
        "The loss of what the model says is %.4f nats, %.4f a token. A gradient tells how much it changes "
        "with the vector at a place: the norm of d loss / d row. Large ones are at the words that matter.",
        sum, sum / (double)g->reads);
    hd_paper_table_of(to, "Loss by token", 3, 2);
    hd_paper_cell(to, "after"), hd_paper_cell(to, "said"), hd_paper_cell(to, "nats");
    for (size_t i = 0; i < g->reads; i++) {
        hd_paper_cell(to, "%s", hd_shown_plain(&g->read[i]));
        hd_paper_cell(to, "%s", hd_shown_plain(&g->said[i]));
        hd_paper_cell(to, "%.4f", g->loss[i]);
    }
    hd_status s = g->sources ? put_positions(to, g, true, err) : HD_OK;
    if (!s) s = put_positions(to, g, false, err);
    if (!s) s = put_heads(to, &g->heads, err);
    return s ? s : hd_paper_status(to, err);
}
