/* Gradients that are sent while the backward pass goes on: every piece once, in one order, and none before it
   is complete. */
#include "check.h"

#include "model/encoder/classifier.h"
#include "train/gradient_sum.h"

enum { VOCAB = 4000, ITEMS = 2, ROWS = 7 };

static struct sent {
    const hd_real *x;
    hd_real *copy;
    size_t count;
} sent[HD_GRADIENT_PIECES];
static size_t pieces, ended;

static hd_status begin_sum(hd_backend *b, size_t which, hd_real *x, size_t count)
{
    (void)b;
    assert_true(pieces < HD_GRADIENT_PIECES && which < HD_GRADIENT_PIECES);
    sent[pieces] = (struct sent){x, malloc(count * sizeof *x), count};
    memcpy(sent[pieces++].copy, x, count * sizeof *x);
    return HD_OK;
}

static hd_status end_sum(hd_backend *b)
{
    (void)b;
    ended++;
    return HD_OK;
}

static hd_classifier *model_of(hd_backend *b, const char *stages, bool recompute)
{
    hd_err err = {0};
    hd_classifier *m = NULL;
    hd_stages s;
    if (hd_stages_read(&s, stages, &err)) fail_msg("%s", err.text);
    hd_classifier_opt o = {.body = {.encoder = hd_stages_resolved(&s, 2),
                                    .vocab = VOCAB,
                                    .positions = 8,
                                    .stack = {.pre_norm = true,
                                              .width = 128,
                                              .inner = 256,
                                              .heads = 2,
                                              .act = HD_gelu,
                                              .recompute = recompute}},
                           .pool = HD_POOL_mean,
                           .classes = 3};
    if (hd_classifier_new(&m, b, &o, true, &err) || hd_params_draw(m->params, 1, &err))
        fail_msg("%s", err.text);
    return m;
}

static void go(hd_run *r, hd_classifier *m)
{
    static const int32_t len[ITEMS] = {4, 3}, ids[ROWS] = {3999, 1, 4, 1, 5, 8, 2}, target[ITEMS] = {2, 0};
    hd_run_begin(r, HD_TRAIN);
    hd_class_batch b = {.in.seg = hd_seg_of(r, len, ITEMS, NULL),
                        .in.ids = hd_ints(r, ids, ROWS),
                        .target = hd_ints(r, target, ITEMS),
                        .rows = ROWS};
    hd_classifier_loss(r, m, &b, &(hd_loss_opt){.coef = 1});
    hd_backward(r);
}

static void assert_sent(const hd_params *p)
{
    bool *seen = calloc(p->trainable, sizeof *seen);
    for (size_t i = 0; i < pieces; i++) {
        size_t from = (size_t)(sent[i].x - p->grad);
        assert_memory_equal(sent[i].copy, sent[i].x, sent[i].count * sizeof *sent[i].x);
        for (size_t k = 0; k < sent[i].count; k++) {
            assert_true(from + k < p->trainable && !seen[from + k]);
            seen[from + k] = true;
        }
        free(sent[i].copy);
    }
    for (size_t k = 0; k < p->trainable; k++) assert_true(seen[k]);
    free(seen);
}

