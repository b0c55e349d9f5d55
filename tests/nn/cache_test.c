/* Decoding with a cache against the whole forward pass. What the cache should hold is kept as plain token
   lists on the host; every step is compared with computing those lists from scratch. */
#include "model/toy.h"

enum { LONG = 100, MOST = 8, SOURCES = 4, V = TOY_VOCAB };

/* Both ways sum the same numbers in other orders: logits are sums of 32 products of numbers around 1, each
 * rounded by 6e-8. */
#define TOLERANCE 1e-5

typedef struct sequence {
    int source, len;
    int32_t id[LONG];
} sequence;

typedef struct subject {
    const char *name;
    hd_backend *backend;
    hd_run run, whole; /* of the cached steps and of the forward passes they are compared with */
    hd_encdec *t;      /* one of the two */
    hd_gpt *g;
    toy_batch sources;
    double worst;
} subject;

typedef enum kind {
    POST_NORM,
    PRE_NORM,
    WINDOW,
    GPT,
    KINDS
} kind; /* WINDOW: each row sees the 5 rows before it */

static subject *subject_of(kind k)
{
    static const char *const names[] = {"post-norm", "pre-norm", "window", "gpt"};
    subject *s = calloc(1, sizeof *s);
    s->name = names[k];
    s->backend = backend_of("cpu", 2);
    s->run = run_on(s->backend), s->whole = run_on(s->backend);
    s->sources = toy_range(40, SOURCES);
    hd_encdec_opt o = toy_opt();
    hd_gpt_opt g = toy_gpt_opt();
    o.stack.pre_norm = k == PRE_NORM, o.positions = g.positions = LONG;
    if (k == GPT)
        s->g = toy_gpt(s->backend, &g, false), stir(&s->g->params);
    else
        s->t = toy_transformer(s->backend, &o, false), stir(&s->t->params);
    for (int l = 0; k == WINDOW && l < o.decoder_layers; l++) s->t->stack[0].block[l].self.extra.window = 5;
    return s;
}

static void subject_free(subject *s)
{
    hd_encdec_free(s->t);
    hd_gpt_free(s->g);
    hd_run_release(&s->run), hd_run_release(&s->whole);
    hd_backend_free(s->backend);
    free(s);
}

static hd_cache *cache_of(const subject *s, size_t items)
{
    hd_err err = {0};
    hd_cache *c = NULL;
    if (s->t ? hd_encdec_cache(&c, s->t, items, &err) : hd_gpt_cache(&c, s->g, items, &err))
        fail_msg("%s", err.text);
    return c;
}

/* Encoder rows for the sources of n sequences. */
static hd_encoded memory_of(hd_run *r, const subject *s, const sequence *q, size_t n)
{
    int32_t len[MOST], id[TOY_ROWS];
    size_t rows = 0;
    for (size_t i = 0; i < n; i++) {
        size_t from = 0;
        for (int k = 0; k < q[i].source; k++) from += (size_t)s->sources.source_len[k];
        len[i] = s->sources.source_len[q[i].source];
        memcpy(id + rows, s->sources.source + from, (size_t)len[i] * sizeof *id);
        rows += (size_t)len[i];
    }
    return hd_encdec_encode(r, s->t,
                            &(hd_items){.seg = hd_seg_of(r, len, n, NULL), .ids = hd_ints(r, id, rows)});
}

/* Logits for the last count[i] tokens of each sequence; the caller frees them. memory may be {0}. */
static hd_real *logits_of(hd_run *r, const subject *s, const sequence *q, const int32_t *count, size_t n,
                          hd_encoded memory, hd_cache *c)
{
    int32_t id[MOST * LONG];
    size_t rows = 0;
    for (size_t i = 0; i < n; i++)
        for (int j = q[i].len - count[i]; j < q[i].len; j++) id[rows++] = q[i].id[j];
    hd_seg *seg = hd_seg_of(r, count, n, NULL);
    const int32_t *ids = hd_ints(r, id, rows);
    hd_tensor *z = s->t ? hd_encdec_logits(r, s->t, hd_encdec_decode(r, s->t, ids, seg, memory, c))
                        : hd_gpt_logits(r, s->g, hd_gpt_forward(r, s->g, ids, seg, c));
    return r->err.status ? NULL : host_copy(r, z);
}

