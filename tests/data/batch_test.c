/* Batches: every sentence once an epoch, within the budget, the same from a restored position, in shares and
   with a thread ahead. */
#include "data/fixture.h"

#include "base/rng.h"
#include "data/batch.h"

enum { SENTENCES = 3000, LONGEST = 40, START = 2, END = 3, SOURCE_END = 7 };

/* Word k of sentence i: no two of a sentence are alike, so that a shift by one place is seen. */
static int32_t word_of(size_t i, size_t k)
{
    return (int32_t)(100 + i * LONGEST + k);
}

/* Sentences with the same words on both sides, of random lengths. */
static hd_corpus corpus_of(size_t count, int sides)
{
    hd_corpus c = {.sides = sides, .count = count};
    hd_rng rng = hd_rng_make(5, 5);
    for (int side = 0; side < sides; side++) {
        c.side[side].id = hd_mem_array(count * LONGEST, sizeof(int32_t));
        c.side[side].begin = hd_mem_array(count + 1, sizeof(size_t));
        for (size_t i = 0; i < count; i++) {
            size_t len = 1 + hd_rng_below(&rng, LONGEST), begin = c.side[side].begin[i];
            for (size_t k = 0; k < len; k++) c.side[side].id[begin + k] = word_of(i, k);
            c.side[side].begin[i + 1] = begin + len;
        }
    }
    return c;
}

static const hd_batch_opt plain = {.tokens = 500,
                                   .seed = 1,
                                   .source_end = SOURCE_END,
                                   .target_start = START,
                                   .target_end = END,
                                   .window = 8};

static hd_batches *open_batches(const hd_corpus *c, hd_batch_opt opt)
{
    hd_batches *b = NULL;
    hd_err err = {0};
    ASSERT_OK(hd_batches_new(&b, c, &opt, &err), err);
    return b;
}

static const hd_batch *next_batch(hd_batches *b)
{
    const hd_batch *x = NULL;
    hd_err err = {0};
    ASSERT_OK(hd_batches_next(b, &x, &err), err);
    return x;
}

/* The rows of a batch are what its keys say. */
static void assert_whole(const hd_batch *x, const hd_corpus *c)
{
    const int32_t *source = x->source, *input = x->input, *output = x->output;
    for (size_t i = 0; i < x->items; i++) {
        size_t key = (size_t)x->key[i];
        if (c->sides == 2) {
            assert_int_equal(x->source_len[i], hd_corpus_len(c, 0, key) + 1);
            for (int k = 0; k + 1 < x->source_len[i]; k++)
                assert_int_equal(*source++, word_of(key, (size_t)k));
            assert_int_equal(*source++, SOURCE_END);
        }
        assert_int_equal(x->target_len[i], hd_corpus_len(c, c->sides - 1, key) + 1);
        assert_int_equal(*input++, START);
        for (int k = 0; k + 1 < x->target_len[i]; k++) {
            assert_int_equal(*input++, word_of(key, (size_t)k));
            assert_int_equal(*output++, word_of(key, (size_t)k));
        }
        assert_int_equal(*output++, END);
    }
    if (c->sides == 2) assert_int_equal(source - x->source, x->source_rows);
    assert_int_equal(input - x->input, x->target_rows);
    assert_int_equal(output - x->output, x->target_rows);
}

static size_t cost_of(const hd_corpus *c, size_t i)
{
    size_t cost = hd_corpus_len(c, 0, i);
    if (c->sides == 2 && hd_corpus_len(c, 1, i) > cost) cost = hd_corpus_len(c, 1, i);
    return cost + 1;
}

static void every_sentence_comes_once_an_epoch(void **state)
{
    (void)state;
    for (int sides = 1; sides <= 2; sides++) {
        hd_corpus c = corpus_of(SENTENCES, sides);
        hd_batches *b = open_batches(&c, plain);
        size_t batches = 0;
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            int seen[SENTENCES] = {0};
            size_t count = 0;
            do {
                const hd_batch *x = next_batch(b);
                assert_int_equal(x->at.epoch, epoch);
                assert_int_equal(x->at.batch, count++);
                assert_int_equal(x->total, x->items);
                assert_whole(x, &c);
                size_t tokens = 0;
                for (size_t i = 0; i < x->items; i++) {
                    seen[x->key[i]]++;
                    tokens += cost_of(&c, (size_t)x->key[i]);
                }
                assert_int_equal(tokens, x->tokens);
                assert_true(tokens <= plain.tokens);
                batches = x->batches;
            } while (count < batches);
            for (int i = 0; i < SENTENCES; i++) assert_int_equal(seen[i], 1);
            assert_int_equal(hd_batches_position(b).epoch, epoch + 1);
            assert_int_equal(hd_batches_position(b).batch, 0);
        }
        hd_batches_free(b);
        hd_corpus_release(&c);
    }
}

