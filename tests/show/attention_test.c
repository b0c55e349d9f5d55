/* Collected attention against what else computes it: the softmax of the layers' own queries and keys,
   decoding step by step through the cache, and the numbers of the worked example. */
#include "show/lecture.h"
#include "model/toy.h"
#include "show/attention.h"

enum { SOURCES = 7, TARGETS = 5, ENCODER = 3, DECODER = 2, HEADS = 4, WIDTH = 32 };

static const int32_t source[SOURCES] = {5, 9, 3, 12, 3, 7, TOY_END},
                     target[TARGETS] = {4, 11, 11, 6, TOY_END};

typedef struct subject {
    hd_backend *backend;
    hd_run r;
    hd_encdec *m;
} subject;

static subject subject_of(bool pre_norm)
{
    subject s = {.backend = backend_of("cpu", 2)};
    hd_encdec_opt o = toy_opt();
    o.encoder_layers = ENCODER, o.decoder_layers = DECODER, o.stack.pre_norm = pre_norm;
    s.r = run_on(s.backend);
    s.m = toy_transformer(s.backend, &o, false);
    stir(&s.m->params);
    return s;
}

static void subject_free(subject *s)
{
    hd_encdec_free(s->m);
    hd_run_release(&s->r);
    hd_backend_free(s->backend);
}

static hd_attention_ask ask_of(void)
{
    return (hd_attention_ask){
        .source = source, .sources = SOURCES, .start = TOY_BEGIN, .target = target, .targets = TARGETS};
}

static hd_attention_maps collect(subject *s, const hd_attention_ask *ask)
{
    hd_err err = {0};
    hd_attention_maps a;
    if (hd_attention_collect(&a, &s->r, (const hd_model[]){hd_encdec_model(s->m)}, ask, &err))
        fail_msg("%s", err.text);
    return a;
}

static void rows_add_up_to_one_and_the_mask_holds(void **state)
{
    (void)state;
    subject s = subject_of(false);
    hd_attention_ask ask = ask_of();
    hd_attention_maps a = collect(&s, &ask);
    static const size_t shape[HD_ATTENTION_KINDS][3] = {
        {ENCODER, SOURCES, SOURCES}, {DECODER, TARGETS, TARGETS}, {DECODER, TARGETS, SOURCES}};
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) {
        const hd_attention_part *p = &a.part[k];
        assert_int_equal(p->layers, shape[k][0]);
        assert_int_equal(p->heads, HEADS);
        assert_int_equal(p->rows, shape[k][1]);
        assert_int_equal(p->cols, shape[k][2]);
        for (size_t i = 0; i < p->layers * p->heads * p->rows; i++) {
            double sum = 0;
            for (size_t j = 0; j < p->cols; j++) {
                float v = p->weight[i * p->cols + j];
                assert_true(v >= 0 && v <= 1);
                if (k == HD_ATTENTION_DECODER && j > i % p->rows) assert_true(v == 0);
                sum += (double)v;
            }
            assert_true(fabs(sum - 1) < 1e-6); /* seven float32 roundings */
        }
    }
    hd_attention_release(&a);
    subject_free(&s);
}

static void note_gap(double *worst, double a, double b)
{
    if (!(fabs(a - b) <= *worst)) *worst = fabs(a - b);
}

/* The softmax of q k^T / sqrt(d), from the queries and keys of another plain forward pass. */
typedef struct own {
    const hd_attention_maps *a;
    hd_real q[SOURCES * WIDTH];
    double worst;
    int layers;
} own;

static void compare_softmax(own *o, hd_attention_kind kind, size_t layer, const hd_real *k)
{
    const hd_attention_part *p = &o->a->part[kind];
    size_t d = WIDTH / HEADS;
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 0; i < p->rows; i++) {
            double score[SOURCES], sum = 0;
            size_t seen = kind == HD_ATTENTION_DECODER ? i + 1 : p->cols;
            for (size_t j = 0; j < seen; j++) {
                double dot = 0;
                for (size_t c = 0; c < d; c++)
                    dot += (double)o->q[i * WIDTH + h * d + c] * (double)k[j * WIDTH + h * d + c];
                sum += score[j] = exp(dot / sqrt((double)d));
            }
            for (size_t j = 0; j < seen; j++)
                note_gap(&o->worst, score[j] / sum, (double)hd_attention_at(p, layer, h)[i * p->cols + j]);
        }
    o->layers++;
}

