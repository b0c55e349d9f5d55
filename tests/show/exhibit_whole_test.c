/* What is shown of models that read a text at once: the rows are those of a plain forward pass, each number
   follows from the ones its formula names, masks have the answers that filling gives, and classifiers the
   labels that they give. */
#include "check.h"

#include "base/mem.h"
#include "model/stir.h"
#include "show/exhibit.h"
#include "task/owned.h"
#include "task/speaker.h"
#include "view/explain/exhibit_json.h"
#include "view/explain/exhibit_text.h"

enum { WIDTH = 12, POSITIONS = 12, CLASSES = 3 };

static hd_backend *backend;
static hd_run run;
static hd_tokenizer *tokenizer;

static hd_line line_from(const char *text)
{
    return (hd_line){text, strlen(text)};
}

static void assert_near(const char *what, double a, double b)
{
    if (!(fabs(a - b) <= 2e-6 * fmax(1, fabs(b)))) fail_msg("%s: %.9g, expected %.9g", what, a, b);
}

static hd_bert_opt bert_opt(void)
{
    return (hd_bert_opt){.stack.layers = 2,
                         .stack.heads = 3,
                         .stack.width = WIDTH,
                         .stack.inner = 20,
                         .vocab = hd_masked_vocab(tokenizer),
                         .positions = POSITIONS};
}

static hd_model_folder masked_of(bool headless, bool pooler)
{
    hd_err err = {0};
    hd_bert_opt o = bert_opt();
    hd_model_folder m = {.tokenizer = {tokenizer, tokenizer}};
    hd_bert *bert = NULL;
    o.headless = headless, o.pooler = pooler;
    if (hd_bert_new(&bert, backend, &o, false, &err)) fail_msg("%s", err.text);
    stir_all(&bert->params);
    hd_model_folder_take(&m, HD_TRAIN_MLM, hd_bert_model(bert));
    return m;
}

static void close_model(hd_model_folder *m)
{
    m->tokenizer[0] = m->tokenizer[1] = NULL; /* the test's */
    hd_model_folder_release(m);
}

static hd_exhibit *shown(const hd_model_folder *m, const char *text)
{
    hd_err err = {0};
    hd_exhibit *x = NULL;
    if (hd_exhibit_text_of(&x, &run, m, line_from(text), 0, &err)) fail_msg("%s", err.text);
    return x;
}

static const hd_exhibit_item *item(const hd_exhibit *x, const char *name)
{
    const hd_exhibit_item *t = hd_exhibit_find(x, name);
    if (!t) fail_msg("there is no %s", name);
    return t;
}

static void assert_formulas(const hd_exhibit *x)
{
    for (size_t i = 0; i < x->items; i++)
        if (!x->item[i].formula) fail_msg("%s has no formula", x->item[i].name);
}

/* The rows of the last block without a probe; the caller frees them. */
static hd_real *rows_of(const hd_bert *m, const hd_exhibit *x)
{
    int32_t ids[POSITIONS], type[POSITIONS] = {0}, len = (int32_t)x->reads;
    for (size_t i = 0; i < x->reads; i++) ids[i] = x->read[i].id;
    hd_run_begin(&run, HD_INFERENCE);
    hd_rows y = hd_bert_rows(&run, m,
                             &(hd_items){.seg = hd_seg_of(&run, &len, 1, NULL),
                                         .ids = hd_ints(&run, ids, x->reads),
                                         .type = hd_ints(&run, type, x->reads)});
    return host_copy(&run, y.t);
}

/* -- a masked language model -- */

