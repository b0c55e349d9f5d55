/* Runs a kernel on the cpu and on a device with the same numbers and compares what comes out. A twin is one
   matrix with an image on each side; easy to get wrong is what a kernel leaves alone, so outputs begin as
   NaN, views lie in a frame that must not change, and rows of no item hold NaN that nobody may read. A case
   that fails is told and the rest still run: time on a device is short.

   HEED_SMALL leaves out the large shapes, for compute-sanitizer. HEED_PAIR_DEVICE is the other backend; "cpu"
   tries out these tests themselves, and bf16 is then the cpu's f32 between bf16 numbers. */
#ifndef PAIR_H
#define PAIR_H

#include "check.h"

/* f32: both sides sum the same f32 numbers in another order. bf16: the cpu computes in f32 on inputs that
   were rounded before, so what remains is the rounding of the result: 2^-8 of a number at most, 0.0017 of the
   norm as a rule; 6e-3 leaves room for one more rounding on the way. */
#define TOLERANCE_F32  1e-4
#define TOLERANCE_BF16 6e-3

#define FRAME 12288.0f /* around views; a bf16 number */

/* What a matrix holds. In bf16 mode ACT is bf16 on the device and the values of ROUND and PARAM, stored as
   f32, are bf16 numbers; a PARAM has its shadow there as well. FLAT: dense whatever the layout of the case.
 */
enum { ACT, REAL, ROUND, PARAM, INT, KIND = 7, FLAT = 8 };

enum { DENSE, EIGHTS, ODD, LAYOUTS }; /* margins 0; 8 on both sides; 3 and 2 */

enum { FAULTS_TOLD = 12, MOST_BLOCKS = 512, MOST_TWINS = 128 };

typedef struct pair {
    hd_backend *side[2]; /* cpu, device */
    bool bf16, only_cpu;
    int layout;
    char label[256];
    uint64_t seed;
    hd_step *step[2];
    struct twin *twin[MOST_TWINS];
    size_t twins;
    struct {
        void *data;
        size_t bytes;
        int side; /* 2: host */
    } block[MOST_BLOCKS];
    size_t blocks;
    bool whole;  /* draws are one for each item */
    bool broken; /* a kernel of this case failed, or it is left out: nothing to compare */
    unsigned cases;
    int faults, compared;
    double worst; /* largest share of a tolerance that was used up */
    char worst_at[320];
} pair;

typedef struct twin {
    const char *name;
    hd_tensor on[2];
    void *whole[2];
    size_t rows, cols, wide, left; /* wide: columns with the margins; left: of them before ours */
    int kind;
    float *begun; /* [rows, cols]: as uploaded to the device */
} twin;

typedef struct twin_ints {
    int32_t *on[2], *host;
    size_t count;
} twin_ints;

typedef struct twin_seg {
    hd_seg on[2];
    int32_t *begin, *len;
    bool *owned; /* [rows]: some item has it */
    size_t items, rows;
    int32_t *page; /* [items, pages] where rows lie in blocks */
    size_t pages;
} twin_seg;

static pair pairs[2]; /* f32, bf16 */

/* -- opening, closing, cases -- */

/* HEED_SMALL: only small shapes, and of those one case in so many: for tools that slow everything down. */
CHECK_UNUSED static bool small_only(void)
{
    return getenv("HEED_SMALL") != NULL;
}

#ifndef PAIR_WHOLE /* a test whose cases build on each other */
#define PAIR_WHOLE 0
#endif

static unsigned share_of_cases(void)
{
    const char *small = getenv("HEED_SMALL");
    return small && !PAIR_WHOLE && atoi(small) > 1 ? (unsigned)atoi(small) : 1;
}

static bool case_left_out(unsigned number)
{
    return (number * 2654435761u >> 16) % share_of_cases();
}

static void *pair_take(pair *p, int side, size_t bytes)
{
    assert_true(p->blocks < MOST_BLOCKS);
    void *data = side < 2 ? p->side[side]->alloc(p->side[side], bytes ? bytes : 1) : calloc(bytes + 1, 1);
    if (!data) fail_msg("%s: no memory for %zu bytes", p->label, bytes);
    p->block[p->blocks].data = data, p->block[p->blocks].bytes = bytes ? bytes : 1;
    p->block[p->blocks++].side = side;
    return data;
}