/* One cached step over the last count[i] tokens of each sequence, compared with the whole. `first`: the
 * memory is encoded and handed in. */
static void step_and_compare(subject *s, hd_cache *c, const sequence *q, const int32_t *count, size_t n,
                             bool first)
{
    hd_run_begin(&s->run, HD_INFERENCE);
    hd_encoded memory = s->t && first ? memory_of(&s->run, s, q, n) : (hd_encoded){0};
    hd_real *got = logits_of(&s->run, s, q, count, n, memory, c);
    assert_run_ok(&s->run);
    int32_t all[MOST];
    for (size_t i = 0; i < n; i++) all[i] = q[i].len;
    hd_run_begin(&s->whole, HD_INFERENCE);
    hd_real *want =
        logits_of(&s->whole, s, q, all, n, s->t ? memory_of(&s->whole, s, q, n) : (hd_encoded){0}, NULL);
    assert_run_ok(&s->whole);
    const hd_real *w = want, *g = got;
    for (size_t i = 0; i < n; w += q[i].len * V, g += count[i] * V, i++)
        for (int k = 0; k < count[i] * V; k++) {
            double d = fabs((double)g[k] - (double)w[(q[i].len - count[i]) * V + k]);
            if (!(d <= s->worst)) s->worst = d;
            if (!(d <= TOLERANCE))
                fail_msg("%s: item %zu of %zu, row %d of %d: off by %g", s->name, i, n,
                         q[i].len - count[i] + k / V, q[i].len, d);
        }
    free(got), free(want);
}

static void grow(sequence *q, int by, hd_rng *rng)
{
    while (by-- > 0) q->id[q->len++] = (int32_t)hd_rng_below(rng, V);
}

static void report(const subject *s)
{
    print_message("%-10s off by %.1e\n", s->name, s->worst);
}

/* Items of 70, 61 and 2 tokens in chunks of `chunk`; the shorter ones take part with no rows once they are
 * done. */
static void decode_in_chunks(subject *s, int chunk)
{
    static const int lengths[] = {70, 61, 2};
    enum { N = 3 };
    sequence full[N] = {0}, q[N] = {0};
    hd_rng rng = hd_rng_make(3, 0);
    for (int i = 0; i < N; i++)
        full[i].source = i, grow(&full[i], lengths[i], &rng), q[i] = full[i], q[i].len = 0;
    hd_cache *c = cache_of(s, N);
    for (int at = 0; at < lengths[0]; at += chunk) {
        int32_t count[N];
        for (int i = 0; i < N; i++) {
            int rest = lengths[i] - q[i].len;
            count[i] = rest < chunk ? rest : chunk;
            q[i].len += count[i];
        }
        step_and_compare(s, c, q, count, N, at == 0);
    }
    assert_int_equal(c->length[0], 70), assert_int_equal(c->length[1], 61), assert_int_equal(c->length[2], 2);
    hd_cache_free(c);
}

static void row_by_row_in_chunks_or_at_once_gives_the_whole_forward(void **state)
{
    (void)state;
    static const int chunks[] = {1, 2, 7, 31, 33, 70};
    for (int k = 0; k < KINDS; k++) {
        subject *s = subject_of((kind)k);
        for (size_t i = 0; i < COUNT_OF(chunks); i++) decode_in_chunks(s, chunks[i]);
        report(s);
        subject_free(s);
    }
}