static void rows_are_those_of_a_plain_forward_pass(void **state)
{
    (void)state;
    hd_model_folder m = masked_of(false, false);
    hd_exhibit *x = shown(&m, "the [MASK] sat on the [MASK]");
    assert_int_equal(x->kind, HD_EXHIBIT_MASKED);
    assert_int_equal(x->reads, 8);
    assert_string_equal(x->read[2].piece, "[MASK]");
    assert_formulas(x);
    hd_real *rows = rows_of(hd_model_folder_bert(&m), x),
            *types = host_copy(&run, &hd_model_folder_bert(&m)->front.types->t);
    const hd_exhibit_item *last = item(x, "enc.1.ffn.norm"), *sum = item(x, "enc.sum"),
                          *in = item(x, "enc.X"), *asked = item(x, "head.asked"),
                          *weights = item(x, "enc.1.self.softmax");
    assert_true(last->rows == 8 && last->cols == WIDTH && last->down == HD_EXHIBIT_READ);
    assert_true(weights->heads == 3 && weights->rows == 8 && weights->cols == 8);
    assert_true(weights->down == HD_EXHIBIT_READ && weights->across == HD_EXHIBIT_READ);
    for (size_t i = 0; i < 8 * WIDTH; i++) {
        assert_near("rows", (double)last->value[i], (double)rows[i]);
        assert_near("types", (double)(sum->value[i] - in->value[i]), (double)types[i % WIDTH]);
    }
    for (size_t i = 0; i < 3 * 8; i++) {
        double all = 0;
        for (size_t j = 0; j < 8; j++) all += (double)weights->value[i * 8 + j];
        assert_near("weights", all, 1);
    }
    assert_true(asked->rows == 2 && asked->down == HD_EXHIBIT_ASKED);
    for (size_t i = 0; i < 2 * WIDTH; i++)
        assert_near("asked", (double)asked->value[i], (double)rows[x->place[i / WIDTH] * WIDTH + i % WIDTH]);
    free(rows), free(types);
    hd_exhibit_free(x);
    close_model(&m);
}

static void masks_have_the_answers_of_filling(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_model_folder m = masked_of(false, false);
    static const char text[] = "the [MASK] sat on the [MASK]";
    hd_exhibit *x = shown(&m, text);
    hd_filled f;
    if (hd_masked_fill(&f, &run, &m, line_from(text), 100, &err)) fail_msg("%s", err.text);
    size_t vocab = hd_model_folder_bert(&m)->opt.vocab;
    const hd_exhibit_item *probs = item(x, "probs"), *logits = item(x, "logits"), *y = item(x, "head.norm");
    hd_real *table = host_copy(&run, &hd_model_folder_bert(&m)->front.table->t),
            *bias = host_copy(&run, &hd_model_folder_bert(&m)->bias->t);
    assert_true(x->answers == 2 && x->place[0] == 2 && x->place[1] == 6 && f.masks == 2);
    assert_true(probs->rows == 2 && probs->cols == vocab && probs->down == HD_EXHIBIT_ASKED);
    for (size_t i = 0; i < 2; i++) {
        double all = 0;
        for (size_t v = 0; v < vocab; v++) {
            double dot = (double)bias[v];
            for (size_t c = 0; c < WIDTH; c++)
                dot += (double)y->value[i * WIDTH + c] * (double)table[v * WIDTH + c];
            assert_near("logit", (double)logits->value[i * vocab + v], dot);
            all += (double)probs->value[i * vocab + v];
        }
        assert_near("probs", all, 1);
        for (size_t k = 0; k < f.top && f.choice[i * f.top + k].p > 0; k++)
            assert_near("p", (double)probs->value[i * vocab + (size_t)f.choice[i * f.top + k].id],
                        f.choice[i * f.top + k].p);
        for (size_t k = 0; k < x->tops; k++) {
            const hd_exhibit_choice *c = &x->top[i * x->tops + k];
            assert_near("top", c->p, (double)probs->value[i * vocab + (size_t)c->token.id]);
            assert_near("logit", c->logit, (double)logits->value[i * vocab + (size_t)c->token.id]);
            if (k) assert_true(c[-1].p >= c->p);
        }
    }
    free(table), free(bias);
    hd_filled_release(&f);
    hd_exhibit_free(x);
    close_model(&m);
}

