/* Folders of transformers become models that give its logits and write what it writes, and become the same
   folders again. What is expected comes from published/make.py, which draws the same weights. */
#include "check.h"
#include "scratch.h"

#include "decode/search.h"
#include "model/gpt.h"
#include "task/generate.h"
#include "task/import.h"
#include "task/labeller.h"
#include "task/language_text.h"
#include "task/masked.h"
#include "task/publisher.h"
#include "task/speaker.h"
#include "task/translator.h"

#define PUBLISHED HEED_SOURCE "/tests/task/published/"

static hd_status pass(hd_status (*fn)(const char *, const char *, hd_backend *, hd_err *), const char *from,
                      const char *to, hd_err *err)
{
    hd_backend *b = backend_of("cpu", 1);
    hd_status s = fn(at("%s", from), at("%s", to), b, err);
    hd_backend_free(b);
    return s;
}

static void pass_well(hd_status (*fn)(const char *, const char *, hd_backend *, hd_err *), const char *from,
                      const char *to)
{
    hd_err err = {0};
    if (pass(fn, from, to, &err)) fail_msg("%s", err.text);
}

/* -- what transformers gives -- */

typedef struct expected {
    FILE *file;
    int count;
    double value[128];
} expected;

/* The next line: how many, and those. */
static const double *next(expected *e)
{
    assert_int_equal(fscanf(e->file, "%d", &e->count), 1);
    assert_in_range(e->count, 1, (int)COUNT_OF(e->value));
    for (int i = 0; i < e->count; i++) assert_int_equal(fscanf(e->file, "%lf", &e->value[i]), 1);
    return e->value;
}

static int32_t next_ids(expected *e, int32_t ids[32])
{
    next(e);
    for (int i = 0; i < e->count; i++) ids[i] = (int32_t)e->value[i];
    return e->count;
}

/* Every `stride`-th of a row's logits. Both sides compute in float: 1e-4 is some hundred roundings. */
static void check_logits(expected *e, const hd_real *logits, size_t rows, size_t vocab, size_t stride)
{
    for (size_t row = 0; row < rows; row++) {
        next(e);
        for (int i = 0; i < e->count; i++)
            if (!(fabs(e->value[i] - (double)logits[row * vocab + (size_t)i * stride]) < 1e-4))
                fail_msg("row %zu, token %zu: %g, not %g", row, (size_t)i * stride,
                         (double)logits[row * vocab + (size_t)i * stride], e->value[i]);
    }
}

static void check_search(expected *e, hd_run *r, hd_stepper *stepper, const hd_search_opt *o)
{
    hd_err err = {0};
    hd_found *found = NULL;
    int32_t ids[32], count = next_ids(e, ids);
    if (hd_search(&found, r, stepper, o, &err)) fail_msg("%s", err.text);
    const hd_guess *g = hd_found_at(found, 0);
    assert_int_equal(g->length, count);
    assert_memory_equal(g->ids, ids, (size_t)count * sizeof *ids);
    hd_found_free(found);
    hd_stepper_release(stepper);
}

/* A prompt behind the token that begins a text, and what follows it by greedy search with a penalty of 1.15.
 */
static void check_repetition(expected *e, hd_run *r, const hd_language *l)
{
    hd_err err = {0};
    hd_generated g = {0};
    hd_text prompt = {0}, text = {0};
    int32_t ids[32], count = next_ids(e, ids);
    assert_int_equal(hd_tokeniser_decode(l->tokeniser, ids, (size_t)count, &prompt, &err), HD_OK);
    count = next_ids(e, ids);
    assert_int_equal(hd_tokeniser_decode(l->tokeniser, ids, (size_t)count, &text, &err), HD_OK);
    hd_generate_opt o = {.tokens = (size_t)count, .repetition = 1.15f};
    if (hd_generate(&g, r, l, &(hd_line){prompt.data, prompt.size}, 1, &o, &err)) fail_msg("%s", err.text);
    assert_memory_equal(g.text.data, text.data, g.text.size);
    for (const char *c = text.data + g.text.size; *c;
         c += 3) /* half a character at the end waits for the rest */
        assert_memory_equal(c, "\xEF\xBF\xBD", 3);
    hd_generated_release(&g);
    hd_text_release(&prompt);
    hd_text_release(&text);
}