static void take_own(void *context, hd_run *r, const hd_offer *offer)
{
    own *o = context;
    char stack[4], sublayer[8], what[16];
    size_t layer;
    if (sscanf(offer->name, "%3[a-z].%zu.%7[a-z].%15[A-Za-z_]", stack, &layer, sublayer, what) != 4) return;
    hd_real k[SOURCES * WIDTH];
    if (!strcmp(what, "Q")) hd_read(r, offer->t, o->q);
    if (strcmp(what, "K")) return;
    assert_true(hd_read(r, offer->t, k));
    compare_softmax(o,
                    *stack == 'e'      ? HD_ATTENTION_ENCODER
                    : *sublayer == 's' ? HD_ATTENTION_DECODER
                                       : HD_ATTENTION_CROSS,
                    layer, k);
}

static void weights_are_the_softmax_of_queries_and_keys(void **state)
{
    (void)state;
    for (int pre = 0; pre < 2; pre++) {
        subject s = subject_of(pre);
        hd_attention_ask ask = ask_of();
        hd_attention_maps a = collect(&s, &ask);
        own o = {.a = &a};
        const hd_probe probe = {.take = take_own, .context = &o};
        const int32_t from = SOURCES, to = TARGETS, input[TARGETS] = {TOY_BEGIN, 4, 11, 11, 6};
        hd_run *r = &s.r;
        hd_run_begin(r, HD_INFERENCE);
        r->probe = &probe;
        hd_encoded memory = hd_encdec_encode(
            r, s.m, &(hd_items){.seg = hd_seg_of(r, &from, 1, NULL), .ids = hd_ints(r, source, SOURCES)});
        hd_encdec_decode(r, s.m, hd_ints(r, input, TARGETS), hd_seg_of(r, &to, 1, NULL), memory, NULL);
        r->probe = NULL;
        assert_run_ok(r);
        assert_int_equal(o.layers, ENCODER + 2 * DECODER);
        print_message("largest gap: %.2g\n", o.worst);
        assert_true(o.worst < 2e-6); /* float32 scores of up to 8 terms against double */
        hd_attention_release(&a);
        subject_free(&s);
    }
}

/* One token at a time through the cache, as a search decodes. */
typedef struct stepped {
    const hd_attention_maps *a;
    size_t step, layers;
    double worst;
} stepped;

static void take_step(void *context, hd_run *r, const hd_offer *offer)
{
    stepped *s = context;
    char sublayer[8];
    size_t layer;
    int end = 0;
    hd_real w[SOURCES * HEADS];
    if (sscanf(offer->name, "dec.%zu.%7[a-z].softmax%n", &layer, sublayer, &end) != 2 || !end) return;
    const hd_attention_part *p = &s->a->part[*sublayer == 's' ? HD_ATTENTION_DECODER : HD_ATTENTION_CROSS];
    size_t cols = *sublayer == 's' ? s->step + 1 : SOURCES;
    assert_int_equal(hd_count_of(offer->t), cols * HEADS);
    assert_true(hd_read(r, offer->t, w));
    for (size_t j = 0; j < cols; j++)
        for (size_t h = 0; h < HEADS; h++)
            note_gap(&s->worst, (double)w[j * HEADS + h],
                     (double)hd_attention_at(p, layer, h)[s->step * p->cols + j]);
    s->layers++;
}

