/* Sources that were encoded before: a search on them finds what it finds on the sources, prompts are read at
   once as they would be token by token, and a row in a prompt can be asked. */
#include "decode/search.h"
#include "model/encdec/memory.h"
#include "model/toy.h"

enum { ITEMS = 5, LONGEST = 12 };

typedef struct filled {
    hd_memory one[ITEMS];
    const hd_memory *list[ITEMS];
} filled;

static void fill(filled *f, toy *m, const toy_batch *b)
{
    hd_err err = {0};
    const int32_t *ids = b->source;
    for (size_t i = 0; i < ITEMS; i++) {
        hd_run_begin(&m->run, HD_INFERENCE);
        hd_items in = {.seg = hd_seg_of(&m->run, b->source_len + i, 1, NULL),
                       .ids = hd_ints(&m->run, ids, (size_t)b->source_len[i])};
        if (hd_memory_fill(&f->one[i], &m->run, m->t, &in, &err)) fail_msg("%s", err.text);
        f->list[i] = &f->one[i], ids += b->source_len[i];
    }
    hd_run_begin(&m->run, HD_INFERENCE);
    hd_items two = {.seg = hd_seg_of(&m->run, b->source_len, 2, NULL),
                    .ids = hd_ints(&m->run, b->source, (size_t)(b->source_len[0] + b->source_len[1]))};
    hd_memory none = {0};
    assert_int_equal(hd_memory_fill(&none, &m->run, m->t, &two, &err), HD_EARG);
}

static void empty(filled *f)
{
    for (size_t i = 0; i < ITEMS; i++) hd_memory_release(&f->one[i]);
}

static hd_found *search(toy *m, hd_stepper *s)
{
    hd_err err = {0};
    hd_found *f = NULL;
    hd_search_opt o = {
        .kind = HD_SEARCH_BEAM, .beam = 3, .best = 2, .end = TOY_END, .max_length = LONGEST, .seats = 9};
    if (hd_search(&f, &m->run, s, &o, &err)) fail_msg("%s", err.text);
    hd_stepper_release(s);
    return f;
}

static void open_model(toy *m)
{
    hd_encdec_opt o = toy_opt();
    o.stack.unbiased_keys = o.stack.pre_norm = true;
    toy_open(m, 2, &o, NULL, NULL);
    stir(m->params);
}

static void a_search_finds_what_it_finds_on_the_sources(void **state)
{
    (void)state;
    hd_err err = {0};
    toy m;
    toy_batch b = toy_range(0, ITEMS);
    filled memory = {0};
    int32_t start[ITEMS], len[ITEMS];
    open_model(&m);
    for (int i = 0; i < ITEMS; i++) start[i] = TOY_BEGIN, len[i] = 1;
    hd_stepper s;
    assert_int_equal(hd_encdec_stepper(&s, m.t, b.source, b.source_len, ITEMS, TOY_BEGIN, &err), HD_OK);
    hd_found *expected = search(&m, &s);
    fill(&memory, &m, &b);
    for (int again = 0; again < 2; again++) {
        if (hd_encdec_recall_stepper(&s, m.t, &(hd_recall){memory.list, ITEMS, 0, start, len, NULL, NULL},
                                     &err))
            fail_msg("%s", err.text);
        hd_found *f = search(&m, &s);
        assert_int_equal(f->guesses, expected->guesses);
        for (size_t k = 0; k < f->guesses; k++) {
            assert_int_equal(f->guess[k].length, expected->guess[k].length);
            assert_memory_equal(f->guess[k].ids, expected->guess[k].ids,
                                f->guess[k].length * sizeof *f->guess[k].ids);
            assert_true(f->guess[k].sum == expected->guess[k].sum);
        }
        hd_found_free(f);
    }
    hd_found_free(expected);
    empty(&memory);
    toy_close(&m);
}

/* The rows of a pass over all of it. */
static void prompts_are_read_at_once(void **state)
{
    (void)state;
    hd_err err = {0};
    toy m;
    toy_batch b = toy_range(3, ITEMS);
    filled memory = {0};
    int32_t row[ITEMS];
    hd_real *told = malloc(ITEMS * TOY_VOCAB * sizeof *told);
    open_model(&m);
    hd_real *logits = toy_logits(&m, &b);
    fill(&memory, &m, &b);
    for (int i = 0; i < ITEMS; i++) row[i] = i % 2;
    hd_stepper s;
    const hd_recall what = {memory.list, ITEMS, 0, b.input, b.target_len, row, told};
    if (hd_encdec_recall_stepper(&s, m.t, &what, &err)) fail_msg("%s", err.text);
    hd_run_begin(&m.run, HD_INFERENCE);
    hd_real *last = host_copy(&m.run, s.join(&m.run, s.context, ITEMS));
    for (int32_t i = 0, begin = 0; i < ITEMS; begin += b.target_len[i++]) {
        const struct {
            const hd_real *logp;
            int32_t row;
        } both[] = {{last + i * TOY_VOCAB, begin + b.target_len[i] - 1},
                    {told + i * TOY_VOCAB, begin + row[i]}};
        for (int k = 0; k < 2; k++) {
            double sum = 0;
            for (int v = 0; v < TOY_VOCAB; v++) sum += exp((double)logits[both[k].row * TOY_VOCAB + v]);
            for (int v = 0; v < TOY_VOCAB; v++)
                assert_true(fabs((double)logits[both[k].row * TOY_VOCAB + v] - log(sum) -
                                 (double)both[k].logp[v]) < 1e-5);
        }
    }
    hd_stepper_release(&s);
    row[1] = b.target_len[1];
    assert_int_equal(hd_encdec_recall_stepper(&s, m.t, &what, &err), HD_EARG);
    free(last);
    free(logits);
    free(told);
    empty(&memory);
    toy_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_finds_what_it_finds_on_the_sources),
        cmocka_unit_test(prompts_are_read_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
