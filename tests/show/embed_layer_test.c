/* Vectors of every layer: those of the model itself, composed by hand or seen by a probe, and nothing of the
   layers behind is run. */
#include "show/embed.h"
#include "task/owned.h"

#include "model/lm/gpt.h"
#include "model/stir.h"
#include "task/readers.h"

enum { LAYERS = 3, LINES = 3, WIDTH = 16 };

typedef enum subject_kind { BERT, GPT, TRANSLATOR, STAGES, CELLS, SUBJECTS } subject_kind;

static const char *const lines[] = {"the cat sat", "a dog", "on the log"};
static const char *const source_lines[] = {"a b c", "d", "e . f g"};

typedef struct subject {
    hd_backend *backend;
    hd_run run;
    hd_model_folder model;
    hd_line line[LINES];
} subject;

static hd_tokenizer *words_of_speaker(void)
{
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    speaker_lines feed = {speaker_text};
    if (hd_tokenizer_train(&t, HD_TOKENIZER_words, (hd_feed){speaker_next, &feed}, &(hd_tokenizer_opt){0},
                           &err))
        fail_msg("%s", err.text);
    return t;
}

static hd_model_folder *bert_of(hd_backend *b, bool pooler)
{
    hd_err err = {0};
    hd_model_folder *m = hd_mem_zero(sizeof *m);
    hd_bert *bert = NULL;
    m->tokenizer[0] = words_of_speaker();
    hd_bert_opt o = {.stack.layers = LAYERS,
                     .stack.heads = 2,
                     .stack.width = WIDTH,
                     .stack.inner = 20,
                     .vocab = hd_masked_vocab(m->tokenizer[0]),
                     .positions = 9,
                     .pooler = pooler};
    if (hd_bert_new(&bert, b, &o, false, &err)) fail_msg("%s", err.text);
    hd_model_folder_take(m, HD_TRAIN_MLM, hd_bert_model(bert));
    stir_all(&bert->params);
    return m;
}

static hd_model_folder *speaker_of(hd_backend *b, hd_lm_kind kind)
{
    hd_err err = {0};
    hd_model_folder *l = speaker(b, kind, HD_TOKENIZER_words);
    hd_lm_opt o = hd_model_folder_lm(l)->opt;
    hd_lm *lm = NULL;
    hd_lm_free(hd_model_folder_lm(l));
    o.stack.layers = LAYERS;
    if (hd_lm_new(&lm, &o, b, false, &err)) fail_msg("%s", err.text);
    hd_model_folder_take(l, HD_TRAIN_LM, hd_lm_model(lm));
    stir_all(lm->params);
    return l;
}

static subject subject_of(subject_kind kind)
{
    subject s = {.backend = backend_of("cpu", 2)};
    s.run = run_on(s.backend);
    if (kind == BERT) s.model = owned(bert_of(s.backend, true));
    if (kind == GPT) s.model = owned(speaker_of(s.backend, HD_LM_gpt));
    if (kind == CELLS) s.model = owned(speaker_of(s.backend, HD_LM_lstm));
    if (kind == TRANSLATOR || kind == STAGES) {
        const char *encoder = kind == STAGES ? "bi-gru:2+transformer:1" : "transformer:3";
        s.model =
            owned(small_staged(s.backend, HD_TOKENIZER_words, false, false, encoder, "transformer", NULL));
        stir_all(s.model.model.params);
    }
    for (size_t i = 0; i < LINES; i++)
        s.line[i] = line_of((s.model.model.type->decode ? source_lines : lines)[i]);
    return s;
}

static void subject_free(subject *s)
{
    hd_model_folder_release(&s->model);
    hd_run_release(&s->run);
    hd_backend_free(s->backend);
}

static hd_embeddings embed(subject *s, hd_embed_opt opt)
{
    hd_err err = {0};
    hd_embeddings e;
    if (hd_embed_lines(&e, &s->run, &s->model, s->line, LINES, &opt, &err)) fail_msg("%s", err.text);
    return e;
}

/* -- by hand -- */

