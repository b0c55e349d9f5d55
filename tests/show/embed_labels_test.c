/* Vectors of models that give labels: the rows of their bodies, read as training read them. */
#include "check.h"
#include "scratch.h"

#include "show/embed.h"
#include "show/words.h"
#include "task/owned.h"
#include "task/speaker.h"
#include "train/published.h"

enum { LAYERS = 2, LINES = 3, WIDTH = 16, MOST = 12 };

static const char *const lines[LINES] = {"the cat sat on a log", "a dog", "  on   the mat "};
static hd_backend *backend;
static hd_run run;

typedef struct body_kind {
    const char *name, *stages; /* stages: of an encoder of its own */
} body_kind;

static const body_kind bodies[] = {
    {"stages", "bi-gru:1+transformer:1"}, {"bag", "none"}, {"bert", NULL}, {"gpt", NULL}, {"lstm", NULL}};
enum { BODIES = COUNT_OF(bodies) };

static hd_body_opt body_opt(const body_kind *k, const hd_tokenizer *t)
{
    hd_err err = {0};
    hd_stages stages;
    hd_body_opt o = {.stack.pre_norm = true,
                     .type = k->stages ? &hd_model_encoder : hd_model_find(k->name),
                     .positions = MOST,
                     .vocab = hd_tokenizer_size(t),
                     .stack.width = WIDTH,
                     .stack.inner = 20,
                     .stack.heads = 2,
                     .stack.act = HD_gelu};
    o.lm = (hd_lm_opt){.stack.pre_norm = true,
                       .kind = strcmp(k->name, "gpt") ? HD_LM_lstm : HD_LM_gpt,
                       .vocab = o.vocab,
                       .stack.layers = LAYERS,
                       .stack.heads = 2,
                       .stack.width = WIDTH,
                       .context = MOST};
    o.bert = (hd_bert_opt){.stack.layers = LAYERS,
                           .stack.heads = 2,
                           .stack.width = WIDTH,
                           .stack.inner = 20,
                           .vocab = hd_masked_vocab(t),
                           .positions = MOST};
    if (k->stages && hd_stages_read(&stages, k->stages, &err)) fail_msg("%s", err.text);
    if (k->stages) o.encoder = hd_stages_resolved(&stages, 1);
    return o;
}

static hd_model_folder labeler(const body_kind *k, hd_train_task task, hd_pool_kind pool,
                               hd_tokenizer_kind unit)
{
    hd_err err = {0};
    hd_model_folder l = {0};
    hd_classifier *m = NULL;
    speaker_lines text = {speaker_text};
    if (hd_tokenizer_train(&l.tokenizer[0], unit, (hd_feed){speaker_next, &text},
                           &(hd_tokenizer_opt){.vocab = 300}, &err))
        fail_msg("%s", err.text);
    hd_classifier_opt o = {.body = body_opt(k, l.tokenizer[0]),
                           .pool = task == HD_TRAIN_TAG ? HD_POOL_each : pool,
                           .classes = task == HD_TRAIN_REGRESS ? 1 : 3,
                           .bare = task == HD_TRAIN_TAG,
                           .head = hd_label_kind_of(task)->head};
    if (hd_classifier_new(&m, backend, &o, false, &err) || hd_params_draw(m->params, 7, &err))
        fail_msg("%s: %s", k->name, err.text);
    hd_model_folder_take(&l, task, hd_classifier_model(m));
    for (int i = 0; i < 3 && task != HD_TRAIN_REGRESS; i++)
        assert_int_equal(hd_vocab_add(&l.labels, &"abc"[i], 1, &err), HD_OK);
    return l;
}

static hd_model_folder words_labeler(const body_kind *k, hd_train_task task)
{
    return labeler(k, task, HD_POOL_mean, HD_TOKENIZER_words);
}

static hd_embeddings embed(const hd_model_folder *m, hd_embed_opt opt)
{
    hd_err err = {0};
    hd_embeddings e;
    hd_line line[LINES];
    for (size_t i = 0; i < LINES; i++) line[i] = (hd_line){lines[i], strlen(lines[i])};
    if (hd_embed_lines(&e, &run, m, line, LINES, &opt, &err)) fail_msg("%s", err.text);
    return e;
}

