/* Times the products of a linear layer in f32, beside what the machine's multiply-adds allow and the plain
   multi-threaded libraries, all interleaved in one run: bench_product THREADS [WORD]. y, dx and dw are the
   products forward, to x and to w of training; `decode` lines have y with weights that were packed before.
   WORD takes the lines whose name contains it. The libraries are opened at run time, so nothing is needed to
   build this.

   Cores of a rented machine change their speed within milliseconds, and a neighbor on the other thread of a
   core takes more from a product, which reads, than from multiply-adds of registers. So each round has the
   limit right before and right behind a few milliseconds of the product, and so it has the same
   multiply-adds reading from L1: rounds are added until there are enough in which that is near the limit, as
   it is on a core of one's own, and no core is taken away, and the best of them count. The last column is
   what it was in those: much below 100 % the line says little of the product. */
#include <dlfcn.h>
#include <math.h>
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
static const double WHOLE = 0.85; /* of the highest limit: no core is taken away */
static const double OWN = 0.95;   /* of the limit is left, reading, on a core of one's own */
enum { LIBRARIES = 2, ROUNDS = 60, COUNTED = 9, ROW = 101, PLAIN = 111, TURNED = 112 };

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

static double flops_of(const layer *l)
{
    return 2.0 * l->rows * (double)l->in * l->out;
}

/* Seconds of one, over some: the first ones untimed, as threads of the last library fall asleep, ours wake.
 */
static double time_of(hd_backend *b, sgemm_fn *sgemm, const layer *l, kind what)
{
    const int repeat = 1 + (int)(4e8 * hd_team_size(b->team) / flops_of(l));
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

typedef struct turn {
    double limit, reading, took; /* FLOP/s around it, share of that when it is read, seconds */
} turn;

static double highest; /* limit of all turns */

static bool own(const turn *t)
{
    return t->limit >= WHOLE * highest && t->reading >= OWN;
}

static int by_cores(const void *a, const void *b)
{
    const turn *x = a, *y = b;
    if (own(x) != own(y)) return own(y) - own(x);
    return (x->reading < y->reading) - (x->reading > y->reading);
}

static turn turn_of(hd_backend *b, const layer *l, kind what)
{
    const double before = limit_of(b, false), reading = limit_of(b, true), took = time_of(b, NULL, l, what),
                 again = limit_of(b, true), behind = limit_of(b, false), limit = (before + behind) / 2;
    if (limit > highest) highest = limit;
    return (turn){limit, limit > 0 ? (reading < again ? reading : again) / limit : 1, took};
}

/* GFLOP/s and share of the limit, over the turns that count: returns what was left, reading. Sorts them. */
static double print_turns(turn *turns, size_t count, double flops)
{
    double rate[COUNTED], share[COUNTED], reading[COUNTED];
    qsort(turns, count, sizeof *turns, by_cores);
    for (int r = 0; r < COUNTED; r++) {
        rate[r] = flops / turns[r].took / 1e9, reading[r] = turns[r].reading;
        share[r] = turns[r].limit > 0 ? 100e9 * rate[r] / turns[r].limit : 0;
    }
    printf(" %6.1f %3.0f%%", median(rate, COUNTED), median(share, COUNTED));
    return median(reading, COUNTED);
}

/* Whether enough turns of each kind had cores of their own. */
static bool enough(turn turns[][ROUNDS], int kinds, int rounds)
{
    for (int k = 0; k < kinds; k++) {
        int count = 0;
        for (int r = 0; r < rounds; r++) count += own(&turns[k][r]);
        if (count < COUNTED) return false;
    }
    return true;
}

/* The rounds of each product, then what libraries make of all of them. */
static void compare(hd_backend *b, size_t s)
{
    layer l = {.rows = shapes[s].rows, .in = shapes[s].in, .out = shapes[s].out};
    const size_t x = (size_t)l.rows * (size_t)l.in, w = (size_t)l.out * (size_t)l.in,
                 y = (size_t)l.rows * (size_t)l.out;
    const bool decoding = !strncmp(shapes[s].what, "decode", 6);
    const int kinds = decoding ? 1 : KINDS;
    turn turns[KINDS][ROUNDS];
    double whole[1 + LIBRARIES][ROUNDS] = {{0}};
    l.x = numbers(b, x), l.w = numbers(b, w), l.y = numbers(b, y), l.dx = numbers(b, x), l.dw = numbers(b, w);
    hd_tensor weight = hd_matrix(l.w, (size_t)l.out, (size_t)l.in);
    if (decoding && b->prepare(b, &weight, HD_DECODING)) exit(1);
    l.prepared = weight.prepared;
    int rounds = 0;
    for (; rounds < ROUNDS && !enough(turns, kinds, rounds); rounds++)
        for (kind k = 0; k < (kind)kinds; k++) {
            turns[k][rounds] = turn_of(b, &l, k);
            whole[0][rounds] += turns[k][rounds].took;
            for (int i = 0; i < LIBRARIES; i++)
                if (libraries[i].sgemm) whole[1 + i][rounds] += time_of(b, libraries[i].sgemm, &l, k);
        }
    printf("%-18s %5d x %4d x %5d ", shapes[s].what, l.rows, l.in, l.out);
    double left = 1;
    for (int k = 0; k < KINDS; k++)
        if (k < kinds)
            left = fmin(left, print_turns(turns[k], (size_t)rounds, flops_of(&l)));
        else
            printf("%12s", "");
    printf("  %4.0f%%", 100 * left);
    const double ours = median(whole[0], (size_t)rounds);
    for (int i = 0; i < LIBRARIES; i++)
        if (libraries[i].sgemm) printf("  %8.2fx", median(whole[1 + i], (size_t)rounds) / ours);
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
           "medians of the best %d rounds; what is left of the limit "
           "reading from L1; time of a library over that of heed\n%-39s%12s%12s%12s%7s",
           b->detail, limit_of(b, false) / 1e9, COUNTED, "", "y", "dx", "dw", "left");
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
