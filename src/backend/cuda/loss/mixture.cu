/* Mixtures of Gaussians, a warp for each row, and the window over characters, a block for each item. Both
   compute in double, as the cpu does: there are few such numbers, and densities need them. */
#include "backend/cuda/device.h"
#include "backend/mixture.h"

enum { WARPS = 4, WINDOW_THREADS = 128 };

/* -- the loss -- */

typedef struct mixture_of {
    mat loss, dx, x, target, weight;
    double coef;
} mixture_of;

DEVICE double warp_total(double x)
{
#pragma unroll
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(FULL_WARP, x, d);
    return x;
}
DEVICE double warp_most(double x)
{
#pragma unroll
    for (int d = 16; d; d >>= 1) x = fmax(x, __shfl_xor_sync(FULL_WARP, x, d));
    return x;
}

DEVICE hd_gaussian component(const mixture_of &m, size_t r, int n, int j)
{
    double is[5];
    for (int k = 0; k < 5; k++) is[k] = mat_get(m.x, r, 1 + (k + 1) * n + j);
    return hd_gaussian_of(mat_get(m.target, r, 0), mat_get(m.target, r, 1), is);
}

static __global__ void mixture_kernel(mixture_of m)
{
    size_t r = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
    int lane = threadIdx.x % 32, n = (m.x.cols - 1) / HD_MIXTURE_EACH;
    if (r >= (size_t)m.x.rows) return;
    double lifted = mat_get(m.target, r, 2), weight = m.weight.p ? (double)mat_get(m.weight, r, 0) : 1;
    if (lifted < 0) {
        if (m.loss.p && !lane) mat_put(m.loss, r, 0, 0);
        return;
    }
    double most = -INFINITY, most_all = -INFINITY, sum = 0, sum_all = 0;
    for (int j = lane; j < n; j += 32) {
        double w = mat_get(m.x, r, 1 + j);
        most = fmax(most, w), most_all = fmax(most_all, w + component(m, r, n, j).log);
    }
    most = warp_most(most), most_all = warp_most(most_all);
    for (int j = lane; j < n; j += 32) {
        double w = mat_get(m.x, r, 1 + j);
        sum += exp(w - most), sum_all += exp(w + component(m, r, n, j).log - most_all);
    }
    double whole = most + log(warp_total(sum)), all = most_all + log(warp_total(sum_all)), slope;
    double loss = hd_lift_loss(mat_get(m.x, r, 0), lifted, &slope) + whole - all, by_weight = weight * m.coef;
    if (m.loss.p && !lane) mat_put(m.loss, r, 0, (float)(weight * loss));
    if (!m.dx.p) return;
    if (!lane) mat_put_or_add(m.dx, r, 0, (float)(by_weight * slope), true);
    for (int j = lane; j < n; j += 32) {
        hd_gaussian g = component(m, r, n, j);
        double w = mat_get(m.x, r, 1 + j), share = exp(w + g.log - all), by[5];
        hd_gaussian_slopes(&g, share, by);
        mat_put_or_add(m.dx, r, 1 + j, (float)(by_weight * (exp(w - whole) - share)), true);
        for (int k = 0; k < 5; k++)
            mat_put_or_add(m.dx, r, 1 + (k + 1) * n + j, (float)(by_weight * by[k]), true);
    }
}

extern "C" hd_status hd_cuda_mixture(hd_backend *b, const hd_mixture_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!hd_rows_of(a->x)) return HD_OK;
    mixture_of m = {mat_of(a->loss),   mat_of(a->dx),     mat_of(a->x),
                    mat_of(a->target), mat_of(a->weight), (double)a->coef};
    mixture_kernel<<<hd_blocks(hd_rows_of(a->x), WARPS), 32 * WARPS, 0, c->stream>>>(m);
    return hd_cuda_done(c, "mixture");
}

/* -- the window -- */

typedef struct window_of {
    mat p, text, start;
    const int32_t *begin, *len, *text_begin, *text_len;
} window_of;

static window_of window_make(const hd_gaussian_window *w)
{
    window_of m = {mat_of(w->p), mat_of(w->text), mat_of(w->start), w->seg->begin,
                   w->seg->len,  w->of->begin,    w->of->len};
    return m;
}

/* alpha, beta and the step of kappa of a row, in shared memory. */
typedef struct window_row {
    double alpha[HD_WINDOW_MOST], beta[HD_WINDOW_MOST], step[HD_WINDOW_MOST], kappa[HD_WINDOW_MOST];
} window_row;

DEVICE void open_window(window_row &row, const window_of &w, size_t r, int n)
{
    int k = threadIdx.x;
    if (k >= n) return;
    row.alpha[k] = exp((double)mat_get(w.p, r, k)), row.beta[k] = exp((double)mat_get(w.p, r, n + k));
    row.step[k] = exp((double)mat_get(w.p, r, 2 * n + k));
}