static hd_tensor *blocks_by_hand(hd_run *r, const hd_block *block, int layers, bool pre, hd_mask mask,
                                 hd_rows x, const hd_norm_layer *last)
{
    hd_stream s = {.x = x, .pre = pre};
    for (int l = 0; l < layers; l++) hd_block_of(r, &block[l], &s, (hd_rows){0}, mask, NULL, NULL);
    return hd_stream_end(r, &s, layers == LAYERS ? last : NULL).t;
}

static hd_tensor *bert_by_hand(hd_run *r, const hd_bert *m, int layers, const int32_t *ids, const hd_seg *seg)
{
    int32_t type[64] = {0};
    hd_rows x = {hd_embed(r, &m->front.table->t, ids, seg->rows, 1), seg};
    x.t = hd_gather_add(r, x.t, &m->front.position->t, seg->pos);
    x.t = hd_gather_add(r, x.t, &m->front.types->t, hd_ints(r, type, seg->rows));
    return blocks_by_hand(r, m->stack.block, layers, false, HD_FULL, hd_norm_of(r, &m->front.norm, x), NULL);
}

static hd_tensor *stages_by_hand(hd_run *r, const hd_encoder *e, int layers, hd_rows x)
{
    hd_recurrent cells = e->stage[0].cells;
    cells.layers = layers < 2 ? layers : 2;
    x = hd_recurrent_of(r, &cells, x, NULL, NULL, NULL);
    if (layers < LAYERS) return x.t;
    x.t = hd_dense_of(r, &e->stage[1].fit, x.t, HD_IDENTITY);
    return hd_stack_of(r, &e->stage[1].stack, x, (hd_rows){0}, NULL).t;
}

/* Rows behind a layer of the whole of ids. */
static hd_tensor *by_hand(subject *s, subject_kind kind, int layers, const int32_t *ids, const hd_seg *seg)
{
    hd_run *r = &s->run;
    if (kind == BERT) return bert_by_hand(r, s->model.model.self, layers, ids, seg);
    if (kind == GPT) {
        const hd_gpt *m = ((const hd_lm *)s->model.model.self)->model;
        return blocks_by_hand(r, m->stack.block, layers, true, HD_CAUSAL,
                              hd_front_rows(r, &m->front, &(hd_items){.seg = seg, .ids = ids}),
                              &m->stack.last);
    }
    const hd_encoder *e = &((const hd_encdec *)s->model.model.self)->encoder;
    hd_rows x = hd_front_rows(r, &e->front, &(hd_items){.seg = seg, .ids = ids});
    if (kind == STAGES) return stages_by_hand(r, e, layers, x);
    const hd_stack *k = &e->stage[0].stack;
    return blocks_by_hand(r, k->block, layers, true, HD_FULL, x, &k->last);
}

static void every_layer_is_that_of_the_model(void **state)
{
    (void)state;
    for (subject_kind kind = BERT; kind <= STAGES; kind++) {
        subject s = subject_of(kind);
        bool before = is_language(&s.model);
        assert_int_equal(s.model.model.type->sizes(s.model.model.self).layers, LAYERS);
        for (int layer = 1; layer <= LAYERS; layer++) {
            hd_embeddings e = embed(&s, (hd_embed_opt){.pool = HD_POOLING_NONE, .layer = layer});
            size_t width = kind == STAGES && layer < LAYERS ? 2 * WIDTH : WIDTH;
            assert_int_equal(e.width, width);
            for (size_t i = 0; i < LINES; i++) {
                int32_t ids[64] = {hd_tokenizer_special(s.model.tokenizer[0]).start},
                        len = (int32_t)e.of[i].tokens + before;
                memcpy(ids + before, e.of[i].ids, e.of[i].tokens * sizeof *ids);
                hd_run_begin(&s.run, HD_INFERENCE);
                const hd_seg *seg = hd_seg_of(&s.run, &len, 1, NULL);
                hd_tensor *t = by_hand(&s, kind, layer, hd_ints(&s.run, ids, (size_t)len), seg);
                hd_real *x = host_copy(&s.run, t);
                assert_int_equal(hd_cols_of(t), width);
                assert_memory_equal(e.of[i].vector, x + before * width, e.of[i].tokens * width * sizeof *x);
                free(x);
            }
            hd_embeddings_release(&e);
        }
        subject_free(&s);
    }
}

