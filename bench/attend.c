/* Times attention of whole batches on the card, forward and backward, with what decoders ask of it:
   bench_attend [ROUNDS]. FLOP are those of the pairs that see each other. */
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "backend/backend.h"
#include "base/rng.h"

static const struct {
    const char *what;
    int heads, kv, d, dv, items, length, window;
    float cap;
} cases[] = {
    {"64", 12, 12, 64, 64, 64, 1024, 0, 0},
    {"64, cap", 12, 12, 64, 64, 64, 1024, 0, 50},
    {"64, 8192", 12, 12, 64, 64, 8, 8192, 0, 0},
    {"64, 8192, window 4095", 12, 12, 64, 64, 8, 8192, 4095, 0},
    {"64, 8192, window 1023", 12, 12, 64, 64, 8, 8192, 1023, 0},
    {"64, 8192, window 255", 12, 12, 64, 64, 8, 8192, 255, 0},
    {"32", 24, 24, 32, 32, 64, 1024, 0, 0},
    {"48 / 32", 24, 24, 48, 32, 64, 1024, 0, 0},
    {"96", 8, 8, 96, 96, 64, 1024, 0, 0},
    {"128, 4096", 16, 16, 128, 128, 8, 4096, 0, 0},
    {"128, 4096, 16 on 4", 16, 4, 128, 128, 8, 4096, 0, 0},
    {"128, 4096, window 1023", 16, 16, 128, 128, 8, 4096, 1023, 0},
    {"128, 4096, cap", 16, 16, 128, 128, 8, 4096, 0, 50},
    {"192 / 128, 4096", 16, 16, 192, 128, 8, 4096, 0, 0},
    {"256, 4096", 8, 8, 256, 256, 8, 4096, 0, 0},
    {"256, 4096, 8 on 1, cap", 8, 1, 256, 256, 8, 4096, 0, 50},
};

/* Single queries over `length` keys; latent: keys of all heads are one row, whose first columns are the
 * value. */
static const struct {
    const char *what;
    int heads, kv, d, dv, items, length;
    bool latent;
} singles[] = {
    {"16 of 128, 1024", 16, 16, 128, 128, 1, 1024, false},
    {"16 of 128, 4096", 16, 16, 128, 128, 1, 4096, false},
    {"16 of 128, 32768", 16, 16, 128, 128, 1, 32768, false},
    {"16 on 4 of 128, 32768", 16, 4, 128, 128, 1, 32768, false},
    {"16 of 128, 8 x 4096", 16, 16, 128, 128, 8, 4096, false},
    {"16 latent, 1024", 16, 1, 576, 512, 1, 1024, true},
    {"16 latent, 4096", 16, 1, 576, 512, 1, 4096, true},
    {"16 latent, 32768", 16, 1, 576, 512, 1, 32768, true},
    {"128 latent, 32768", 128, 1, 576, 512, 1, 32768, true},
    {"16 latent, 8 x 4096", 16, 1, 576, 512, 8, 4096, true},
};

typedef struct batch {
    hd_backend *b;
    hd_tensor q, k, v, y, lse, dq, dk, dv, dy;
    hd_attention at;
    hd_seg seg;
} batch;

static void *sent(hd_backend *b, const void *from, size_t bytes)
{
    void *x = b->alloc(b, bytes);
    if (!x) exit(1);
    b->upload(b, x, from, bytes);
    return x;
}

/* Some thousand numbers again and again. */
static hd_tensor numbers(hd_backend *b, size_t rows, size_t cols, hd_dtype type)
{
    enum { SOME = 1 << 19 };
    static float x[SOME], as[SOME];
    size_t bytes = hd_dtype_bytes(type), n = rows * cols;
    hd_rng rng = hd_rng_make(1, n);
    char *to = b->alloc(b, n * bytes);
    if (!to) exit(1);
    for (size_t i = 0; i < SOME; i++) x[i] = (float)hd_rng_below(&rng, 4096) / 1024 - 2;
    hd_convert(as, type, x, HD_F32, SOME);
    for (size_t i = 0; i < n; i += SOME)
        b->upload(b, to + i * bytes, as, (n - i < SOME ? n - i : SOME) * bytes);
    return hd_shaped(to, type, 2, (const size_t[]){rows, cols});
}

static void run(const batch *x, bool back)
{
    hd_backend *b = x->b;
    if (back)
        b->kernel.attend_back(b, &(hd_attend_back_args){.dq = &x->dq,
                                                        .dk = &x->dk,
                                                        .dv = &x->dv,
                                                        .dy = &x->dy,
                                                        .y = &x->y,
                                                        .q = &x->q,
                                                        .k = &x->k,
                                                        .v = &x->v,
                                                        .lse = &x->lse,
                                                        .at = &x->at,
                                                        .fresh_q = true,
                                                        .fresh_k = true,
                                                        .fresh_v = true});
    else
        b->kernel.attend(
            b,
            &(hd_attend_args){.y = &x->y, .q = &x->q, .k = &x->k, .v = &x->v, .lse = &x->lse, .at = &x->at});
}

static double timed(const batch *x, bool back, int rounds)
{
    float seen;
    double start = 0;
    for (int i = -3; i < rounds; i++) {
        if (!i) x->b->download(x->b, &seen, x->lse.data, sizeof seen), start = now();
        run(x, back);
    }
    x->b->download(x->b, &seen, x->lse.data, sizeof seen);
    return (now() - start) / rounds;
}

