/* Times the products of a linear layer in f32, beside what the machine's multiply-adds allow and the plain
   multi-threaded libraries, all interleaved in one run: bench_product THREADS [WORD]. y, dx and dw are the
   products forward, to x and to w of training; `decode` lines have y with weights that were packed before.
   WORD takes the lines whose name contains it. The libraries are opened at run time, so nothing is needed to
   build this. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "limit.h"

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
} shapes[] = {{2000, 128, 384, "tiny q,k,v"},         {2000, 128, 128, "tiny output"},
              {2000, 128, 256, "tiny inner"},         {2000, 256, 128, "tiny outer"},
              {504, 128, 8000, "tiny logits"},        {1000, 512, 1536, "base q,k,v"},
              {1000, 512, 512, "base output"},        {1000, 512, 2048, "base inner"},
              {1000, 2048, 512, "base outer"},        {240, 512, 16000, "base logits"},
              {5, 128, 384, "decode tiny q,k,v"},     {40, 128, 384, "decode tiny q,k,v"},
              {40, 128, 128, "decode tiny output"},   {40, 128, 256, "decode tiny inner"},
              {40, 256, 128, "decode tiny outer"},    {40, 128, 8000, "decode tiny logits"},
              {200, 128, 384, "decode tiny q,k,v"},   {200, 128, 128, "decode tiny output"},
              {200, 128, 256, "decode tiny inner"},   {200, 256, 128, "decode tiny outer"},
              {200, 128, 8000, "decode tiny logits"}, {40, 512, 1536, "decode base q,k,v"},
              {40, 512, 512, "decode base output"},   {40, 512, 2048, "decode base inner"},
              {40, 2048, 512, "decode base outer"},   {40, 512, 16000, "decode base logits"},
              {160, 512, 1536, "decode base q,k,v"},  {160, 512, 512, "decode base output"},
              {160, 512, 2048, "decode base inner"},  {160, 2048, 512, "decode base outer"},
              {160, 512, 16000, "decode base logits"}};

typedef enum kind { Y, DX, DW, KINDS } kind;

typedef struct layer {
    int rows, in, out;
    float *x, *w, *y, *dx, *dw;
    void *prepared; /* w for decoding, or NULL */
} layer;

/* y = x w^T; dx = y w; dw += y^T x */
static void ours(hd_backend *b, const layer *l, kind what)
{
    hd_tensor x = hd_matrix(l->x, (size_t)l->rows, (size_t)l->in),
              w = hd_matrix(l->w, (size_t)l->out, (size_t)l->in),
              y = hd_matrix(l->y, (size_t)l->rows, (size_t)l->out);
    hd_tensor dx = hd_matrix(l->dx, (size_t)l->rows, (size_t)l->in),
              dw = hd_matrix(l->dw, (size_t)l->out, (size_t)l->in);
    w.prepared = l->prepared;
    if (what == Y) b->kernel.gemm(b, &(hd_gemm_args){.y = &y, .a = &x, .b = &w, .b_transposed = true});
    if (what == DX) b->kernel.gemm(b, &(hd_gemm_args){.y = &dx, .a = &y, .b = &w});
    if (what == DW)
        b->kernel.gemm(b, &(hd_gemm_args){.y = &dw, .a = &y, .a_transposed = true, .b = &x, .add = true});
}

static void theirs(sgemm_fn *sgemm, const layer *l, kind what)
{
    if (what == Y)
        sgemm(ROW, PLAIN, TURNED, l->rows, l->out, l->in, 1, l->x, l->in, l->w, l->in, 0, l->y, l->out);
    if (what == DX)
        sgemm(ROW, PLAIN, PLAIN, l->rows, l->in, l->out, 1, l->y, l->out, l->w, l->in, 0, l->dx, l->in);
    if (what == DW)
        sgemm(ROW, TURNED, PLAIN, l->out, l->in, l->rows, 1, l->y, l->out, l->x, l->in, 1, l->dw, l->in);
}

/* Seconds of one, over some: the first ones untimed, as threads of the last library fall asleep, ours wake.
 */
static double time_of(hd_backend *b, sgemm_fn *sgemm, const layer *l, kind what)
{
    const int repeat = 1 + (int)(1e9 / (2.0 * l->rows * (double)l->in * l->out));
    double start = now();
    for (int i = -repeat / 2; i < repeat; i++) {
        if (!i) start = now();
        if (sgemm)
            theirs(sgemm, l, what);
        else
            ours(b, l, what);
    }
    return (now() - start) / repeat;
}