/* -- by a probe -- */

typedef struct seen {
    const char *want;
    hd_real row[1024];
    size_t count;
    int behind; /* offers of a layer above the one wanted */
    char above[2][24];
} seen;

static void take(void *context, hd_run *r, const hd_offer *offer)
{
    seen *s = context;
    for (size_t i = 0; i < COUNT_OF(s->above); i++)
        s->behind += !strncmp(offer->name, s->above[i], strlen(s->above[i]));
    if (strcmp(offer->name, s->want) || hd_count_of(offer->t) > COUNT_OF(s->row)) return;
    s->count = hd_count_of(offer->t);
    assert_true(hd_read(r, offer->t, s->row));
}

static void a_probe_sees_that_layer_and_none_behind_it(void **state)
{
    (void)state;
    static const struct {
        subject_kind kind;
        const char *scope, *offer;
    } cases[] = {{BERT, "enc.", "ffn.norm"}, {CELLS, "", "h"}};
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        subject s = subject_of(cases[k].kind);
        bool before = is_language(&s.model);
        for (int layer = 1; layer <= LAYERS; layer++) {
            char want[64];
            snprintf(want, sizeof want, "%s%d.%s", cases[k].scope, layer - 1, cases[k].offer);
            seen last = {.want = want};
            for (int i = 0; i < 2; i++)
                snprintf(last.above[i], sizeof last.above[i], "%s%d.", cases[k].scope, layer + i);
            s.run.probe = &(const hd_probe){.take = take, .context = &last};
            hd_err err = {0};
            hd_embeddings e;
            if (hd_embed_lines(&e, &s.run, &s.model, s.line, 1,
                               &(hd_embed_opt){.pool = HD_POOLING_NONE, .layer = layer}, &err))
                fail_msg("%s", err.text);
            s.run.probe = NULL;
            assert_int_equal(last.behind, 0);
            assert_int_equal(last.count, (e.of[0].tokens + before) * WIDTH);
            assert_memory_equal(last.row + before * WIDTH, e.of[0].vector,
                                e.of[0].tokens * WIDTH * sizeof *last.row);
            hd_embeddings_release(&e);
        }
        subject_free(&s);
    }
}

/* -- ends -- */

static void the_last_layer_is_the_default(void **state)
{
    (void)state;
    for (subject_kind kind = BERT; kind < SUBJECTS; kind++) {
        subject s = subject_of(kind);
        for (hd_pooling pool = HD_POOLING_MEAN; pool < HD_POOLING_POOLER; pool++) {
            hd_embeddings a = embed(&s, (hd_embed_opt){.pool = pool}),
                          b = embed(&s, (hd_embed_opt){.pool = pool, .layer = LAYERS}),
                          c = embed(&s, (hd_embed_opt){.pool = pool, .layer = LAYERS - 1});
            for (size_t i = 0; i < LINES; i++) {
                size_t size = a.of[i].vectors * a.width * sizeof(hd_real);
                assert_memory_equal(a.of[i].vector, b.of[i].vector, size);
                assert_true(a.width != c.width || memcmp(a.of[i].vector, c.of[i].vector, size));
            }
            hd_embeddings_release(&a);
            hd_embeddings_release(&b);
            hd_embeddings_release(&c);
        }
        subject_free(&s);
    }
}

/* The token vectors as they stand in their table, wherever the token stands; of a model that has no states,
   too. */