static void pair_drop(pair *p)
{
    p->twins = 0;
    while (p->blocks) {
        size_t i = --p->blocks;
        int side = p->block[i].side;
        if (side == 2)
            free(p->block[i].data);
        else
            p->side[side]->release(p->side[side], p->block[i].data, p->block[i].bytes);
    }
}

static const hd_step pair_now = {
    .seed = 20240229, .number = 7, .updates = 3, .rate = 1e-3f, .weight = 1, .clip = 1};

/* Begins a case: what the one before took is given back. */
__attribute__((format(printf, 2, 3))) static void begin_case(pair *p, const char *format, ...)
{
    static const char *const layouts[] = {"dense", "eights", "odd"};
    pair_drop(p);
    p->whole = false;
    p->broken = case_left_out(p->cases++);
    int n = snprintf(p->label, sizeof p->label, "%s %s ", p->bf16 ? "bf16" : "f32", layouts[p->layout]);
    va_list args;
    va_start(args, format);
    vsnprintf(p->label + n, sizeof p->label - (size_t)n, format, args);
    va_end(args);
    p->seed = 1;
    for (int side = 0; side < 2; side++) {
        p->step[side] = pair_take(p, side, sizeof pair_now);
        p->side[side]->upload(p->side[side], p->step[side], &pair_now, sizeof pair_now);
    }
}

__attribute__((format(printf, 2, 3))) static void fault(pair *p, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (p->faults++ < FAULTS_TOLD) print_error("%s: %s\n", p->label, text);
}

static pair *pair_of(void **state)
{
    pair *p = *state;
    p->faults = p->compared = p->layout = 0, p->worst = 0, p->worst_at[0] = 0;
    return p;
}

static void pair_done(pair *p)
{
    pair_drop(p);
    print_message("             %d compared; nearest to the limit: %.2f of it, %s\n", p->compared, p->worst,
                  p->worst_at);
    if (p->faults) fail_msg("%d faults", p->faults);
    assert_true(p->compared > 0 || share_of_cases() > 1);
}

/* false: there is no device, main returns 77. */
static bool pair_open(void)
{
    const char *name = getenv("HEED_PAIR_DEVICE");
    if (!name) name = "cuda";
    for (int i = 0; i < 2; i++) {
        pair *p = &pairs[i];
        hd_err err = {0};
        p->only_cpu = !strcmp(name, "cpu"), p->bf16 = i == 1;
        hd_backend_opt opt = {.precision = p->bf16 && !p->only_cpu ? HD_PRECISION_BF16 : HD_PRECISION_F32};
        hd_status s = hd_backend_new(&p->side[1], name, &opt, &err);
        if (s == HD_EMISSING) {
            printf("skipped: no CUDA device (%s)\n", err.text);
            return false;
        }
        if (s) {
            fprintf(stderr, "%s: %s\n", name, err.text);
            exit(1);
        }
        if (hd_backend_new(&p->side[0], "cpu", NULL, &err)) exit(1);
    }
    return true;
}

static int pair_close(int status)
{
    for (int i = 0; i < 2; i++) {
        pair_drop(&pairs[i]);
        hd_backend_free(pairs[i].side[0]), hd_backend_free(pairs[i].side[1]);
    }
    return status;
}