/* Batches are full but for the last of a window, and lengths in them are alike. */
static void batches_are_full_and_even(void **state)
{
    (void)state;
    hd_corpus c = corpus_of(SENTENCES, 2);
    hd_batch_opt opt = plain;
    opt.window = 0;
    hd_batches *b = open_batches(&c, opt);
    size_t tokens = 0, padded = 0, batches = 0;
    const hd_batch *x;
    do {
        x = next_batch(b);
        size_t longest = 0;
        for (size_t i = 0; i < x->items; i++)
            if (cost_of(&c, (size_t)x->key[i]) > longest) longest = cost_of(&c, (size_t)x->key[i]);
        tokens += x->tokens;
        padded += longest * x->items;
        batches++;
    } while (x->at.batch + 1 < x->batches);
    assert_true((double)tokens > 0.95 * (double)(batches * opt.tokens));
    assert_true((double)tokens > 0.95 * (double)padded); /* about 0.7 without sorting */
    hd_batches_free(b);
    hd_corpus_release(&c);
}

static void assert_same(const hd_batch *x, const hd_batch *y)
{
    assert_int_equal(x->at.epoch, y->at.epoch);
    assert_int_equal(x->at.batch, y->at.batch);
    assert_int_equal(x->batches, y->batches);
    assert_int_equal(x->items, y->items);
    assert_int_equal(x->tokens, y->tokens);
    assert_int_equal(x->source_rows, y->source_rows);
    assert_int_equal(x->target_rows, y->target_rows);
    assert_memory_equal(x->key, y->key, x->items * sizeof *x->key);
    assert_memory_equal(x->source, y->source, x->source_rows * sizeof *x->source);
    assert_memory_equal(x->input, y->input, x->target_rows * sizeof *x->input);
    assert_memory_equal(x->output, y->output, x->target_rows * sizeof *x->output);
}

static void seeds_and_epochs_differ_but_repeat(void **state)
{
    (void)state;
    hd_corpus c = corpus_of(SENTENCES, 2);
    hd_batch_opt other = plain;
    other.seed = 2;
    hd_batches *a = open_batches(&c, plain), *same = open_batches(&c, plain), *b = open_batches(&c, other);
    const hd_batch *x = next_batch(a);
    int32_t first[8];
    memcpy(first, x->key, sizeof first);
    assert_same(x, next_batch(same));
    assert_memory_not_equal(first, next_batch(b)->key, sizeof first);
    do x = next_batch(a);
    while (x->at.epoch == 0);
    assert_memory_not_equal(first, x->key, sizeof first);
    hd_batches_free(a);
    hd_batches_free(same);
    hd_batches_free(b);
    hd_corpus_release(&c);
}

static void a_restored_position_equals_an_uninterrupted_run(void **state)
{
    (void)state;
    hd_corpus c = corpus_of(SENTENCES, 2);
    hd_err err = {0};
    for (int ahead = 0; ahead <= 3; ahead += 3) {
        hd_batch_opt opt = plain;
        opt.ahead = ahead;
        hd_batches *whole = open_batches(&c, plain);
        for (int steps = 0; steps < 500; steps += 61) {
            hd_batches *first = open_batches(&c, opt), *second = open_batches(&c, opt);
            hd_err none = {0};
            ASSERT_OK(hd_batches_seek(whole, (hd_position){0, 0}, &none), none);
            for (int i = 0; i < steps; i++) next_batch(first), next_batch(whole);
            hd_position at = hd_batches_position(first);
            hd_batches_free(first);
            ASSERT_OK(hd_batches_seek(second, at, &err), err);
            for (int i = 0; i < 200; i++) assert_same(next_batch(whole), next_batch(second));
            hd_batches_free(second);
        }
        hd_batches_free(whole);
    }
    hd_corpus_release(&c);
}

static void a_source_gives_the_same_batches_and_positions(void **state)
{
    (void)state;
    hd_corpus c = corpus_of(SENTENCES, 2);
    c.hash = 17;
    hd_batches *plainly = open_batches(&c, plain), *b = open_batches(&c, plain);
    hd_source *source = hd_batches_source(b);
    hd_position after = {0};
    hd_err err = {0};
    assert_int_equal(source->hash, 17);
    for (size_t i = 0; i < source->batches + 3; i++) {
        ASSERT_OK(source->next(source, &after, &err), err);
        assert_same(hd_batches_now(b), next_batch(plainly));
        assert_int_equal(after.epoch, i + 1 >= source->batches);
        assert_int_equal(after.batch, (i + 1) % source->batches);
    }
    ASSERT_OK(source->seek(source, (hd_position){0, 2}, &err), err);
    ASSERT_OK(source->next(source, &after, &err), err);
    assert_int_equal(after.batch, 3);
    hd_batches_free(b);
    hd_batches_free(plainly);
    hd_corpus_release(&c);
}