static void without_a_head_or_a_mask_the_rows_are_the_end(void **state)
{
    (void)state;
    hd_model_folder head = masked_of(false, false), none = masked_of(true, false),
                    pooler = masked_of(true, true);
    hd_exhibit *x = shown(&head, "the cat"), *y = shown(&none, "the [MASK]"),
               *z = shown(&pooler, "the [MASK]");
    const hd_exhibit *const all[] = {x, y, z};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        assert_formulas(all[i]);
        assert_true(!all[i]->answers && !all[i]->place && !hd_exhibit_find(all[i], "logits"));
        assert_string_equal(all[i]->item[all[i]->items - 1].name, i < 2 ? "enc.1.ffn.norm" : "pooled");
    }
    hd_real *rows = rows_of(hd_model_folder_bert(&pooler), z),
            *w = host_copy(&run, &hd_model_folder_bert(&pooler)->pooler.w->t),
            *b = host_copy(&run, &hd_model_folder_bert(&pooler)->pooler.b->t);
    for (size_t i = 0; i < WIDTH; i++) {
        double dot = (double)b[i];
        for (size_t c = 0; c < WIDTH; c++) dot += (double)w[i * WIDTH + c] * (double)rows[c];
        assert_near("pooled", (double)item(z, "pooled")->value[i], tanh(dot));
    }
    free(rows), free(w), free(b);
    hd_exhibit_free(x), hd_exhibit_free(y), hd_exhibit_free(z);
    close_model(&head), close_model(&none), close_model(&pooler);
}

static void pages_name_masks(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_model_folder m = masked_of(false, false);
    hd_exhibit *x = shown(&m, "the [MASK] sat on the [MASK]");
    hd_text page = {0}, json = {0};
    if (hd_exhibit_text(&page, x, &(hd_exhibit_look){.width = 80, .digits = 2}, &err) ||
        hd_exhibit_json(&json, x, NULL, &err))
        fail_msg("%s", err.text);
    static const char *const says[] = {"Masked language model, bert",
                                       "Text: pieces and ids",
                                       "enc.sum  8 x 12  = X + the vector of the token's type",
                                       "head.sum  2 x 12  = act(asked W + b)",
                                       "1. [MASK], token 3",
                                       "2. [MASK], token 7"};
    for (size_t i = 0; i < COUNT_OF(says); i++)
        if (!strstr(page.data, says[i])) fail_msg("'%s' is not in %s", says[i], page.data);
    assert_non_null(strstr(json.data, "\"masks\""));
    hd_text_release(&page), hd_text_release(&json);
    hd_exhibit_free(x);
    close_model(&m);
}

/* -- classifiers -- */

static hd_model_folder labeler_of(const hd_model_type *type, hd_lm_kind lm, hd_pool_kind pool, bool numbers)
{
    hd_err err = {0};
    hd_model_folder l = {.tokenizer = {tokenizer, tokenizer}};
    hd_classifier *m = NULL;
    hd_classifier_opt o = {.body = {.type = type, .positions = POSITIONS, .bert = bert_opt()},
                           .pool = pool,
                           .classes = numbers ? 1 : CLASSES,
                           .bare = pool == HD_POOL_each,
                           .head = numbers ? &hd_head_number : NULL};
    o.body.lm = (hd_lm_opt){.stack.pre_norm = true,
                            .kind = lm,
                            .tied = true,
                            .stack.layers = 2,
                            .stack.heads = 3,
                            .stack.width = WIDTH,
                            .vocab = hd_tokenizer_size(tokenizer),
                            .context = POSITIONS};
    if (hd_classifier_new(&m, backend, &o, false, &err)) fail_msg("%s", err.text);
    stir_all(m->params);
    hd_train_task task = pool == HD_POOL_each ? HD_TRAIN_TAG : numbers ? HD_TRAIN_REGRESS : HD_TRAIN_CLASSIFY;
    hd_model_folder_take(&l, task, hd_classifier_model(m));
    for (int i = 0; !numbers && i < CLASSES; i++)
        if (hd_vocab_add(&l.labels, i ? i > 1 ? "bad" : "good" : "plain", i ? i > 1 ? 3 : 4 : 5, &err))
            fail_msg("%s", err.text);
    return l;
}

