/* The bias of labels in the last norm of a GPT-2: see gpt2.h. */
#include "hub/gpt2.h"

#include <math.h>

#include "base/mem.h"

#define LABELS "GPT2ForSequenceClassification"

static const char NORM[] = "ln_f.bias";

/* Solves G x = b for x in b; G [n,n] is positive definite and is overwritten. False: it is not. */
static bool solve(double *g, double *b, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double pivot = g[k * n + k];
        for (size_t i = 0; i < k; i++) pivot -= g[k * n + i] * g[k * n + i];
        if (!(pivot > 1e-12 * g[k * n + k])) return false;
        pivot = g[k * n + k] = sqrt(pivot);
        for (size_t j = k + 1; j < n; j++) {
            for (size_t i = 0; i < k; i++) g[j * n + k] -= g[j * n + i] * g[k * n + i];
            g[j * n + k] /= pivot;
        }
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < k; i++) b[k] -= g[k * n + i] * b[i];
        b[k] /= g[k * n + k];
    }
    for (size_t k = n; k--;) {
        for (size_t i = k + 1; i < n; i++) b[k] -= g[i * n + k] * b[i];
        b[k] /= g[k * n + k];
    }
    return true;
}

/* The shortest d with W d = c, added to the bias of the norm: W (x + d) is W x + c. w [n, width], c [n]. */
static bool fold(const hd_real *w, const hd_real *c, hd_real *bias, double *room, size_t n, size_t width)
{
    double *g = room, *y = room + n * n;
    for (size_t i = 0; i < n; i++) {
        y[i] = (double)c[i];
        for (size_t j = 0; j < n; j++) {
            g[i * n + j] = 0;
            for (size_t k = 0; k < width; k++)
                g[i * n + j] += (double)w[i * width + k] * (double)w[j * width + k];
        }
    }
    if (!solve(g, y, n)) return false;
    for (size_t k = 0; k < width; k++) {
        double d = 0;
        for (size_t i = 0; i < n; i++) d += (double)w[i * width + k] * y[i];
        bias[k] = (hd_real)((double)bias[k] + d);
    }
    return true;
}

hd_status hd_family_gpt2_fold(const hd_classifier *m, const char *folder, hd_err *err)
{
    hd_params *p = m->params;
    hd_param *norm = hd_params_find(p, NORM);
    size_t n = m->opt.classes, width = hd_body_width(&m->opt.body);
    if (n > width)
        return hd_err_set(err, HD_EARG, "%s: " LABELS " has no bias: %zu labels need a width of as much",
                          folder, n);
    hd_real *w = hd_mem_array(n * width + n + width, sizeof *w), *c = w + n * width, *bias = c + n;
    double *room = w ? hd_mem_array(n * n + n, sizeof *room) : NULL;
    hd_status s = room ? HD_OK : hd_err_nomem(err, n * width * sizeof *w);
    if (!s) s = hd_params_get(p, m->out.w, &m->out.w->t, w);
    if (!s) s = hd_params_get(p, m->out.b, &m->out.b->t, c);
    if (!s) s = hd_params_get(p, norm, &norm->t, bias);
    bool any = false;
    for (size_t i = 0; !s && i < n; i++) any |= c[i] < 0 || c[i] > 0;
    if (any && !fold(w, c, bias, room, n, width))
        s = hd_err_set(err, HD_EARG,
                       "%s: " LABELS " has no bias, and the rows of the labels are too alike "
                       "to do without",
                       folder);
    if (!s && any) s = hd_params_set(p, norm, bias);
    hd_mem_free(w);
    hd_mem_free(room);
    return s;
}

hd_status hd_family_gpt2_name_head(hd_classifier *m, const char *name, hd_err *err)
{
    hd_param *w = m->out.w, *b = m->out.b;
    char *copy = hd_mem_text(name);
    if (!copy) return hd_err_nomem(err, 1);
    hd_param_rename(m->params, w, copy), hd_param_rename(m->params, b, NULL);
    return HD_OK;
}
