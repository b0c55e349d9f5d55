/* What `heed tokenize --specials` shows is what models get: the ids of each task's own encoding. */
#include "check.h"
#include "scratch.h"

#include "show/framed.h"
#include "task/label/labeler.h"
#include "task/masked/masked.h"
#include "task/speaker.h"

static const char *const lines[] = {
    "the cat sat on the mat",
    "the [MASK] sat on [MASK]",
    "[MASK]",
    "[MASK][MASK] mat",
    "a [CLS] b [SEP] </s>",
    "zebra crossing \xc3\xa9 quick",
    "cat\tmat",
    "\tmat",
    "cat\t",
    "",
    "a\tb\tc",
    "the the the the the the the the the the the the the the the the the the the",
    "cat sat\tthe the the the the the the the the the the the the the the the the the"};

/* Of each kind that is learned here, and a published one with a [MASK] of its own. */
static hd_tokenizer *tokenizer_of(int kind)
{
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    speaker_lines text = {speaker_text};
    hd_status s = kind < 3 ? hd_tokenizer_train(&t, (hd_tokenizer_kind)kind, (hd_feed){speaker_next, &text},
                                                &(hd_tokenizer_opt){.vocab = 310}, &err)
                           : hd_tokenizer_open(&t, HD_TOKENIZER_wordpiece,
                                               HEED_SOURCE "/tests/text/published/bert/vocab.txt", &err);
    if (s) fail_msg("%s", err.text);
    return t;
}

static hd_frame frame_of(const char *config, const hd_tokenizer *t)
{
    hd_err err = {0};
    hd_frame f;
    mkdir(at("model"), 0777);
    put_file(at("model/config.json"), config);
    if (hd_frame_open(&f, t, at("model"), &err)) fail_msg("%s", err.text);
    return f;
}

static hd_line line_of(size_t i)
{
    return (hd_line){lines[i], strlen(lines[i])};
}

static void assert_ids(const hd_pieces *p, const int32_t *id, size_t count, size_t line)
{
    if (p->count != count) fail_msg("'%s': %zu ids, not %zu", lines[line], p->count, count);
    for (size_t i = 0; i < count; i++)
        if (p->at[i].id != id[i]) fail_msg("'%s': id %zu is %d, not %d", lines[line], i, p->at[i].id, id[i]);
}

static void a_masked_model_gets_its_masks(void **state)
{
    (void)state;
    hd_err err = {0};
    for (int kind = 0; kind < 4; kind++) {
        hd_tokenizer *t = tokenizer_of(kind);
        const hd_frame f = frame_of("{\"format\": 1, \"task\": \"mlm\"}", t);
        assert_int_equal(hd_frame_mask(&f), kind < 3 ? (int32_t)hd_tokenizer_size(t) : -1);
        for (size_t i = 0; i < COUNT_OF(lines); i++) {
            hd_pieces p = {0};
            hd_ids ids = {0};
            if (hd_frame_encode(&f, line_of(i), &p, &err) || hd_masked_encode(t, line_of(i), &ids, &err))
                fail_msg("%s", err.text);
            assert_ids(&p, ids.at, ids.count, i);
            for (size_t k = 0; k < p.count; k++)
                if (p.at[k].id == hd_masked_id(t)) assert_memory_equal(lines[i] + p.at[k].begin, "[MASK]", 6);
            hd_pieces_release(&p), hd_ids_release(&ids);
        }
        hd_tokenizer_free(t);
    }
}

