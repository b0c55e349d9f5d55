/* Token shards: what is written is read, epochs over them have every sentence once and go on from any
   position, processes read their share alone, and damage is noticed wherever it is. */
#include "data/fixture.h"

#include <sys/stat.h>

#include "base/file/folder.h"
#include "base/rng.h"
#include "data/batch.h"
#include "data/shards/shards.h"

enum { SENTENCES = 4000, LONGEST = 40, START = 2, END = 3, SOURCE_END = 7, VOCAB = 5000 };

static size_t length_of(size_t i, int side)
{
    hd_rng r = hd_rng_make(11, 2 * i + (size_t)side);
    return 1 + hd_rng_below(&r, LONGEST);
}

static int32_t id_of(size_t i, int side, size_t k)
{
    return (int32_t)((i * 31 + (size_t)side * 17 + k * 7) % VOCAB);
}

static const hd_shards_opt small = {
    .sides = 2, .data = 5, .tokenizer = 6, .vocab = {VOCAB, VOCAB}, .block = 600, .file = 20000};

static hd_status write_some(const char *folder_of, const hd_shards_opt *opt, size_t sentences, hd_err *err)
{
    hd_shards_writer *w = NULL;
    int32_t a[LONGEST], b[LONGEST];
    const int32_t *const ids[2] = {a, b};
    uint64_t hash = 0;
    hd_status s = hd_shards_begin(&w, folder_of, opt, err);
    if (s) return s;
    for (size_t i = 0; !s && i < sentences; i++) {
        size_t len[2] = {length_of(i, 0), length_of(i, 1)};
        for (size_t k = 0; k < len[0]; k++) a[k] = id_of(i, 0, k);
        for (size_t k = 0; k < len[1]; k++) b[k] = id_of(i, 1, k);
        s = hd_shards_put(w, ids, len, err);
        hash = hd_corpus_hash(hd_corpus_hash(hash, a, len[0]), b, len[1]);
    }
    const hd_line held[2] = {{"ein Satz", 8}, {"a sentence", 10}};
    if (!s) s = hd_shards_hold(w, held, err);
    hd_shards_describe(w, hash, 0, 0);
    return hd_shards_end(w, s, err);
}

static hd_shards *written(const char *name)
{
    hd_err err = {0};
    hd_shards *s = NULL;
    hd_folder_remove(in_folder(name), NULL);
    ASSERT_OK(write_some(in_folder(name), &small, SENTENCES, &err), err);
    ASSERT_OK(hd_shards_open(&s, in_folder(name), &err), err);
    return s;
}

static int remove_all(void **state)
{
    (void)state;
    return hd_folder_remove(folder, NULL);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    hd_err err = {0};
    uint32_t len_a[SENTENCES], len_b[SENTENCES], *len[2] = {len_a, len_b};
    static int32_t id_a[1 << 16], id_b[1 << 16];
    int32_t *ids[2] = {id_a, id_b};
    for (int wide = 0; wide < 2; wide++) {
        hd_shards_opt opt = small;
        hd_shards *s = NULL;
        if (wide) opt.vocab[1] = 1 << 20;
        hd_folder_remove(in_folder("s"), NULL);
        ASSERT_OK(write_some(in_folder("s"), &opt, SENTENCES, &err), err);
        ASSERT_OK(hd_shards_open(&s, in_folder("s"), &err), err);
        assert_true(s->blocks > 50 && s->files > 3);
        assert_int_equal(s->head.id_bytes, wide ? 4 : 2);
        assert_int_equal(s->first[s->blocks], SENTENCES);
        for (size_t b = 0, i = 0; b < s->blocks; b++) {
            size_t at[2] = {0, 0};
            ASSERT_OK(hd_shards_lengths(s, b, len, &err), err);
            ASSERT_OK(hd_shards_ids(s, b, ids, &err), err);
            for (size_t k = 0; k < s->block[b].items; k++, i++)
                for (int side = 0; side < 2; side++) {
                    assert_int_equal(len[side][k], length_of(i, side));
                    for (size_t j = 0; j < len[side][k]; j++)
                        assert_int_equal(ids[side][at[side]++], id_of(i, side, j));
                }
        }
        hd_shards_free(s);
    }
}