static void weights_are_those_of_cached_decoding(void **state)
{
    (void)state;
    subject s = subject_of(false);
    hd_err err = {0};
    hd_attention_ask ask = ask_of();
    hd_attention_maps a = collect(&s, &ask);
    hd_cache *cache = NULL;
    stepped st = {.a = &a};
    const hd_probe probe = {.take = take_step, .context = &st};
    const int32_t from = SOURCES, one = 1;
    assert_int_equal(hd_encdec_cache(&cache, s.m, 1, &err), HD_OK);
    for (; st.step < TARGETS; st.step++) {
        hd_run *r = &s.r;
        hd_run_begin(r, HD_INFERENCE);
        r->probe = &probe;
        hd_encoded memory = {0};
        if (!st.step)
            memory = hd_encdec_encode(
                r, s.m, &(hd_items){.seg = hd_seg_of(r, &from, 1, NULL), .ids = hd_ints(r, source, SOURCES)});
        const int32_t id = st.step ? target[st.step - 1] : TOY_BEGIN;
        hd_encdec_decode(r, s.m, hd_ints(r, &id, 1), hd_seg_of(r, &one, 1, NULL), memory, cache);
        r->probe = NULL;
        assert_run_ok(r);
    }
    print_message("largest gap: %.2g\n", st.worst);
    assert_int_equal(st.layers, TARGETS * 2 * DECODER);
    assert_true(st.worst < 1e-5); /* the same numbers summed in other orders */
    hd_cache_free(cache);
    hd_attention_release(&a);
    subject_free(&s);
}

static void the_lectures_weights(void **state)
{
    (void)state;
    static const struct {
        hd_attention_kind kind;
        const char *name;
        size_t from; /* first of the known numbers */
        double known[6];
    } cases[] = {{HD_ATTENTION_ENCODER,
                  "enc.softmax",
                  0,
                  {0.34303388, 0.30535913, 0.35160699, 0.35673439, 0.3162904, 0.32697521}},
                 {HD_ATTENTION_DECODER,
                  "dec.self.softmax",
                  3,
                  {0.72814846, 0.27185154, 0, 0.31955761, 0.33392047, 0.34652192}},
                 {HD_ATTENTION_CROSS, "dec.cross.softmax", 0, {0}}};
    hd_err err = {0};
    hd_explain *x = NULL;
    subject s = {.backend = backend_of("cpu", 1)};
    const hd_lecture_pair *pair = &hd_lecture_pairs[0];
    s.r = run_on(s.backend);
    assert_int_equal(hd_explain_run(&x, s.backend, &(hd_explain_opt){0}, &err), HD_OK);
    assert_int_equal(hd_lecture_new(&s.m, s.backend, 0, false, &err), HD_OK);
    hd_attention_maps a = collect(&s, &(hd_attention_ask){.source = pair->source,
                                                          .sources = HD_LECTURE_LENGTH,
                                                          .start = HD_LECTURE_SOS,
                                                          .target = pair->target,
                                                          .targets = HD_LECTURE_LENGTH});
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const hd_attention_part *p = &a.part[cases[c].kind];
        const hd_explain_matrix *m = hd_explain_find(x, cases[c].name);
        assert_non_null(m);
        assert_int_equal(p->layers * p->heads * p->rows * p->cols, m->rows * m->cols);
        for (size_t i = 0; i < m->rows * m->cols; i++) assert_true(p->weight[i] == (float)m->value[i]);
        for (size_t i = 0; cases[c].known[0] != 0 && i < 6; i++)
            assert_true(fabs((double)p->weight[cases[c].from + i] - cases[c].known[i]) < 2e-6);
    }
    hd_attention_release(&a);
    hd_explain_free(x);
    subject_free(&s);
}

static bool one_line(void *context, hd_line *line)
{
    int *given = context;
    *line = (hd_line){"der Hund bellt laut und lange", 29};
    return !(*given)++;
}