static hd_seg segments(hd_backend *b, size_t items, size_t length)
{
    int32_t *begin = calloc(items, sizeof *begin), *len = calloc(items, sizeof *len);
    if (!begin || !len) exit(1);
    for (size_t k = 0; k < items; k++) begin[k] = (int32_t)(k * length), len[k] = (int32_t)length;
    hd_seg seg = {.begin = sent(b, begin, items * sizeof *begin),
                  .len = sent(b, len, items * sizeof *len),
                  .items = items,
                  .rows = items * length,
                  .longest = length,
                  .full = true};
    free(begin), free(len);
    return seg;
}

static void forget(hd_backend *b, hd_tensor *const *all, size_t count)
{
    for (size_t k = 0; k < count; k++)
        b->release(b, all[k]->data, hd_count_of(all[k]) * hd_dtype_bytes(all[k]->dtype));
}

static void time_batches(hd_backend *b, int rounds)
{
    printf("%-26s %10s %10s %10s %10s\n", "heads", "forward ms", "TFLOP/s", "back ms", "TFLOP/s");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t h = (size_t)cases[i].heads, kv = (size_t)cases[i].kv, d = (size_t)cases[i].d,
               dv = (size_t)cases[i].dv, items = (size_t)cases[i].items, t = (size_t)cases[i].length,
               rows = items * t;
        batch x = {.b = b};
        x.seg = segments(b, items, t);
        x.q = numbers(b, rows, h * d, HD_BF16), x.k = numbers(b, rows, kv * d, HD_BF16);
        x.v = numbers(b, rows, kv * dv, HD_BF16), x.y = numbers(b, rows, h * dv, HD_BF16);
        x.dq = numbers(b, rows, h * d, HD_BF16), x.dk = numbers(b, rows, kv * d, HD_BF16);
        x.dv = numbers(b, rows, kv * dv, HD_BF16), x.dy = numbers(b, rows, h * dv, HD_BF16);
        x.lse = numbers(b, rows, h, HD_F32);
        x.at = (hd_attention){.heads = (int)h,
                              .kv_heads = (int)kv,
                              .scale = 1 / (float)d,
                              .cap = cases[i].cap,
                              .mask = HD_CAUSAL,
                              .window = cases[i].window,
                              .qseg = &x.seg,
                              .kseg = &x.seg};
        double w = cases[i].window ? cases[i].window + 1.0 : (double)t, n = (double)t;
        double pairs = (double)(items * h) * (n * w - w * (w - 1) / 2);
        double flops = 2 * pairs * (double)(d + dv), forward = timed(&x, false, rounds),
               back = timed(&x, true, rounds), back_flops = 2 * pairs * (3.0 * (double)d + 2.0 * (double)dv);
        printf("%-26s %10.3f %10.1f %10.3f %10.1f\n", cases[i].what, forward * 1e3, flops / forward / 1e12,
               back * 1e3, back_flops / back / 1e12);
        fflush(stdout);
        forget(b, (hd_tensor *const[]){&x.q, &x.k, &x.v, &x.y, &x.dq, &x.dk, &x.dv, &x.dy, &x.lse}, 9);
    }
}

static void time_singles(hd_backend *b, int rounds)
{
    printf("%-26s %10s %10s\n", "single queries", "us", "GB/s");
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
        size_t h = (size_t)singles[i].heads, kv = (size_t)singles[i].kv, d = (size_t)singles[i].d,
               dv = (size_t)singles[i].dv, items = (size_t)singles[i].items, t = (size_t)singles[i].length;
        hd_seg one = segments(b, items, 1), many = segments(b, items, t);
        batch x = {.b = b};
        x.q = numbers(b, items, h * d, HD_BF16), x.k = numbers(b, items * t, kv * d, HD_BF16);
        x.dv = numbers(b, singles[i].latent ? 1 : items * t, kv * dv, HD_BF16);
        x.v = singles[i].latent ? hd_view_cols(&x.k, 0, dv) : x.dv;
        x.y = numbers(b, items, h * dv, HD_BF16), x.lse = numbers(b, items, h, HD_F32);
        x.at = (hd_attention){.heads = (int)h,
                              .kv_heads = (int)kv,
                              .scale = 1 / (float)d,
                              .mask = HD_CAUSAL,
                              .qseg = &one,
                              .kseg = &many};
        double s = timed(&x, false, 10 * rounds),
               numbers_read = (double)(items * t * kv) * (double)(singles[i].latent ? d : d + dv);
        printf("%-26s %10.1f %10.0f\n", singles[i].what, s * 1e6, 2 * numbers_read / s / 1e9);
        fflush(stdout);
        forget(b, (hd_tensor *const[]){&x.q, &x.k, &x.dv, &x.y, &x.lse}, 5);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    hd_err err = {0};
    hd_backend *b = NULL;
    if (hd_backend_new(&b, "cuda", &(hd_backend_opt){0}, &err)) return fprintf(stderr, "%s\n", err.text), 1;
    time_batches(b, rounds);
    time_singles(b, rounds);
    hd_backend_free(b);
    return 0;
}