static void a_stream_is_read_from_any_place(void **state)
{
    (void)state;
    enum { ALL = 10000 };
    hd_err err = {0};
    hd_shards_writer *w = NULL;
    hd_shards *s = NULL;
    int32_t ids[ALL], got[ALL];
    for (int i = 0; i < ALL; i++) ids[i] = i % VOCAB;
    hd_shards_opt opt = {.sides = 1, .vocab = {VOCAB}, .block = 512, .file = 5000};
    ASSERT_OK(hd_shards_begin(&w, in_folder("t"), &opt, &err), err);
    for (size_t at = 0, n = 1; at < ALL; at += n, n = 1 + at % 1700) {
        if (n > ALL - at) n = ALL - at;
        ASSERT_OK(hd_shards_put_stream(w, ids + at, n, &err), err);
    }
    hd_shards_describe(w, 1, 2, 3);
    ASSERT_OK(hd_shards_end(w, HD_OK, &err), err);
    ASSERT_OK(hd_shards_open(&s, in_folder("t"), &err), err);
    assert_int_equal(s->tokens[0], ALL);
    assert_int_equal(s->head.lines, 2);
    for (size_t from = 0; from < ALL; from += 97)
        for (size_t n = 1; n <= ALL - from; n += 1 + 3 * n) {
            ASSERT_OK(hd_shards_span(s, from, n, got, &err), err);
            assert_memory_equal(got, ids + from, n * sizeof *got);
        }
    hd_shards_free(s);
}

/* -- batches -- */

static const hd_batch_opt plain = {.tokens = 1000,
                                   .seed = 3,
                                   .round = 20000,
                                   .source_end = SOURCE_END,
                                   .target_start = START,
                                   .target_end = END};

static hd_batches *open_batches(hd_shards *s, hd_batch_opt opt)
{
    hd_err err = {0};
    hd_batches *b = NULL;
    ASSERT_OK(hd_batches_open(&b, s, &opt, &err), err);
    return b;
}

static const hd_batch *next_batch(hd_batches *b)
{
    hd_err err = {0};
    const hd_batch *x = NULL;
    ASSERT_OK(hd_batches_next(b, &x, &err), err);
    return x;
}

/* Marks the sentences of a batch and checks their ids. */
static void mark(const hd_batch *x, int *seen)
{
    const int32_t *source = x->source, *output = x->output, *input = x->input;
    for (size_t i = 0; i < x->items; i++) {
        size_t n = (size_t)x->key[i], a = length_of(n, 0), b = length_of(n, 1);
        seen[n]++;
        assert_int_equal(x->source_len[i], a + 1);
        assert_int_equal(x->target_len[i], b + 1);
        for (size_t k = 0; k < a; k++) assert_int_equal(source[k], id_of(n, 0, k));
        for (size_t k = 0; k < b; k++) assert_int_equal(output[k], id_of(n, 1, k));
        assert_int_equal(source[a], SOURCE_END);
        assert_int_equal(output[b], END);
        assert_int_equal(input[0], START);
        source += a + 1, output += b + 1, input += b + 1;
    }
}

static void an_epoch_has_every_sentence_once(void **state)
{
    (void)state;
    hd_shards *s = written("s");
    hd_batches *b = open_batches(s, plain);
    double shift = 0;
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        int seen[SENTENCES] = {0};
        size_t last = 0, n = 0;
        while (hd_batches_position(b).epoch == epoch) {
            const hd_batch *x = next_batch(b);
            assert_true(x->tokens <= plain.tokens);
            assert_int_equal(x->at.batch, n++);
            mark(x, seen);
            shift += x->key[0] > (int32_t)last, last = (size_t)x->key[0];
        }
        for (size_t i = 0; i < SENTENCES; i++) assert_int_equal(seen[i], 1);
        assert_true(n > 50 && n < 200);
        assert_in_range(hd_batches_source(b)->batches, n - n / 5, n + n / 5);
    }
    assert_true(shift > 80 && shift < 240); /* up as often as down: they are in no order */
    hd_batches_free(b);
    hd_shards_free(s);
}

/* A batch has sentences from all over the round, and those of like length. */
static void sentences_of_a_batch_are_mixed_and_alike(void **state)
{
    (void)state;
    hd_shards *s = written("s");
    hd_batches *b = open_batches(s, plain);
    double spread = 0, blocks = 0, n = 0;
    while (!hd_batches_position(b).epoch) {
        const hd_batch *x = next_batch(b);
        int least = LONGEST + 1, most = 0;
        bool from[1000] = {0};
        for (size_t i = 0; i < x->items; i++) {
            int longer = x->source_len[i] > x->target_len[i] ? x->source_len[i] : x->target_len[i];
            least = longer < least ? longer : least, most = longer > most ? longer : most;
            size_t at = 0;
            while (s->first[at + 1] <= (uint64_t)x->key[i]) at++;
            blocks += !from[at], from[at] = true;
        }
        spread += most - least, n++;
    }
    assert_true(spread / n < 5);
    assert_true(blocks / n > 10);
    hd_batches_free(b);
    hd_shards_free(s);
}