static void check_gpt2(const char *folder, const char *file)
{
    hd_err err = {0};
    hd_language *l = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    expected e = {.file = fopen(file, "r")};
    assert_non_null(e.file);
    if (hd_language_open(&l, at("%s", folder), b, &err)) fail_msg("%s", err.text);
    int32_t ids[32], count = next_ids(&e, ids);
    hd_run_begin(&r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(&r, &count, 1, NULL);
    hd_rows x = l->lm->type->states(&r, l->lm, hd_ints(&r, ids, (size_t)count), seg);
    hd_real *logits = host_copy(&r, hd_gpt_logits(&r, l->lm->model, x));
    check_logits(&e, logits, (size_t)count, GPT_VOCAB, 29);
    hd_stepper stepper;
    assert_int_equal(l->lm->type->stepper(&stepper, l->lm, ids, &count, 1, &err), HD_OK);
    check_search(&e, &r, &stepper, &(hd_search_opt){.kind = HD_SEARCH_GREEDY, .end = -1, .max_length = 12});
    check_repetition(&e, &r, l);
    free(logits);
    fclose(e.file);
    hd_language_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void gpt2_gives_the_logits_of_transformers(void **state)
{
    (void)state;
    put_gpt2("gpt2");
    pass_well(hd_import, "gpt2", "gpt2.heed");
    check_gpt2("gpt2.heed", PUBLISHED "gpt2.txt");
}

static void change_file(const char *path, const char *from, const char *to)
{
    char *bytes = get_file(path, &(size_t){0}), *found = strstr(bytes, from), text[2048];
    assert_non_null(found);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(found - bytes), bytes, to, found + strlen(from));
    put_file(path, text);
    free(bytes);
}

static void gpt2_may_have_another_epsilon_and_table(void **state)
{
    (void)state;
    put_gpt2_with("untied", true);
    change_file(at("untied/config.json"), "1e-05", "0.01");
    change_file(at("untied/config.json"), "\"pad_token_id\": null",
                "\"tie_word_embeddings\": false, \"resid_pdrop\": 0.2, \"attn_pdrop\": 0.3");
    pass_well(hd_import, "untied", "untied.heed");
    check_gpt2("untied.heed", PUBLISHED "gpt2-apart.txt");
    pass_well(hd_export, "untied.heed", "untied.out");
    pass_well(hd_import, "untied.out", "untied.again");
    check_gpt2("untied.again", PUBLISHED "gpt2-apart.txt");
    char *config = get_file(at("untied.out/config.json"), &(size_t){0});
    static const char *const kept[] = {"\"resid_pdrop\": 0.2,", "\"embd_pdrop\": 0.1,",
                                       "\"attn_pdrop\": 0.3,", "\"layer_norm_epsilon\": 0.01,",
                                       "\"tie_word_embeddings\": false"};
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        if (!strstr(config, kept[i])) fail_msg("no %s in %s", kept[i], config);
    free(config);
}

/* The decoder's rows for a source and a target, then what greedy search and beams find. */
static void check_translation(expected *e, hd_run *r, const hd_translator *t, size_t stride)
{
    hd_err err = {0};
    int32_t source[32], target[32], from = next_ids(e, source), to = next_ids(e, target), banned[3];
    hd_run_begin(r, HD_INFERENCE);
    hd_encoded memory =
        hd_encdec_encode(r, t->model, hd_ints(r, source, (size_t)from), hd_seg_of(r, &from, 1, NULL));
    hd_rows x = hd_encdec_decode(r, t->model, hd_ints(r, target, (size_t)to), hd_seg_of(r, &to, 1, NULL),
                                 memory, NULL);
    hd_real *logits = host_copy(r, hd_encdec_logits(r, t->model, x));
    check_logits(e, logits, (size_t)to, t->model->opt.target_vocab, stride);
    free(logits);
    hd_special special = hd_tokeniser_special(t->tokeniser[1]);
    hd_search_opt o = {.end = special.end, .max_length = 12, .banned = banned, .beam = 4};
    o.banned_count = hd_tokeniser_unwritten(t->tokeniser[1], banned);
    o.length.kind = HD_LENGTH_AVERAGE;
    for (int i = 0; i < 2; i++) {
        hd_stepper stepper;
        assert_int_equal(hd_encdec_stepper(&stepper, t->model, source, &from, 1, special.start, &err), HD_OK);
        o.kind = i ? HD_SEARCH_BEAM : HD_SEARCH_GREEDY;
        check_search(e, r, &stepper, &o);
    }
}

static void check_translator(const char *folder, const char *file, size_t stride)
{
    hd_err err = {0};
    hd_translator *t = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    char path[256];
    snprintf(path, sizeof path, PUBLISHED "%s", file);
    expected e = {.file = fopen(path, "r")};
    assert_non_null(e.file);
    if (hd_translator_open(&t, at("%s", folder), b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < 3; i++) check_translation(&e, &r, t, stride);
    fclose(e.file);
    hd_translator_free(t);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void check_marian_folder(const char *folder)
{
    check_translator(folder, "marian.txt", 3);
}

static void marian_gives_the_logits_of_transformers(void **state)
{
    (void)state;
    put_marian("marian");
    pass_well(hd_import, "marian", "marian.heed");
    check_marian_folder("marian.heed");
}

static void tables_of_marian_may_be_apart(void **state)
{
    (void)state;
    char config[1024];
    put_marian_with("apart", true);
    snprintf(config, sizeof config, "{\"share_encoder_decoder_embeddings\": false, %s", marian_config + 1);
    put_file(at("apart/config.json"), config);
    pass_well(hd_import, "apart", "apart.heed");
    check_marian_folder("apart.heed");
    pass_well(hd_export, "apart.heed", "apart.out"); /* which holds lm_head.weight, too */
    pass_well(hd_import, "apart.out", "apart.again");
    assert_same_file(at("apart.heed/model.safetensors"), at("apart.again/model.safetensors"));
}

static void vectors_of_marian_may_be_as_they_are(void **state)
{
    (void)state;
    char config[1024];
    const char *place = strstr(marian_config, "\"scale_embedding\": true, ");
    put_marian("as-is");
    snprintf(config, sizeof config, "%.*s%s", (int)(place - marian_config), marian_config, place + 25);
    put_file(at("as-is/config.json"), config); /* true is not the default */
    pass_well(hd_import, "as-is", "as-is.heed");
    check_translator("as-is.heed", "marian-unscaled.txt", 3);
    pass_well(hd_export, "as-is.heed", "as-is.out");
    pass_well(hd_import, "as-is.out", "as-is.again");
    check_translator("as-is.again", "marian-unscaled.txt", 3);
}

static void t5_gives_the_logits_of_transformers(void **state)
{
    (void)state;
    put_t5("t5");
    pass_well(hd_import, "t5", "t5.heed");
    check_translator("t5.heed", "t5.txt", 29);
    put_t5_gated("t5-gated");
    pass_well(hd_import, "t5-gated", "t5-gated.heed");
    check_translator("t5-gated.heed", "t5-gated.txt", 29);
}

/* The keys of one version of transformers or another, and a table that old files have. */
static void an_output_layer_of_its_own_is_found_in_the_file(void **state)
{
    (void)state;
    store s = {.dtype = HD_F32};
    put_t5_gated("newer");
    put_file(at("newer/config.json"),
             T5_CONFIG("\"feed_forward_proj\": \"gated-gelu\", \"tie_word_embeddings\": true, "
                       "\"scale_decoder_outputs\": false"));
    add_t5(&s, true);
    add(&s, T5_BUCKETS, T5_HEADS, "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight");
    save(&s, 0, s.count, at("newer/model.safetensors"));
    store_release(&s);
    pass_well(hd_import, "newer", "newer.heed");
    check_translator("newer.heed", "t5-gated.txt", 29);
}

/* The rows of a pair of texts, then what its head says, then what its pooler does, as far as it has them. */
static void check_bert(const char *folder, bool headless, bool pooler)
{
    hd_err err = {0};
    hd_masked *m = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    expected e = {.file = fopen(PUBLISHED "bert.txt", "r")};
    assert_non_null(e.file);
    if (hd_masked_open(&m, at("%s", folder), b, &err)) fail_msg("%s", err.text);
    assert_int_equal(m->model->opt.headless, headless);
    assert_int_equal(m->model->opt.pooler, pooler);
    int32_t id[32], type[32], place[32], count = next_ids(&e, id);
    assert_int_equal(next_ids(&e, type), count);
    for (int32_t i = 0; i < count; i++) place[i] = i;
    hd_run_begin(&r, HD_INFERENCE);
    const hd_bert_batch batch = {.seg = hd_seg_of(&r, &count, 1, NULL),
                                 .ids = hd_ints(&r, id, (size_t)count),
                                 .type = hd_ints(&r, type, (size_t)count),
                                 .place = hd_ints(&r, place, (size_t)count),
                                 .count = (size_t)count};
    hd_rows x = hd_bert_rows(&r, m->model, batch.ids, batch.type, batch.seg);
    hd_real *rows = host_copy(&r, x.t),
            *pooled = pooler ? host_copy(&r, hd_bert_pooled(&r, m->model, x)) : NULL,
            *logits = headless ? NULL : host_copy(&r, hd_bert_logits(&r, m->model, &batch));
    check_logits(&e, rows, (size_t)count, WIDE, 1);
    if (pooler)
        check_logits(&e, pooled, 1, WIDE, 1);
    else
        next(&e);
    if (!headless) check_logits(&e, logits, (size_t)count, BERT_VOCAB, 37);
    free(rows), free(pooled), free(logits);
    fclose(e.file);
    hd_masked_free(m);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void bert_gives_the_rows_and_logits_of_transformers(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        int parts;
    } cases[] = {
        {"bert", "bert.heed", BERT_PREFIX | BERT_HEAD | BERT_POOLER | BERT_FOLLOWS},
        {"plain", "plain.heed", BERT_PREFIX | BERT_HEAD},
        {"bare", "bare.heed", BERT_POOLER},
        {"rows", "rows.heed", 0},
        {"old", "old.heed", BERT_PREFIX | BERT_HEAD | BERT_POOLER | BERT_OLD_NAMES},
        {"older", "older.heed", BERT_OLD_NAMES},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put_bert_with(cases[i].from, cases[i].parts);
        pass_well(hd_import, cases[i].from, cases[i].to);
        check_bert(cases[i].to, !(cases[i].parts & BERT_HEAD), cases[i].parts & BERT_POOLER);
    }
}

/* What a head says of a pair, behind what bert.txt has of rows, pooled and words: log-probabilities of three
   labels, then a number. */
static void check_labels(const char *folder, bool number)
{
    hd_err err = {0};
    hd_labeller *l = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    expected e = {.file = fopen(PUBLISHED "bert.txt", "r")};
    assert_non_null(e.file);
    if (hd_labeller_open(&l, at("%s", folder), HD_CLASSIFY, b, &err)) fail_msg("%s", err.text);
    int32_t id[32], type[32], one = 1, count = next_ids(&e, id);
    assert_int_equal(next_ids(&e, type), count);
    for (int32_t i = 0; i < 2 * count + 1 + number; i++) next(&e);
    hd_run_begin(&r, HD_INFERENCE);
    const hd_class_batch batch = {.seg = hd_seg_of(&r, &count, 1, NULL),
                                  .items = hd_seg_of(&r, &one, 1, NULL),
                                  .ids = hd_ints(&r, id, (size_t)count),
                                  .type = hd_ints(&r, type, (size_t)count)};
    hd_real *logp = host_copy(&r, hd_classifier_logp(&r, l->model, &batch));
    check_logits(&e, logp, 1, l->model->opt.classes, 1);
    assert_int_equal(e.count, number ? 1 : 3);
    assert_int_equal(l->model->opt.numbers, number);
    free(logp);
    fclose(e.file);
    hd_labeller_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void labels_of_bert_are_those_of_transformers(void **state)
{
    (void)state;
    char config[1024];
    put_bert_labels("labels");
    pass_well(hd_import, "labels", "labels.heed");
    check_labels("labels.heed", false);
    size_t size;
    char *names = get_file(at("labels.heed/labels.txt"), &size);
    assert_string_equal(names, "bad\nso so\ngood \"one\"\n");
    free(names);
    for (int old = 0; old < 2; old++) { /* one label is a number, whether it has a name or not */
        const char *from = old ? "number" : "named", *to = old ? "number.heed" : "named.heed";
        put_bert_with(from, (old ? BERT_OLD_NAMES : BERT_PREFIX) | BERT_POOLER | BERT_NUMBER);
        snprintf(config, sizeof config, "{\"architectures\": [\"BertForSequenceClassification\"], %s, %s",
                 old ? "\"num_labels\": 1"
                     : "\"id2label\": {\"0\": \"score\"}, \"problem_type\": \"regression\"",
                 bert_config + 1);
        put_file(at("%s/config.json", from), config);
        pass_well(hd_import, from, to);
        check_labels(to, true);
    }
    pass_well(hd_export, "named.heed", "named.out");
    pass_well(hd_import, "named.out", "named.again");
    static const char *const model[] = {"config.json", "model.safetensors", "vocab.txt", NULL};
    for (const char *const *name = model; *name; name++)
        assert_same_file(at("named.heed/%s", *name), at("named.again/%s", *name));
}

/* -- there and back -- */

static void assert_same_files(const char *a, const char *b, const char *const *names)
{
    for (; *names; names++) assert_same_file(at("%s/%s", a, *names), at("%s/%s", b, *names));
}

static void assert_same_tensors(const char *a, const char *b)
{
    hd_err err = {0};
    hd_safetensors *x = NULL, *y = NULL;
    if (hd_safetensors_open(&x, a, &err) || hd_safetensors_open(&y, b, &err)) fail_msg("%s", err.text);
    assert_int_equal(hd_safetensors_count(x), hd_safetensors_count(y));
    for (size_t i = 0; i < hd_safetensors_count(x); i++) {
        const hd_entry *p = hd_safetensors_at(x, i), *q = hd_safetensors_at(y, i);
        assert_string_equal(p->name, q->name);
        assert_int_equal(p->bytes, q->bytes);
        assert_memory_equal(p->data, q->data, p->bytes);
    }
    hd_safetensors_free(x);
    hd_safetensors_free(y);
}

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const gpt2[] = {"vocab.json", "merges.txt", NULL},
                             *const marian[] = {"vocab.json", "source.spm", "target.spm", NULL},
                             *const t5[] = {"spiece.model", NULL}, *const bert[] = {"vocab.txt", NULL},
                             *const model[] = {"config.json", "model.safetensors", NULL};
    const struct {
        void (*put)(const char *);
        const char *const *files;
    } family[] = {{put_gpt2, gpt2}, {put_marian, marian},  {put_t5, t5},           {put_t5_gated, t5},
                  {put_bert, bert}, {put_bare_bert, bert}, {put_bert_labels, bert}};
    for (size_t i = 0; i < COUNT_OF(family); i++) {
        char name[4][16];
        for (int k = 0; k < 4; k++) snprintf(name[k], sizeof name[k], "round%zu.%d", i, k);
        family[i].put(name[0]);
        pass_well(hd_import, name[0], name[1]);
        pass_well(hd_export, name[1], name[2]);
        pass_well(hd_import, name[2], name[3]);
        assert_same_files(name[0], name[2], family[i].files);
        assert_same_files(name[1], name[3], family[i].files);
        assert_same_files(name[1], name[3], model);
        assert_same_tensors(at("%s/model.safetensors", name[0]), at("%s/model.safetensors", name[2]));
    }
}

static void weights_may_be_spread_and_have_a_prefix(void **state)
{
    (void)state;
    store s = {.dtype = HD_F32, .prefix = "transformer."};
    hd_text index = {0};
    put_gpt2_but_weights("parts");
    add_gpt2(&s);
    save(&s, 0, 5, at("parts/a.safetensors"));
    save(&s, 5, s.count, at("parts/b.safetensors"));
    hd_text_put(&index, "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {");
    for (size_t i = 0; i < s.count; i++)
        hd_text_print(&index, "%s\"%s\": \"%c.safetensors\"", i ? ", " : "", s.named[i].name,
                      i < 5 ? 'a' : 'b');
    hd_text_put(&index, "}}");
    put_file(at("parts/model.safetensors.index.json"), index.data);
    hd_text_release(&index);
    store_release(&s);
    pass_well(hd_import, "parts", "parts.heed");
    check_gpt2("parts.heed", PUBLISHED "gpt2.txt");
    put_file(at("parts/model.safetensors.index.json"), "{\"weight_map\": {\"wte.weight\": \"../a\"}}");
    hd_err err = {0};
    assert_int_equal(pass(hd_import, "parts", "parts.two", &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "'../a' is not the name of a file beside it"));
}

static void numbers_of_16_bits_are_widened(void **state)
{
    (void)state;
    for (hd_dtype dtype = HD_F16; dtype <= HD_BF16; dtype++) {
        char from[16], to[16];
        hd_err err = {0};
        store s = {.dtype = dtype};
        hd_safetensors *file = NULL;
        float got[GPT_VOCAB * WIDE], wanted[GPT_VOCAB * WIDE];
        const size_t shape[2] = {GPT_VOCAB, WIDE};
        const hd_tensor into = hd_shaped(got, HD_F32, 2, shape);
        snprintf(from, sizeof from, "half%d", dtype), snprintf(to, sizeof to, "half%d.heed", dtype);
        put_gpt2_but_weights(from);
        add_gpt2(&s);
        save(&s, 0, s.count, at("%s/model.safetensors", from));
        hd_convert(wanted, HD_F32, s.tensor[0].data, dtype, COUNT_OF(wanted));
        pass_well(hd_import, from, to);
        if (hd_safetensors_open(&file, at("%s/model.safetensors", to), &err) ||
            hd_safetensors_load(file, "wte.weight", &into, &err))
            fail_msg("%s", err.text);
        assert_memory_equal(got, wanted, sizeof got);
        hd_safetensors_free(file);
        store_release(&s);
    }
}

/* -- what is asked of an imported model -- */

static hd_language *imported_gpt2(hd_backend *b)
{
    hd_err err = {0};
    hd_language *l = NULL;
    if (!is_there(at("gpt2.heed"))) put_gpt2("gpt2"), pass_well(hd_import, "gpt2", "gpt2.heed");
    if (hd_language_open(&l, at("gpt2.heed"), b, &err)) fail_msg("%s", err.text);
    return l;
}

/* Blank lines are one piece or several, as the merges say: only the whole text has the right ones. */
static void lines_are_text_to_gpt2(void **state)
{
    (void)state;
    static const char text[] = "the cat\n\n\n  sat on\n";
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_language *l = imported_gpt2(b);
    hd_plain_text plain = {0};
    hd_stream_text stream = {0};
    hd_ids ids = {0};
    put_file(at("text"), text);
    if (hd_plain_text_read(&plain, at("text"), &err) ||
        hd_stream_text_of(&stream, &plain, l->tokeniser, &err) ||
        hd_tokeniser_encode_ids(l->tokeniser, text, strlen(text), &ids, &err))
        fail_msg("%s", err.text);
    assert_int_equal(stream.count, ids.count);
    assert_memory_equal(stream.ids, ids.at, ids.count * sizeof *ids.at);
    assert_int_equal(stream.characters, strlen(text));
    hd_ids_release(&ids);
    hd_stream_text_release(&stream);
    hd_plain_text_release(&plain);
    hd_language_free(l);
    hd_backend_free(b);
}

/* The likeliest token behind <|endoftext|> and the whole prompt, as search finds it. */
static void gpt2_goes_on_from_the_whole_prompt(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_language *l = imported_gpt2(b);
    hd_run r = run_on(b);
    hd_generated g = {0};
    hd_ids ids = {0};
    hd_text wanted = {0};
    hd_stepper stepper;
    hd_found *found = NULL;
    int32_t banned[3];
    const hd_line prompt = {"one\n\ntwo", 8};
    const hd_search_opt o = {.kind = HD_SEARCH_GREEDY, .end = -1, .max_length = 6};
    assert_int_equal(hd_tokeniser_unwritten(l->tokeniser, banned), 0);
    assert_int_equal(hd_ids_reserve(&ids, 1, &err), HD_OK);
    ids.at[ids.count++] = hd_tokeniser_special(l->tokeniser).end;
    assert_int_equal(hd_tokeniser_encode_ids(l->tokeniser, prompt.text, prompt.size, &ids, &err), HD_OK);
    int32_t count = (int32_t)ids.count;
    if (hd_generate(&g, &r, l, &prompt, 1, &(hd_generate_opt){.tokens = 6}, &err) ||
        l->lm->type->stepper(&stepper, l->lm, ids.at, &count, 1, &err) ||
        hd_search(&found, &r, &stepper, &o, &err) ||
        hd_tokeniser_decode(l->tokeniser, hd_found_at(found, 0)->ids, 6, &wanted, &err))
        fail_msg("%s", err.text);
    assert_in_range(g.text.size, 1, wanted.size); /* half a character at the end is held back */
    assert_memory_equal(g.text.data, wanted.data, g.text.size);
    hd_found_free(found);
    hd_stepper_release(&stepper);
    hd_text_release(&wanted);
    hd_ids_release(&ids);
    hd_generated_release(&g);
    hd_language_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* -- what is refused -- */

typedef struct publisher {
    void (*put)(const char *folder);
    const char *config;
} publisher;

/* A folder in which `from` of config.json is `to` instead; what is said holds `why`, and nothing is left. */
static void check_refused(publisher of, const char *from, const char *to, const char *why)
{
    static int number;
    char name[16], config[2048];
    hd_err err = {0};
    const char *all = of.config, *place = strstr(all, from);
    assert_non_null(place);
    snprintf(name, sizeof name, "bad%d", number++);
    of.put(name);
    snprintf(config, sizeof config, "%.*s%s%s", (int)(place - all), all, to, place + strlen(from));
    put_file(at("%s/config.json", name), config);
    int before = entries_in(scratch);
    assert_int_not_equal(pass(hd_import, name, "refused", &err), HD_OK);
    if (!strstr(err.text, why)) fail_msg("'%s' does not say '%s'", err.text, why);
    assert_int_equal(entries_in(scratch), before);
}

static void what_heed_does_not_have_is_refused(void **state)
{
    (void)state;
    static const struct {
        bool marian;
        const char *from, *to, *why;
    } bad[] = {
        {false, "\"gpt2\"", "\"llama\"", "\"model_type\" is \"llama\"; heed imports bert, gpt2, marian, t5"},
        {false, "\"model_type\": \"gpt2\", ", "", "\"model_type\" is missing"},
        {false, "\"n_layer\": 2", "\"n_layer\": 0", "\"n_layer\" is 0"},
        {false, "\"n_layer\": 2", "\"n_layer\": 1e9", "\"n_layer\" is not a whole number"},
        {false, "\"n_layer\": 2", "\"n_layer\": 3", "h.2."},
        {false, "\"n_layer\": 2", "\"n_layer\": 1", "tensor \"h.1."},
        {false, "\"n_head\": 4", "\"n_head\": 3", "cannot be split over 3 heads"},
        {false, "\"n_embd\": 16", "\"n_embd\": 9000000000000000000", "\"n_embd\" is 9000000000000000000"},
        {false, "\"n_embd\": 16", "\"n_embd\": 32", "wte.weight"},
        {false, "\"n_embd\": 16", "\"n_embd\": 1048576", "config.json asks for a model of"},
        {false, "\"n_positions\": 24", "\"n_positions\": 25", "wpe.weight"},
        {false, "1200", "1201", "\"vocab_size\" is 1201, but the tokeniser has 1200 pieces"},
        {false, "gelu_new", "swoosh", "there is no activation \"swoosh\""},
        {false, "1e-05", "2", "\"layer_norm_epsilon\" is 2"},
        {false, "\"pad_token_id\": null", "\"tie_word_embeddings\": false", "lm_head.weight"},
        {false, "\"pad_token_id\": null", "\"scale_attn_by_inverse_layer_idx\": true", "is true"},
        {true, "\"decoder_ffn_dim\": 40", "\"decoder_ffn_dim\": 20", "\"decoder_ffn_dim\" 20"},
        {true, "\"encoder_layers\": 2", "\"encoder_layers\": 100", "config.json asks for a model of"},
        {true, "\"vocab_size\": 64", "\"vocab_size\": 65", "that of the tokeniser has 64 pieces"},
        {true, "\"pad_token_id\": 63", "\"pad_token_id\": 62", "\"pad_token_id\" is not 63"},
        {true, "\"decoder_layers\": 2", "\"decoder_layers\": 3", "model.decoder.layers.2"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused(bad[i].marian ? (publisher){put_marian, marian_config}
                                    : (publisher){put_gpt2, gpt2_config},
                      bad[i].from, bad[i].to, bad[i].why);
}

static void what_no_t5_has_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } bad[] = {
        {"num_buckets\": 8", "num_buckets\": 0", "\"relative_attention_num_buckets\" is 0"},
        {"num_buckets\": 8", "num_buckets\": 3", "config.json: relative positions have 4 to 1024 buckets"},
        {"num_buckets\": 8", "num_buckets\": 1025", "config.json: relative positions have 4 to 1024 buckets"},
        {"num_buckets\": 8", "num_buckets\": 24", "and reach farther than half of them"},
        {"num_buckets\": 8", "num_buckets\": 10", "relative_attention_bias.weight"},
        {"max_distance\": 12", "max_distance\": 4", "4 to 1024 buckets"},
        {"max_distance\": 12", "max_distance\": -1", "\"relative_attention_max_distance\" is -1"},
        {"num_heads\": 4", "num_heads\": 0", "\"num_heads\" is 0"},
        {"num_heads\": 4", "num_heads\": 3", "SelfAttention.q.weight"},
        {"d_kv\": 6", "d_kv\": 0", "\"d_kv\" is 0"},
        {"d_kv\": 6", "d_kv\": 1048576", "4 heads of 1048576 columns"},
        {"d_kv\": 6", "d_kv\": 100000", "config.json asks for a model of"},
        {"d_kv\": 6", "d_kv\": 7", "SelfAttention.q.weight"},
        {"d_ff\": 40", "d_ff\": 41", "DenseReluDense.w"},
        {"\"relu\"", "\"swoosh\"", "there is no activation \"swoosh\""},
        {"\"relu\"", "\"gated-\"", "there is no activation \"\""},
        {"\"relu\"", "7", "\"feed_forward_proj\""},
        {"\"relu\"", "\"gated-silu\"", "wi.weight"},
        {"\"relu\"", "\"relu\", \"tie_word_embeddings\": false", "lm_head.weight"},
        {"vocab_size\": 1108", "vocab_size\": 1099", "\"vocab_size\" is 1099, but the tokeniser has 1100"},
        {"vocab_size\": 1108", "vocab_size\": 1109", "shared.weight"},
        {"\"num_layers\": 2", "\"num_layers\": 3", "encoder.block.2"},
        {"\"num_decoder_layers\": 3, ", "", "decoder.block.2"},
        {"is_encoder_decoder\": true", "is_encoder_decoder\": false", "\"is_encoder_decoder\" is false"},
        {"eos_token_id\": 1", "eos_token_id\": 2", "\"eos_token_id\" is not 1"},
        {"start_token_id\": 0", "start_token_id\": 1", "\"decoder_start_token_id\" is not 0"},
        {"1e-06", "-1", "\"layer_norm_epsilon\""},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused((publisher){put_t5, t5_config}, bad[i].from, bad[i].to, bad[i].why);
}

/* What heed wrote of one may be spoiled, too. */
static void a_spoiled_t5_is_not_opened(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } bad[] = {
        {"\"vocab\": 1108", "\"vocab\": 1000", "\"vocab\" is 1000, but the tokeniser has 1100 pieces"},
        {"\"buckets\": 8", "\"buckets\": 2", "\"buckets\" is 2"},
        {"\"reach\": 12", "\"reach\": 4", "reach farther than half"},
        {"\"head_width\": 6", "\"head_width\": 0", "\"head_width\" is 0"},
        {"\"head_width\": 6", "\"head_width\": 1048576", "4 heads of 1048576 columns"},
        {"\"gated\": false", "\"gated\": true", "wi_0.weight"},
        {"\"model\": \"t5\"", "\"model\": \"t6\"", "\"model\" is \"t6\""},
    };
    put_t5("sound");
    pass_well(hd_import, "sound", "spoiled");
    char *all = get_file(at("spoiled/config.json"), NULL), config[2048];
    hd_backend *b = backend_of("cpu", 1);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        hd_translator *t = NULL;
        const char *place = strstr(all, bad[i].from);
        if (!place) fail_msg("no '%s' in %s", bad[i].from, all);
        snprintf(config, sizeof config, "%.*s%s%s", (int)(place - all), all, bad[i].to,
                 place + strlen(bad[i].from));
        put_file(at("spoiled/config.json"), config);
        assert_int_equal(hd_translator_open(&t, at("spoiled"), b, HD_WEIGHTS_BEST, &err), HD_EFORMAT);
        if (!strstr(err.text, bad[i].why)) fail_msg("'%s' does not say '%s'", err.text, bad[i].why);
    }
    free(all);
    hd_backend_free(b);
}

static void of_bert_too(void **state)
{
    (void)state;
    static const char pad[] = "\"pad_token_id\": 0", eps[] = "\"layer_norm_eps\": 0.001";
    static const struct {
        const char *from, *to, *why;
    } bad[] = {
        {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 0", "\"num_hidden_layers\" is 0"},
        {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", "bert.encoder.layer.2."},
        {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1", "tensor \"bert.encoder.layer.1."},
        {"\"num_attention_heads\": 4", "\"num_attention_heads\": 3", "cannot be split over 3 heads"},
        {"\"hidden_size\": 16", "\"hidden_size\": 9000000000000000000",
         "\"hidden_size\" is 9000000000000000000"},
        {"\"hidden_size\": 16", "\"hidden_size\": 32", "bert.embeddings.word_embeddings.weight"},
        {"\"hidden_size\": 16", "\"hidden_size\": 1048576", "config.json asks for a model of"},
        {"\"intermediate_size\": 40", "\"intermediate_size\": 41", "intermediate.dense"},
        {"\"max_position_embeddings\": 24", "\"max_position_embeddings\": 25", "position_embeddings"},
        {"\"type_vocab_size\": 3", "\"type_vocab_size\": 2", "token_type_embeddings"},
        {"\"type_vocab_size\": 3", "\"type_vocab_size\": 0", "\"type_vocab_size\" is 0"},
        {"1500", "1501", "\"vocab_size\" is 1501, but the tokeniser has 1500 pieces"},
        {"gelu_new", "swoosh", "there is no activation \"swoosh\""},
        {eps, "\"layer_norm_eps\": 0", "\"layer_norm_eps\" is 0"},
        {eps, "\"layer_norm_eps\": \"x\"", "\"layer_norm_eps\" is not a number"},
        {"\"hidden_dropout_prob\": 0.25", "\"hidden_dropout_prob\": 1.5", "\"hidden_dropout_prob\" is 1.5"},
        {pad, "\"position_embedding_type\": \"relative_key\"",
         "\"position_embedding_type\" is \"relative_key\""},
        {pad, "\"is_decoder\": true", "\"is_decoder\" is true"},
        {pad, "\"add_cross_attention\": true", "\"add_cross_attention\" is true"},
        {pad, "\"tie_word_embeddings\": false", "\"tie_word_embeddings\" is false"},
        {pad, "\"architectures\": [\"BertForQuestionAnswering\"]", "\"BertForQuestionAnswering\""},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused((publisher){put_bert, bert_config}, bad[i].from, bad[i].to, bad[i].why);
    check_refused((publisher){put_bare_bert, bert_config}, pad, "\"architectures\": [\"BertForMaskedLM\"]",
                  "cls.predictions.transform.dense.weight");
}

static void labels_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char three[] = "\"0\": \"bad\", \"2\": \"good \\\"one\\\"\", \"1\": \"so so\"",
                      pad[] = "\"pad_token_id\": 0";
    static const struct {
        const char *from, *to, *why;
    } bad[] = {
        {three, "\"0\": \"a\", \"1\": \"b\"", "classifier.weight"},
        {three, "\"0\": \"a\", \"1\": \"b\", \"3\": \"c\"", "no label of the number \"2\""},
        {three, "\"0\": \"a\", \"1\": 7, \"2\": \"c\"", "no label of the number \"1\""},
        {three, "\"0\": \"a\", \"1\": \"a\", \"2\": \"c\"", "the label \"a\" twice"},
        {three, "\"0\": \"a\", \"1\": \"\", \"2\": \"c\"", "the label of \"1\" is empty"},
        {three, "\"0\": \"a\", \"1\": \"b\\nc\", \"2\": \"c\"", "not a line of text"},
        {pad, "\"problem_type\": \"multi_label_classification\"",
         "\"problem_type\" is \"multi_label_classification\""},
        {pad, "\"problem_type\": \"regression\"", "\"problem_type\" is \"regression\""},
    };
    char config[1024];
    snprintf(config, sizeof config, "%s%s", labels_config, bert_config + 1);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused((publisher){put_bert_labels, config}, bad[i].from, bad[i].to, bad[i].why);
}

/* How much of a line is read for its vector. */
static void the_limit_of_a_sentence_model_is_kept(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t longest; /* 0: that of the model */
        const char *why;
    } cases[] = {
        {"{\"max_seq_length\": 12, \"do_lower_case\": false}\n", 12, NULL},
        {"{\"max_seq_length\": 24}", 0, NULL},
        {"{\"max_seq_length\": 1000}", 0, NULL},
        {"{\"max_seq_length\": null}", 0, NULL},
        {"{}", 0, NULL},
        {"{\"max_seq_length\": 2}", 0, "\"max_seq_length\" is not a whole number from 3 on"},
        {"{\"max_seq_length\": \"12\"}", 0, "\"max_seq_length\" is not a whole number from 3 on"},
        {"{", 0, "sentence_bert_config.json"},
    };
    put_bare_bert("limit");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char to[16], back[16];
        hd_err err = {0};
        hd_masked *m = NULL;
        hd_backend *b = backend_of("cpu", 1);
        snprintf(to, sizeof to, "limit%zu", i), snprintf(back, sizeof back, "limit%zu.out", i);
        put_file(at("limit/sentence_bert_config.json"), cases[i].text);
        hd_status s = pass(hd_import, "limit", to, &err);
        if (cases[i].why) {
            assert_int_equal(s, HD_EFORMAT);
            if (!strstr(err.text, cases[i].why)) fail_msg("'%s' does not say '%s'", err.text, cases[i].why);
        } else {
            if (s || hd_masked_open(&m, at("%s", to), b, &err)) fail_msg("%s", err.text);
            assert_int_equal(m->longest, cases[i].longest);
            pass_well(hd_export, to, back);
            assert_int_equal(is_there(at("%s/sentence_bert_config.json", back)), cases[i].longest > 0);
        }
        hd_masked_free(m);
        hd_backend_free(b);
    }
}

/* One as `heed train` makes it, whose tokeniser is no BERT's. */
static void what_was_trained_here_comes_back(void **state)
{
    (void)state;
    hd_err err = {0};
    speaker_lines lines = {speaker_text};
    hd_masked m = {.backend = backend_of("cpu", 1)};
    if (hd_tokeniser_train(&m.tokeniser, HD_TOKENISER_sentencepiece, (hd_feed){speaker_next, &lines},
                           &(hd_tokeniser_opt){.vocab = 310}, &err))
        fail_msg("%s", err.text);
    const hd_bert_opt opt = {
        .layers = 1, .heads = 2, .width = 8, .positions = 16, .vocab = hd_masked_vocab(m.tokeniser)};
    assert_int_equal(mkdir(at("own"), 0777), 0);
    if (hd_bert_new(&m.model, m.backend, &opt, false, &err) || hd_params_draw(&m.model->params, 3, &err) ||
        hd_masked_save(&m, at("own"), &err) || hd_masked_publish(&m, at("own"), &err))
        fail_msg("%s", err.text);
    pass_well(hd_export, "own", "own.out");
    pass_well(hd_import, "own.out", "own.again");
    static const char *const files[] = {"config.json", "model.safetensors", "tokeniser.model", NULL};
    assert_same_files("own", "own.again", files);
    hd_bert_free(m.model);
    hd_tokeniser_free(m.tokeniser);
    hd_backend_free(m.backend);
}

static void pickles_are_not_read(void **state)
{
    (void)state;
    hd_err err = {0}, none = {0}, full = {0}, absent = {0};
    put_gpt2_but_weights("pickle");
    assert_int_equal(pass(hd_import, "pickle", "out", &none), HD_EFILE);
    assert_non_null(strstr(none.text, "no weights"));
    put_file(at("pickle/pytorch_model.bin"), "PK");
    assert_int_equal(pass(hd_import, "pickle", "out", &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "safe_serialization=True"));
    assert_int_equal(pass(hd_import, "nowhere", "out", &absent), HD_EFILE);
    put_gpt2("whole");
    assert_int_equal(pass(hd_import, "whole", "pickle", &full), HD_EFILE);
    assert_non_null(strstr(full.text, "not empty"));
    assert_false(is_there(at("out")));
}

static void export_refuses_what_transformers_lacks(void **state)
{
    (void)state;
    hd_err err = {0};
    speaker_folder(at("lstm"), HD_LM_lstm, HD_TOKENISER_characters);
    assert_int_equal(pass(hd_export, "lstm", "out", &err), HD_EARG);
    assert_non_null(strstr(err.text, "\"lstm\" is no model that transformers knows"));
    assert_false(is_there(at("out")));
}

/* Some of the many allocations. */
static void check_memory(void (*put)(const char *), const char *from, const char *to)
{
    put(from);
    hd_backend *b = backend_of("cpu", 1);
    int before = entries_in(scratch);
    size_t used = hd_mem_now().blocks;
    for (size_t n = 1, failed = 1; failed; n += 1 + n / 8) {
        hd_err err = {0};
        hd_mem_fail_at(n);
        hd_status s = hd_import(at("%s", from), at("%s", to), b, &err);
        hd_mem_fail_at(0);
        failed = s != HD_OK;
        if (failed && s != HD_ENOMEM) fail_msg("%s", err.text);
        assert_int_equal(entries_in(scratch), before + !failed);
        assert_int_equal(hd_mem_now().blocks, used);
    }
    hd_backend_free(b);
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    check_memory(put_marian, "memory", "memory.heed");
    check_memory(put_t5, "memory.t5", "memory.t5.heed");
    check_memory(put_bert, "memory.bert", "memory.bert.heed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2_gives_the_logits_of_transformers),
        cmocka_unit_test(gpt2_may_have_another_epsilon_and_table),
        cmocka_unit_test(marian_gives_the_logits_of_transformers),
        cmocka_unit_test(tables_of_marian_may_be_apart),
        cmocka_unit_test(vectors_of_marian_may_be_as_they_are),
        cmocka_unit_test(t5_gives_the_logits_of_transformers),
        cmocka_unit_test(an_output_layer_of_its_own_is_found_in_the_file),
        cmocka_unit_test(bert_gives_the_rows_and_logits_of_transformers),
        cmocka_unit_test(labels_of_bert_are_those_of_transformers),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(weights_may_be_spread_and_have_a_prefix),
        cmocka_unit_test(numbers_of_16_bits_are_widened),
        cmocka_unit_test(lines_are_text_to_gpt2),
        cmocka_unit_test(gpt2_goes_on_from_the_whole_prompt),
        cmocka_unit_test(what_heed_does_not_have_is_refused),
        cmocka_unit_test(what_no_t5_has_is_refused),
        cmocka_unit_test(a_spoiled_t5_is_not_opened),
        cmocka_unit_test(of_bert_too),
        cmocka_unit_test(labels_that_are_none_are_refused),
        cmocka_unit_test(the_limit_of_a_sentence_model_is_kept),
        cmocka_unit_test(what_was_trained_here_comes_back),
        cmocka_unit_test(pickles_are_not_read),
        cmocka_unit_test(export_refuses_what_transformers_lacks),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
