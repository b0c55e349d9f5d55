/* What is shown of a model: the numbers as programs read them satisfy the formulas beside them, steps are
   those of a plain forward pass, and the worked example comes out the same. */
#include "check.h"

#include "show/lecture.h"
#include "show/shown.h"
#include "task/owned.h"
#include "task/small.h"
#include "task/speaker.h"

static const double tolerance = 2e-6; /* float32 sums of up to a dozen terms, against double */

/* -- formulas, from the JSON alone -- */

static const json_t *find(const json_t *all, const char *scope, const char *name)
{
    char full[256];
    snprintf(full, sizeof full, "%.200s%.40s", scope, name);
    return json_object_get(all, full);
}

static double at2(const json_t *m, size_t i, size_t j)
{
    const json_t *v = json_array_get(json_array_get(m, i), j);
    if (json_is_string(v)) return -INFINITY;
    assert_true(json_is_number(v));
    return json_number_value(v);
}

static size_t cols_of(const json_t *m)
{
    return json_array_size(json_array_get(m, 0));
}

static void assert_near(const char *what, double a, double b)
{
    if (!(fabs(a - b) <= tolerance * fmax(1, fabs(b)))) fail_msg("%s: %.9g, expected %.9g", what, a, b);
}

/* softmax of the last scores before it. */
static void check_softmax(const char *name, const json_t *scores, const json_t *softmax)
{
    assert_int_equal(json_array_size(scores), json_array_size(softmax));
    for (size_t h = 0; h < json_array_size(softmax); h++) {
        const json_t *s = json_array_get(scores, h), *w = json_array_get(softmax, h);
        for (size_t i = 0; i < json_array_size(w); i++) {
            double sum = 0;
            for (size_t j = 0; j < cols_of(w); j++) sum += exp(at2(s, i, j));
            for (size_t j = 0; j < cols_of(w); j++) assert_near(name, at2(w, i, j), exp(at2(s, i, j)) / sum);
        }
    }
}

/* The weighted sum of values, the heads side by side. */
static void check_context(const char *name, const json_t *softmax, const json_t *v, const json_t *out)
{
    size_t heads = json_array_size(softmax), wide = cols_of(v) / heads;
    assert_int_equal(cols_of(out), cols_of(v));
    for (size_t i = 0; i < json_array_size(out); i++)
        for (size_t c = 0; c < cols_of(out); c++) {
            const json_t *w = json_array_get(softmax, c / wide);
            double sum = 0;
            assert_int_equal(cols_of(w), json_array_size(v));
            for (size_t j = 0; j < json_array_size(v); j++) sum += at2(w, i, j) * at2(v, j, c);
            assert_near(name, at2(out, i, c), sum);
        }
}

/* One direction of a layer: columns from `first` on of h. */
static void check_cell(const json_t *all, const char *scope, const json_t *h, size_t first, bool back)
{
    const json_t *z = find(all, scope, "z"), *n = find(all, scope, "n"), *c = find(all, scope, "c"),
                 *before = find(all, scope, "before");
    const json_t *f = find(all, scope, "f"), *in = find(all, scope, "i"), *g = find(all, scope, "g"),
                 *o = find(all, scope, "o");
    size_t rows = json_array_size(h), wide = cols_of(z ? z : c);
    for (size_t k = 0; k < rows; k++) {
        size_t i = back ? rows - 1 - k : k, last = back ? i + 1 : i - 1;
        for (size_t j = 0; j < wide; j++) {
            double h0 = k ? at2(h, last, first + j) : before ? at2(before, 0, j) : 0;
            double c0 = k && c                                   ? at2(c, last, j)
                        : !k && before && cols_of(before) > wide ? at2(before, 0, wide + j)
                                                                 : 0;
            double now = at2(h, i, first + j);
            if (z) assert_near(scope, now, (1 - at2(z, i, j)) * at2(n, i, j) + at2(z, i, j) * h0);
            if (!c) continue;
            assert_near(scope, at2(c, i, j), at2(f, i, j) * c0 + at2(in, i, j) * at2(g, i, j));
            assert_near(scope, now, at2(o, i, j) * tanh(at2(c, i, j)));
        }
    }
}

typedef struct checked {
    int softmax, context, cells;
} checked;