static void a_position_that_is_none_is_refused(void **state)
{
    (void)state;
    hd_corpus c = corpus_of(SENTENCES, 2);
    for (int ahead = 0; ahead <= 3; ahead += 3) {
        hd_batch_opt opt = plain;
        opt.ahead = ahead;
        hd_batches *a = open_batches(&c, opt), *b = open_batches(&c, plain);
        hd_err err = {0};
        for (int i = 0; i < 5; i++) next_batch(a), next_batch(b);
        assert_int_equal(hd_batches_seek(a, (hd_position){2, 100000}, &err), HD_EARG);
        assert_error(&err, HD_EARG, "there is no batch 100000 in epoch 2, which has ");
        assert_same(next_batch(a), next_batch(b)); /* as if nothing had been asked */
        hd_batches_free(a);
        hd_batches_free(b);
    }
    hd_corpus_release(&c);
}

static void shares_make_up_the_batch(void **state)
{
    (void)state;
    enum { RANKS = 3 };
    hd_corpus c = corpus_of(301, 2);
    hd_batch_opt opt = plain;
    opt.tokens = 60; /* some batches have fewer sentences than there are processes */
    hd_batches *whole = open_batches(&c, opt), *share[RANKS];
    opt.ranks = RANKS;
    for (opt.rank = 0; opt.rank < RANKS; opt.rank++) share[opt.rank] = open_batches(&c, opt);
    size_t empty = 0;
    for (int n = 0; n < 400; n++) {
        const hd_batch *x = next_batch(whole);
        size_t items = 0, sources = 0, targets = 0;
        for (size_t r = 0; r < RANKS; r++) {
            const hd_batch *y = next_batch(share[r]);
            assert_int_equal(y->source_total, x->source_rows);
            assert_int_equal(y->target_total, x->target_rows);
            sources += y->source_rows, targets += y->target_rows;
            assert_int_equal(y->at.batch, x->at.batch);
            assert_int_equal(y->batches, x->batches);
            assert_int_equal(y->total, x->items);
            assert_int_equal(y->tokens, x->tokens);
            assert_whole(y, &c);
            for (size_t i = 0; i < y->items; i++) assert_int_equal(y->key[i], x->key[i * RANKS + r]);
            items += y->items;
            empty += !y->items;
        }
        assert_int_equal(items, x->items);
        assert_int_equal(sources, x->source_rows);
        assert_int_equal(targets, x->target_rows);
    }
    assert_true(empty > 0);
    for (int r = 0; r < RANKS; r++) hd_batches_free(share[r]);
    hd_batches_free(whole);
    hd_corpus_release(&c);
}

static void a_thread_ahead_changes_nothing(void **state)
{
    (void)state;
    hd_corpus c = corpus_of(SENTENCES, 2);
    for (int ahead = 1; ahead <= 9; ahead += 4) {
        hd_batch_opt opt = plain;
        opt.ahead = ahead;
        hd_batches *a = open_batches(&c, plain), *b = open_batches(&c, opt);
        for (int i = 0; i < 1000; i++) {
            assert_same(next_batch(a), next_batch(b));
            if (i % 100 == 0) usleep(1000); /* the ring fills up */
        }
        hd_batches_free(a);
        hd_batches_free(b);
    }
    hd_corpus_release(&c);
}

static void it_may_be_closed_at_any_moment(void **state)
{
    (void)state;
    hd_corpus c = corpus_of(SENTENCES, 2);
    hd_batch_opt opt = plain;
    opt.ahead = 4;
    for (int i = 0; i < 200; i++) {
        hd_batches *b = open_batches(&c, opt);
        hd_err err = {0};
        for (int k = 0; k < i % 7; k++) next_batch(b);
        if (i % 3 == 0) ASSERT_OK(hd_batches_seek(b, (hd_position){(uint64_t)i, 2}, &err), err);
        if (i % 2) next_batch(b);
        hd_batches_free(b);
    }
    hd_corpus_release(&c);
}