/* Two new items join those there are: the step that reads them is of them alone. */
static size_t let_join(subject *s, hd_cache *c, sequence *q, size_t n, hd_rng *rng)
{
    int32_t count[MOST];
    size_t more = n + 2 <= MOST ? 2 : 0;
    for (size_t i = 0; i < more; i++) {
        q[n + i] = (sequence){.source = (int)hd_rng_below(rng, SOURCES)};
        count[i] = 1 + (int32_t)hd_rng_below(rng, 20);
        grow(&q[n + i], count[i], rng);
    }
    if (!more) return n;
    hd_run_begin(&s->run, HD_INFERENCE);
    assert_int_equal(hd_cache_join(&s->run, c, more), HD_OK);
    step_and_compare(s, c, q + n, count, more, true);
    assert_int_equal(hd_cache_joined(&s->run, c), HD_OK);
    return n + more;
}

/* Blocks that the items would need if they shared nothing. */
static size_t blocks_of(const hd_pages *p)
{
    size_t sum = 0;
    for (size_t i = 0; i < p->items; i++) sum += ((size_t)p->len[i] + HD_PAGE_ROWS - 1) / HD_PAGE_ROWS;
    return sum;
}

/* Beam search at random: items grow by 0 to 3 tokens, then are repeated, dropped and reordered, up to 90
 * tokens; some join on the way. In the end all go, and every block is free again. */
static void wander(subject *s, uint64_t seed)
{
    sequence q[MOST] = {0}, next[MOST];
    hd_rng rng = hd_rng_make(seed, 0);
    size_t n = 3;
    for (int i = 0; i < 3; i++) q[i].source = i;
    hd_cache *c = cache_of(s, n);
    for (int turn = 0, longest = 0; longest + 3 <= 90; turn++) {
        int32_t count[MOST], parent[MOST];
        for (size_t i = 0; i < n; i++) {
            count[i] = turn ? (int32_t)hd_rng_below(&rng, 4) : 1 + (int32_t)i;
            grow(&q[i], count[i], &rng);
            longest = q[i].len > longest ? q[i].len : longest;
        }
        step_and_compare(s, c, q, count, n, turn == 0);
        if (turn % 8 == 1) n = let_join(s, c, q, n, &rng);
        size_t m = 1 + hd_rng_below(&rng, MOST);
        for (size_t i = 0; i < m; i++)
            parent[i] = (int32_t)hd_rng_below(&rng, (uint32_t)n), next[i] = q[parent[i]];
        hd_run_begin(&s->run, HD_INFERENCE);
        assert_int_equal(hd_cache_pick(&s->run, c, parent, m), HD_OK);
        memcpy(q, next, sizeof q);
        n = m;
        assert_int_equal(c->items, n);
        for (size_t i = 0; i < n; i++) assert_int_equal(c->length[i], q[i].len);
        assert_true(hd_pages_held(&c->grow) <= blocks_of(&c->grow));
    }
    hd_run_begin(&s->run, HD_INFERENCE);
    assert_int_equal(hd_cache_pick(&s->run, c, NULL, 0), HD_OK);
    assert_int_equal(hd_pages_held(&c->grow), 0);
    assert_int_equal(hd_pages_held(&c->fixed), 0);
    hd_cache_free(c);
}

static void picked_items_go_on_as_if_computed_from_scratch(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        subject *s = subject_of((kind)k);
        for (uint64_t seed = 1; seed <= 3; seed++) wander(s, seed);
        report(s);
        subject_free(s);
    }
}

static void picking_every_item_in_place_changes_nothing(void **state)
{
    (void)state;
    subject *s = subject_of(POST_NORM);
    hd_cache *c = cache_of(s, 3);
    sequence q[3] = {{.source = 0}, {.source = 1}, {.source = 2}};
    hd_rng rng = hd_rng_make(3, 0);
    for (int i = 0; i < 3; i++) grow(&q[i], 2, &rng);
    step_and_compare(s, c, q, (const int32_t[]){2, 2, 2}, 3, true);
    void *before = c->slot[0].t.data;
    hd_run_begin(&s->run, HD_INFERENCE);
    assert_int_equal(hd_cache_pick(&s->run, c, (const int32_t[]){0, 1, 2}, 3), HD_OK);
    assert_ptr_equal(c->slot[0].t.data, before);
    hd_cache_free(c);
    subject_free(s);
}