/* The types, too: of a pair the second text has another. */
static void a_classifier_gets_its_examples(void **state)
{
    (void)state;
    hd_err err = {0};
    for (int kind = 0; kind < 12; kind++) { /* of one text, of pairs, of one text with nothing around */
        static const char *const configs[] = {
            "{\"format\": 1, \"task\": \"classify\", \"positions\": 12}",
            "{\"format\": 1, \"task\": \"regress\", \"positions\": 12, \"pairs\": true}",
            "{\"format\": 1, \"task\": \"classify\", \"positions\": 12, \"bare\": true}"};
        const hd_examples_opt opt = {.longest = 12, .bare = kind % 3 == 2};
        hd_tokenizer *t = tokenizer_of(kind / 3);
        hd_classifier model = {.opt = {.pool = HD_POOL_first}};
        const hd_model_folder l = {.model.self = &model, .pairs = kind % 3 == 1};
        const hd_frame f = frame_of(configs[kind % 3], t);
        hd_labeled items = {0};
        hd_examples x;
        for (size_t i = 0; i < COUNT_OF(lines); i++)
            if (hd_labeler_take(&items, &l, line_of(i), &err)) fail_msg("%s", err.text);
        if (hd_examples_make(&x, &items, t, &opt, &err)) fail_msg("%s", err.text);
        assert_int_equal(x.count, COUNT_OF(lines));
        for (size_t i = 0; i < COUNT_OF(lines); i++) {
            hd_pieces p = {0};
            if (hd_frame_encode(&f, line_of(i), &p, &err)) fail_msg("%s", err.text);
            assert_ids(&p, x.id + x.begin[i], x.begin[i + 1] - x.begin[i], i);
            for (size_t k = 0; k < p.count; k++) assert_int_equal(p.at[k].type, k >= x.second[i]);
            hd_pieces_release(&p);
        }
        hd_examples_release(&x);
        hd_labeled_release(&items);
        hd_tokenizer_free(t);
    }
}

static void a_tagger_gets_words_one_by_one(void **state)
{
    (void)state;
    hd_err err = {0};
    for (int k = 0; k < 8; k++) {
        bool bare = k % 2;
        hd_tokenizer *t = tokenizer_of(k / 2);
        const hd_frame f = frame_of(bare ? "{\"format\": 1, \"task\": \"tag\", \"positions\": 12}"
                                         : "{\"format\": 1, \"task\": \"tag\", \"bare\": false}",
                                    t);
        hd_classifier model = {.opt = {.pool = HD_POOL_each}};
        const hd_model_folder l = {.model.self = &model};
        for (size_t i = 0; i < COUNT_OF(lines); i++) {
            hd_pieces p = {0};
            hd_labeled items = {0};
            hd_examples x;
            if (hd_labeler_take(&items, &l, line_of(i), &err) ||
                hd_examples_make(&x, &items, t,
                                 &(hd_examples_opt){.each = true, .bare = bare, .longest = 100}, &err) ||
                hd_frame_encode(&f, line_of(i), &p, &err))
                fail_msg("%s", err.text);
            if (items.units) assert_ids(&p, x.id, x.rows, i);
            hd_examples_release(&x);
            hd_labeled_release(&items);
            hd_pieces_release(&p);
        }
        hd_tokenizer_free(t);
    }
}

static void others_are_framed_by_their_tokenizer(void **state)
{
    (void)state;
    static const char *const configs[] = {"{\"format\": 1, \"task\": \"translate\"}",
                                          "{\"model_type\": \"bert\", \"task\": \"mlm\"}", "[]"};
    hd_err err = {0};
    hd_tokenizer *t = tokenizer_of(0);
    for (size_t c = 0; c < COUNT_OF(configs); c++) {
        const hd_frame f = frame_of(configs[c], t);
        hd_pieces p = {0}, q = {0};
        if (hd_frame_encode(&f, line_of(1), &p, &err) ||
            hd_tokenizer_encode_framed(t, line_of(1), NULL, &q, &err))
            fail_msg("%s", err.text);
        assert_int_equal(p.count, q.count);
        for (size_t i = 0; i < p.count; i++) assert_int_equal(p.at[i].id, q.at[i].id);
        assert_int_equal(hd_frame_mask(&f), -1);
        hd_pieces_release(&p), hd_pieces_release(&q);
    }
    hd_tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_masked_model_gets_its_masks),
        cmocka_unit_test(a_classifier_gets_its_examples),
        cmocka_unit_test(a_tagger_gets_words_one_by_one),
        cmocka_unit_test(others_are_framed_by_their_tokenizer),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