static void layer_0_is_the_table(void **state)
{
    (void)state;
    for (int kind = BERT; kind <= SUBJECTS; kind++) {
        subject s = subject_of(kind == SUBJECTS ? CELLS : (subject_kind)kind);
        if (kind == SUBJECTS) {
            hd_model_folder_release(&s.model);
            s.model = owned(speaker(s.backend, HD_LM_ffnn, HD_TOKENIZER_words));
        }
        hd_param *table = s.model.model.type->table(s.model.model.self);
        hd_embeddings e = embed(&s, (hd_embed_opt){.pool = HD_POOLING_NONE, .table = true});
        hd_run_begin(&s.run, HD_INFERENCE);
        hd_real *all = host_copy(&s.run, &table->t);
        assert_int_equal(e.width, WIDTH);
        for (size_t i = 0; i < LINES; i++)
            for (size_t k = 0; k < e.of[i].vectors; k++)
                assert_memory_equal(e.of[i].vector + k * WIDTH, all + (size_t)e.of[i].ids[k] * WIDTH,
                                    WIDTH * sizeof *all);
        free(all);
        hd_embeddings_release(&e);
        subject_free(&s);
    }
}

static void layers_that_are_not_there_are_refused(void **state)
{
    (void)state;
    for (subject_kind kind = BERT; kind < SUBJECTS; kind++) {
        subject s = subject_of(kind);
        static const int layer[] = {LAYERS + 1, -1, INT32_MAX};
        for (size_t i = 0; i < COUNT_OF(layer); i++) {
            hd_err err = {0};
            hd_embeddings e;
            assert_int_equal(
                hd_embed_lines(&e, &s.run, &s.model, s.line, LINES, &(hd_embed_opt){.layer = layer[i]}, &err),
                HD_ELIMIT);
            assert_non_null(strstr(err.text, "the model has 3"));
            hd_embeddings_release(&e);
        }
        subject_free(&s);
    }
}

/* -- a pooler -- */

static void the_pooler_is_tanh_of_a_layer_on_the_first_row(void **state)
{
    (void)state;
    subject s = subject_of(BERT);
    const hd_dense *d = &((const hd_bert *)s.model.model.self)->pooler;
    hd_embeddings first = embed(&s, (hd_embed_opt){.pool = HD_POOLING_CLS}),
                  e = embed(&s, (hd_embed_opt){.pool = HD_POOLING_POOLER});
    hd_run_begin(&s.run, HD_INFERENCE);
    hd_real *w = host_copy(&s.run, &d->w->t), *b = host_copy(&s.run, &d->b->t);
    for (size_t i = 0; i < LINES; i++)
        for (size_t k = 0; k < WIDTH; k++) {
            double sum = (double)b[k];
            for (size_t c = 0; c < WIDTH; c++)
                sum += (double)w[k * WIDTH + c] * (double)first.of[i].vector[c];
            assert_true(fabs(tanh(sum) - (double)e.of[i].vector[k]) < 1e-5);
        }
    free(w);
    free(b);
    hd_embeddings_release(&first);
    hd_embeddings_release(&e);
    subject_free(&s);
}

static void a_pooler_that_is_not_there_is_refused(void **state)
{
    (void)state;
    subject s = subject_of(BERT);
    hd_err err = {0};
    assert_int_equal(
        hd_embed_check(&s.model, &(hd_embed_opt){.pool = HD_POOLING_POOLER, .layer = LAYERS}, &err), HD_OK);
    assert_int_equal(hd_embed_check(&s.model, &(hd_embed_opt){.pool = HD_POOLING_POOLER, .layer = 1}, &err),
                     HD_ELIMIT);
    assert_non_null(strstr(err.text, "behind this layer"));
    hd_model_folder_release(&s.model);
    s.model = owned(bert_of(s.backend, false));
    err = (hd_err){0};
    assert_int_equal(hd_embed_check(&s.model, &(hd_embed_opt){.pool = HD_POOLING_POOLER}, &err), HD_ELIMIT);
    assert_non_null(strstr(err.text, "in this model"));
    subject_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_is_that_of_the_model),
        cmocka_unit_test(a_probe_sees_that_layer_and_none_behind_it),
        cmocka_unit_test(the_last_layer_is_the_default),
        cmocka_unit_test(layer_0_is_the_table),
        cmocka_unit_test(layers_that_are_not_there_are_refused),
        cmocka_unit_test(the_pooler_is_tanh_of_a_layer_on_the_first_row),
        cmocka_unit_test(a_pooler_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