/* Both precisions of a test, and a main that runs them. */
/* clang-format off */
#define PAIR_TEST(test) \
    {#test " f32", test, NULL, NULL, &pairs[0]}, {#test " bf16", test, NULL, NULL, &pairs[1]}
/* clang-format on */
#define PAIR_MAIN(...)                                                \
    int main(void)                                                    \
    {                                                                 \
        if (!pair_open()) return 77;                                  \
        const struct CMUnitTest tests[] = {__VA_ARGS__};              \
        return pair_close(cmocka_run_group_tests(tests, NULL, NULL)); \
    }

/* -- twins -- */

static bool stored_small(const pair *p, int kind, int side)
{
    return p->bf16 && side == 1 && (kind & KIND) == ACT;
}

/* hd_convert does the same through double, an order of magnitude slower. */
static uint16_t bf16_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x)) return (uint16_t)(bits >> 16 | 64);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static float of_bf16(uint16_t small)
{
    uint32_t bits = (uint32_t)small << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Renews the numbers of one side; they must be bf16 numbers where that side holds no others. */
static void twin_load(pair *p, twin *t, int side, const float *values)
{
    size_t count = t->rows * t->wide;
    float *whole = malloc((count + 1) * sizeof *whole);
    uint16_t *small = malloc((count + 1) * sizeof *small);
    bool ints = (t->kind & KIND) == INT;
    for (size_t i = 0; i < count; i++) whole[i] = FRAME;
    for (size_t r = 0; r < t->rows; r++)
        memcpy(whole + r * t->wide + t->left, values + r * t->cols, t->cols * sizeof *whole);
    if (ints)
        p->side[side]->upload(p->side[side], t->whole[side], whole, count * sizeof *whole);
    else if (stored_small(p, t->kind, side)) {
        for (size_t i = 0; i < count; i++) small[i] = bf16_of(whole[i]);
        p->side[side]->upload(p->side[side], t->whole[side], small, count * sizeof *small);
    } else
        p->side[side]->upload(p->side[side], t->whole[side], whole, count * sizeof *whole);
    if (side == 1) memcpy(t->begun, values, t->rows * t->cols * sizeof *values);
    free(whole), free(small);
}

/* A twin with these values, rounded where the kind asks for it. */
static twin *twin_from(pair *p, const char *name, size_t rows, size_t cols, int kind, const float *values)
{
    static const size_t left[] = {0, 8, 3}, right[] = {0, 8, 2};
    int layout = kind & FLAT || (kind & KIND) == PARAM ? DENSE : p->layout;
    twin *t = pair_take(p, 2, sizeof *t);
    assert_true(p->twins < MOST_TWINS);
    p->twin[p->twins++] = t;
    *t = (twin){.name = name, .rows = rows, .cols = cols, .kind = kind, .left = left[layout]};
    t->wide = cols + left[layout] + right[layout];
    t->begun = pair_take(p, 2, rows * cols * sizeof(float));
    float *rounded = malloc((rows * cols + 1) * sizeof *rounded);
    memcpy(rounded, values, rows * cols * sizeof *rounded);
    bool round = p->bf16 && (kind & KIND) != REAL && (kind & KIND) != INT;
    for (size_t i = 0; round && i < rows * cols; i++) rounded[i] = of_bf16(bf16_of(rounded[i]));
    for (int side = 0; side < 2; side++) {
        bool small = stored_small(p, kind, side);
        hd_dtype type = (kind & KIND) == INT ? HD_I32 : small ? HD_BF16 : HD_F32;
        t->whole[side] = pair_take(p, side, rows * t->wide * hd_dtype_bytes(type));
        hd_tensor whole = hd_shaped(t->whole[side], type, 2, (size_t[]){rows, t->wide});
        t->on[side] = hd_view_cols(&whole, t->left, cols);
        twin_load(p, t, side, rounded);
    }
    if (p->bf16 && (kind & KIND) == PARAM) {
        t->on[1].prepared = pair_take(p, 1, rows * cols * sizeof(uint16_t));
        hd_status s = p->side[1]->kernel.cast(
            p->side[1],
            &(hd_cast_args){.shadow = t->on[1].prepared, .value = t->on[1].data, .count = rows * cols});
        if (s) fault(p, "cast: %s %s", hd_status_text(s), p->side[1]->error);
    }
    free(rounded);
    return t;
}

/* Host memory of the case: normal numbers, picked at random from a table of them. */
static float *normals(pair *p, size_t count, double spread)
{
    static float table[1 << 16];
    if (table[0] == 0) fill_normal(table, COUNT_OF(table), 1, 4711);
    float *x = pair_take(p, 2, count * sizeof *x);
    uint64_t key = hd_rng_row_key(4711, 0, 0, 0, (uint32_t)p->seed++);
    for (size_t i = 0; i < count; i++) x[i] = (float)spread * table[hd_rng_mix(key, (uint32_t)i) >> 16];
    return x;
}

CHECK_UNUSED static twin *twin_normal(pair *p, const char *name, size_t rows, size_t cols, int kind,
                                      double spread)
{
    return twin_from(p, name, rows, cols, kind, normals(p, rows * cols, spread));
}

/* A result: numbers to be added to, or NaN (an odd integer) that must be gone. */
CHECK_UNUSED static twin *twin_result(pair *p, const char *name, size_t rows, size_t cols, int kind, bool add)
{
    float *x = normals(p, rows * cols, 1);
    const int32_t odd = -777777;
    for (size_t i = 0; !add && i < rows * cols; i++)
        if ((kind & KIND) == INT)
            memcpy(x + i, &odd, sizeof odd);
        else
            x[i] = NAN;
    return twin_from(p, name, rows, cols, kind, x);
}

/* Bytes on both sides: doubles, step blocks. */
CHECK_UNUSED static void twin_bytes(pair *p, void *on[2], const void *from, size_t bytes)
{
    for (int side = 0; side < 2; side++) {
        on[side] = pair_take(p, side, bytes);
        p->side[side]->upload(p->side[side], on[side], from, bytes);
    }
}

CHECK_UNUSED static twin_ints *ints_from(pair *p, const int32_t *values, size_t count)
{
    twin_ints *t = pair_take(p, 2, sizeof *t);
    *t = (twin_ints){.host = pair_take(p, 2, count * sizeof *values), .count = count};
    memcpy(t->host, values, count * sizeof *values);
    twin_bytes(p, (void **)t->on, values, count * sizeof *values);
    return t;
}

/* -- segments -- */

/* GAPS: two rows between items; FILL: five more at the end; KEYS: items have numbers of their own;
   OVERLAP: items 2i and 2i+1 share rows; LOOSE: `longest` is only a bound. */
enum { GAPS = 1, FILL = 2, KEYS = 4, OVERLAP = 8, LOOSE = 16 };

CHECK_UNUSED static twin_seg *seg_from(pair *p, const int32_t *len, size_t items, int how)
{
    twin_seg *s = pair_take(p, 2, sizeof *s);
    s->items = items;
    s->begin = pair_take(p, 2, (items + 1) * sizeof(int32_t));
    s->len = pair_take(p, 2, (items + 1) * sizeof(int32_t));
    int32_t *key = pair_take(p, 2, (items + 1) * sizeof(int32_t));
    size_t rows = 0, longest = 0;
    for (size_t i = 0; i < items; i++) {
        if (how & OVERLAP && i % 2 && rows >= (size_t)len[i]) {
            s->begin[i] = s->begin[i - 1];
            if (len[i] > len[i - 1]) s->begin[i] = (int32_t)(rows - (size_t)len[i]);
        } else {
            s->begin[i] = (int32_t)rows, rows += (size_t)len[i] + (how & GAPS ? 2 : 0);
        }
        s->len[i] = len[i], key[i] = (int32_t)(1000 + 37 * i);
        if ((size_t)len[i] > longest) longest = (size_t)len[i];
    }
    s->rows = rows + (how & FILL ? 5 : 0);
    s->owned = pair_take(p, 2, s->rows + 1);
    int32_t *item = pair_take(p, 2, (s->rows + 1) * sizeof *item),
            *pos = pair_take(p, 2, (s->rows + 1) * sizeof *pos);
    for (size_t r = 0; r < s->rows; r++) item[r] = -1, pos[r] = (int32_t)(r % 3);
    for (size_t i = 0; i < items; i++)
        for (int32_t j = 0; j < len[i]; j++)
            item[s->begin[i] + j] = (int32_t)i, pos[s->begin[i] + j] = j, s->owned[s->begin[i] + j] = true;
    twin_ints *b = ints_from(p, s->begin, items), *l = ints_from(p, s->len, items),
              *k = ints_from(p, key, items), *t = ints_from(p, item, s->rows),
              *o = ints_from(p, pos, s->rows);
    for (int side = 0; side < 2; side++)
        s->on[side] = (hd_seg){.begin = b->on[side],
                               .len = l->on[side],
                               .item = how & OVERLAP ? NULL : t->on[side],
                               .pos = how & OVERLAP ? NULL : o->on[side],
                               .key = how & KEYS ? k->on[side] : NULL,
                               .items = items,
                               .rows = s->rows,
                               .longest = longest + (how & LOOSE ? 13 : 0),
                               .full = !(how & (GAPS | FILL | OVERLAP)),
                               .overlap = (how & OVERLAP) != 0};
    return s;
}

/* Segments whose rows lie in blocks, in no order; items 2i and 2i+1 share the blocks that both fill. */
CHECK_UNUSED static twin_seg *seg_paged(pair *p, const int32_t *len, size_t items)
{
    twin_seg *s = pair_take(p, 2, sizeof *s);
    size_t wide = 1, blocks = 3, longest = 0;
    for (size_t i = 0; i < items; i++) longest = (size_t)len[i] > longest ? (size_t)len[i] : longest;
    while (wide * HD_PAGE_ROWS < longest) wide++;
    int32_t *page = pair_take(p, 2, (items * wide + 1) * sizeof *page);
    s->items = items, s->begin = pair_take(p, 2, (items + 1) * sizeof(int32_t));
    s->len = pair_take(p, 2, (items + 1) * sizeof(int32_t));
    for (size_t i = 0; i < items; i++)
        for (size_t b = 0; b * HD_PAGE_ROWS < (size_t)(s->len[i] = len[i]); b++) {
            bool shares =
                i % 2 && (b + 1) * HD_PAGE_ROWS <= (size_t)(len[i] < len[i - 1] ? len[i] : len[i - 1]);
            page[i * wide + b] = shares ? page[(i - 1) * wide + b] : (int32_t)blocks++;
        }
    for (size_t i = 0; i < items * wide; i++) page[i] = page[i] ? (int32_t)blocks - page[i] : 0;
    s->rows = (blocks + 1) * HD_PAGE_ROWS;
    s->owned = pair_take(p, 2, s->rows + 1);
    for (size_t i = 0; i < items; i++)
        for (size_t j = 0; j < (size_t)len[i]; j++)
            s->owned[(size_t)page[i * wide + j / HD_PAGE_ROWS] * HD_PAGE_ROWS + j % HD_PAGE_ROWS] = true;
    s->page = page, s->pages = wide;
    twin_ints *b = ints_from(p, s->begin, items), *l = ints_from(p, s->len, items),
              *t = ints_from(p, page, items * wide);
    for (int side = 0; side < 2; side++)
        s->on[side] = (hd_seg){.begin = b->on[side],
                               .len = l->on[side],
                               .page = t->on[side],
                               .pages = wide,
                               .items = items,
                               .rows = s->rows,
                               .longest = wide * HD_PAGE_ROWS,
                               .overlap = true};
    return s;
}

/* Lengths from `least` to `most`, some items empty where least is 0. */
CHECK_UNUSED static int32_t *lengths(pair *p, size_t items, int least, int most)
{
    int32_t *len = pair_take(p, 2, (items + 1) * sizeof *len);
    hd_rng rng = hd_rng_make(99, p->seed++);
    for (size_t i = 0; i < items; i++) {
        len[i] = least + (int32_t)hd_rng_below(&rng, (uint32_t)(most - least + 1));
        if (!least && i % 4 == 2) len[i] = 0;
    }
    if (items) len[items - 1] = most;
    return len;
}

/* Rows that belong to no item hold NaN: nobody may read them. */
CHECK_UNUSED static twin *twin_owned(pair *p, const char *name, const twin_seg *s, size_t cols, int kind,
                                     double spread)
{
    float *x = normals(p, s->rows * cols, spread);
    for (size_t r = 0; r < s->rows; r++)
        for (size_t c = 0; !s->owned[r] && c < cols; c++) x[r * cols + c] = NAN;
    return twin_from(p, name, s->rows, cols, kind, x);
}

/* -- the calls -- */

/* On the cpu, the device of bf16 is one that reads and writes bf16 and has all the rest in f32. */
static void widen(pair *p)
{
    for (size_t i = 0; i < p->twins; i++) {
        twin *t = p->twin[i];
        t->on[1].prepared = NULL;
        if (!stored_small(p, t->kind, 1)) continue;
        size_t count = t->rows * t->wide;
        float *wide = malloc((count + 1) * sizeof *wide);
        for (size_t j = 0; j < count; j++) wide[j] = of_bf16(((uint16_t *)t->whole[1])[j]);
        t->on[1].data = wide + t->left, t->on[1].dtype = HD_F32;
    }
}

static void narrow(pair *p)
{
    for (size_t i = 0; i < p->twins; i++) {
        twin *t = p->twin[i];
        if (!stored_small(p, t->kind, 1)) continue;
        float *wide = (float *)t->on[1].data - t->left;
        for (size_t j = 0; j < t->rows * t->wide; j++) ((uint16_t *)t->whole[1])[j] = bf16_of(wide[j]);
        t->on[1].data = (uint16_t *)t->whole[1] + t->left, t->on[1].dtype = HD_BF16;
        free(wide);
    }
}

/* Runs a kernel on both sides; its arguments see `side`, and ON(t) is the image of t there, or NULL. */
#define ON(t) ((t) ? &(t)->on[side] : NULL)
#define DRAW(p_, share, segments)                                               \
    (hd_draw)                                                                   \
    {                                                                           \
        .step = (p_)->step[side], .op = 11, .p = (share), .whole = (p_)->whole, \
        .seg = (segments) ? &(segments)->on[side] : NULL                        \
    }
#define RUN_ON(p_, side_, kernel_, ...)                                                                      \
    do {                                                                                                     \
        const int side = (side_);                                                                            \
        if ((p_)->broken) break;                                                                             \
        if (side && (p_)->only_cpu && (p_)->bf16) widen(p_);                                                 \
        hd_status s_ =                                                                                       \
            (p_)->side[side]->kernel.kernel_((p_)->side[side], &(hd_##kernel_##_args){__VA_ARGS__});         \
        if (side && (p_)->only_cpu && (p_)->bf16) narrow(p_);                                                \
        if (s_)                                                                                              \
            fault(p_, #kernel_ ": %s %s", hd_status_text(s_), (p_)->side[side]->error), (p_)->broken = true; \
    } while (0)
#define RUN(p_, kernel_, ...)                \
    do {                                     \
        RUN_ON(p_, 0, kernel_, __VA_ARGS__); \
        RUN_ON(p_, 1, kernel_, __VA_ARGS__); \
    } while (0)

/* -- comparing -- */

static float *twin_read(pair *p, const twin *t, int side)
{
    size_t count = t->rows * t->wide;
    float *whole = malloc((count + 1) * sizeof *whole);
    if (stored_small(p, t->kind, side)) {
        uint16_t *small = malloc((count + 1) * sizeof *small);
        p->side[side]->download(p->side[side], small, t->whole[side], count * sizeof *small);
        for (size_t i = 0; i < count; i++) whole[i] = of_bf16(small[i]);
        free(small);
    } else {
        p->side[side]->download(p->side[side], whole, t->whole[side], count * sizeof *whole);
    }
    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < t->wide; c++)
            if ((c < t->left || c >= t->left + t->cols) && whole[r * t->wide + c] != FRAME) {
                fault(p, "%s: written beside the view, row %zu column %td", t->name, r,
                      (ptrdiff_t)c - (ptrdiff_t)t->left);
                r = t->rows - 1;
                break;
            }
    return whole;
}

static bool same_bits(float a, float b)
{
    return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

typedef struct close_enough {
    double tolerance; /* of ||out - ref|| / ||ref||; one element may err by ten times that */
    double floor;     /* of numbers that should be 0: this much of each is let pass; 0: tolerance / 50 */
    const bool *rows; /* only these are compared; the others must be as before, or 0 */
    bool zeros;       /* an exact 0 stays one, and nothing else becomes one */
} close_enough;

static void compare(pair *p, const twin *t, close_enough k)
{
    if (p->broken) return;
    float *ref = twin_read(p, t, 0), *out = twin_read(p, t, 1);
    double floor = k.floor > 0 ? k.floor : k.tolerance / 50, square = 0, wrong = 0;
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        double rms = count ? sqrt(square / (double)count) : 0;
        for (size_t r = 0; r < t->rows; r++)
            for (size_t c = 0; c < t->cols; c++) {
                size_t at = r * t->wide + t->left + c;
                double x = ref[at], y = out[at];
                if (k.rows && !k.rows[r]) {
                    if (pass && y != 0 && !same_bits(out[at], t->begun[r * t->cols + c])) {
                        fault(p, "%s: row %zu of no item was written: %g", t->name, r, y);
                        goto done;
                    }
                    continue;
                }
                if (!pass && isfinite(x)) square += x * x, count++;
                if (!pass) continue;
                bool fine = isfinite(x) ? fabs(y - x) <= 10 * (k.tolerance * (fabs(x) + rms) + floor)
                                        : same_bits(ref[at], out[at]);
                if (k.zeros && (x == 0) != (y == 0)) fine = false;
                if (!fine) {
                    fault(p, "%s[%zu,%zu] of %zu x %zu: %.7g, expected %.7g (rms %.2g)", t->name, r, c,
                          t->rows, t->cols, y, x, rms);
                    goto done;
                }
                if (isfinite(x)) wrong += (y - x) * (y - x);
            }
    }
    double share = count ? sqrt(wrong) / (k.tolerance * sqrt(square) + floor * sqrt((double)count)) : 0;
    if (!(share <= 1))
        fault(p, "%s: error %.3g of norm %.3g, %.1f times the limit", t->name, sqrt(wrong), sqrt(square),
              share);
    if (share > p->worst) {
        p->worst = share;
        snprintf(p->worst_at, sizeof p->worst_at, "%s (%s)", t->name, p->label);
    }
done:
    p->compared++;
    free(ref), free(out);
}

static double tolerance_of(const pair *p, const twin *t)
{
    return stored_small(p, t->kind, 1) ? TOLERANCE_BF16 : TOLERANCE_F32;
}

CHECK_UNUSED static void check(pair *p, const twin *t)
{
    if (t) compare(p, t, (close_enough){.tolerance = tolerance_of(p, t)});
}
CHECK_UNUSED static void check_rows(pair *p, const twin *t, const bool *rows)
{
    if (t) compare(p, t, (close_enough){.tolerance = tolerance_of(p, t), .rows = rows});
}

/* Every bit the same, ints too. */
CHECK_UNUSED static void check_same(pair *p, const twin *t, const bool *rows)
{
    if (!t || p->broken) return;
    float *ref = twin_read(p, t, 0), *out = twin_read(p, t, 1);
    bool ints = (t->kind & KIND) == INT;
    for (size_t i = 0; i < t->rows * t->cols; i++) {
        size_t at = i / t->cols * t->wide + t->left + i % t->cols;
        if (rows && !rows[i / t->cols]) continue;
        if (!(ints ? !memcmp(ref + at, out + at, sizeof *ref)
                   : same_bits(ref[at], out[at]) || ref[at] == out[at])) {
            int32_t a, b;
            memcpy(&a, out + at, sizeof a), memcpy(&b, ref + at, sizeof b);
            if (ints)
                fault(p, "%s[%zu,%zu]: %d, expected %d", t->name, i / t->cols, i % t->cols, a, b);
            else
                fault(p, "%s[%zu,%zu]: %.9g, expected %.9g", t->name, i / t->cols, i % t->cols,
                      (double)out[at], (double)ref[at]);
            break;
        }
    }
    p->compared++;
    free(ref), free(out);
}

CHECK_UNUSED static void check_ints(pair *p, const char *name, const twin_ints *t)
{
    int32_t *out = malloc((t->count + 1) * sizeof *out);
    p->side[1]->download(p->side[1], out, t->on[1], t->count * sizeof *out);
    for (size_t i = 0; i < t->count; i++)
        if (out[i] != t->on[0][i]) {
            fault(p, "%s[%zu]: %d, expected %d", name, i, out[i], t->on[0][i]);
            break;
        }
    p->compared++;
    free(out);
}

#endif