/* All may go: a search that is finished. */
static void no_items_are_left_when_none_is_picked(void **state)
{
    (void)state;
    subject *s = subject_of(POST_NORM);
    hd_cache *c = cache_of(s, 1);
    sequence q = {.len = 1};
    step_and_compare(s, c, &q, (const int32_t[]){1}, 1, true);
    hd_run_begin(&s->run, HD_INFERENCE);
    assert_int_equal(hd_cache_pick(&s->run, c, NULL, 0), HD_OK);
    assert_int_equal(c->items, 0);
    hd_cache_free(c);
    subject_free(s);
}

static void a_fixed_slot_is_filled_once_and_then_read(void **state)
{
    (void)state;
    subject *s = subject_of(PRE_NORM);
    hd_cache *c = cache_of(s, 2);
    sequence q[2] = {{.source = 1}, {.source = 3}};
    const int32_t one[2] = {1, 1};
    hd_rng rng = hd_rng_make(3, 0);
    for (int i = 0; i < 2; i++) grow(&q[i], 1, &rng);
    step_and_compare(s, c, q, one, 2, true);
    hd_slot *cross = hd_cache_slot(c, 1);
    assert_int_equal(cross->kind, HD_FIXED);
    assert_int_equal(c->fixed.len[0], s->sources.source_len[1]);
    assert_int_equal(c->fixed.len[1], s->sources.source_len[3]);
    void *data = cross->t.data;
    for (int i = 0; i < 2; i++) grow(&q[i], 1, &rng);
    /* another memory, even one of NaN, is not looked at any more */
    hd_run_begin(&s->run, HD_INFERENCE);
    hd_encoded memory = memory_of(&s->run, s, q, 2);
    memset(memory.rows.t->data, 0xFF, hd_count_of(memory.rows.t) * sizeof(hd_real));
    hd_real *got = logits_of(&s->run, s, q, one, 2, memory, c);
    assert_run_ok(&s->run);
    for (int i = 0; i < 2 * V; i++) assert_true(isfinite(got[i]));
    free(got);
    for (int i = 0; i < 2; i++) grow(&q[i], 1, &rng);
    step_and_compare(s, c, q, one, 2, false);
    assert_ptr_equal(cross->t.data, data);
    hd_cache_free(c);
    subject_free(s);
}

static hd_tensor *numbered(hd_run *r, size_t rows, size_t cols, int from)
{
    hd_real x[64];
    for (size_t i = 0; i < rows * cols; i++) x[i] = (hd_real)(from + (int)i);
    return hd_from(r, rows, cols, x);
}

