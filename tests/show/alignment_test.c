/* That attention finds its words: after some hundred updates on the language of `heed corpus`, a recurrent
   decoder that says a noun, an adjective or a verb looks at the word it translates. */
#include "check.h"
#include "cli/shell.h"

#include "data/grammar/grammar.h"
#include "data/grammar/words.h"
#include "show/attention.h"
#include "task/owned.h"

enum { SENTENCES = 100 };

static int make_model(void **state)
{
    char out[SHELL_ROOM];
    shell_prepare();
    if (scratch_make(state)) return -1;
    int failed = shell(out, "$HEED corpus -q --pairs 15000 --valid 0 --test 0 --out c && "
                            "$HEED train -q --preset rnnsearch --device cpu --tokenizer words --width 64 "
                            "--batch-tokens 250 --lr 0.01 --dropout 0.1 --label-smoothing 0 --steps 700 "
                            "--max-length 40 --train c/train.en c/train.de --out m");
    if (failed) fprintf(stderr, "%s", out);
    return failed;
}

static bool same(const char *a, const char *b)
{
    return b && !strcmp(a, b);
}

/* An adjective with an ending, or without after "sein". */
static bool is_adjective(const char *word, const hd_adjective *a)
{
    static const char *const endings[] = {"e", "er", "en", "es", "em"};
    size_t stem = strlen(a->stem);
    if (!strcmp(word, a->de)) return true;
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        if (!strncmp(word, a->stem, stem) && !strcmp(word + stem, endings[i])) return true;
    return false;
}

/* Whether a German word is a form of one that the English word is a form of; *content: it is one of those
   that are judged. */
static bool translates(const char *german, const char *english, bool *content)
{
    bool right = false;
    for (const hd_noun *n = hd_nouns; n->en; n++)
        if (same(german, n->de) || same(german, n->oblique) || same(german, n->plural) ||
            same(german, n->dative_plural))
            *content = true, right |= same(english, n->en) || same(english, n->en_plural);
    for (const hd_adjective *a = hd_adjectives; a->en; a++)
        if (is_adjective(german, a)) *content = true, right |= same(english, a->en);
    for (const hd_word_verb *v = hd_word_verbs; v->base; v++)
        if (same(german, v->infinitive) || same(german, v->ich) || same(german, v->du) ||
            same(german, v->er) || same(german, v->participle))
            *content = true,
            right |= same(english, v->base) || same(english, v->third) || same(english, v->past);
    return right;
}

typedef struct tally {
    size_t right, all;
} tally;

/* Only words that something in the source says: "habe" of a perfect is a verb, but not one of the source. */
static void judge(tally *t, const hd_attention_maps *a)
{
    const hd_attention_part *p = &a->part[HD_ATTENTION_CROSS];
    for (size_t i = 0; i < a->targets; i++) {
        const float *weight = hd_attention_at(p, 0, 0) + i * p->cols;
        size_t best = 0;
        bool content = false, there = false;
        for (size_t j = 0; j < a->sources; j++) {
            there |= translates(hd_shown_plain(&a->output[i]), hd_shown_plain(&a->source[j]), &content);
            best = weight[j] > weight[best] ? j : best;
        }
        if (!content || !there) continue;
        t->all++;
        t->right += translates(hd_shown_plain(&a->output[i]), hd_shown_plain(&a->source[best]), &content);
    }
}

static void ids_of(const hd_tokenizer *t, const hd_text *text, hd_ids *out)
{
    hd_err err = {0};
    out->count = 0;
    if (hd_tokenizer_encode_ids(t, text->data, text->size, out, &err) || hd_ids_reserve(out, 1, &err))
        fail_msg("%s", err.text);
    out->at[out->count++] = hd_tokenizer_special(t).end;
}

static void words_look_at_what_they_translate(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *backend = backend_of("cpu", 1);
    hd_run r = run_on(backend);
    hd_model_folder *t = NULL;
    hd_grammar *g = NULL;
    hd_text english = {0}, german = {0};
    hd_ids source = {0}, target = {0};
    tally all = {0};
    if (folder_open(&t, at("m"), "translate", backend, HD_WEIGHTS_BEST, &err) || hd_grammar_new(&g, 77, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < SENTENCES; i++) {
        hd_attention_maps a;
        if (hd_grammar_next(g, &english, &german, &err)) fail_msg("%s", err.text);
        ids_of(t->tokenizer[0], &english, &source);
        ids_of(t->tokenizer[1], &german, &target);
        hd_attention_ask ask = {.source = source.at,
                                .sources = source.count,
                                .start = hd_tokenizer_special(t->tokenizer[1]).start,
                                .target = target.at,
                                .targets = target.count,
                                .source_pieces = t->tokenizer[0],
                                .target_pieces = t->tokenizer[1]};
        if (hd_attention_collect(&a, &r, (const hd_model[]){hd_encdec_model(hd_model_folder_encdec(t))}, &ask,
                                 &err))
            fail_msg("%s", err.text);
        judge(&all, &a);
        hd_attention_release(&a);
    }
    print_message("%zu of %zu content words look at theirs\n", all.right, all.all);
    assert_true(all.all > 2 * SENTENCES);
    assert_true((double)all.right >= 0.95 * (double)all.all);
    hd_ids_release(&source);
    hd_ids_release(&target);
    hd_text_release(&english);
    hd_text_release(&german);
    hd_grammar_free(g);
    folder_free(t);
    hd_run_release(&r);
    hd_backend_free(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_look_at_what_they_translate)};
    return cmocka_run_group_tests(tests, make_model, scratch_remove);
}
