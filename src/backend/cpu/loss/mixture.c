/* Mixtures of Gaussians and the window over characters. Numbers are computed in double: densities of points
   that lie far out, and kappa after hundreds of steps, are worth their digits. */
#include "backend/mixture.h"

#include "backend/cpu/cpu.h"
#include "backend/cpu/vector.h"

/* -- the loss -- */

typedef struct mixture_row {
    size_t count;
    double weight[HD_MIXTURE_MOST]; /* of the components, then their shares of the point */
    double whole;                   /* log of the sum of all exp(weight) */
    hd_gaussian is[HD_MIXTURE_MOST];
} mixture_row;

static double log_sum(const double *x, size_t n)
{
    double most = x[0], sum = 0;
    for (size_t i = 1; i < n; i++) most = fmax(most, x[i]);
    for (size_t i = 0; i < n; i++) sum += exp(x[i] - most);
    return most + log(sum);
}

/* -ln of the density of the place; shares gets what each component answers for. */
static double place_loss(mixture_row *m, const hd_real *x, const hd_real *target, double *shares)
{
    const size_t n = m->count;
    for (size_t j = 0; j < n; j++) {
        double is[5];
        for (size_t k = 0; k < 5; k++) is[k] = (double)x[1 + (k + 1) * n + j];
        m->weight[j] = (double)x[1 + j];
        m->is[j] = hd_gaussian_of((double)target[0], (double)target[1], is);
        shares[j] = m->weight[j] + m->is[j].log;
    }
    m->whole = log_sum(m->weight, n);
    double all = log_sum(shares, n);
    for (size_t j = 0; j < n; j++) shares[j] = exp(shares[j] - all);
    return m->whole - all;
}

static double mixture_of(const hd_mixture_args *a, size_t r, double k)
{
    mixture_row m = {.count = (hd_cols_of(a->x) - 1) / HD_MIXTURE_EACH};
    const hd_real *x = hd_row(a->x, r), *target = hd_row(a->target, r);
    double shares[HD_MIXTURE_MOST] = {0}, slope;
    double loss = hd_lift_loss((double)x[0], (double)target[2], &slope) + place_loss(&m, x, target, shares);
    if (!a->dx) return loss;
    hd_real *dx = hd_row(a->dx, r);
    dx[0] += (hd_real)(k * slope);
    for (size_t j = 0; j < m.count; j++) {
        double by[5];
        hd_gaussian_slopes(&m.is[j], shares[j], by);
        dx[1 + j] += (hd_real)(k * (exp(m.weight[j] - m.whole) - shares[j]));
        for (size_t i = 0; i < 5; i++) dx[1 + (i + 1) * m.count + j] += (hd_real)(k * by[i]);
    }
    return loss;
}

static void mixture_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_mixture_args *a = arg;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        double weight = a->weight ? (double)hd_row(a->weight, r)[0] : 1, loss = 0;
        if (hd_row(a->target, r)[2] >= 0) loss = mixture_of(a, r, weight * (double)a->coef);
        if (a->loss) hd_row(a->loss, r)[0] = (hd_real)(weight * loss);
    }
}

hd_status KERNEL(mixture)(hd_backend *b, const hd_mixture_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->x), 1 + HD_GRAIN / (32 * hd_cols_of(a->x)), mixture_part,
                (void *)a);
    return HD_OK;
}

/* -- the window -- */

typedef struct window_row {
    size_t count;
    double alpha[HD_WINDOW_MOST], beta[HD_WINDOW_MOST], step[HD_WINDOW_MOST], kappa[HD_WINDOW_MOST];
} window_row;

static void open_window(window_row *w, const hd_real *p)
{
    for (size_t k = 0; k < w->count; k++) {
        w->alpha[k] = exp((double)p[k]), w->beta[k] = exp((double)p[w->count + k]);
        w->step[k] = exp((double)p[2 * w->count + k]);
    }
}