/* The same of the slot alone: rows and segments of the first call, whatever the later ones bring. */
static void a_fixed_slot_keeps_its_first_rows(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_cache *c = NULL;
    static const hd_slot_kind kinds[] = {HD_FIXED};
    assert_int_equal(hd_cache_new(&c, kinds, 1, 2, &err), HD_OK);
    for (int t = 0; t < 3; t++) {
        hd_run_begin(&r, HD_INFERENCE);
        hd_rows x = {numbered(&r, 5, 3, 100 * t),
                     hd_seg_of(&r, t ? (const int32_t[]){4, 1} : (const int32_t[]){2, 3}, 2, NULL)};
        hd_slot_fixed(&r, hd_cache_slot(c, 0), t < 2 ? x : (hd_rows){0});
        hd_rows y = hd_slot_spread(&r, hd_cache_slot(c, 0));
        hd_real *host = host_copy(&r, y.t);
        for (int i = 0; i < 15; i++) assert_true(host[i] == (hd_real)i);
        assert_int_equal(y.seg->len[0], 2), assert_int_equal(y.seg->len[1], 3);
        assert_int_equal(y.seg->begin[0], 0), assert_int_equal(y.seg->begin[1], 2);
        free(host);
    }
    hd_cache_free(c);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* -- blocks -- */

enum { WIDTHS = 2 };
static const size_t widths[WIDTHS] = {3, 7};
static size_t moved; /* bytes that kernels of rows have read */

static hd_status (*plain_gather)(hd_backend *, const hd_gather_args *);
static hd_status (*plain_append)(hd_backend *, const hd_append_args *);

static hd_status counted_gather(hd_backend *b, const hd_gather_args *a)
{
    moved += hd_count_of(a->y) * sizeof(hd_real);
    return plain_gather(b, a);
}
static hd_status counted_append(hd_backend *b, const hd_append_args *a)
{
    for (size_t i = 0; i < a->from->items; i++)
        moved += (size_t)a->from->len[i] * hd_cols_of(a->x) * sizeof(hd_real);
    return plain_append(b, a);
}

/* Number j of a slot's row: the item's mark, then the row's. */
static hd_real mark_of(int32_t id, size_t slot, size_t column)
{
    return (hd_real)(id * 100 + (int32_t)(slot * 10 + column));
}

/* Appends a row to each item, ids[i] its mark, to all slots. */
static void append_marks(hd_run *r, hd_cache *c, const int32_t *ids, size_t n)
{
    int32_t one[MOST];
    hd_real x[MOST * 16];
    for (size_t i = 0; i < n; i++) one[i] = 1;
    const hd_seg *seg = hd_seg_of(r, one, n, NULL);
    for (size_t k = 0; k < WIDTHS; k++) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < widths[k]; j++) x[i * widths[k] + j] = mark_of(ids[i], k, j);
        assert_non_null(hd_slot_grow(r, hd_cache_slot(c, k), (hd_rows){hd_from(r, n, widths[k], x), seg}).t);
    }
}

static void check_marks(hd_run *r, hd_cache *c, const sequence *q, size_t n)
{
    for (size_t k = 0; k < WIDTHS; k++) {
        hd_real *got = host_copy(r, hd_slot_spread(r, hd_cache_slot(c, k)).t), *at = got;
        for (size_t i = 0; i < n; i++)
            for (int t = 0; t < q[i].len; t++)
                for (size_t j = 0; j < widths[k]; j++) assert_true(*at++ == mark_of(q[i].id[t], k, j));
        free(got);
    }
}

/* Slots of two widths through one table, against plain lists; and what a pick costs: nothing, of whatever has
   been remembered, while the next step copies but the blocks that are shared and not full. */