/* The lines as training has them: a tagger reads words, the others whole texts. */
static hd_examples examples_of(const hd_model_folder *l)
{
    hd_err err = {0};
    hd_labeled x = {0};
    hd_examples out;
    hd_examples_opt o = hd_labeler_examples(&hd_model_folder_classifier(l)->opt);
    for (size_t i = 0; i < LINES; i++) {
        const char *at = lines[i];
        if (!o.each) assert_int_equal(hd_labeled_add(&x, (hd_line){at, strlen(at)}, &err), HD_OK);
        if (!o.each) assert_int_equal(hd_labeled_mark(&x, -1, NAN, &err), HD_OK);
        for (size_t n; o.each && *(at += strspn(at, " ")); at += n) {
            n = strcspn(at, " ");
            assert_int_equal(hd_labeled_add(&x, (hd_line){at, n}, &err), HD_OK);
            assert_int_equal(hd_labeled_mark(&x, -1, NAN, &err), HD_OK);
        }
        assert_int_equal(hd_labeled_end(&x, &err), HD_OK);
    }
    if (hd_examples_make(&out, &x, l->tokenizer[0], &o, &err)) fail_msg("%s", err.text);
    hd_labeled_release(&x);
    return out;
}

static void check_rows(const body_kind *k, hd_train_task task, hd_tokenizer_kind unit)
{
    hd_model_folder m = labeler(k, task, HD_POOL_mean, unit);
    const hd_model *body = &hd_model_folder_classifier(&m)->body;
    hd_examples x = examples_of(&m);
    hd_embeddings e = embed(&m, (hd_embed_opt){.pool = HD_POOLING_NONE, .rows = 9});
    assert_int_equal(x.count, LINES);
    assert_int_equal(e.width, body->type->width(body->self, 0));
    for (size_t i = 0; i < LINES; i++) {
        const int32_t *ids = x.id + x.begin[i], len = (int32_t)(x.begin[i + 1] - x.begin[i]),
                      type[MOST] = {0};
        assert_int_equal(e.of[i].tokens, len);
        assert_memory_equal(e.of[i].ids, ids, (size_t)len * sizeof *ids);
        hd_run_begin(&run, HD_INFERENCE);
        hd_rows y = hd_model_rows(&run, body,
                                  &(hd_items){.seg = hd_seg_of(&run, &len, 1, NULL),
                                              .ids = hd_ints(&run, ids, (size_t)len),
                                              .type = hd_ints(&run, type, (size_t)len)});
        hd_real *rows = host_copy(&run, y.t);
        if (memcmp(rows, e.of[i].vector, (size_t)len * e.width * sizeof *rows))
            fail_msg("%s, task %d: other rows of line %zu", k->name, task, i);
        free(rows);
    }
    hd_embeddings_release(&e);
    hd_examples_release(&x);
    hd_model_folder_release(&m);
}

static void vectors_are_the_rows_of_the_body(void **state)
{
    (void)state;
    for (size_t i = 0; i < BODIES; i++)
        for (hd_train_task task = 0; task < HD_TRAIN_TASKS; task++) {
            if (!hd_label_kind_of(task)) continue;
            check_rows(&bodies[i], task, HD_TOKENIZER_words);
            check_rows(&bodies[i], task, HD_TOKENIZER_sentencepiece);
        }
}

static void keep(void *context, size_t label, const hd_real *logp)
{
    memcpy((hd_real *)context + label * 3, logp, 3 * sizeof *logp);
}

/* What the head is given is what `heed embed` writes: the layer behind it says the same of both. */
static void the_head_reads_what_is_pooled(void **state)
{
    (void)state;
    static const struct {
        size_t body;
        hd_pool_kind pool;
        hd_pooling how;
    } cases[] = {{0, HD_POOL_mean, HD_POOLING_MEAN},    {1, HD_POOL_max, HD_POOLING_MAX},
                 {2, HD_POOL_first, HD_POOLING_POOLER}, {2, HD_POOL_mean, HD_POOLING_MEAN},
                 {3, HD_POOL_last, HD_POOLING_LAST},    {4, HD_POOL_last, HD_POOLING_LAST},
                 {4, HD_POOL_first, HD_POOLING_FIRST}};
    for (size_t n = 0; n < COUNT_OF(cases); n++) {
        hd_err err = {0};
        hd_model_folder m =
            labeler(&bodies[cases[n].body], HD_TRAIN_CLASSIFY, cases[n].pool, HD_TOKENIZER_words);
        const hd_dense *out = &hd_model_folder_classifier(&m)->out;
        hd_examples x = examples_of(&m);
        hd_real logp[LINES][3];
        hd_embeddings e = embed(&m, (hd_embed_opt){.pool = cases[n].how});
        if (hd_labeler_ask(&run, &m, &x, keep, logp, &err)) fail_msg("%s", err.text);
        hd_run_begin(&run, HD_INFERENCE);
        hd_real *w = host_copy(&run, &out->w->t), *b = host_copy(&run, &out->b->t);
        for (size_t i = 0; i < LINES; i++) {
            double y[3], sum = 0;
            for (size_t k = 0; k < 3; k++) {
                y[k] = (double)b[k];
                for (size_t c = 0; c < e.width; c++)
                    y[k] += (double)w[k * e.width + c] * (double)e.of[i].vector[c];
                sum += exp(y[k]);
            }
            for (size_t k = 0; k < 3; k++) assert_true(fabs(y[k] - log(sum) - (double)logp[i][k]) < 1e-5);
        }
        free(w), free(b);
        hd_embeddings_release(&e);
        hd_examples_release(&x);
        hd_model_folder_release(&m);
    }
}

