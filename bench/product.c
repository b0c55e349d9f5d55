/* Times the products of a linear layer, forward and backward, against the plain multi-threaded libraries of
   the machine, all interleaved in one run: bench_product THREADS. The libraries are opened at run time, so
   nothing is needed to build this. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "backend/backend.h"

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                      const float *b, int ldb, float beta, float *c, int ldc);

typedef struct library {
    const char *name, *file, *set_threads;
    sgemm_fn *sgemm;
} library;

static library libraries[] = {{"BLIS", "libblis.so.4", "bli_thread_set_num_threads", NULL},
                              {"OpenBLAS", "libopenblas.so.0", "openblas_set_num_threads", NULL}};
enum { LIBRARIES = 2, ROUNDS = 9, ROW = 101, PLAIN = 111, TURNED = 112 };

static const struct {
    int rows, in, out;
    const char *what;
} shapes[] = {{2000, 128, 384, "tiny q,k,v"},  {2000, 128, 128, "tiny output"},
              {2000, 128, 256, "tiny inner"},  {2000, 256, 128, "tiny outer"},
              {224, 128, 8000, "tiny logits"}, {1000, 512, 1536, "base q,k,v"},
              {1000, 512, 512, "base output"}, {1000, 512, 2048, "base inner"},
              {1000, 2048, 512, "base outer"}, {224, 512, 16000, "base logits"}};

typedef struct layer {
    int rows, in, out;
    float *x, *w, *y, *dx, *dw;
} layer;

/* y = x w^T; dx = y w; dw += y^T x */
static void ours(hd_backend *b, const layer *l)
{
    hd_tensor x = hd_matrix(l->x, (size_t)l->rows, (size_t)l->in),
              w = hd_matrix(l->w, (size_t)l->out, (size_t)l->in),
              y = hd_matrix(l->y, (size_t)l->rows, (size_t)l->out);
    hd_tensor dx = hd_matrix(l->dx, (size_t)l->rows, (size_t)l->in),
              dw = hd_matrix(l->dw, (size_t)l->out, (size_t)l->in);
    b->kernel.gemm(b, &(hd_gemm_args){.y = &y, .a = &x, .b = &w, .b_transposed = true});
    b->kernel.gemm(b, &(hd_gemm_args){.y = &dx, .a = &y, .b = &w});
    b->kernel.gemm(b, &(hd_gemm_args){.y = &dw, .a = &y, .a_transposed = true, .b = &x, .add = true});
}

static void theirs(sgemm_fn *sgemm, const layer *l)
{
    sgemm(ROW, PLAIN, TURNED, l->rows, l->out, l->in, 1, l->x, l->in, l->w, l->in, 0, l->y, l->out);
    sgemm(ROW, PLAIN, PLAIN, l->rows, l->in, l->out, 1, l->y, l->out, l->w, l->in, 0, l->dx, l->in);
    sgemm(ROW, TURNED, PLAIN, l->out, l->in, l->rows, 1, l->y, l->out, l->x, l->in, 1, l->dw, l->in);
}

static float *numbers(size_t n)
{
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = (float)rand() / (float)RAND_MAX * 0.02f - 0.01f;
    return x;
}

static void compare(hd_backend *b, size_t s)
{
    layer l = {.rows = shapes[s].rows, .in = shapes[s].in, .out = shapes[s].out};
    size_t x = (size_t)l.rows * (size_t)l.in, w = (size_t)l.out * (size_t)l.in,
           y = (size_t)l.rows * (size_t)l.out;
    double t[1 + LIBRARIES][ROUNDS], flops = 6.0 * l.rows * (double)l.in * l.out;
    int repeat = 1 + (int)(2e9 / flops);
    l.x = numbers(x), l.w = numbers(w), l.y = numbers(y), l.dx = numbers(x), l.dw = numbers(w);
    if (!l.x || !l.w || !l.y || !l.dx || !l.dw) exit(1);
    for (int r = 0; r < ROUNDS; r++)
        for (int k = 0; k <= LIBRARIES; k++) {
            if (k && !libraries[k - 1].sgemm) continue;
            double start = now();
            for (int i = -repeat / 2; i < repeat;
                 i++) { /* the first ones untimed: threads of the last library fall asleep, ours wake */
                if (!i) start = now();
                if (k)
                    theirs(libraries[k - 1].sgemm, &l);
                else
                    ours(b, &l);
            }
            t[k][r] = (now() - start) / repeat;
        }
    printf("%-12s %5d x %4d x %5d", shapes[s].what, l.rows, l.in, l.out);
    double ours = median(t[0], ROUNDS);
    for (int k = 0; k <= LIBRARIES; k++) {
        if (k && !libraries[k - 1].sgemm) continue;
        double seconds = median(t[k], ROUNDS);
        printf("  %8.1f", flops / seconds / 1e9);
        if (k) printf(" (%.2fx)", seconds / ours);
    }
    putchar('\n');
    free(l.x), free(l.w), free(l.y), free(l.dx), free(l.dw);
}

int main(int argc, char **argv)
{
    hd_err err = {0};
    hd_backend *b;
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    if (hd_backend_new(&b, "cpu", &(hd_backend_opt){.threads = threads}, &err))
        return fprintf(stderr, "bench_product: %s\n", err.text), 1;
    printf("linear forward + backward, %s; GFLOP/s, median of %d; (ratio of heed to the library)\n%-33s  %8s",
           b->detail, ROUNDS, "", "heed");
    for (int k = 0; k < LIBRARIES; k++) {
        void *lib = dlopen(libraries[k].file, RTLD_NOW | RTLD_LOCAL);
        libraries[k].sgemm = lib ? (sgemm_fn *)dlsym(lib, "cblas_sgemm") : NULL;
        void (*set)(long) = lib ? (void (*)(long))dlsym(lib, libraries[k].set_threads) : NULL;
        if (set) set(threads);
        if (libraries[k].sgemm) printf("  %16s", libraries[k].name);
    }
    putchar('\n');
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) compare(b, s);
    hd_backend_free(b);
    return 0;
}