static void tokens_have_the_names_of_their_pieces(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    int given = 0;
    subject s = subject_of(false);
    hd_attention_ask ask = ask_of();
    if (hd_tokenizer_train(&t, HD_TOKENIZER_words, (hd_feed){one_line, &given}, &(hd_tokenizer_opt){0}, &err))
        fail_msg("%s", err.text);
    static const char broken[] = "a\xFF"
                                 "b\0c\xC3\xA4";
    ask.target_pieces = t;
    ask.sentence = (hd_line){broken, sizeof broken - 1};
    ask.translation = (hd_line){"", 0};
    ask.score = -2.5;
    hd_attention_maps a = collect(&s, &ask);
    assert_string_equal(a.source[0].piece, "5");
    assert_string_equal(a.source[6].piece, "2");
    assert_string_equal(a.input[0].piece, hd_tokenizer_piece(t, TOY_BEGIN));
    for (size_t i = 0; i < TARGETS; i++) {
        const char *piece = hd_tokenizer_piece(t, target[i]);
        char number[16];
        snprintf(number, sizeof number, "%d", target[i]);
        assert_string_equal(a.output[i].piece, piece ? piece : number);
        if (i) assert_ptr_equal(&a.input[i], &a.output[i - 1]);
    }
    assert_string_equal(a.sentence, "a\xEF\xBF\xBD"
                                    "b\xEF\xBF\xBD"
                                    "c\xC3\xA4");
    assert_string_equal(a.translation, "");
    assert_true(a.score == -2.5);
    hd_attention_release(&a);
    hd_tokenizer_free(t);
    subject_free(&s);
}

static void what_is_picked(void **state)
{
    (void)state;
    subject s = subject_of(false);
    hd_attention_ask ask = ask_of();
    hd_attention_maps a = collect(&s, &ask);
    hd_attention_map m;
    hd_err err = {0};
    char title[80];
    assert_int_equal(hd_attention_map_of(&m, &a, &(hd_attention_pick){0}, &err), HD_OK);
    assert_string_equal(hd_attention_map_title(&m, title, sizeof title),
                        "Cross-attention, layer 2 of 2, mean of 4 heads");
    assert_ptr_equal(m.row, a.output);
    assert_ptr_equal(m.col, a.source);
    assert_false(m.unknown);
    for (size_t i = 0; i < m.rows * m.cols; i++) {
        double mean = 0;
        for (size_t h = 0; h < HEADS; h++)
            mean += (double)hd_attention_at(&a.part[HD_ATTENTION_CROSS], 1, h)[i] / HEADS;
        assert_true(fabs((double)m.weight[i] - mean) < 1e-7);
    }
    hd_attention_map_release(&m);
    assert_int_equal(hd_attention_map_of(&m, &a, &(hd_attention_pick){1 + HD_ATTENTION_ENCODER, 3, 2}, &err),
                     HD_OK);
    assert_string_equal(hd_attention_map_title(&m, title, sizeof title),
                        "Encoder self-attention, layer 3 of 3, head 2 of 4");
    assert_memory_equal(m.weight, hd_attention_at(&a.part[HD_ATTENTION_ENCODER], 2, 1),
                        SOURCES * SOURCES * sizeof *m.weight);
    hd_attention_map_release(&m);
    assert_int_equal(hd_attention_map_of(&m, &a, &(hd_attention_pick){1 + HD_ATTENTION_DECODER, 1, 0}, &err),
                     HD_OK);
    assert_ptr_equal(m.row, a.input);
    assert_ptr_equal(m.col, a.input);
    hd_attention_map_release(&m);
    hd_attention_release(&a);
    subject_free(&s);
}

static void what_is_not_there_cannot_be_picked(void **state)
{
    (void)state;
    static const struct {
        hd_attention_pick pick;
        const char *says;
    } cases[] = {
        {{0, 3, 0}, "there is no layer 3 in cross-attention: they are 1 to 2"},
        {{1 + HD_ATTENTION_ENCODER, 4, 0}, "there is no layer 4 in encoder self-attention: they are 1 to 3"},
        {{0, 0, 5}, "there is no head 5 in cross-attention: they are 1 to 4"},
        {{0, -1, 0}, "there is no layer -1 in cross-attention: they are 1 to 2"}};
    subject s = subject_of(false);
    hd_attention_ask ask = ask_of();
    hd_attention_maps a = collect(&s, &ask);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_attention_map m;
        hd_err err = {0}, early = {0};
        assert_int_equal(hd_attention_map_of(&m, &a, &cases[i].pick, &err), HD_EARG);
        assert_string_equal(err.text, cases[i].says);
        assert_int_equal(hd_attention_check((const hd_model[]){hd_encdec_model(s.m)}, &cases[i].pick, &early),
                         HD_EARG);
        assert_string_equal(early.text, cases[i].says);
    }
    assert_int_equal(
        hd_attention_check((const hd_model[]){hd_encdec_model(s.m)}, &(hd_attention_pick){1, 3, 4}, NULL),
        HD_OK);
    assert_string_equal(hd_attention_choices[0], "auto");
    assert_string_equal(hd_attention_choices[1 + HD_ATTENTION_CROSS], "cross");
    assert_null(hd_attention_choices[1 + HD_ATTENTION_KINDS]);
    hd_attention_release(&a);
    subject_free(&s);
}