DEVICE double phi_of(const window_row &row, int n, int u)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += row.alpha[k] * hd_window_reach(row.beta[k], row.kappa[k], u + 1);
    return sum;
}

/* Characters go in runs of as many as there are threads: each computes the weight of one, then columns of the
   result. */
static __global__ void window_kernel(window_of w, mat y, mat kappa, mat last)
{
    __shared__ window_row row;
    __shared__ double phi[WINDOW_THREADS];
    int i = blockIdx.x, me = threadIdx.x, n = w.p.cols / 3, first = w.text_begin[i], letters = w.text_len[i];
    if (me < n) row.kappa[me] = w.start.p ? (double)mat_get(w.start, i, me) : 0;
    for (int t = 0; t < w.len[i]; t++) {
        size_t r = (size_t)w.begin[i] + t;
        open_window(row, w, r, n);
        if (me < n) {
            float now = (float)(row.kappa[me] + row.step[me]);
            mat_put(kappa, r, me, now), row.kappa[me] = now;
        }
        __syncthreads();
        for (int from = 0; from < letters || !from; from += WINDOW_THREADS) {
            int count = min(letters - from, (int)WINDOW_THREADS);
            if (me < count) phi[me] = phi_of(row, n, from + me);
            __syncthreads();
            for (int c = me; c < w.text.cols; c += WINDOW_THREADS) {
                double sum = from ? (double)mat_get(y, r, c) : 0;
                for (int u = 0; u < count; u++) sum += phi[u] * mat_get(w.text, first + from + u, c);
                mat_put(y, r, c, (float)sum);
            }
            __syncthreads();
        }
    }
    if (last.p && me < n) mat_put(last, i, me, (float)row.kappa[me]);
}

extern "C" hd_status hd_cuda_window(hd_backend *b, const hd_window_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!a->w.seg->items) return HD_OK;
    window_kernel<<<(unsigned)a->w.seg->items, WINDOW_THREADS, 0, c->stream>>>(
        window_make(&a->w), mat_of(a->y), mat_of(a->kappa), mat_of(a->last));
    return hd_cuda_done(c, "window");
}

static __global__ void window_back_kernel(window_of w, mat dp, mat dtext, mat dstart, mat dy, mat dlast,
                                          mat kappa)
{
    __shared__ window_row row;
    __shared__ double asked[WINDOW_THREADS]; /* what the gradient asks of the weight of a character */
    int i = blockIdx.x, me = threadIdx.x, n = w.p.cols / 3, first = w.text_begin[i], letters = w.text_len[i];
    double dkappa = me < n && dlast.p ? (double)mat_get(dlast, i, me) : 0;
    for (int t = w.len[i] - 1; t >= 0; t--) {
        size_t r = (size_t)w.begin[i] + t;
        double dalpha = 0, dbeta = 0;
        open_window(row, w, r, n);
        if (me < n) row.kappa[me] = mat_get(kappa, r, me);
        __syncthreads();
        for (int from = 0; dy.p && from < letters; from += WINDOW_THREADS) {
            int count = min(letters - from, (int)WINDOW_THREADS);
            if (me < count) {
                double sum = 0, phi = dtext.p ? phi_of(row, n, from + me) : 0;
                for (int c = 0; c < w.text.cols; c++) {
                    double d = mat_get(dy, r, c);
                    sum += d * mat_get(w.text, first + from + me, c);
                    if (dtext.p) mat_put_or_add(dtext, first + from + me, c, (float)(phi * d), true);
                }
                asked[me] = sum;
            }
            __syncthreads();
            for (int u = 0; me < n && u < count; u++) {
                double away = row.kappa[me] - (from + u + 1),
                       part = asked[u] * row.alpha[me] *
                              hd_window_reach(row.beta[me], row.kappa[me], from + u + 1);
                dalpha += part, dbeta -= part * row.beta[me] * away * away;
                dkappa -= part * 2 * row.beta[me] * away;
            }
            __syncthreads();
        }
        if (dp.p && me < n) {
            mat_put_or_add(dp, r, me, (float)dalpha, true);
            mat_put_or_add(dp, r, n + me, (float)dbeta, true);
            mat_put_or_add(dp, r, 2 * n + me, (float)(dkappa * row.step[me]), true);
        }
        __syncthreads();
    }
    if (dstart.p && me < n) mat_put_or_add(dstart, i, me, (float)dkappa, true);
}

extern "C" hd_status hd_cuda_window_back(hd_backend *b, const hd_window_back_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!a->w.seg->items) return HD_OK;
    window_back_kernel<<<(unsigned)a->w.seg->items, WINDOW_THREADS, 0, c->stream>>>(
        window_make(&a->w), mat_of(a->dp), mat_of(a->dtext), mat_of(a->dstart), mat_of(a->dy),
        mat_of(a->dlast), mat_of(a->kappa));
    return hd_cuda_done(c, "window_back");
}