static void any_position_is_gone_on_from(void **state)
{
    (void)state;
    hd_shards *s = written("s");
    hd_err err = {0};
    for (int ahead = 0; ahead <= 3; ahead += 3) {
        hd_batch_opt opt = plain;
        opt.ahead = ahead;
        hd_batches *whole = open_batches(s, opt);
        for (int i = 0; i < 400; i++) {
            hd_position at = hd_batches_position(whole);
            const hd_batch *x = next_batch(whole);
            if (i % 13) continue;
            hd_batches *other = open_batches(s, opt);
            ASSERT_OK(hd_batches_seek(other, at, &err), err);
            const hd_batch *y = next_batch(other);
            assert_int_equal(x->items, y->items);
            assert_memory_equal(x->key, y->key, x->items * sizeof *x->key);
            assert_memory_equal(x->output, y->output, x->target_rows * sizeof *x->output);
            assert_int_equal(hd_batches_position(whole).epoch, hd_batches_position(other).epoch);
            assert_int_equal(hd_batches_position(whole).batch, hd_batches_position(other).batch);
            hd_batches_free(other);
        }
        hd_batches_free(whole);
    }
    hd_batches *b = open_batches(s, plain);
    assert_int_equal(hd_batches_seek(b, (hd_position){1, 100000}, &err), HD_EARG);
    hd_batches_free(b);
    hd_shards_free(s);
}

static void processes_read_their_share_and_make_up_the_batch(void **state)
{
    (void)state;
    enum { RANKS = 2 };
    hd_shards *s[RANKS], *alone = written("s");
    hd_batches *b[RANKS], *one = open_batches(alone, plain);
    hd_err err = {0};
    int seen[SENTENCES] = {0};
    for (int r = 0; r < RANKS; r++) {
        hd_batch_opt opt = plain;
        opt.rank = r, opt.ranks = RANKS;
        ASSERT_OK(hd_shards_open(&s[r], in_folder("s"), &err), err);
        b[r] = open_batches(s[r], opt);
    }
    double apart = 0, all = 0;
    while (!hd_batches_position(b[0]).epoch) {
        size_t rows = 0, items = 0;
        const hd_batch *x[RANKS];
        for (int r = 0; r < RANKS; r++) {
            x[r] = next_batch(b[r]);
            mark(x[r], seen);
            rows += x[r]->target_rows, items += x[r]->items;
        }
        assert_int_equal(rows, x[0]->target_total);
        assert_int_equal(rows, x[1]->target_total);
        assert_int_equal(items, x[0]->total);
        assert_int_equal(hd_batches_position(b[0]).batch, hd_batches_position(b[1]).batch);
        apart += x[0]->items > x[1]->items ? (double)(x[0]->items - x[1]->items)
                                           : (double)(x[1]->items - x[0]->items);
        all += (double)items;
    }
    for (size_t i = 0; i < SENTENCES; i++) assert_int_equal(seen[i], 1);
    assert_true(apart < all / 20);
    while (!hd_batches_position(one).epoch) next_batch(one);
    double whole = (double)atomic_load(&alone->read);
    for (int r = 0; r < RANKS; r++) {
        double share = (double)atomic_load(&s[r]->read) / whole;
        assert_true(share > 0.45 && share < 0.58); /* half of the ids, all of the lengths */
        hd_batches_free(b[r]);
        hd_shards_free(s[r]);
    }
    hd_batches_free(one);
    hd_shards_free(alone);
}

/* -- damage -- */

/* Everything of the shards is read. */
static hd_status read_all(hd_err *err)
{
    static uint32_t len_a[SENTENCES], len_b[SENTENCES];
    static int32_t id_a[1 << 16], id_b[1 << 16];
    uint32_t *len[2] = {len_a, len_b};
    int32_t *ids[2] = {id_a, id_b};
    hd_shards *s = NULL;
    hd_status st = hd_shards_open(&s, in_folder("s"), err);
    for (size_t b = 0; !st && b < s->blocks; b++) {
        st = hd_shards_lengths(s, b, len, err);
        if (!st) st = hd_shards_ids(s, b, ids, err);
    }
    hd_shards_free(s);
    return st;
}