/* -- recurrent decoders, and stacks of several stages -- */

static subject staged(const char *encoder, const char *decoder, const hd_recurrent_decoder_opt *recurrent)
{
    subject s = {.backend = backend_of("cpu", 1)};
    hd_err err = {0};
    hd_encdec_opt o = toy_opt();
    o.recurrent = *recurrent;
    if (hd_stages_read(&o.encoder, encoder, &err) || hd_stages_read(&o.decoder, decoder, &err))
        fail_msg("%s", err.text);
    s.r = run_on(s.backend);
    s.m = toy_transformer(s.backend, &o, false);
    stir(&s.m->params);
    return s;
}

static const struct shape {
    const char *encoder, *decoder;
    hd_recurrent_decoder_opt recurrent;
    size_t layers[HD_ATTENTION_KINDS], heads[HD_ATTENTION_KINDS];
} shapes[] = {
    /* row by row, at once, and what has no attention at all */
    {"bi-gru:1", "gru:1", {.begin = HD_BEGINNING_map}, {0, 0, 1}, {0, 0, 1}},
    {"gru:1", "gru:2", {.score = HD_SCORING_mlp}, {0, 0, 1}, {0, 0, 1}},
    {"lstm:1",
     "lstm:1",
     {.query = HD_QUERY_current, .read = HD_READING_tanh, .heads = 2},
     {0, 0, 1},
     {0, 0, 2}},
    {"lstm:2",
     "lstm:2",
     {.query = HD_QUERY_current, .read = HD_READING_tanh, .feed_context = true},
     {0, 0, 1},
     {0, 0, 1}},
    {"gru:1", "gru:1", {.context = HD_CONTEXT_fixed}, {0, 0, 0}, {0, 0, 0}},
    {"gru:1", "gru:1", {.context = HD_CONTEXT_mean}, {0, 0, 0}, {0, 0, 0}},
    /* stages */
    {"transformer:2", "gru:1", {.begin = HD_BEGINNING_map}, {2, 0, 1}, {HEADS, 0, 1}},
    {"bi-gru:1", "transformer:2", {0}, {0, 2, 2}, {0, HEADS, HEADS}},
    {"transformer:1+transformer:2",
     "gru:1+transformer:2",
     {.begin = HD_BEGINNING_map, .heads = 2},
     {3, 2, 3},
     {HEADS, HEADS, HEADS}},
};

static void every_stage_gives_its_layers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        subject s = staged(shapes[i].encoder, shapes[i].decoder, &shapes[i].recurrent);
        hd_attention_ask ask = ask_of();
        hd_attention_maps a = collect(&s, &ask);
        for (int k = 0; k < HD_ATTENTION_KINDS; k++) {
            const hd_attention_part *p = &a.part[k];
            assert_int_equal(p->layers, shapes[i].layers[k]);
            assert_int_equal(p->heads, shapes[i].heads[k]);
            for (size_t row = 0; row < p->layers * p->heads * p->rows; row++) {
                double sum = 0;
                for (size_t j = 0; j < p->cols; j++) sum += (double)p->weight[row * p->cols + j];
                assert_true(fabs(sum - 1) < 1e-6);
            }
        }
        hd_attention_release(&a);
        subject_free(&s);
    }
}

/* The softmax of every offer in the order in which they come, by its name. */
typedef struct heard {
    char name[16][40];
    hd_real weight[16][TARGETS * SOURCES * HEADS];
    size_t size[16], heads[16], count;
} heard;