static void check_item(checked *done, const json_t *all, const char *name, const json_t *value)
{
    char scope[128], reverse[160];
    const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
    snprintf(scope, sizeof scope, "%.*s", (int)(last - name), name);
    snprintf(reverse, sizeof reverse, "%sreverse.", scope);
    if (!strcmp(last, "softmax")) {
        const json_t *s = find(all, scope, "masked"), *out = find(all, scope, "context"),
                     *v = find(all, scope, "V");
        if (!s) s = find(all, scope, "scaled");
        if (!s) s = find(all, scope, "scores");
        check_softmax(name, s, value), done->softmax++;
        if (!out) out = find(all, scope, "attn_out");
        check_context(name, value, v, out), done->context++;
    }
    bool gated = find(all, scope, "z") || find(all, scope, "c"),
         both = find(all, reverse, "z") || find(all, reverse, "c");
    if (strcmp(last, "h") || !gated) return;
    check_cell(all, scope, value, 0, false);
    if (both) check_cell(all, reverse, value, cols_of(value) / 2, true);
    done->cells++;
}

static checked check_formulas(const hd_exhibit *x)
{
    checked done = {0};
    const char *name;
    json_t *root = shown_json(x), *all = json_object_get(root, "matrices"), *value, *one = json_array(),
           *two = json_array();
    json_object_foreach(all, name, value) check_item(&done, all, name, value);
    json_array_append(one, json_object_get(all, "logits"));
    json_array_append(two, json_object_get(all, "probs"));
    if (json_object_get(all, "logits")) check_softmax("probs", one, two);
    json_decref(one);
    json_decref(two);
    json_decref(root);
    return done;
}

static const struct shape {
    const char *encoder, *decoder;
    hd_recurrent_decoder_opt o;
    bool pre_norm;
    checked expects; /* softmaxes and contexts, gated layers */
} shapes[] = {
    {"transformer", "transformer", {0}, false, {3, 3, 0}},
    {"transformer:2", "transformer:2", {0}, true, {6, 6, 0}},
    {"bi-gru", "gru", {.read = HD_READING_deep}, false, {1, 1, 2}},
    {"gru", "gru", {.score = HD_SCORING_dot, .heads = 2}, false, {1, 1, 2}},
    {"bi-lstm:2",
     "lstm:2",
     {.score = HD_SCORING_bilinear, .query = HD_QUERY_current, .read = HD_READING_tanh},
     false,
     {1, 1, 4}},
    {"lstm",
     "lstm",
     {.score = HD_SCORING_scaled, .query = HD_QUERY_current, .read = HD_READING_tanh, .feed_context = true},
     false,
     {1, 1, 2}},
    {"bi-gru", "gru", {.score = HD_SCORING_mlp}, false, {1, 1, 2}},
    {"gru", "gru:2", {.context = HD_CONTEXT_fixed}, false, {0, 0, 3}},
    {"gru", "gru", {.context = HD_CONTEXT_everywhere}, false, {0, 0, 2}},
    {"rnn", "rnn", {.context = HD_CONTEXT_attention}, false, {1, 1, 0}},
    {"gru", "gru", {.score = HD_SCORING_dot, .locality = HD_LOCALITY_PREDICTED}, false, {1, 1, 2}},
    {"gru+transformer", "lstm+transformer", {0}, true, {4, 4, 2}},
};

static void shown_numbers_satisfy_their_formulas(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (size_t step = 1; step <= TARGETS; step += 2) {
            const struct shape *s = &shapes[i];
            hd_encdec *m = shown_model(b, s->encoder, s->decoder, &s->o, s->pre_norm);
            hd_exhibit *x = shown_of(&r, m, step);
            checked done = check_formulas(x);
            if (memcmp(&done, &s->expects, sizeof done))
                fail_msg("%s to %s: %d softmaxes, %d contexts, %d layers with gates", s->encoder, s->decoder,
                         done.softmax, done.context, done.cells);
            for (size_t k = 0; k < x->items; k++)
                if (!x->item[k].formula) fail_msg("%s has no formula", x->item[k].name);
            hd_exhibit_free(x);
            hd_encdec_free(m);
        }
    hd_run_release(&r);
    hd_backend_free(b);
}

static hd_encdec *gated_t5(hd_backend *b)
{
    hd_err err = {0};
    hd_encdec *m = NULL;
    hd_encdec_opt o = hd_encdec_opt_t5();
    o.encoder_layers = o.decoder_layers = 1, o.stack.heads = 2, o.stack.width = 8, o.stack.head_width = 3,
    o.stack.inner = 12;
    o.source_vocab = o.target_vocab = TOY_VOCAB, o.positions = 16, o.stack.eps = 1e-6f,
    o.stack.act = HD_gelu_tanh;
    o.stack.relative = (hd_relative){.buckets = 8, .reach = 6}, o.stack.gated = true, o.scaled_output = true;
    if (hd_encdec_new(&m, b, &o, false, &err) || hd_params_draw(&m->params, 3, &err))
        fail_msg("%s", err.text);
    return m;
}