static void damage_is_noticed_wherever_it_is(void **state)
{
    (void)state;
    hd_err err = {0};
    const char *const name[] = {"index", "tokens-000", "held-out.0", "held-out.1"};
    hd_folder_remove(in_folder("s"), NULL);
    ASSERT_OK(write_some(in_folder("s"), &small, 60, &err), err);
    ASSERT_OK(read_all(&err), err);
    for (size_t f = 0; f < COUNT_OF(name); f++) {
        char path[600];
        snprintf(path, sizeof path, "%s/s/%s", folder, name[f]);
        struct stat info;
        assert_int_equal(stat(path, &info), 0);
        size_t size = (size_t)info.st_size, step = size > 2000 ? 7 : 1;
        char *bytes = malloc(size);
        FILE *file = fopen(path, "rb");
        assert_int_equal(fread(bytes, 1, size, file), size);
        fclose(file);
        for (size_t i = 0; i < 2 * size; i += step) { /* flipped, then cut */
            file = fopen(path, "wb");
            if (i < size) bytes[i] ^= 1 << i % 8;
            fwrite(bytes, 1, i < size ? size : i - size, file);
            fclose(file);
            err = (hd_err){0};
            if (!read_all(&err)) fail_msg("%s: damage at %zu of %zu is not seen", name[f], i, size);
            if (i < size) bytes[i] ^= 1 << i % 8;
        }
        file = fopen(path, "wb");
        fwrite(bytes, 1, size, file);
        fclose(file);
        free(bytes);
        err = (hd_err){0};
        ASSERT_OK(read_all(&err), err);
    }
}

static void shards_of_other_data_are_refused_and_folders_are_kept(void **state)
{
    (void)state;
    hd_shards *s = NULL;
    hd_err err = {0};
    hd_shards_opt same = small, data = small, tokenizer = small, vocab = small;
    data.data++, tokenizer.tokenizer++, vocab.vocab[1]++;
    assert_false(hd_shards_there(in_folder("other")));
    ASSERT_OK(write_some(in_folder("other"), &same, 60, &err), err);
    assert_true(hd_shards_there(in_folder("other")));
    ASSERT_OK(hd_shards_open_same(&s, in_folder("other"), &same, &err), err);
    hd_shards_free(s);
    const hd_shards_opt *const others[] = {&data, &tokenizer, &vocab};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        err = (hd_err){0};
        assert_int_equal(hd_shards_open_same(&s, in_folder("other"), others[i], &err), HD_EARG);
        assert_error(&err, HD_EARG, i ? "of other tokenizers: name another" : "of other data: name another");
    }
    assert_true(write_some(in_folder("other"), &same, 60, &err) != HD_OK); /* nothing is written over */
    put_text("index", "not one");
    err = (hd_err){0};
    assert_int_equal(hd_shards_open(&s, folder, &err), HD_EFORMAT);
}

static hd_status walk(hd_err *err)
{
    hd_shards *s = NULL;
    hd_batches *b = NULL;
    const hd_batch *x;
    hd_batch_opt opt = plain;
    opt.ranks = 2;
    hd_shards_opt coarse = small;
    coarse.block = 1000, coarse.file = 0; /* few files: each of them is synced */
    hd_folder_remove(in_folder("s"), NULL);
    hd_status st = write_some(in_folder("s"), &coarse, 150, err);
    if (!st) st = hd_shards_open(&s, in_folder("s"), err);
    if (!st) st = hd_batches_open(&b, s, &opt, err);
    for (int i = 0; !st && i < 6; i++) st = hd_batches_next(b, &x, err);
    hd_batches_free(b);
    hd_shards_free(s);
    return st;
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    walk_through_failures(walk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_stream_is_read_from_any_place),
        cmocka_unit_test(an_epoch_has_every_sentence_once),
        cmocka_unit_test(sentences_of_a_batch_are_mixed_and_alike),
        cmocka_unit_test(any_position_is_gone_on_from),
        cmocka_unit_test(processes_read_their_share_and_make_up_the_batch),
        cmocka_unit_test(damage_is_noticed_wherever_it_is),
        cmocka_unit_test(shards_of_other_data_are_refused_and_folders_are_kept),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_all);
}
