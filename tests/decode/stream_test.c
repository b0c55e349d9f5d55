/* A search that goes on: sentences that join at any turn, with others that leave or are dropped, find what a
   search of each alone finds, bit for bit. */
#include "check.h"

#include "api/tiny.h"
#include "decode/stream/stream.h"
#include "scratch.h"

enum { SENTENCES = 400, LONGEST = 12, ROOM = 16 };

typedef struct subject {
    hd_backend *backend;
    hd_run run;
    hd_model_folder f;
} subject;

typedef struct sentence {
    int32_t ids[LONGEST], len;
    size_t best;
    hd_found *alone, *found;
    bool unwanted, was_told;
} sentence;

static subject subject_now;
static sentence all[SENTENCES];

static int begin(void **state)
{
    hd_err err = {0};
    if (scratch_make(state)) return -1;
    subject *s = &subject_now;
    s->backend = backend_of("cpu", 1);
    s->run = run_on(s->backend);
    if (tiny_write(scratch, &err) ||
        hd_model_folder_open(&s->f, scratch, "translate", s->backend, HD_WEIGHTS_BEST, &err))
        return print_error("%s\n", err.text), -1;
    return 0;
}

static int end(void **state)
{
    hd_model_folder_release(&subject_now.f);
    hd_run_release(&subject_now.run);
    hd_backend_free(subject_now.backend);
    return scratch_remove(state);
}

static hd_search_opt options_of(hd_search_kind kind, hd_stop stop)
{
    static int32_t banned[3];
    hd_translate_opt o = {.search = {.kind = kind,
                                     .beam = kind == HD_SEARCH_BEAM ? 5 : 1,
                                     .stop = stop,
                                     .length = {.kind = HD_LENGTH_AVERAGE},
                                     .max_ratio = 2,
                                     .max_extra = 10},
                          .batch = 40};
    return hd_translate_search(&subject_now.f, &o, banned);
}

static hd_stepper stepper_of(const int32_t *ids, const int32_t *len, size_t n)
{
    hd_err err = {0};
    hd_stepper st = {0};
    int32_t start = hd_tokenizer_special(subject_now.f.tokenizer[1]).start;
    if (hd_encdec_stepper(&st, hd_model_folder_encdec(&subject_now.f), ids, len, n, start, &err))
        fail_msg("%s", err.text);
    return st;
}

/* Sentences of random words, and what a search of each by itself finds. */
static void draw_sentences(hd_search_opt o)
{
    hd_err err = {0};
    hd_rng rng = hd_rng_make(7, 1);
    size_t vocab = hd_tokenizer_size(subject_now.f.tokenizer[0]);
    for (size_t i = 0; i < SENTENCES; i++) {
        sentence *s = &all[i];
        *s = (sentence){.len = 1 + (int32_t)(hd_rng_normal(&rng) * hd_rng_normal(&rng) * 1000) % 5 + 5};
        for (int32_t j = 0; j < s->len; j++)
            s->ids[j] = 4 + abs((int32_t)(hd_rng_normal(&rng) * 1000)) % (int32_t)(vocab - 4);
        s->best = o.best = 1 + (o.kind == HD_SEARCH_BEAM ? i % 3 : 0);
        hd_stepper st = stepper_of(s->ids, &s->len, 1);
        st.enter = NULL; /* its first step is of it alone, too */
        if (hd_search(&s->alone, &subject_now.run, &st, &o, &err)) fail_msg("%s", err.text);
        hd_stepper_release(&st);
    }
}

static void forget_sentences(void)
{
    for (size_t i = 0; i < SENTENCES; i++) hd_found_free(all[i].alone), hd_found_free(all[i].found);
}

static void note(void *context, void *tag, const hd_found *found)
{
    hd_err err = {0};
    sentence *s = tag;
    ++*(size_t *)context;
    assert_false(s->was_told);
    assert_false(s->unwanted);
    s->was_told = true;
    assert_int_equal(hd_found_copy(&s->found, found, &err), HD_OK);
}

static bool is_unwanted(const void *tag)
{
    return ((const sentence *)tag)->unwanted;
}

static void assert_same(const sentence *s)
{
    assert_int_equal(hd_found_count(s->alone, 0), hd_found_count(s->found, 0));
    for (size_t i = 0; i < hd_found_count(s->alone, 0); i++) {
        const hd_guess *a = &hd_found_at(s->alone, 0)[i], *b = &hd_found_at(s->found, 0)[i];
        assert_int_equal(a->length, b->length);
        assert_memory_equal(a->ids, b->ids, a->length * sizeof *a->ids);
        assert_memory_equal(a->logp, b->logp, a->length * sizeof *a->logp);
        assert_memory_equal(&a->score, &b->score, sizeof a->score);
        assert_int_equal(a->finished, b->finished);
    }
}