static void pieces_are_sent_once_they_are_complete(void **state)
{
    (void)state;
    static const struct {
        const char *stages;
        bool recompute;
    } cases[] = {{"transformer", false}, {"bi-gru", false}, {"transformer", true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_backend *b = backend_of("cpu", 1);
        hd_run r = run_on(b);
        b->rank_sum_begin = begin_sum, b->rank_sum_end = end_sum;
        hd_classifier *m = model_of(b, cases[i].stages, cases[i].recompute);
        hd_gradient_sum g;
        hd_gradient_sum_init(&g, m->params);
        assert_in_range(g.pieces, 6, HD_GRADIENT_PIECES);
        const hd_real *first[2] = {NULL, NULL};
        for (int round = 0; round < 2; round++) {
            pieces = ended = 0;
            hd_gradient_sum_begin(&g, &r);
            go(&r, m);
            assert_run_ok(&r);
            size_t early = pieces;
            assert_true(hd_gradient_sum_end(&g, &r));
            assert_true(!r.watch && ended == 1 && pieces == g.pieces);
            if (cases[i].recompute) assert_int_equal(early, 0); /* what it hides is only known in the end */
            if (!cases[i].recompute) assert_true(early >= g.pieces - 1);
            first[round] = sent[0].x;
            assert_sent(m->params);
        }
        assert_ptr_equal(first[0], first[1]);
        hd_classifier_free(m);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

static const hd_params *marked;
static hd_real *at_mark[HD_GRADIENT_PIECES]; /* the gradients when the mark was set */

static hd_status mark_sum(hd_backend *b, size_t which)
{
    (void)b;
    assert_null(at_mark[which]);
    at_mark[which] = malloc(marked->trainable * sizeof(hd_real));
    memcpy(at_mark[which], marked->grad, marked->trainable * sizeof(hd_real));
    return HD_OK;
}

/* Where work is queued: pieces are marked while the pass goes back, and sent behind it, in the same order
   also where a step is replayed, of which nothing is told. */
static void queued_work_is_marked_and_sent_behind_it(void **state)
{
    (void)state;
    for (int recompute = 0; recompute < 2; recompute++) {
        hd_backend *b = backend_of("cpu", 1);
        hd_run r = run_on(b);
        b->rank_sum_mark = mark_sum, b->rank_sum_begin = begin_sum, b->rank_sum_end = end_sum;
        hd_classifier *m = model_of(b, "transformer", recompute);
        hd_gradient_sum g;
        hd_gradient_sum_init(&g, m->params);
        marked = m->params, pieces = ended = 0;
        hd_gradient_sum_begin(&g, &r);
        go(&r, m);
        size_t early = 0;
        for (size_t i = 0; i < g.pieces; i++) early += at_mark[i] != NULL;
        assert_true(recompute ? !early : early >= g.pieces - 1);
        hd_gradient_sum_rest(&g, &r);
        assert_run_ok(&r);
        assert_int_equal(pieces, 0);
        hd_gradient_sum_send(&g);
        assert_int_equal(pieces, g.pieces);
        const hd_real *first = sent[0].x;
        assert_sent(m->params);
        for (size_t i = 0; i < g.pieces; i++) {
            size_t from = i * g.watch.piece, left = m->params->trainable - from;
            size_t count = left < g.watch.piece ? left : g.watch.piece;
            assert_non_null(at_mark[i]);
            assert_memory_equal(at_mark[i] + from, m->params->grad + from, count * sizeof(hd_real));
            free(at_mark[i]);
            at_mark[i] = NULL;
        }
        assert_true(hd_gradient_sum_end(&g, &r) && ended == 1);
        pieces = 0;
        hd_gradient_sum_begin(&g, &r);
        hd_gradient_sum_send(&g);
        assert_ptr_equal(sent[0].x, first);
        assert_true(hd_gradient_sum_end(&g, &r) && pieces == g.pieces && ended == 2);
        assert_sent(m->params);
        hd_classifier_free(m);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

/* A step that fails on the way, or was never begun, still sends all. */
static void who_fails_sends_all_the_same(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    b->rank_sum_begin = begin_sum, b->rank_sum_end = end_sum;
    hd_classifier *m = model_of(b, "transformer", false);
    hd_gradient_sum g;
    hd_gradient_sum_init(&g, m->params);
    for (int begun = 0; begun < 2; begun++) {
        pieces = ended = 0;
        if (begun) hd_gradient_sum_begin(&g, &r), hd_run_begin(&r, HD_TRAIN), hd_fail(&r, HD_ELIMIT, "no");
        assert_true(hd_gradient_sum_end(&g, &r) && pieces == g.pieces && ended == 1);
        assert_sent(m->params);
    }
    hd_classifier_free(m);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_are_sent_once_they_are_complete),
                                       cmocka_unit_test(queued_work_is_marked_and_sent_behind_it),
                                       cmocka_unit_test(who_fails_sends_all_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