static void hear(void *context, hd_run *r, const hd_offer *offer)
{
    heard *h = context;
    size_t length = strlen(offer->name);
    if (!offer->keys || length < 8 || strcmp(offer->name + length - 8, ".softmax")) return;
    assert_true(h->count < 16 && hd_count_of(offer->t) <= TARGETS * SOURCES * HEADS);
    snprintf(h->name[h->count], sizeof h->name[0], "%s", offer->name);
    h->size[h->count] = hd_rows_of(offer->t), h->heads[h->count] = hd_cols_of(offer->t);
    assert_true(hd_read(r, offer->t, h->weight[h->count++]));
}

static void rows_come_in_order_and_stages_one_after_the_other(void **state)
{
    (void)state;
    subject s = staged("bi-gru:1", "gru:1+transformer:2",
                       &(hd_recurrent_decoder_opt){.begin = HD_BEGINNING_map, .heads = 2});
    hd_attention_ask ask = ask_of();
    hd_attention_maps a = collect(&s, &ask);
    const hd_attention_part *p = &a.part[HD_ATTENTION_CROSS];
    static heard h;
    const hd_probe probe = {.take = hear, .context = &h};
    const int32_t from = SOURCES, to = TARGETS, input[TARGETS] = {TOY_BEGIN, 4, 11, 11, 6};
    hd_run *r = &s.r;
    hd_run_begin(r, HD_INFERENCE);
    r->probe = &probe;
    hd_encoded memory = hd_encdec_encode(
        r, s.m, &(hd_items){.seg = hd_seg_of(r, &from, 1, NULL), .ids = hd_ints(r, source, SOURCES)});
    hd_encdec_decode(r, s.m, hd_ints(r, input, TARGETS), hd_seg_of(r, &to, 1, NULL), memory, NULL);
    r->probe = NULL;
    assert_run_ok(r);
    assert_int_equal(h.count, TARGETS + 2 * 2);
    for (size_t t = 0; t < TARGETS; t++) { /* one row an offer; head 3 of 4 is the first of 2 again */
        assert_string_equal(h.name[t], "dec.0.cross.softmax");
        assert_int_equal(h.size[t], SOURCES);
        for (size_t j = 0; j < SOURCES; j++)
            for (size_t head = 0; head < HEADS; head++)
                assert_true(hd_attention_at(p, 0, head)[t * SOURCES + j] ==
                            (float)h.weight[t][j * 2 + head % 2]);
    }
    for (size_t l = 0; l < 2; l++) {
        size_t o = TARGETS + 2 * l + 1;
        char name[40];
        snprintf(name, sizeof name, "dec.stage1.%zu.cross.softmax", l);
        assert_string_equal(h.name[o], name);
        for (size_t c = 0; c < TARGETS * SOURCES; c++)
            assert_true(hd_attention_at(p, 1 + l, 3)[c] == (float)h.weight[o][c * HEADS + 3]);
    }
    hd_attention_release(&a);
    subject_free(&s);
}

static void what_a_model_has_not_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *encoder, *decoder;
        hd_context context;
        int kind;
        const char *says;
    } cases[] = {
        {"bi-gru:1", "gru:1", HD_CONTEXT_attention, HD_ATTENTION_ENCODER,
         "the model has no encoder self-attention: its encoder is bi-gru:1"},
        {"bi-gru:1", "gru:2", HD_CONTEXT_attention, HD_ATTENTION_DECODER,
         "the model has no decoder self-attention: its decoder is gru:2"},
        {"gru:1", "gru:1", HD_CONTEXT_fixed, HD_ATTENTION_CROSS,
         "the model has no cross-attention: it was trained with --decoder-context fixed"},
        {"gru:1", "gru:1", HD_CONTEXT_everywhere, -1, "it was trained with --decoder-context everywhere"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        subject s = staged(cases[i].encoder, cases[i].decoder,
                           &(hd_recurrent_decoder_opt){.context = cases[i].context});
        hd_attention_ask ask = ask_of();
        hd_attention_maps a = collect(&s, &ask);
        hd_attention_pick pick = {.kind = cases[i].kind + 1};
        hd_attention_map map;
        hd_err err = {0}, late = {0};
        assert_int_equal(hd_attention_check((const hd_model[]){hd_encdec_model(s.m)}, &pick, &err), HD_EARG);
        if (!strstr(err.text, cases[i].says)) fail_msg("%s", err.text);
        assert_int_equal(hd_attention_map_of(&map, &a, &pick, &late), HD_EARG);
        assert_non_null(strstr(late.text, "the model has no "));
        hd_attention_release(&a);
        subject_free(&s);
    }
}

