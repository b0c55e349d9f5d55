/* Documents packed into updates: each once an epoch, in an order of its own, none cut that fits, no update
   empty or much larger than it should be. */
#include "check.h"
#include "task/language/documents.h"

enum { DOCUMENTS = 101, LENGTH = 40, SEEN_MOST = 400 };

/* Documents of 2 to 95 tokens, the first of which is only read. */
static hd_stream_text make_text(void)
{
    hd_rng rng = hd_rng_make(4, 4);
    hd_stream_text t = {.pieces = DOCUMENTS, .documents = true};
    t.begin = malloc(DOCUMENTS * sizeof *t.begin);
    for (size_t i = 0; i < DOCUMENTS; i++)
        t.begin[i] = t.count, t.count += 2 + (i % 9 ? hd_rng_below(&rng, 30) : hd_rng_below(&rng, 94));
    t.learned = malloc(t.count);
    memset(t.learned, 1, t.count);
    return t;
}

static void check_epoch(hd_packing *p, hd_dialogue_windows *w, uint64_t epoch, size_t budget)
{
    bool seen[SEEN_MOST] = {0};
    size_t all = 0;
    for (uint64_t batch = 0; batch < p->batches; batch++) {
        size_t first, tokens = 0, items = hd_packing_draw(p, w, epoch * p->batches + batch, 7, &first);
        assert_true(items > 0);
        for (size_t i = first; i < first + items; i++) {
            assert_false(seen[w->order[i]]);
            seen[w->order[i]] = true;
            tokens += w->window[w->order[i]].len;
        }
        assert_true(tokens <= p->tokens / p->batches + 1 + LENGTH);
        assert_true(p->batches == 1 || tokens + LENGTH >= budget);
        all += items;
    }
    assert_int_equal(all, w->items);
}

static void every_document_is_in_one_update_of_an_epoch(void **state)
{
    (void)state;
    static const size_t batches[] = {1, 2, 3, 8, 1000};
    hd_stream_text t = make_text();
    for (size_t k = 0; k < COUNT_OF(batches); k++) {
        hd_err err = {0};
        hd_packing p;
        hd_dialogue_windows w;
        assert_int_equal(hd_dialogue_windows_init(&w, &t, LENGTH, &err), HD_OK);
        assert_true(w.items >= DOCUMENTS && w.items <= SEEN_MOST);
        assert_int_equal(hd_packing_init(&p, &w, batches[k] * LENGTH, &err), HD_OK);
        assert_int_equal(p.tokens, t.count - DOCUMENTS);
        for (uint64_t epoch = 0; epoch < 4; epoch++) check_epoch(&p, &w, epoch, batches[k] * LENGTH);
        size_t first, other, last = hd_packing_draw(&p, &w, 3 * p.batches, 7, &first), order = w.order[first];
        hd_packing_draw(&p, &w, 0, 7, &other);
        assert_true(w.order[other] != order || p.batches == 1);
        assert_int_equal(hd_packing_draw(&p, &w, 3 * p.batches, 7, &other), last); /* by its number alone */
        assert_int_equal(w.order[other], order);
        hd_packing_release(&p);
        hd_dialogue_windows_release(&w);
    }
    free(t.begin), free(t.learned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_document_is_in_one_update_of_an_epoch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
