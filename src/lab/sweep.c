/* How kinds are measured at points, and shown. */
#include "lab/sweep.h"

#include "base/mem.h"

hd_status hd_sweep_new(hd_sweep **out, const void *rows, size_t size, size_t kinds, const int32_t *at,
                       size_t points, hd_err *err)
{
    hd_sweep *w = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    for (size_t k = 0; k < kinds; k++)
        w->kind[k] = *(const char *const *)(const void *)((const char *)rows + k * size);
    for (size_t i = 0; i < points; i++) w->x[i] = at ? at[i] : (double)i + 1;
    w->kinds = kinds, w->points = points;
    *out = w;
    return HD_OK;
}

void hd_sweep_free(hd_sweep *w)
{
    hd_mem_free(w);
}

void hd_sweep_words(hd_sweep *w)
{
    w->across = "words of the source", w->upward = "words said right, % (mean and spread of all seeds)";
    w->caption = "Words said right, %, by the length of the source", w->format = "%.0f", w->scale = 100;
}

void hd_sweep_stretch(hd_sweep *w, const hd_lab *lab)
{
    for (size_t i = 0; i < w->points; i++) w->x[i] *= hd_lab_times(lab);
}

hd_status hd_sweep_measure(hd_sweep *w, const hd_lab *lab, hd_sweep_one *one, void *context, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t k = 0; k < w->kinds; k++)
        for (int i = 0; !s && i < lab->seeds; i++) {
            s = one(w->value[k][i], lab, k, lab->seed + (uint64_t)i, context, err);
            if (!s) s = hd_lab_tell(lab, ((double)k + (i + 1.0) / lab->seeds) / (double)w->kinds, err);
        }
    return s;
}

void hd_sweep_put(hd_paper *to, hd_sweep *w, const hd_lab *lab)
{
    const double scale = w->scale > 0 ? w->scale : 1;
    const size_t every = w->every ? w->every : 1;
    hd_paper_plot(to, &(hd_series_plot){.title = w->title,
                                        .across = w->across,
                                        .upward = w->upward,
                                        .log_x = w->log_x,
                                        .log_y = w->log_y});
    for (size_t k = 0; k < w->kinds; k++) {
        for (size_t c = 0; c < w->points; c++) {
            double v[HD_LAB_SEEDS];
            for (int i = 0; i < lab->seeds; i++) v[i] = scale * w->value[k][i][c];
            w->spread[k][c] = hd_spread_of(v, (size_t)lab->seeds);
        }
        hd_spread_line(to, w->kind[k], w->x, w->spread[k], w->points);
    }
    if (!w->caption) return;
    size_t columns = 1;
    for (size_t c = 0; c < w->points; c++) columns += c % every == 0 || c + 1 == w->points;
    hd_paper_table_of(to, w->caption, columns, 1);
    hd_paper_cell(to, "%s", w->corner);
    for (size_t c = 0; c < w->points; c++)
        if (c % every == 0 || c + 1 == w->points) hd_paper_cell(to, "%g", w->x[c]);
    for (size_t k = 0; k < w->kinds; k++) {
        hd_paper_cell(to, "%s", w->kind[k]);
        for (size_t c = 0; c < w->points; c++)
            if (c % every == 0 || c + 1 == w->points)
                hd_spread_cell(to, w->format ? w->format : "%.3g", w->spread[k][c]);
    }
}