static void slots_of_two_widths_share_a_table_and_a_pick_moves_no_rows(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    plain_gather = b->kernel.gather, plain_append = b->kernel.append;
    b->kernel.gather = counted_gather, b->kernel.append = counted_append;
    hd_run r = run_on(b);
    hd_cache *c = NULL;
    sequence q[MOST] = {0}, next[MOST];
    hd_rng rng = hd_rng_make(5, 0);
    size_t n = 2, row = (widths[0] + widths[1]) * sizeof(hd_real);
    static const hd_slot_kind kinds[] = {HD_GROW, HD_GROW};
    assert_int_equal(hd_cache_new(&c, kinds, WIDTHS, n, &err), HD_OK);
    for (int t = 0; t < 80; t++) {
        int32_t ids[MOST], parent[MOST];
        for (size_t i = 0; i < n; i++) grow(&q[i], 1, &rng), ids[i] = q[i].id[q[i].len - 1];
        hd_run_begin(&r, HD_INFERENCE);
        moved = 0;
        append_marks(&r, c, ids, n);
        assert_run_ok(&r);
        assert_true(moved <= n * row * HD_PAGE_ROWS);
        check_marks(&r, c, q, n);
        size_t m = t % 7 ? MOST : 2;
        for (size_t i = 0; i < m; i++)
            parent[i] = (int32_t)hd_rng_below(&rng, (uint32_t)n), next[i] = q[parent[i]];
        moved = 0;
        assert_int_equal(hd_cache_pick(&r, c, parent, m), HD_OK);
        assert_int_equal(moved, 0);
        memcpy(q, next, sizeof q), n = m;
        check_marks(&r, c, q, n);
    }
    /* eight items of 80 rows that have most of them in common */
    assert_int_equal(blocks_of(&c->grow), n * 5);
    assert_true(hd_pages_held(&c->grow) < n * 5 / 2);
    assert_int_equal(hd_cache_pick(&r, c, NULL, 0), HD_OK);
    assert_int_equal(hd_pages_held(&c->grow), 0);
    hd_cache_free(c);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void a_slot_refuses_rows_of_another_width(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_cache *c = NULL;
    static const hd_slot_kind kinds[] = {HD_GROW};
    assert_int_equal(hd_cache_new(&c, kinds, 1, 2, &err), HD_OK);
    for (size_t cols = 4; cols < 6; cols++) {
        hd_run_begin(&r, HD_INFERENCE);
        hd_rows x = {numbered(&r, 2, cols, 0), hd_seg_of(&r, (const int32_t[]){1, 1}, 2, NULL)};
        hd_slot_grow(&r, hd_cache_slot(c, 0), x);
        assert_int_equal(r.err.status, cols == 4 ? HD_OK : HD_ESHAPE);
    }
    assert_string_equal(r.err.text, "cache: rows of 5 columns, those before have 4");
    hd_cache_free(c);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void a_state_slot_holds_what_was_put_last(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_cache *c = NULL;
    hd_real x[64];
    static const hd_slot_kind kinds[] = {HD_STATE, HD_STATE};
    assert_int_equal(hd_cache_new(&c, kinds, 2, 3, &err), HD_OK);
    hd_slot *h = hd_cache_slot(c, 0), *never = hd_cache_slot(c, 1);
    hd_run_begin(&r, HD_INFERENCE);
    assert_null(hd_slot_state(&r, h));
    hd_slot_put(&r, h, numbered(&r, 3, 5, 100));
    hd_slot_put(&r, h, numbered(&r, 3, 5, 0));
    hd_read(&r, hd_slot_state(&r, h), x);
    for (int i = 0; i < 15; i++) assert_true(x[i] == (hd_real)i);

    hd_run_begin(&r, HD_INFERENCE); /* it outlives the step, and a pick takes rows */
    assert_int_equal(hd_cache_pick(&r, c, (const int32_t[]){2, 2, 0, 1}, 4), HD_OK);
    hd_read(&r, hd_slot_state(&r, h), x);
    static const int parent[] = {2, 2, 0, 1};
    for (int i = 0; i < 20; i++) assert_true(x[i] == (hd_real)(parent[i / 5] * 5 + i % 5));
    assert_null(hd_slot_state(&r, never));
    hd_slot_put(&r, never, numbered(&r, 4, 2, 7));
    hd_read(&r, hd_slot_state(&r, never), x);
    for (int i = 0; i < 8; i++) assert_true(x[i] == (hd_real)(7 + i));

    hd_slot_put(&r, h, numbered(&r, 4, 9, 0)); /* a wider state needs other storage */
    assert_run_ok(&r);
    hd_tensor *wide = hd_slot_state(&r, h);
    assert_int_equal(hd_cols_of(wide), 9);
    hd_read(&r, wide, x);
    for (int i = 0; i < 36; i++) assert_true(x[i] == (hd_real)i);

    /* two items join: what the others have stays, and a slot that only the others have is an error */
    hd_run_begin(&r, HD_INFERENCE);
    assert_int_equal(hd_cache_join(&r, c, 2), HD_OK);
    assert_null(hd_slot_state(&r, h));
    hd_slot_put(&r, h, numbered(&r, 2, 9, 36));
    hd_slot_put(&r, never, numbered(&r, 2, 2, 15));
    assert_int_equal(hd_cache_joined(&r, c), HD_OK);
    hd_read(&r, hd_slot_state(&r, h), x);
    for (int i = 0; i < 54; i++) assert_true(x[i] == (hd_real)i);
    hd_read(&r, hd_slot_state(&r, never), x);
    for (int i = 0; i < 12; i++) assert_true(x[i] == (hd_real)(7 + i));
    hd_run_begin(&r, HD_INFERENCE);
    assert_int_equal(hd_cache_pick(&r, c, (const int32_t[]){0, 1, 2, 3}, 4), HD_OK);

    hd_slot_put(&r, h, numbered(&r, 3, 9, 0));
    assert_int_equal(r.err.status, HD_ESHAPE);
    assert_string_equal(r.err.text, "cache: a state of 3 rows for 4 items");
    hd_run_begin(&r, HD_INFERENCE);
    assert_int_equal(hd_cache_join(&r, c, 1), HD_OK);
    hd_slot_put(&r, h, numbered(&r, 1, 9, 36));
    assert_int_equal(hd_cache_joined(&r, c), HD_ESHAPE);
    assert_string_equal(r.err.text, "cache: slot 1 was not filled for the items that join");
    hd_cache_free(c);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void a_step_of_other_items_than_the_cache_is_refused(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        subject *s = subject_of((kind)k);
        hd_cache *c = cache_of(s, 3);
        sequence q[4] = {{.len = 1}, {.len = 1}, {.len = 1}, {.len = 1}};
        const int32_t one[4] = {1, 1, 1, 1};
        for (size_t n = 2; n <= 4; n += 2) {
            char text[64];
            snprintf(text, sizeof text, "cache: %zu items in the step, 3 in the cache", n);
            hd_run_begin(&s->run, HD_INFERENCE);
            assert_null(
                logits_of(&s->run, s, q, one, n, s->t ? memory_of(&s->run, s, q, n) : (hd_encoded){0}, c));
            assert_int_equal(s->run.err.status, HD_ESHAPE);
            assert_string_equal(s->run.err.text, text);
        }
        step_and_compare(s, c, q, one, 3, true); /* a refusal leaves the cache as it was */
        for (int i = 0; i < 2; i++) {
            hd_run_begin(&s->run, HD_INFERENCE);
            assert_int_equal(
                hd_cache_pick(&s->run, c, i ? (const int32_t[]){0, 3} : (const int32_t[]){0, -1}, 2),
                HD_EARG);
            assert_string_equal(s->run.err.text,
                                i ? "cache: parent 3 of 3 items" : "cache: parent -1 of 3 items");
        }
        for (int i = 0; i < 3; i++) q[i].len++;
        step_and_compare(s, c, q, one, 3, false);
        hd_cache_free(c);
        subject_free(s);
    }
}

static void slots_refuse_rows_of_other_items(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_cache *c = NULL;
    static const hd_slot_kind kinds[] = {HD_GROW, HD_FIXED};
    assert_int_equal(hd_cache_new(&c, kinds, 2, 3, &err), HD_OK);
    for (size_t i = 0; i < 2; i++) {
        hd_run_begin(&r, HD_INFERENCE);
        hd_rows x = {numbered(&r, 3, 4, 0), hd_seg_of(&r, (const int32_t[]){1, 2}, 2, NULL)};
        assert_null((i ? hd_slot_fixed : hd_slot_grow)(&r, hd_cache_slot(c, i), x).t);
        assert_int_equal(r.err.status, HD_ESHAPE);
        assert_string_equal(r.err.text, "cache: 2 items in the step, 3 in the cache");
    }
    hd_cache_free(c);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* A step, a pick, another step, and one of an item that joins, all on a fresh run: the allocations of a
 * search. */
static hd_status search(const subject *s, hd_err *err)
{
    hd_run r = {0};
    hd_cache *c = NULL;
    sequence q[4] = {{.source = 0}, {.source = 1}, {.source = 2}};
    const int32_t count[4] = {33, 2, 1, 1}, parent[4] = {2, 0, 0, 1};
    hd_rng rng = hd_rng_make(3, 0);
    for (int i = 0; i < 3; i++) grow(&q[i], count[i], &rng);
    hd_status st = hd_run_init(&r, s->backend, err);
    if (!st) st = s->t ? hd_encdec_cache(&c, s->t, 3, err) : hd_gpt_cache(&c, s->g, 3, err);
    if (!st) {
        hd_run_begin(&r, HD_INFERENCE);
        free(logits_of(&r, s, q, count, 3, s->t ? memory_of(&r, s, q, 3) : (hd_encoded){0}, c));
        st = r.err.status;
    }
    if (!st) {
        hd_run_begin(&r, HD_INFERENCE);
        st = hd_cache_pick(&r, c, parent, 4);
        assert_int_equal(st, r.err.status);
    }
    if (r.err.status) *err = r.err;
    /* whatever happened before, another step must not touch memory it does not own */
    sequence p[4] = {q[2], q[0], q[0], q[1]};
    const int32_t one[4] = {1, 1, 1, 1};
    if (c) {
        hd_run_begin(&r, HD_INFERENCE);
        hd_real *z = logits_of(&r, s, p, one, 4, (hd_encoded){0}, c);
        assert_true(!st || !z);
        free(z);
        if (!st) st = r.err.status;
    }
    if (!st) {
        hd_run_begin(&r, HD_INFERENCE);
        st = hd_cache_join(&r, c, 1);
        if (!st)
            free(logits_of(&r, s, q + 1, count + 1, 1, s->t ? memory_of(&r, s, q + 1, 1) : (hd_encoded){0},
                           c));
        if (!st) st = hd_cache_joined(&r, c);
    }
    if (st && !err->status) *err = r.err;
    hd_cache_free(c);
    hd_run_release(&r);
    return st;
}

static void memory_that_runs_out_during_a_search_is_an_error_and_nothing_leaks(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        subject *s = subject_of((kind)k);
        hd_err err = {0};
        assert_int_equal(search(s, &err), HD_OK); /* the backend's scratch memory is there from now on */
        size_t blocks = hd_mem_now().blocks, failed = 0, calls = hd_mem_now().calls;
        assert_int_equal(search(s, &err), HD_OK);
        calls = hd_mem_now().calls - calls;
        for (size_t n = 1; n <= calls; n++) {
            err = (hd_err){0};
            hd_mem_fail_at(n);
            hd_status st = search(s, &err);
            hd_mem_fail_at(0);
            assert_true(st == HD_OK || st == HD_ENOMEM);
            if (st && !strstr(err.text, "out of memory")) fail_msg("allocation %zu: %s", n, err.text);
            assert_int_equal(hd_mem_now().blocks, blocks);
            failed += st != HD_OK;
        }
        print_message("%-10s %zu of %zu allocations end the search\n", s->name, failed, calls);
        assert_true(failed + 2 >= calls); /* the step arena asks a second time for less: once for each run */
        assert_int_equal(search(s, &err), HD_OK);
        subject_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_by_row_in_chunks_or_at_once_gives_the_whole_forward),
        cmocka_unit_test(picked_items_go_on_as_if_computed_from_scratch),
        cmocka_unit_test(picking_every_item_in_place_changes_nothing),
        cmocka_unit_test(no_items_are_left_when_none_is_picked),
        cmocka_unit_test(a_fixed_slot_is_filled_once_and_then_read),
        cmocka_unit_test(a_fixed_slot_keeps_its_first_rows),
        cmocka_unit_test(slots_of_two_widths_share_a_table_and_a_pick_moves_no_rows),
        cmocka_unit_test(a_slot_refuses_rows_of_another_width),
        cmocka_unit_test(a_state_slot_holds_what_was_put_last),
        cmocka_unit_test(a_step_of_other_items_than_the_cache_is_refused),
        cmocka_unit_test(slots_refuse_rows_of_other_items),
        cmocka_unit_test(memory_that_runs_out_during_a_search_is_an_error_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