static void hear(void *context, size_t label, const hd_real *logp)
{
    (void)label;
    memcpy(context, logp, CLASSES * sizeof *logp);
}

static void hear_number(void *context, size_t label, const hd_real *logp)
{
    (void)label;
    *(hd_real *)context = *logp;
}

/* What it answers to a text. */
static void ask(const hd_model_folder *l, const char *text, hd_real *logp)
{
    hd_err err = {0};
    hd_labeled items = {0};
    hd_examples e = {0};
    hd_examples_opt opt = hd_labeler_examples(&hd_model_folder_classifier(l)->opt);
    if (hd_labeler_take(&items, l, line_from(text), &err) ||
        hd_examples_make(&e, &items, tokenizer, &opt, &err) ||
        hd_labeler_ask(&run, l, &e,
                       hd_model_folder_classifier(l)->opt.head == &hd_head_number ? hear_number : hear, logp,
                       &err))
        fail_msg("%s", err.text);
    hd_examples_release(&e);
    hd_labeled_release(&items);
}

static void labels_are_those_of_the_classifier(void **state)
{
    (void)state;
    static const struct {
        const hd_model_type *type;
        hd_pool_kind pool;
        bool numbers, pairs;
        const char *text, *attention;
    } cases[] = {{&hd_model_bert, HD_POOL_first, false, false, "the cat sat", "enc.1.self.softmax"},
                 {&hd_model_bert, HD_POOL_mean, false, false, "the cat sat", "enc.1.self.softmax"},
                 {&hd_model_bert, HD_POOL_first, false, true, "the cat\ta dog", "enc.0.self.softmax"},
                 {&hd_model_bert, HD_POOL_first, true, false, "the cat sat", "enc.0.self.softmax"},
                 {&hd_model_gpt, HD_POOL_last, false, false, "the cat sat", "1.self.softmax"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_exhibit *x = NULL;
        hd_real logp[CLASSES];
        hd_model_folder l = labeler_of(cases[i].type, HD_LM_gpt, cases[i].pool, cases[i].numbers);
        l.pairs = cases[i].pairs;
        ask(&l, cases[i].text, logp);
        if (hd_exhibit_text_of(&x, &run, &l, line_from(cases[i].text), 0, &err)) fail_msg("%s", err.text);
        assert_formulas(x);
        const hd_exhibit_item *w = item(x, cases[i].attention), *pooled = item(x, "pooled");
        assert_true(w->rows == x->reads && w->cols == x->reads && w->down == HD_EXHIBIT_READ);
        assert_true(pooled->rows == 1 && pooled->cols == WIDTH && pooled->down == HD_EXHIBIT_CHANNELS);
        if (cases[i].numbers) {
            assert_near("number", (double)item(x, "logits")->value[0], (double)logp[0]);
            assert_int_equal(x->answers, 0);
        } else {
            assert_true(x->answers == 1 && x->tops == CLASSES);
            for (size_t k = 0; k < CLASSES; k++) {
                const hd_shown_token *t = &x->top[k].token;
                assert_near("p", x->top[k].p, exp((double)logp[t->id]));
                assert_string_equal(t->piece, hd_vocab_piece(&l.labels, t->id));
            }
        }
        hd_exhibit_free(x);
        close_model(&l);
    }
}

/* -- classifiers and taggers on encoders of their own -- */

static hd_model_folder labeler_on(const char *stages, hd_pool_kind pool, bool one_hot, hd_unary cell)
{
    hd_err err = {0};
    hd_model_folder l = {.tokenizer = {tokenizer, tokenizer}};
    hd_classifier *m = NULL;
    hd_classifier_opt o = {.body = {.stack.pre_norm = true,
                                    .vocab = hd_tokenizer_size(tokenizer),
                                    .positions = POSITIONS,
                                    .stack.width = WIDTH,
                                    .stack.inner = 20,
                                    .stack.heads = 3,
                                    .stack.act = HD_gelu,
                                    .one_hot = one_hot,
                                    .cell = cell},
                           .pool = pool,
                           .bare = pool == HD_POOL_each,
                           .classes = CLASSES};
    if (hd_stages_read(&o.body.encoder, stages, &err) || hd_classifier_new(&m, backend, &o, false, &err))
        fail_msg("%s", err.text);
    stir_all(m->params);
    hd_model_folder_take(&l, pool == HD_POOL_each ? HD_TRAIN_TAG : HD_TRAIN_CLASSIFY, hd_classifier_model(m));
    for (int i = 0; i < CLASSES; i++)
        if (hd_vocab_add(&l.labels, (const char *const[]){"plain", "good", "bad"}[i], i ? i > 1 ? 3 : 4 : 5,
                         &err))
            fail_msg("%s", err.text);
    return l;
}

static double weight(const hd_model_folder *l, const char *name, size_t at)
{
    return (double)((const hd_real *)hd_params_find(hd_model_folder_classifier(l)->params, name)->t.data)[at];
}

/* h as its formula says, from the row before and what enters. */
static void check_simple_cells(const hd_model_folder *l, const hd_exhibit *x, bool sigmoid)
{
    const hd_exhibit_item *in = item(x, "enc.emb"), *h = item(x, "enc.0.h");
    for (size_t t = 0; t < h->rows; t++)
        for (size_t j = 0; j < WIDTH; j++) {
            double sum =
                weight(l, "model.encoder.rnn.bias_ih_l0", j) + weight(l, "model.encoder.rnn.bias_hh_l0", j);
            for (size_t k = 0; k < in->cols; k++)
                sum += weight(l, "model.encoder.rnn.weight_ih_l0", j * in->cols + k) *
                       (double)in->value[t * in->cols + k];
            for (size_t k = 0; t && k < WIDTH; k++)
                sum += weight(l, "model.encoder.rnn.weight_hh_l0", j * WIDTH + k) *
                       (double)h->value[(t - 1) * WIDTH + k];
            assert_near("h", (double)h->value[t * WIDTH + j], sigmoid ? 1 / (1 + exp(-sum)) : tanh(sum));
        }
    for (size_t j = 0; j < WIDTH; j++)
        assert_near("pooled", (double)item(x, "pooled")->value[j],
                    (double)h->value[(h->rows - 1) * WIDTH + j]);
}

static void encoders_of_their_own_are_shown(void **state)
{
    (void)state;
    static const struct {
        const char *stages;
        hd_pool_kind pool;
        bool one_hot;
        hd_unary cell;
        const char *name, *formula;
    } cases[] = {
        {"rnn:1", HD_POOL_last, true, HD_tanh, "enc.emb", "1 in the column of the token, 0 elsewhere"},
        {"rnn:1", HD_POOL_last, false, HD_sigmoid, "enc.0.h", "sigmoid(x W + before U + b)"},
        {"bi-lstm:2", HD_POOL_last, false, HD_tanh, "pooled",
         "the ends: the last row of one direction, the first of the other"},
        {"gru:1", HD_POOL_mean, false, HD_tanh, "pooled", "the mean of the rows"},
        {"transformer:2", HD_POOL_max, false, HD_tanh, "enc.X", "emb + position"},
        {"bi-gru:1+transformer:1", HD_POOL_first, false, HD_tanh, "enc.stage1.0.self.Q", "norm W_Q + b"},
        {"none", HD_POOL_mean, false, HD_tanh, "enc.emb", "row of the token in the table"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_exhibit *x = NULL;
        hd_real logp[CLASSES];
        hd_model_folder l = labeler_on(cases[i].stages, cases[i].pool, cases[i].one_hot, cases[i].cell);
        ask(&l, "the cat sat", logp);
        if (hd_exhibit_text_of(&x, &run, &l, line_from("the cat sat"), 0, &err)) fail_msg("%s", err.text);
        assert_formulas(x);
        assert_string_equal(x->model, cases[i].stages);
        assert_string_equal(item(x, cases[i].name)->formula, cases[i].formula);
        assert_true(x->reads == 5 && item(x, "enc.emb")->rows == 5 && x->answers == 1);
        for (size_t k = 0; k < CLASSES; k++)
            assert_near("p", x->top[k].p, exp((double)logp[x->top[k].token.id]));
        if (!strcmp(cases[i].stages, "rnn:1")) check_simple_cells(&l, x, cases[i].cell == HD_sigmoid);
        hd_exhibit_free(x);
        close_model(&l);
    }
}

static void hear_tag(void *context, size_t label, const hd_real *logp)
{
    memcpy((hd_real *)context + label * CLASSES, logp, CLASSES * sizeof *logp);
}

/* A distribution for every token between blanks. */
static void taggers_have_labels_for_each_token(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_exhibit *x = NULL;
    hd_real logp[3 * CLASSES];
    hd_labeled items = {0};
    hd_examples e = {0};
    hd_text page = {0}, json = {0};
    hd_model_folder l = labeler_on("bi-gru:1", HD_POOL_each, false, HD_tanh);
    hd_examples_opt opt = hd_labeler_examples(&hd_model_folder_classifier(&l)->opt);
    if (hd_labeler_take(&items, &l, line_from(" the cat\tsat"), &err) ||
        hd_examples_make(&e, &items, tokenizer, &opt, &err) ||
        hd_labeler_ask(&run, &l, &e, hear_tag, logp, &err) ||
        hd_exhibit_text_of(&x, &run, &l, line_from(" the cat\tsat"), 0, &err) ||
        hd_exhibit_text(&page, x, &(hd_exhibit_look){.width = 80, .digits = 2}, &err) ||
        hd_exhibit_json(&json, x, NULL, &err))
        fail_msg("%s", err.text);
    assert_formulas(x);
    assert_true(x->answers == 3 && x->tops == CLASSES && x->reads == e.rows);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(x->place[i], e.row[i]);
        for (size_t k = 0; k < CLASSES; k++) {
            const hd_exhibit_choice *c = &x->top[i * CLASSES + k];
            assert_near("p", c->p, exp((double)logp[i * CLASSES + (size_t)c->token.id]));
            assert_string_equal(c->token.piece, hd_vocab_piece(&l.labels, c->token.id));
        }
    }
    assert_true(item(x, "logits")->rows == 3 && item(x, "logits")->down == HD_EXHIBIT_ASKED);
    static const char *const says[] = {"Tagger, bi-gru:1", "1. the, token 1", "3. sat, token 3", "  label"};
    for (size_t i = 0; i < COUNT_OF(says); i++)
        if (!strstr(page.data, says[i])) fail_msg("'%s' is not in %s", says[i], page.data);
    assert_non_null(strstr(json.data, "\"tags\""));
    hd_text_release(&page), hd_text_release(&json);
    hd_examples_release(&e), hd_labeled_release(&items);
    hd_exhibit_free(x);
    close_model(&l);
}

/* -- what cannot be -- */

static void what_cannot_be_shown_is_refused(void **state)
{
    (void)state;
    static const char many[] = "the cat sat on the mat the dog sat on the log";
    hd_model_folder m = masked_of(false, false);
    hd_model_folder l = labeler_of(&hd_model_bert, HD_LM_gpt, HD_POOL_first, false),
                    tagger = labeler_on("gru:1", HD_POOL_each, false, HD_tanh);
    const struct {
        const hd_model_folder *model;
        const char *text;
        hd_status status;
        const char *says;
    } cases[] = {{&m, many, HD_ELIMIT, "14 tokens, the model takes 12"},
                 {&m, "a\xff", HD_EARG, "not UTF-8"},
                 {&m, "a\nb", HD_EARG, "more than one line"},
                 {&l, many, HD_ELIMIT, "more than the 12 tokens"},
                 {&l, "a\xff", HD_EARG, "not UTF-8"},
                 {&tagger, "a b c d e f g h i j k l m", HD_ELIMIT, "more than the 12 tokens"},
                 {&tagger, " ", HD_EARG, "the text is empty"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_exhibit *x = NULL;
        hd_line text = line_from(cases[i].text);
        hd_status s = hd_exhibit_text_of(&x, &run, cases[i].model, text, 0, &err);
        assert_int_equal(s, cases[i].status);
        assert_null(x);
        if (!strstr(err.text, cases[i].says)) fail_msg("case %zu: %s", i, err.text);
    }
    close_model(&l), close_model(&tagger);
    close_model(&m);
}

static void no_allocation_that_fails_leaks(void **state)
{
    (void)state;
    hd_model_folder m = masked_of(false, false);
    hd_model_folder l = labeler_of(&hd_model_bert, HD_LM_gpt, HD_POOL_first, false),
                    tagger = labeler_on("bi-gru:1", HD_POOL_each, false, HD_tanh);
    for (int labels = 0; labels < 3; labels++) {
        size_t blocks = hd_mem_now().blocks, reported = 0;
        bool done = false;
        for (size_t n = 1; !done && n < 3000; n++) {
            hd_err err = {0};
            hd_exhibit *x = NULL;
            hd_run r = run_on(backend);
            hd_mem_fail_at(n);
            hd_status s =
                labels ? hd_exhibit_text_of(&x, &r, labels > 1 ? &tagger : &l, line_from("the cat"), 0, &err)
                       : hd_exhibit_text_of(&x, &r, &m, line_from("the [MASK]"), 0, &err);
            hd_mem_fail_at(0);
            if (s && s != HD_ENOMEM) fail_msg("allocation %zu: %s", n, err.text);
            done = !s, reported += s == HD_ENOMEM;
            hd_exhibit_free(x);
            hd_run_release(&r);
            assert_int_equal(hd_mem_now().blocks, blocks);
        }
        assert_true(done && reported >= 4);
    }
    close_model(&l), close_model(&tagger);
    close_model(&m);
}

static int prepare(void **state)
{
    (void)state;
    hd_err err = {0};
    speaker_lines lines = {speaker_text};
    backend = backend_of("cpu", 1);
    run = run_on(backend);
    return (int)hd_tokenizer_train(&tokenizer, HD_TOKENIZER_words, (hd_feed){speaker_next, &lines},
                                   &(hd_tokenizer_opt){0}, &err);
}

static int finish(void **state)
{
    (void)state;
    hd_tokenizer_free(tokenizer);
    hd_run_release(&run);
    hd_backend_free(backend);
    return hd_mem_now().blocks != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_a_plain_forward_pass),
        cmocka_unit_test(masks_have_the_answers_of_filling),
        cmocka_unit_test(without_a_head_or_a_mask_the_rows_are_the_end),
        cmocka_unit_test(pages_name_masks),
        cmocka_unit_test(labels_are_those_of_the_classifier),
        cmocka_unit_test(encoders_of_their_own_are_shown),
        cmocka_unit_test(taggers_have_labels_for_each_token),
        cmocka_unit_test(what_cannot_be_shown_is_refused),
        cmocka_unit_test(no_allocation_that_fails_leaks),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}