static float *numbers(hd_backend *b, size_t n)
{
    float *x = b->alloc(b, n * sizeof *x); /* as models have it: in large pages */
    if (!x) exit(1);
    for (size_t i = 0; i < n; i++) x[i] = (float)rand() / (float)RAND_MAX * 0.02f - 0.01f;
    return x;
}

/* GFLOP/s and the share of the limit of each product, then what libraries make of all of them. */
static void compare(hd_backend *b, size_t s)
{
    layer l = {.rows = shapes[s].rows, .in = shapes[s].in, .out = shapes[s].out};
    const size_t x = (size_t)l.rows * (size_t)l.in, w = (size_t)l.out * (size_t)l.in,
                 y = (size_t)l.rows * (size_t)l.out;
    const bool decoding = !strncmp(shapes[s].what, "decode", 6);
    const int kinds = decoding ? 1 : KINDS;
    double rate[KINDS][ROUNDS], share[KINDS][ROUNDS], whole[1 + LIBRARIES][ROUNDS] = {{0}};
    l.x = numbers(b, x), l.w = numbers(b, w), l.y = numbers(b, y), l.dx = numbers(b, x), l.dw = numbers(b, w);
    hd_tensor weight = hd_matrix(l.w, (size_t)l.out, (size_t)l.in);
    if (decoding && b->prepare(b, &weight, HD_DECODING)) exit(1);
    l.prepared = weight.prepared;
    for (int r = 0; r < ROUNDS; r++)
        for (kind k = 0; k < (kind)kinds; k++) {
            const double limit = limit_of(b), took = time_of(b, NULL, &l, k);
            rate[k][r] = 2e-9 * l.rows * (double)l.in * l.out / took;
            share[k][r] = limit > 0 ? 100 * rate[k][r] / (limit / 1e9) : 0;
            whole[0][r] += took;
            for (int i = 0; i < LIBRARIES; i++)
                if (libraries[i].sgemm) whole[1 + i][r] += time_of(b, libraries[i].sgemm, &l, k);
        }
    printf("%-18s %5d x %4d x %5d ", shapes[s].what, l.rows, l.in, l.out);
    for (int k = 0; k < KINDS; k++)
        if (k < kinds)
            printf(" %6.1f %3.0f%%", median(rate[k], ROUNDS), median(share[k], ROUNDS));
        else
            printf("%12s", "");
    const double ours = median(whole[0], ROUNDS);
    for (int i = 0; i < LIBRARIES; i++)
        if (libraries[i].sgemm) printf("  %8.2fx", median(whole[1 + i], ROUNDS) / ours);
    putchar('\n');
    b->unprepare(b, &weight);
    float *const all[] = {l.x, l.w, l.y, l.dx, l.dw};
    const size_t counts[] = {x, w, y, x, w};
    for (int i = 0; i < 5; i++) b->release(b, all[i], counts[i] * sizeof(float));
}

int main(int argc, char **argv)
{
    hd_err err = {0};
    hd_backend *b;
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    if (hd_backend_new(&b, "cpu", &(hd_backend_opt){.threads = threads}, &err))
        return fprintf(stderr, "bench_product: %s\n", err.text), 1;
    printf("linear layers (rows x in x out), %s; limit now %.0f GFLOP/s\nGFLOP/s and share of the limit, "
           "medians of %d; time of a library over that of heed\n%-39s%12s%12s%12s",
           b->detail, limit_of(b) / 1e9, ROUNDS, "", "y", "dx", "dw");
    for (int k = 0; k < LIBRARIES; k++) {
        void *lib = dlopen(libraries[k].file, RTLD_NOW | RTLD_LOCAL);
        libraries[k].sgemm = lib ? (sgemm_fn *)dlsym(lib, "cblas_sgemm") : NULL;
        void (*set)(long) = lib ? (void (*)(long))dlsym(lib, libraries[k].set_threads) : NULL;
        if (set) set(threads);
        if (libraries[k].sgemm) printf("  %9s", libraries[k].name);
    }
    putchar('\n');
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        if (argc < 3 || strstr(shapes[s].what, argv[2])) compare(b, s);
    hd_backend_free(b);
    return 0;
}
