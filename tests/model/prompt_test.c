/* Tasks that are told in the input: one model does with the same words what the word before them asks for. */
#include "model/encdec_cases.h"

enum {
    SAME = 3,
    TURNED,
    NEXT,
    TASKS = 3,
    FIRST_WORD = SAME + TASKS,
    WORDS = TOY_VOCAB - FIRST_WORD,
    LENGTH = 4
};

/* The answer of a task to `word`. */
static void answer(int32_t task, const int32_t *word, int32_t *out)
{
    for (int i = 0; i < LENGTH; i++)
        out[i] = task == SAME     ? word[i]
                 : task == TURNED ? word[LENGTH - 1 - i]
                                  : FIRST_WORD + (word[i] - FIRST_WORD + 1) % WORDS;
}

/* The source is a task, words and END. */
static void add(toy_batch *b, int32_t task, const int32_t *word)
{
    int32_t out[LENGTH + 1];
    answer(task, word, out);
    out[LENGTH] = TOY_END;
    b->key[b->items] = (int32_t)b->items;
    b->source_len[b->items] = LENGTH + 2, b->target_len[b->items++] = LENGTH + 1;
    b->source[b->source_rows++] = task;
    for (int i = 0; i <= LENGTH; i++) {
        b->source[b->source_rows++] = i < LENGTH ? word[i] : TOY_END;
        b->input[b->target_rows] = i ? out[i - 1] : TOY_BEGIN;
        b->target[b->target_rows++] = out[i];
    }
}

static void draw_words(int32_t *word, hd_rng *rng)
{
    for (int i = 0; i < LENGTH; i++) word[i] = FIRST_WORD + (int32_t)hd_rng_below(rng, WORDS);
}

/* The share of right words in the answers to `task`. */
static double accuracy(toy *m, int32_t task)
{
    hd_rng rng = hd_rng_make(2, 3); /* the same words for every task */
    toy_batch b = {0};
    size_t right = 0;
    for (int i = 0; i < TOY_ITEMS; i++) {
        int32_t word[LENGTH];
        draw_words(word, &rng);
        add(&b, task, word);
    }
    hd_real *z = toy_logits(m, &b);
    for (size_t i = 0; i < b.target_rows; i++) {
        const hd_real *row = z + i * TOY_VOCAB;
        int32_t best = 0;
        for (int32_t v = 1; v < TOY_VOCAB; v++)
            if (row[v] > row[best]) best = v;
        right += b.target[i] != TOY_END && best == b.target[i];
    }
    free(z);
    return (double)right / (TOY_ITEMS * LENGTH);
}

static void the_same_words_are_answered_as_the_prompt_asks(void **state)
{
    (void)state;
    enum { STEPS = 300 };
    static const hd_optimizer_opt adam = {
        .kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-9f, .clip = 1};
    static const char *const names[TASKS] = {"the same", "turned round", "the next ones"};
    static const encdec_case c =
        MODEL("", "bi-gru:1", "gru:1", .r = {.begin = HD_BEGINNING_map, .read = HD_READING_deep});
    hd_encdec_opt o = encdec_opt(&c);
    hd_rng rng = hd_rng_make(1, 3);
    toy m;
    o.stack.width = 24;
    toy_open(&m, 1, &o, NULL, &adam);
    for (uint32_t step = 1; step <= STEPS; step++) {
        toy_batch b = {0};
        while (b.items < TOY_ITEMS) {
            int32_t word[LENGTH];
            draw_words(word, &rng);
            add(&b, SAME + (int32_t)hd_rng_below(&rng, TASKS), word);
        }
        toy_step(&m, &b, 0, 0.01 * (1 - (double)step / (STEPS + 1)), step);
    }
    for (int32_t k = 0; k < TASKS; k++) {
        double share = accuracy(&m, SAME + k);
        print_message("%-13s %.3f\n", names[k], share);
        assert_true(share > 0.95);
    }
    toy_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_words_are_answered_as_the_prompt_asks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
