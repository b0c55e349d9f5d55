/* Runs the worked example. The shown step has no eps in its norms, as on the slides; training has
   PyTorch's 1e-5. */
#include "show/lecture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "decode/search.h"
#include "show/token.h"
#include "train/optimizer.h"

enum { N = HD_LECTURE_LENGTH, PAIRS = HD_LECTURE_PAIRS, LABELS = N + 1 };

static const float training_eps = 1e-5f;
static const double training_rate = 0.01;

const hd_explain_matrix *hd_explain_find(const hd_explain *x, const char *name)
{
    for (size_t i = 0; i < x->matrices; i++)
        if (!strcmp(x->matrix[i].of->name, name)) return &x->matrix[i];
    return NULL;
}

void hd_explain_free(hd_explain *x)
{
    if (x) hd_arena_release(&x->memory);
    hd_mem_free(x);
}

/* Room for every matrix of the lecture. */
static hd_status make_matrices(hd_explain *x, hd_err *err)
{
    while (hd_lecture_matrices[x->matrices].name) x->matrices++;
    x->matrix = hd_arena_array(&x->memory, x->matrices, sizeof *x->matrix, err);
    for (size_t i = 0; x->matrix && i < x->matrices; i++) {
        hd_explain_matrix *m = &x->matrix[i];
        m->of = &hd_lecture_matrices[i];
        bool vector = hd_lecture_is_vector(m->of), bias = m->of->kind == HD_LECTURE_BIAS;
        m->rows = bias ? 1 : hd_lecture_length(m->of->rows);
        m->cols = vector && !bias ? 1 : hd_lecture_length(m->of->cols);
        m->value = hd_arena_array(&x->memory, m->rows * m->cols, sizeof *m->value, err);
        if (!m->value) return HD_ENOMEM;
        if (!x->backward || !hd_lecture_learned(m->of)) continue;
        m->gradient = hd_arena_array(&x->memory, m->rows * m->cols, sizeof *m->gradient, err);
        if (!m->gradient) return HD_ENOMEM;
    }
    return x->matrix ? HD_OK : HD_ENOMEM;
}

typedef struct collection {
    hd_explain *into;
    size_t taken;
} collection;

/* The probe: keeps the matrices of the lecture. */
static void collect(void *context, hd_run *r, const hd_offer *offer)
{
    collection *c = context;
    for (size_t i = 0; i < c->into->matrices; i++) {
        hd_explain_matrix *m = &c->into->matrix[i];
        if (m->of->kind < HD_LECTURE_STEP || strcmp(m->of->engine, offer->name)) continue;
        if (hd_count_of(offer->t) != m->rows * m->cols) {
            hd_fail(r, HD_ESHAPE, "explain: %s has %zu numbers, the lecture's %s %zu", offer->name,
                    hd_count_of(offer->t), m->of->name, m->rows * m->cols);
            return;
        }
        if (hd_read(r, offer->t, m->value)) c->taken++;
        if (m->of->kind == HD_LECTURE_INVERSE_SD)
            for (size_t j = 0; j < m->rows; j++) m->value[j] = 1 / m->value[j];
    }
}

/* Logits of the decoder for `items` pairs, `length` target ids each, <SOS> first. */
static hd_rows forward(hd_run *r, const hd_encdec *m, const int32_t *source, const int32_t *target,
                       size_t items, int32_t length)
{
    const int32_t from[PAIRS] = {N, N}, to[PAIRS] = {length, length};
    hd_seg *in = hd_seg_of(r, from, items, NULL), *out = hd_seg_of(r, to, items, NULL);
    hd_encoded memory = hd_encdec_encode(r, m, &(hd_items){.seg = in, .ids = hd_ints(r, source, N * items)});
    return hd_encdec_decode(r, m, hd_ints(r, target, (size_t)length * items), out, memory, NULL);
}

static void read_ints(hd_run *r, const hd_tensor *t, int32_t *to)
{
    if (t && !r->err.status) r->backend->download(r->backend, to, t->data, hd_count_of(t) * sizeof *to);
}