/* Gains are 1 as they begin; what is added to scores depends on the distance alone, and on it. */
static void a_t5_is_shown_with_formulas_of_its_own(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_encdec *m = gated_t5(b);
    hd_exhibit *x = shown_of(&r, m, 2);
    checked done = check_formulas(x);
    assert_int_equal(done.softmax, 3);
    assert_int_equal(done.context, 3);
    for (size_t k = 0; k < x->items; k++) {
        if (!x->item[k].formula) fail_msg("%s has no formula", x->item[k].name);
        if (strstr(x->item[k].formula, "+ b")) fail_msg("%s has no bias", x->item[k].name);
    }
    json_t *root = shown_json(x), *all = json_object_get(root, "matrices");
    const json_t *sum = find(all, "enc.0.self.", "sum"), *norm = find(all, "enc.0.self.", "norm"),
                 *act = find(all, "enc.0.ffn.", "gelu_tanh"), *gate = find(all, "enc.0.ffn.", "gate"),
                 *gated = find(all, "enc.0.ffn.", "gated"),
                 *scores = json_array_get(find(all, "enc.0.self.", "scores"), 1),
                 *scaled = json_array_get(find(all, "enc.0.self.", "scaled"), 1);
    for (size_t i = 0; i < json_array_size(sum); i++) {
        double square = 0;
        for (size_t j = 0; j < 8; j++) square += at2(sum, i, j) * at2(sum, i, j) / 8;
        for (size_t j = 0; j < 8; j++) assert_near("norm", at2(norm, i, j), at2(sum, i, j) / sqrt(square));
        for (size_t j = 0; j < 12; j++)
            assert_near("gated", at2(gated, i, j), at2(act, i, j) * at2(gate, i, j));
    }
    for (size_t i = 1; i < json_array_size(scores); i++)
        for (size_t j = 1; j < json_array_size(scores); j++)
            assert_near("scaled", at2(scaled, i, j) - at2(scores, i, j),
                        at2(scaled, i - 1, j - 1) - at2(scores, i - 1, j - 1));
    assert_true(fabs(at2(scaled, 1, 0) - at2(scores, 1, 0) - at2(scaled, 0, 0) + at2(scores, 0, 0)) > 1e-3);
    json_decref(root);
    hd_exhibit_free(x);
    hd_encdec_free(m);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* -- steps -- */

static void steps_are_those_of_a_plain_forward_pass(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    const int32_t from = SOURCES, to = TARGETS,
                  input[TARGETS] = {TOY_BEGIN, shown_target[0], shown_target[1], shown_target[2]};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        hd_encdec *m = shown_model(b, shapes[i].encoder, shapes[i].decoder, &shapes[i].o, shapes[i].pre_norm);
        hd_exhibit *x = shown_of(&r, m, 3);
        hd_run_begin(&r, HD_INFERENCE);
        hd_encoded memory = hd_encdec_encode(
            &r, m,
            &(hd_items){.seg = hd_seg_of(&r, &from, 1, NULL), .ids = hd_ints(&r, shown_source, SOURCES)});
        hd_rows y =
            hd_encdec_decode(&r, m, hd_ints(&r, input, TARGETS), hd_seg_of(&r, &to, 1, NULL), memory, NULL);
        hd_real *p = host_copy(&r, hd_softmax(&r, hd_encdec_logits(&r, m, y)));
        const hd_exhibit_item *probs = hd_exhibit_find(x, "probs");
        assert_int_equal(x->steps, TARGETS);
        for (size_t t = 0; t < TARGETS; t++)
            assert_near("p", x->step[t].p, (double)p[t * TOY_VOCAB + (size_t)shown_target[t]]);
        for (size_t v = 0; v < TOY_VOCAB; v++)
            assert_near("probs", (double)probs->value[v], (double)p[2 * TOY_VOCAB + v]);
        for (size_t k = 0; k < x->tops; k++) {
            assert_near("top", x->top[k].p, (double)p[2 * TOY_VOCAB + (size_t)x->top[k].token.id]);
            if (k) assert_true(x->top[k - 1].p >= x->top[k].p);
        }
        assert_int_equal(x->tops, HD_EXHIBIT_TOP);
        free(p);
        hd_exhibit_free(x);
        hd_encdec_free(m);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Step t of the worked example is row t of its matrices; the encoder's are whole. */
static void the_lectures_numbers(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_explain *known = NULL;
    hd_encdec *m = NULL;
    const hd_lecture_pair *pair = &hd_lecture_pairs[0];
    assert_int_equal(hd_explain_run(&known, b, &(hd_explain_opt){0}, &err), HD_OK);
    assert_int_equal(hd_lecture_new(&m, b, 0, false, &err), HD_OK);
    for (size_t step = 1; step <= HD_LECTURE_LENGTH; step++) {
        hd_exhibit *x = NULL;
        hd_exhibit_ask ask = {.source = pair->source,
                              .target = pair->target,
                              .sources = HD_LECTURE_LENGTH,
                              .targets = HD_LECTURE_LENGTH,
                              .start = HD_LECTURE_SOS,
                              .step = step};
        size_t compared = 0;
        if (hd_exhibit_pair(&x, &r, (const hd_model[]){hd_encdec_model(m)}, &ask, &err))
            fail_msg("%s", err.text);
        for (size_t i = 0; i < known->matrices; i++) {
            const hd_explain_matrix *k = &known->matrix[i];
            const hd_exhibit_item *t = k->of->kind == HD_LECTURE_STEP || k->of->kind == HD_LECTURE_SHARES
                                           ? hd_exhibit_find(x, k->of->engine)
                                           : NULL;
            if (!t) continue;
            size_t row = t->rows == 1 ? step - 1 : 0;
            assert_true(t->cols <= k->cols && t->rows <= k->rows && t->heads <= 1);
            for (size_t a = 0; a < t->rows; a++)
                for (size_t c = 0; c < t->cols; c++)
                    assert_near(t->name, (double)t->value[a * t->cols + c],
                                (double)k->value[(row + a) * k->cols + c]);
            compared++;
        }
        assert_true(compared >= 40);
        for (size_t i = 0; i < HD_LECTURE_LENGTH; i++)
            assert_near("loss", -log(x->step[i].p), known->token[i].loss);
        hd_exhibit_free(x);
    }
    hd_explain_free(known);
    hd_encdec_free(m);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void where_a_step_looks(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_encdec *m = shown_model(b, "transformer", "transformer:2", NULL, false);
    for (size_t step = 1; step <= TARGETS; step++) {
        hd_exhibit *x = shown_of(&r, m, step);
        const hd_exhibit_item *w = hd_exhibit_find(x, "dec.1.cross.softmax");
        const hd_exhibit_step *s = &x->step[step - 1];
        assert_true(s->looks && w && w->heads == 2 && w->cols == SOURCES);
        for (size_t j = 0; j < SOURCES; j++) {
            double mean = ((double)w->value[j] + (double)w->value[SOURCES + j]) / 2;
            assert_true(j == s->where ? fabs(mean - s->share) < tolerance : mean <= s->share);
        }
        assert_int_equal(x->reads, step);
        assert_int_equal(x->read[step - 1].id, step > 1 ? shown_target[step - 2] : TOY_BEGIN);
        hd_exhibit_free(x);
    }
    hd_exhibit *all = shown_of(&r, m, 0);
    assert_int_equal(all->items, 0);
    assert_int_equal(all->steps, TARGETS);
    hd_exhibit_free(all);
    hd_encdec_free(m);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* -- sentences -- */

static void a_sentence_is_translated_and_shown(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder *t = small_make(b, HD_TOKENIZER_words, false, false);
    hd_exhibit *x = NULL;
    hd_translations found;
    hd_translate_opt opt = {.search = {.kind = HD_SEARCH_GREEDY, .max_ratio = 2, .max_extra = 10}};
    hd_line line = line_of("a b c");
    if (hd_exhibit_text_of(&x, &r, t, line, 2, &err)) fail_msg("%s", err.text);
    if (hd_translate(&found, &r, t, &line, NULL, 1, &opt, &err)) fail_msg("%s", err.text);
    const hd_hypothesis *h = &found.of[0].hypothesis[0];
    assert_string_equal(x->translation, h->text);
    assert_int_equal(x->steps, h->length);
    for (size_t i = 0; i < x->steps; i++) {
        assert_int_equal(x->step[i].says.id, h->ids[i]);
        assert_near("p", log(x->step[i].p), (double)h->logp[i]);
    }
    assert_int_equal(x->sources, 4);
    assert_string_equal(x->source[0].piece, "a");
    assert_string_equal(x->source[3].piece, "</s>");
    assert_string_equal(x->read[0].piece, "<s>");
    hd_translations_release(&found);
    hd_exhibit_free(x);
    folder_free(t);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void what_cannot_be_shown_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t step;
        hd_status status;
        const char *says;
    } cases[] = {{"", 1, HD_EARG, "the sentence is empty"},
                 {"a\xFF", 1, HD_EARG, "the sentence is not UTF-8 text"},
                 {"a\nb", 1, HD_EARG, "the sentence has more than one line"},
                 {"a b", 1000, HD_EARG, "there is no step 1000: the translation has "},
                 {"a a a a a a a a a a a a a a a a", 1, HD_ELIMIT,
                  "the sentence is longer than the model can take: 16 tokens with its end"}};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder *t = small_make(b, HD_TOKENIZER_words, true, false);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_exhibit *x = NULL;
        assert_int_equal(hd_exhibit_text_of(&x, &r, t, line_of(cases[i].text), cases[i].step, &err),
                         cases[i].status);
        if (!strstr(err.text, cases[i].says)) fail_msg("'%s', not '%s'", err.text, cases[i].says);
        assert_null(x);
    }
    hd_err err = {0};
    hd_exhibit *x = NULL;
    hd_exhibit_ask ask = shown_ask(1);
    ask.start = 99;
    assert_int_equal(
        hd_exhibit_pair(&x, &r, (const hd_model[]){hd_encdec_model(hd_model_folder_encdec(t))}, &ask, &err),
        HD_EARG);
    folder_free(t);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* -- language models -- */

static hd_exhibit *speak(hd_run *r, const hd_model_folder *l, const char *prompt)
{
    hd_err err = {0};
    hd_exhibit *x = NULL;
    if (hd_exhibit_text_of(&x, r, l, line_of(prompt), 0, &err)) fail_msg("%s", err.text);
    return x;
}

/* The whole prompt in one step, without a probe. */
static hd_real *speak_plainly(hd_run *r, const hd_model_folder *l, const hd_exhibit *x)
{
    hd_err err = {0};
    int32_t ids[64], len = (int32_t)x->reads;
    hd_stepper st = {0};
    for (size_t i = 0; i < x->reads; i++) ids[i] = x->read[i].id;
    if (hd_model_folder_lm(l)->type->stepper(&st, hd_model_folder_lm(l), ids, &len, 1, 0, &err))
        fail_msg("%s", err.text);
    hd_run_begin(r, HD_INFERENCE);
    hd_real *p = host_copy(r, st.join(r, st.context, 1));
    hd_stepper_release(&st);
    return p;
}

static void every_language_model_is_shown(void **state)
{
    (void)state;
    static const checked expects[HD_LM_KINDS] = {
        [HD_LM_gru] = {0, 0, 1},   [HD_LM_lstm] = {0, 0, 1}, [HD_LM_gpt] = {1, 1, 0},
        [HD_LM_llama] = {1, 1, 0}, [HD_LM_moe] = {1, 1, 0},  [HD_LM_deepseek] = {1, 1, 0}};
    static const char *const prompts[] = {"", "the", "the cat sat"};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (int kind = 0; kind < HD_LM_KINDS; kind++) {
        hd_model_folder *l = speaker(b, (hd_lm_kind)kind, HD_TOKENIZER_words);
        for (size_t i = 0; i < COUNT_OF(prompts); i++) {
            hd_exhibit *x = speak(&r, l, prompts[i]);
            hd_real *p = speak_plainly(&r, l, x);
            const hd_exhibit_item *probs = hd_exhibit_find(x, "probs");
            for (size_t v = 0; v < hd_model_folder_lm(l)->opt.vocab; v++)
                assert_near(hd_lm_names[kind], (double)probs->value[v], exp((double)p[v]));
            checked done = check_formulas(x);
            assert_memory_equal(&done, &expects[kind], sizeof done);
            for (size_t k = 0; k < x->items; k++)
                if (!x->item[k].formula) fail_msg("%s has no formula", x->item[k].name);
            free(p);
            hd_exhibit_free(x);
        }
        folder_free(l);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

static void counts_give_the_probability(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder *l = speaker(b, HD_LM_ngram, HD_TOKENIZER_words);
    hd_exhibit *x = speak(&r, l, "the cat sat on");
    double p = 1 / (double)hd_model_folder_lm(l)->opt.vocab;
    assert_true(x->discounts && x->shares == 3);
    assert_string_equal(x->top[0].token.piece, "the");
    for (size_t i = 0; i < x->shares; i++) {
        const hd_ngram_share *s = &x->share[i];
        assert_int_equal(s->context, i);
        p = (s->seen - s->discount) / s->total + s->passed * p;
        assert_near("share", s->p, p);
    }
    assert_near("p", x->top[0].p, p);
    assert_int_equal(x->share[2].seen, 2); /* "sat on the", twice, and "sat on a" */
    assert_int_equal(x->share[2].total, 3);
    hd_exhibit_free(x);
    folder_free(l);
    l = speaker(b, HD_LM_maxent, HD_TOKENIZER_words);
    hd_real *w = hd_mem_array(64 * hd_model_folder_lm(l)->opt.vocab, sizeof *w);
    fill_normal(w, 64 * hd_model_folder_lm(l)->opt.vocab, 1, 3);
    hd_params_set(hd_model_folder_lm(l)->params,
                  hd_params_find(hd_model_folder_lm(l)->params, "features.weight"), w);
    hd_params_set(hd_model_folder_lm(l)->params,
                  hd_params_find(hd_model_folder_lm(l)->params, "features.bias"), w + 5);
    x = speak(&r, l, "the cat sat on");
    assert_int_equal(x->features, 2);
    assert_near("logit", x->bias + x->feature[0].weight + x->feature[1].weight, x->top[0].logit);
    hd_mem_free(w);
    hd_exhibit_free(x);
    folder_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void a_window_has_a_row_for_each_token(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder *l = speaker(b, HD_LM_ffnn, HD_TOKENIZER_words);
    const hd_param *table = hd_params_find(hd_model_folder_lm(l)->params, "encoder.weight");
    hd_exhibit *x = speak(&r, l, "cat");
    const hd_exhibit_item *t = hd_exhibit_find(x, "X");
    assert_true(t && t->rows == 2 && t->cols == 16 && t->down == HD_EXHIBIT_BACK);
    for (size_t i = 0; i < 2; i++)
        assert_memory_equal(t->value + i * 16, (hd_real *)table->t.data + x->read[1 - i].id * 16,
                            16 * sizeof(hd_real));
    hd_exhibit_free(x);
    folder_free(l);
    l = speaker(b, HD_LM_gpt, HD_TOKENIZER_words);
    hd_err err = {0};
    x = NULL;
    assert_int_equal(hd_exhibit_text_of(&x, &r, l, line_of("a a a a a a a a"), 0, &err), HD_ELIMIT);
    assert_non_null(strstr(err.text, "9 tokens"));
    folder_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* -- memory -- */

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder *t = small_make(b, HD_TOKENIZER_words, false, false);
    hd_err err = {0};
    hd_exhibit *x = NULL;
    size_t reported = 0;
    if (hd_exhibit_text_of(&x, &r, t, line_of("a b c"), 2, &err)) fail_msg("%s", err.text);
    hd_exhibit_free(x);
    size_t blocks = hd_mem_now().blocks;
    json_set_alloc_funcs(hd_mem_new, hd_mem_free); /* so that Jansson's fail, too */
    for (size_t n = 1; n < 200; n++) {
        hd_text page = {0};
        x = NULL, err = (hd_err){0}, r.err = (hd_err){0};
        hd_mem_fail_at(n);
        hd_status s = hd_exhibit_text_of(&x, &r, t, line_of("a b c"), 2, &err);
        if (!s) s = hd_exhibit_json(&page, x, NULL, &err);
        hd_mem_fail_at(0);
        assert_true(!s || s == HD_ENOMEM);
        reported += s == HD_ENOMEM;
        hd_exhibit_free(x);
        hd_text_release(&page);
        assert_true(hd_mem_now().blocks <= blocks + 4); /* the run may keep its arenas in more chunks */
    }
    json_set_alloc_funcs(malloc, free);
    assert_true(reported >= 100);
    folder_free(t);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shown_numbers_satisfy_their_formulas),
        cmocka_unit_test(a_t5_is_shown_with_formulas_of_its_own),
        cmocka_unit_test(steps_are_those_of_a_plain_forward_pass),
        cmocka_unit_test(the_lectures_numbers),
        cmocka_unit_test(where_a_step_looks),
        cmocka_unit_test(a_sentence_is_translated_and_shown),
        cmocka_unit_test(what_cannot_be_shown_is_said),
        cmocka_unit_test(every_language_model_is_shown),
        cmocka_unit_test(counts_give_the_probability),
        cmocka_unit_test(a_window_has_a_row_for_each_token),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