static void what_the_model_cannot_read_is_refused(void **state)
{
    (void)state;
    static const int32_t wrong[] = {3, TOY_VOCAB}, negative[] = {-1}, many[65] = {0};
    subject s = subject_of(false);
    hd_attention_ask good = ask_of(), ask[5] = {good, good, good, good, good};
    ask[0].sources = 0;
    ask[1].source = wrong, ask[1].sources = 2;
    ask[2].target = negative, ask[2].targets = 1;
    ask[3].start = TOY_VOCAB;
    ask[4].target = many, ask[4].targets = COUNT_OF(many);
    static const char *const says[] = {
        "attention: the source has no token", "attention: token 2 of the source is 13, the vocabulary has 13",
        "attention: token 1 of the target is -1, the vocabulary has 13",
        "attention: token 1 of the target's start is 13, the vocabulary has 13",
        "attention: the target has 65 tokens, the model takes 64"};
    for (size_t i = 0; i < COUNT_OF(ask); i++) {
        hd_err err = {0};
        hd_attention_maps a;
        assert_int_equal(
            hd_attention_collect(&a, &s.r, (const hd_model[]){hd_encdec_model(s.m)}, &ask[i], &err),
            i < 4 ? HD_EARG : HD_ELIMIT);
        assert_string_equal(err.text, says[i]);
        assert_null(a.source);
    }
    subject_free(&s);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    subject s = subject_of(false);
    hd_attention_ask ask = ask_of();
    hd_attention_maps whole = collect(&s, &ask);
    size_t blocks = hd_mem_now().blocks, reported = 0, n = 0;
    for (size_t calls = n; calls >= n;) {
        hd_err err = {0};
        hd_attention_maps a;
        hd_attention_map m = {0};
        size_t before = hd_mem_now().calls;
        hd_mem_fail_at(++n);
        hd_status st = hd_attention_collect(&a, &s.r, (const hd_model[]){hd_encdec_model(s.m)}, &ask, &err);
        if (!st) st = hd_attention_map_of(&m, &a, &(hd_attention_pick){0}, &err);
        hd_mem_fail_at(0);
        calls = hd_mem_now().calls - before;
        if (st && (st != HD_ENOMEM || !*err.text)) fail_msg("allocation %zu: %s", n, err.text);
        if (!st)
            assert_memory_equal(a.part[2].weight, whole.part[2].weight,
                                DECODER * HEADS * TARGETS * SOURCES * sizeof(float));
        reported += st == HD_ENOMEM;
        hd_attention_map_release(&m);
        hd_attention_release(&a);
        assert_true(hd_mem_now().blocks <= blocks + 2); /* the run may keep its arenas in more chunks */
    }
    assert_true(reported >= 2); /* the maps are one block */
    hd_attention_release(&whole);
    subject_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_add_up_to_one_and_the_mask_holds),
        cmocka_unit_test(weights_are_the_softmax_of_queries_and_keys),
        cmocka_unit_test(weights_are_those_of_cached_decoding),
        cmocka_unit_test(the_lectures_weights),
        cmocka_unit_test(tokens_have_the_names_of_their_pieces),
        cmocka_unit_test(what_is_picked),
        cmocka_unit_test(what_is_not_there_cannot_be_picked),
        cmocka_unit_test(every_stage_gives_its_layers),
        cmocka_unit_test(rows_come_in_order_and_stages_one_after_the_other),
        cmocka_unit_test(what_a_model_has_not_is_said),
        cmocka_unit_test(what_the_model_cannot_read_is_refused),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