/* The step of the slides: forward, loss and, if asked for, backward. */
static void show_step(hd_run *r, const hd_encdec *m, hd_explain *x)
{
    const hd_lecture_pair *pair = &hd_lecture_pairs[0];
    const int32_t reads[N] = {HD_LECTURE_SOS, pair->target[0], pair->target[1]};
    hd_run_begin(r, x->backward ? HD_TRAIN : HD_INFERENCE);
    hd_rows y = forward(r, m, pair->source, reads, 1, N);
    hd_tensor *logits = hd_encdec_logits(r, m, y);
    hd_probe_offer(r, "probs", hd_softmax(r, logits), y.seg);
    hd_tensor *loss = hd_cross_entropy(r, logits, hd_ints(r, pair->target, N), &(hd_loss_opt){.coef = 1});
    hd_tensor *best = hd_argmax(r, logits);
    hd_real rows[N] = {0};
    int32_t predicted[N] = {0};
    hd_read(r, loss, rows);
    read_ints(r, best, predicted);
    for (size_t i = 0; i < N; i++) {
        x->token[i] = (hd_explain_token){pair->target[i], predicted[i], (double)rows[i]};
        x->loss += (double)rows[i] / N;
    }
    if (x->backward) hd_backward(r);
}

static hd_status read_parameters(const hd_encdec *m, hd_explain *x, hd_err *err)
{
    for (size_t i = 0; i < x->matrices; i++) {
        hd_explain_matrix *one = &x->matrix[i];
        if (one->of->kind >= HD_LECTURE_STEP) continue;
        hd_status s = hd_lecture_read(m, one->of, false, one->value);
        if (!s && one->gradient) s = hd_lecture_read(m, one->of, true, one->gradient);
        if (s) return hd_err_set(err, s, "explain: %s cannot be read: %s", one->of->name, hd_status_text(s));
        for (size_t j = 0; one->gradient && j < one->rows * one->cols; j++)
            one->gradient[j] /= N; /* of the mean, not of the sum */
    }
    return HD_OK;
}

static hd_status explain_step(hd_run *r, hd_explain *x, hd_err *err)
{
    hd_encdec *m = NULL;
    collection c = {.into = x};
    const hd_probe probe = {.take = collect, .context = &c};
    hd_status s = hd_lecture_new(&m, r->backend, 0, x->backward, err);
    if (s) return s;
    r->probe = &probe;
    show_step(r, m, x);
    r->probe = NULL;
    s = hd_run_status(r, err);
    if (!s) s = read_parameters(m, x, err);
    size_t wanted = 0;
    for (size_t i = 0; i < x->matrices; i++) wanted += x->matrix[i].of->kind >= HD_LECTURE_STEP;
    if (!s && c.taken != wanted)
        s = hd_err_set(err, HD_EMISSING, "explain: the model offered %zu of %zu matrices", c.taken, wanted);
    hd_encdec_free(m);
    return s;
}

/* Both pairs in one batch, <EOS> after the targets; returns the mean loss. */
static double train_step(hd_run *r, const hd_encdec *m, hd_optimizer *o)
{
    int32_t source[PAIRS * N], reads[PAIRS * LABELS], says[PAIRS * LABELS];
    for (size_t i = 0; i < PAIRS; i++) {
        const hd_lecture_pair *p = &hd_lecture_pairs[i];
        memcpy(source + i * N, p->source, sizeof p->source);
        memcpy(reads + i * LABELS + 1, p->target, sizeof p->target);
        memcpy(says + i * LABELS, p->target, sizeof p->target);
        reads[i * LABELS] = HD_LECTURE_SOS, says[i * LABELS + N] = HD_LECTURE_EOS;
    }
    hd_run_begin(r, HD_TRAIN);
    hd_rows y = forward(r, m, source, reads, PAIRS, LABELS);
    hd_tensor *rows = hd_encdec_loss(r, m, y, hd_ints(r, says, PAIRS * LABELS), &(hd_loss_opt){.coef = 1});
    double loss = hd_loss_total(r, rows) / (PAIRS * LABELS);
    hd_backward(r);
    hd_optimizer_step(r, o, training_rate, PAIRS * LABELS, NULL, NULL);
    return loss;
}