/* Hands sentences in, `each` of them every few turns, and drops every `drop`th of them after a while. */
static void run_stream(hd_search_opt o, size_t each, size_t every, size_t drop)
{
    hd_err err = {0};
    hd_stream *stream = NULL;
    size_t told = 0, next = 0, wanted = SENTENCES;
    draw_sentences(o);
    hd_stepper st = stepper_of(NULL, NULL, 0);
    o.best = 1;
    if (hd_stream_new(&stream, &subject_now.run, &st, &o, note, &told, &err)) fail_msg("%s", err.text);
    for (size_t turn = 0; next < SENTENCES || hd_stream_count(stream); turn++) {
        for (size_t i = 0; turn % every == 0 && i < each && next < SENTENCES; i++, next++) {
            void *tag = &all[next];
            if (hd_stream_add(stream, all[next].ids, &all[next].len, &tag, 1, all[next].best, &err))
                fail_msg("%s", err.text);
        }
        if (drop && turn % 3 == 0) {
            for (size_t i = 0; i < next; i++)
                if (i % drop == 0 && !all[i].was_told && !all[i].unwanted) all[i].unwanted = true, wanted--;
            hd_stream_drop(stream, is_unwanted);
        }
        if (hd_stream_turn(stream, &err)) fail_msg("%s", err.text);
        assert_true(turn < 100000);
    }
    assert_int_equal(told, wanted);
    assert_true(!drop || wanted < SENTENCES);
    for (size_t i = 0; i < SENTENCES; i++)
        if (!all[i].unwanted) assert_same(&all[i]);
    hd_stream_free(stream);
    forget_sentences();
}

static void whoever_joins_finds_what_it_finds_alone(void **state)
{
    (void)state;
    run_stream(options_of(HD_SEARCH_GREEDY, HD_STOP_PROVEN), 3, 2, 0);
    run_stream(options_of(HD_SEARCH_BEAM, HD_STOP_PROVEN), 3, 2, 0);
    run_stream(options_of(HD_SEARCH_BEAM, HD_STOP_PROVEN), SENTENCES, 1, 0);
    run_stream(options_of(HD_SEARCH_BEAM, HD_STOP_BEST), 1, 1, 0);
}

static void whoever_is_dropped_changes_nothing_for_others(void **state)
{
    (void)state;
    run_stream(options_of(HD_SEARCH_BEAM, HD_STOP_PROVEN), 5, 2, 3);
    run_stream(options_of(HD_SEARCH_GREEDY, HD_STOP_PROVEN), SENTENCES, 1, 2);
}

static void what_cannot_go_on_is_refused(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_stream *stream = NULL;
    hd_stepper st = stepper_of(NULL, NULL, 0);
    hd_search_opt o = options_of(HD_SEARCH_BEAM, HD_STOP_PROVEN);
    o.kind = HD_SEARCH_SAMPLE;
    assert_int_equal(hd_stream_new(&stream, &subject_now.run, &st, &o, note, NULL, &err), HD_EARG);
    o = options_of(HD_SEARCH_BEAM, HD_STOP_PROVEN);
    err = (hd_err){0};
    assert_int_equal(hd_stream_new(&stream, &subject_now.run, &st, &o, note, NULL, &err), HD_OK);
    int32_t ids[] = {5, 1 << 20}, len = 2;
    void *tag = NULL;
    assert_int_equal(hd_stream_add(stream, ids, &len, &tag, 1, 1, &err), HD_EARG);
    assert_int_equal(hd_stream_count(stream), 0);
    err = (hd_err){0};
    assert_int_equal(hd_stream_add(stream, ids, &len, &tag, 1, 6, &err), HD_EARG);
    hd_stream_free(stream);
}

static hd_tensor *never(hd_run *r, void *context, size_t n)
{
    (void)context;
    return hd_fail(r, HD_EARG, "%zu sentences took a first step of their own", n);
}

static void whoever_joins_takes_the_first_step_with_the_others(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_search_opt o = options_of(HD_SEARCH_BEAM, HD_STOP_PROVEN);
    const int32_t ids[] = {4, 5, 6, 7, 8, 9}, len[] = {1, 2, 3};
    hd_found *found = NULL;
    hd_stepper st = stepper_of(ids, len, COUNT_OF(len));
    st.join = never;
    o.seats = 2 * o.beam; /* two at first, the third as one of them is done */
    if (hd_search(&found, &subject_now.run, &st, &o, &err)) fail_msg("%s", err.text);
    hd_found_free(found);
    hd_stepper_release(&st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_joins_finds_what_it_finds_alone),
        cmocka_unit_test(whoever_is_dropped_changes_nothing_for_others),
        cmocka_unit_test(what_cannot_go_on_is_refused),
        cmocka_unit_test(whoever_joins_takes_the_first_step_with_the_others),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