static void window_item(const hd_window_args *a, size_t i)
{
    const hd_gaussian_window *w = &a->w;
    window_row row = {.count = hd_cols_of(w->p) / 3};
    size_t cols = hd_cols_of(w->text), first = (size_t)w->of->begin[i], letters = (size_t)w->of->len[i];
    for (size_t k = 0; k < row.count; k++) row.kappa[k] = w->start ? (double)hd_row(w->start, i)[k] : 0;
    for (size_t t = 0; t < (size_t)w->seg->len[i]; t++) {
        size_t r = (size_t)w->seg->begin[i] + t;
        hd_real *y = hd_row(a->y, r), *kappa = hd_row(a->kappa, r);
        open_window(&row, hd_row(w->p, r));
        for (size_t k = 0; k < row.count; k++) /* rounded: who continues from it gets the same */
            kappa[k] = (hd_real)(row.kappa[k] + row.step[k]), row.kappa[k] = (double)kappa[k];
        memset(y, 0, cols * sizeof *y);
        for (size_t u = 0; u < letters; u++) {
            const hd_real *letter = hd_row(w->text, first + u);
            double sum = 0;
            for (size_t k = 0; k < row.count; k++)
                sum += row.alpha[k] * hd_window_reach(row.beta[k], row.kappa[k], (double)(u + 1));
            vec phi = hd_set(sum);
            if (sum > 0) HD_COLUMNS(cols, { S(y, L(y) + phi * L(letter)); });
        }
    }
    for (size_t k = 0; a->last && k < row.count; k++) hd_row(a->last, i)[k] = (hd_real)row.kappa[k];
}

static void window_part(void *arg, size_t begin, size_t end, int worker)
{
    (void)worker;
    for (size_t i = begin; i < end; i++) window_item(arg, i);
}

hd_status KERNEL(window)(hd_backend *b, const hd_window_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, a->w.seg->items, 1, window_part, (void *)a);
    return HD_OK;
}

/* One row: what its Gaussians gave to each character. dkappa is what later rows ask of kappa. */
static void window_row_back(const hd_window_back_args *a, const window_row *row, size_t i, size_t r,
                            double *dkappa)
{
    const hd_gaussian_window *w = &a->w;
    size_t n = row->count, cols = hd_cols_of(w->text), first = (size_t)w->of->begin[i];
    double dalpha[HD_WINDOW_MOST] = {0}, dbeta[HD_WINDOW_MOST] = {0};
    const hd_real *dy = a->dy ? hd_row(a->dy, r) : NULL;
    for (size_t u = 0; dy && u < (size_t)w->of->len[i]; u++) {
        const hd_real *letter = hd_row(w->text, first + u);
        double asked = 0, phi = 0;
        for (size_t c = 0; c < cols; c++) asked += (double)dy[c] * (double)letter[c];
        for (size_t k = 0; k < n; k++) {
            double away = row->kappa[k] - (double)(u + 1),
                   reach = hd_window_reach(row->beta[k], row->kappa[k], (double)(u + 1)),
                   part = asked * row->alpha[k] * reach;
            phi += row->alpha[k] * reach;
            dalpha[k] += part, dbeta[k] -= part * row->beta[k] * away * away;
            dkappa[k] -= part * 2 * row->beta[k] * away;
        }
        hd_real *dletter = a->dtext ? hd_row(a->dtext, first + u) : NULL;
        for (size_t c = 0; dletter && c < cols; c++) dletter[c] += (hd_real)(phi * (double)dy[c]);
    }
    hd_real *dp = a->dp ? hd_row(a->dp, r) : NULL;
    for (size_t k = 0; dp && k < n; k++) {
        dp[k] += (hd_real)dalpha[k], dp[n + k] += (hd_real)dbeta[k];
        dp[2 * n + k] += (hd_real)(dkappa[k] * row->step[k]);
    }
}

static void window_item_back(const hd_window_back_args *a, size_t i)
{
    const hd_gaussian_window *w = &a->w;
    window_row row = {.count = hd_cols_of(w->p) / 3};
    double dkappa[HD_WINDOW_MOST];
    for (size_t k = 0; k < row.count; k++) dkappa[k] = a->dlast ? (double)hd_row(a->dlast, i)[k] : 0;
    for (size_t t = (size_t)w->seg->len[i]; t-- > 0;) {
        size_t r = (size_t)w->seg->begin[i] + t;
        open_window(&row, hd_row(w->p, r));
        for (size_t k = 0; k < row.count; k++) row.kappa[k] = (double)hd_row(a->kappa, r)[k];
        window_row_back(a, &row, i, r, dkappa);
    }
    for (size_t k = 0; a->dstart && k < row.count; k++) hd_row(a->dstart, i)[k] += (hd_real)dkappa[k];
}

static void window_back_part(void *arg, size_t begin, size_t end, int worker)
{
    (void)worker;
    for (size_t i = begin; i < end; i++) window_item_back(arg, i);
}

hd_status KERNEL(window_back)(hd_backend *b, const hd_window_back_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, a->w.seg->items, 1, window_back_part, (void *)a);
    return HD_OK;
}