static void every_layer_of_a_body_can_be_asked(void **state)
{
    (void)state;
    for (size_t i = 0; i < BODIES; i++) {
        hd_err err = {0};
        hd_model_folder m = words_labeler(&bodies[i], HD_TRAIN_CLASSIFY);
        const hd_model by = hd_model_body(&m.model);
        const int layers = by.type->sizes(by.self).layers, bag = !strcmp(bodies[i].name, "bag");
        assert_int_equal(layers, bag ? 0 : LAYERS);
        hd_embeddings last = embed(&m, (hd_embed_opt){.layer = layers}), whole = embed(&m, (hd_embed_opt){0}),
                      table = embed(&m, (hd_embed_opt){.pool = HD_POOLING_NONE, .table = true});
        assert_memory_equal(last.of[0].vector, whole.of[0].vector, whole.width * sizeof(hd_real));
        hd_run_begin(&run, HD_INFERENCE);
        hd_real *all = host_copy(&run, &by.type->table(by.self)->t);
        for (size_t k = 0; k < table.of[0].tokens; k++)
            assert_memory_equal(table.of[0].vector + k * WIDTH, all + (size_t)table.of[0].ids[k] * WIDTH,
                                WIDTH * sizeof *all);
        free(all);
        if (!bag) {
            hd_embeddings first = embed(&m, (hd_embed_opt){.layer = 1});
            assert_true(first.width != whole.width ||
                        memcmp(first.of[0].vector, whole.of[0].vector, whole.width * sizeof(hd_real)));
            hd_embeddings_release(&first);
        }
        assert_int_equal(hd_embed_check(&m, &(hd_embed_opt){.layer = layers + 1}, &err), HD_ELIMIT);
        assert_int_equal(hd_embed_check(&m, &(hd_embed_opt){.pool = HD_POOLING_POOLER}, &err), HD_ELIMIT);
        hd_embeddings_release(&last);
        hd_embeddings_release(&whole);
        hd_embeddings_release(&table);
        hd_model_folder_release(&m);
    }
}

static void long_lines_are_refused_or_cut(void **state)
{
    (void)state;
    const hd_line line = {"the cat the cat the cat the cat the cat the cat the cat", 55};
    for (hd_train_task task = HD_TRAIN_CLASSIFY; task <= HD_TRAIN_TAG; task++) {
        hd_err err = {0};
        hd_model_folder m = words_labeler(&bodies[2], task);
        hd_embeddings e;
        if (hd_embed_lines(&e, &run, &m, &line, 1, &(hd_embed_opt){0}, &err)) fail_msg("%s", err.text);
        assert_int_equal(e.of[0].status, HD_ELIMIT);
        hd_embeddings_release(&e);
        if (hd_embed_lines(&e, &run, &m, &line, 1, &(hd_embed_opt){.cut = true}, &err))
            fail_msg("%s", err.text);
        assert_int_equal(e.of[0].tokens, MOST);
        bool ends = e.of[0].ids[MOST - 1] == hd_tokenizer_special(m.tokenizer[0]).end;
        assert_int_equal(ends, task == HD_TRAIN_CLASSIFY);
        hd_embeddings_release(&e);
        hd_model_folder_release(&m);
    }
}

/* -- words -- */

/* The rows of a word's pieces, whatever stands before them; a tagger cuts each word by itself. */
static void a_word_has_its_own_rows(void **state)
{
    (void)state;
    for (hd_train_task task = HD_TRAIN_CLASSIFY; task <= HD_TRAIN_TAG; task++)
        for (size_t i = 0; i < BODIES; i++) {
            hd_err err = {0};
            hd_model_folder m = labeler(&bodies[i], task, HD_POOL_mean, HD_TOKENIZER_characters);
            const hd_line line = {"a dog on", 8};
            const char *why;
            hd_similar s;
            hd_embeddings e;
            hd_similar_init(&s, "dog");
            if (hd_similar_add(&s, &run, &m, &line, 1, 0, &(hd_embed_opt){0}, &why, &err) ||
                hd_embed_lines(&e, &run, &m, &line, 1, &(hd_embed_opt){.pool = HD_POOLING_NONE}, &err))
                fail_msg("%s", err.text);
            if (why) fail_msg("%s, task %d: %s", bodies[i].name, task, why);
            assert_int_equal(s.count, 1);
            size_t first = task == HD_TRAIN_TAG ? 1 : 3; /* a tagger reads no blanks, and no start */
            double length = 0, along = 0;
            for (size_t c = 0; c < e.width; c++) {
                double sum = 0;
                for (size_t k = first; k < first + 3; k++) sum += (double)e.of[0].vector[k * e.width + c];
                length += sum * sum, along += sum * s.vector[c];
            }
            if (!(fabs(along / sqrt(length) - 1) < 1e-6))
                fail_msg("%s, task %d: cosine %g", bodies[i].name, task, along / sqrt(length));
            hd_embeddings_release(&e);
            hd_similar_release(&s);
            hd_model_folder_release(&m);
        }
}