static void one_epoch_in_order_and_then_the_end(void **state)
{
    (void)state;
    hd_corpus c = corpus_of(1000, 2);
    for (int ahead = 0; ahead <= 2; ahead += 2) {
        hd_batch_opt opt = plain;
        opt.once = opt.in_order = true;
        opt.ahead = ahead;
        opt.window = 1;
        hd_batches *b = open_batches(&c, opt);
        size_t items = 0;
        int32_t largest = -1;
        for (const hd_batch *x; (x = next_batch(b));) {
            for (size_t i = 0; i < x->items; i++) {
                assert_true(x->key[i] >
                            largest - 100); /* a window is one batch here: no key is far from its place */
                if (x->key[i] > largest) largest = x->key[i];
            }
            items += x->items;
        }
        assert_int_equal(items, 1000);
        assert_null(next_batch(b));
        assert_null(next_batch(b));
        hd_err err = {0};
        ASSERT_OK(hd_batches_seek(b, (hd_position){0, 0}, &err), err);
        assert_non_null(next_batch(b));
        hd_batches_free(b);
    }
    hd_corpus_release(&c);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    hd_corpus c = corpus_of(100, 2), none = {.sides = 2};
    static const struct {
        hd_batch_opt opt;
        const char *message;
    } cases[] = {
        {{.tokens = 0}, "a batch of 0 tokens"},
        {{.tokens = 20}, "tokens, a batch only 20: raise the budget or leave out long sentences"},
        {{.tokens = 500, .ahead = -1}, "at least 0"},
        {{.tokens = 500, .ahead = 1000}, "at most 64 ahead"},
        {{.tokens = 500, .rank = 2, .ranks = 2}, "process 2 is none of 2"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_batches *b = NULL;
        hd_err err = {0};
        assert_true(hd_batches_new(&b, &c, &cases[i].opt, &err) != HD_OK);
        assert_error(&err, err.status, cases[i].message);
        assert_null(b);
    }
    hd_batches *b = NULL;
    hd_err err = {0};
    hd_batches_new(&b, &none, &plain, &err);
    assert_error(&err, HD_EARG, "there are no sentences");
    hd_corpus_release(&c);
}

static void the_smallest_corpus_works(void **state)
{
    (void)state;
    hd_corpus c = corpus_of(1, 2);
    hd_batch_opt opt = plain;
    opt.tokens = cost_of(&c, 0); /* just fits */
    hd_batches *b = open_batches(&c, opt);
    for (uint64_t i = 0; i < 5; i++) assert_int_equal(next_batch(b)->at.epoch, i);
    hd_batches_free(b);
    hd_corpus_release(&c);
}

/* The thread's failure comes out of the call that wanted its batch, again and again, and seek makes a fresh
 * start. */
static void a_failure_of_the_thread_is_reported(void **state)
{
    (void)state;
    hd_corpus c = corpus_of(SENTENCES, 2);
    hd_batch_opt opt = plain;
    opt.ahead = 2;
    hd_batches *b = open_batches(&c, opt);
    const hd_batch *x = NULL;
    hd_err err = {0}, again = {0}, none = {0};
    hd_mem_fail_at(2); /* each slot allocates once: the first batch is there */
    ASSERT_OK(hd_batches_next(b, &x, &none), none);
    assert_non_null(x);
    assert_int_equal(hd_batches_next(b, &x, &err), HD_ENOMEM);
    assert_null(x);
    assert_error(&err, HD_ENOMEM, "out of memory");
    assert_int_equal(hd_batches_next(b, &x, &again), HD_ENOMEM);
    hd_mem_fail_at(0);
    hd_position at = hd_batches_position(b);
    assert_int_equal(at.batch, 1);
    ASSERT_OK(hd_batches_seek(b, at, &none), none);
    assert_int_equal(next_batch(b)->at.batch, 1);
    hd_batches_free(b);
    hd_corpus_release(&c);
}

static hd_corpus walked;

static hd_status make_some(hd_err *err)
{
    hd_batches *b = NULL;
    const hd_batch *x;
    hd_status s = hd_batches_new(&b, &walked, &plain, err);
    for (int i = 0; !s && i < 100; i++) s = hd_batches_next(b, &x, err);
    hd_batches_free(b);
    return s;
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    walked = corpus_of(SENTENCES, 2);
    walk_through_failures(make_some);
    hd_corpus_release(&walked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sentence_comes_once_an_epoch),
        cmocka_unit_test(batches_are_full_and_even),
        cmocka_unit_test(seeds_and_epochs_differ_but_repeat),
        cmocka_unit_test(a_restored_position_equals_an_uninterrupted_run),
        cmocka_unit_test(a_source_gives_the_same_batches_and_positions),
        cmocka_unit_test(a_position_that_is_none_is_refused),
        cmocka_unit_test(shares_make_up_the_batch),
        cmocka_unit_test(a_thread_ahead_changes_nothing),
        cmocka_unit_test(it_may_be_closed_at_any_moment),
        cmocka_unit_test(one_epoch_in_order_and_then_the_end),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(the_smallest_corpus_works),
        cmocka_unit_test(a_failure_of_the_thread_is_reported),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