/* Greedy answers to both questions. */
static hd_status answer(hd_run *r, const hd_encdec *m, int32_t out[PAIRS][HD_EXPLAIN_ANSWER], hd_err *err)
{
    const int32_t len[PAIRS] = {N, N};
    const hd_search_opt opt = {
        .kind = HD_SEARCH_GREEDY, .end = HD_LECTURE_EOS, .max_length = HD_EXPLAIN_ANSWER};
    int32_t source[PAIRS * N];
    hd_stepper stepper = {0};
    hd_found *found = NULL;
    for (size_t i = 0; i < PAIRS; i++) memcpy(source + i * N, hd_lecture_pairs[i].source, N * sizeof *source);
    memset(out, -1, sizeof(int32_t[PAIRS][HD_EXPLAIN_ANSWER]));
    hd_status s = hd_encdec_stepper(&stepper, m, source, len, PAIRS, HD_LECTURE_SOS, err);
    if (!s) s = hd_search(&found, r, &stepper, &opt, err);
    for (size_t i = 0; !s && i < PAIRS; i++)
        if (hd_found_count(found, i))
            memcpy(out[i], hd_found_at(found, i)->ids, hd_found_at(found, i)->length * sizeof **out);
    hd_found_free(found);
    hd_stepper_release(&stepper);
    return s;
}

static hd_status one_step(hd_run *r, const hd_encdec *m, hd_optimizer *o, hd_explain_step *step, hd_err *err)
{
    step->loss = train_step(r, m, o);
    hd_status s = hd_run_status(r, err);
    if (!s) s = answer(r, m, step->answer, err);
    for (size_t i = 0; i < PAIRS; i++) {
        const int32_t *a = step->answer[i];
        step->right[i] = !memcmp(a, hd_lecture_pairs[i].target, N * sizeof *a) && a[N] == HD_LECTURE_EOS;
    }
    return s;
}

static hd_status explain_training(hd_run *r, hd_explain *x, size_t steps, hd_err *err)
{
    hd_encdec *m = NULL;
    hd_optimizer adam = {0};
    const hd_optimizer_opt opt = {
        .kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f}; /* PyTorch's defaults */
    x->step = hd_arena_array(&x->memory, steps, sizeof *x->step, err);
    if (!x->step) return HD_ENOMEM;
    hd_status s = hd_lecture_new(&m, r->backend, training_eps, true, err);
    if (!s) s = hd_optimizer_init(&adam, &m->params, &opt, err);
    for (x->steps = 0; !s && x->steps < steps; x->steps++) s = one_step(r, m, &adam, &x->step[x->steps], err);
    hd_optimizer_release(&adam);
    hd_encdec_free(m);
    return s;
}

hd_status hd_explain_run(hd_explain **out, hd_backend *backend, const hd_explain_opt *opt, hd_err *err)
{
    hd_run r = {0};
    hd_explain *x = hd_mem_zero(sizeof *x);
    if (!x) return hd_err_nomem(err, sizeof *x);
    hd_arena_init(&x->memory, hd_allocator_host, 1 << 14);
    x->backward = opt->backward;
    hd_status s = make_matrices(x, err);
    if (!s) s = hd_run_init(&r, backend, err);
    if (!s) s = explain_step(&r, x, err);
    if (!s && opt->train > 0) s = explain_training(&r, x, (size_t)opt->train, err);
    hd_run_release(&r);
    if (s)
        hd_explain_free(x);
    else
        *out = x;
    return s;
}

double hd_explain_norm(const hd_explain *x)
{
    double sum = 0;
    for (size_t i = 0; i < x->matrices; i++) {
        const hd_explain_matrix *m = &x->matrix[i];
        for (size_t j = 0; m->gradient && j < m->rows * m->cols; j++)
            sum += (double)m->gradient[j] * (double)m->gradient[j];
    }
    return sqrt(sum);
}

size_t hd_explain_first_right(const hd_explain *x)
{
    for (size_t i = 0; i < x->steps; i++)
        if (x->step[i].right[0] && x->step[i].right[1]) return i + 1;
    return 0;
}

const char *hd_explain_words(const int32_t answer_ids[HD_EXPLAIN_ANSWER], char *buf, size_t size)
{
    size_t at = 0;
    if (size) buf[0] = 0;
    for (int i = 0; i < HD_EXPLAIN_ANSWER && answer_ids[i] >= 0 && answer_ids[i] != HD_LECTURE_EOS; i++) {
        int n = snprintf(buf + at, size - at, "%s%s", i ? " " : "", hd_lecture_words[answer_ids[i]]);
        if (n < 0 || (size_t)n >= size - at) break;
        at += (size_t)n;
    }
    return buf;
}