static void neighbors_are_those_in_the_table_of_the_body(void **state)
{
    (void)state;
    for (size_t i = 0; i < BODIES; i++) {
        hd_err err = {0};
        hd_model_folder m = words_labeler(&bodies[i], i % 2 ? HD_TRAIN_TAG : HD_TRAIN_REGRESS);
        const hd_model by = hd_model_body(&m.model);
        hd_terms terms;
        hd_neighbors n;
        if (hd_terms_read(&terms, "cat", &err) || hd_neighbors_find(&n, &m, &terms, 3, &err))
            fail_msg("%s", err.text);
        assert_int_equal(n.count, 3);
        hd_run_begin(&run, HD_INFERENCE);
        hd_real *all = host_copy(&run, &by.type->table(by.self)->t);
        const hd_real *a = all + (size_t)hd_tokenizer_id(m.tokenizer[0], "cat") * WIDTH,
                      *b = all + (size_t)n.at[0].id * WIDTH;
        double ab = 0, aa = 0, bb = 0;
        for (size_t c = 0; c < WIDTH; c++)
            ab += (double)a[c] * (double)b[c], aa += (double)a[c] * (double)a[c],
                bb += (double)b[c] * (double)b[c];
        assert_true(fabs(ab / sqrt(aa * bb) - n.at[0].cosine) < 1e-9);
        free(all);
        hd_neighbors_release(&n);
        hd_model_folder_release(&m);
    }
}

/* -- folders -- */

static void folders_of_every_task_are_opened(void **state)
{
    (void)state;
    for (hd_train_task task = 0; task < HD_TRAIN_TASKS; task++) {
        if (!hd_label_kind_of(task)) continue;
        hd_err err = {0};
        hd_model_folder m = words_labeler(&bodies[2], task), again;
        hd_embeddings a = embed(&m, (hd_embed_opt){0}), b;
        assert_int_equal(mkdir(at("task%d", task), 0777), 0);
        if (hd_model_folder_write(&m, at("task%d", task), &err) ||
            hd_model_folder_open(&again, at("task%d", task), NULL, backend, HD_WEIGHTS_BEST, &err))
            fail_msg("%s", err.text);
        assert_ptr_equal(again.task, m.task);
        assert_ptr_equal(again.model.type, &hd_model_classifier);
        b = embed(&again, (hd_embed_opt){0});
        for (size_t i = 0; i < LINES; i++)
            assert_memory_equal(a.of[i].vector, b.of[i].vector, a.width * sizeof(hd_real));
        hd_embeddings_release(&a);
        hd_embeddings_release(&b);
        hd_model_folder_release(&m);
        hd_model_folder_release(&again);
    }
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    hd_model_folder m = words_labeler(&bodies[2], HD_TRAIN_TAG);
    const hd_line line = {"the cat sat", 11};
    hd_embeddings e = embed(&m, (hd_embed_opt){0}); /* step memory is taken once */
    hd_embeddings_release(&e);
    size_t used = hd_mem_now().blocks;
    for (size_t n = 1, failed = 1; failed; n++) {
        hd_err err = {0};
        hd_mem_fail_at(n);
        hd_status s = hd_embed_lines(&e, &run, &m, &line, 1, &(hd_embed_opt){0}, &err);
        hd_mem_fail_at(0);
        failed = s != HD_OK;
        if (failed) assert_int_equal(s, HD_ENOMEM);
        hd_embeddings_release(&e);
        assert_int_equal(hd_mem_now().blocks, used);
    }
    hd_model_folder_release(&m);
}

static int prepare(void **state)
{
    backend = backend_of("cpu", 1);
    run = run_on(backend);
    return scratch_make(state);
}

static int finish(void **state)
{
    hd_run_release(&run);
    hd_backend_free(backend);
    return scratch_remove(state) || hd_mem_now().blocks;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_the_rows_of_the_body),
        cmocka_unit_test(the_head_reads_what_is_pooled),
        cmocka_unit_test(every_layer_of_a_body_can_be_asked),
        cmocka_unit_test(long_lines_are_refused_or_cut),
        cmocka_unit_test(a_word_has_its_own_rows),
        cmocka_unit_test(neighbors_are_those_in_the_table_of_the_body),
        cmocka_unit_test(folders_of_every_task_are_opened),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}
