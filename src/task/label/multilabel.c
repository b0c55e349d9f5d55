/* Any number of labels for every text: each output says by itself whether its label is true. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "metric/label_sets.h"
#include "task/label/labeler.h"

/* -- the column of a table: labels with commas between, or nothing -- */

static int by_text(const void *left, const void *right)
{
    const hd_line *a = left, *b = right;
    int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static hd_line trimmed(hd_line t)
{
    while (t.size && t.text[t.size - 1] == ' ') t.size--;
    while (t.size && t.text[0] == ' ') t.text++, t.size--;
    return t;
}

/* In the order of their names: the same set is the same item, however it is written. */
static hd_status add_names(hd_labeled_reader *r, hd_line *name, size_t count, hd_err *err)
{
    hd_status s = HD_OK;
    qsort(name, count, sizeof *name, by_text);
    for (size_t i = 1; i < count; i++)
        if (!by_text(&name[i - 1], &name[i]))
            return hd_labeled_refuse(r, "a label is there twice: remove one of them", err);
    for (size_t i = 0; !s && i < count; i++)
        s = name[i].size ? hd_labeled_name(r, name[i], err)
                         : hd_labeled_refuse(r, "a label between commas is empty", err);
    return s;
}

static hd_status read_names(hd_labeled_reader *r, hd_line text, hd_err *err)
{
    size_t count = 1, n = 0;
    if (!text.size) return HD_OK;
    for (size_t i = 0; i < text.size; i++) count += text.text[i] == ',';
    hd_line *name = hd_mem_array(count, sizeof *name);
    if (!name) return hd_err_nomem(err, count * sizeof *name);
    for (const char *at = text.text, *end = at + text.size; n < count; n++) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *to = comma ? comma : end;
        name[n] = trimmed((hd_line){at, (size_t)(to - at)});
        at = to + (comma != NULL);
    }
    hd_status s = add_names(r, name, count, err);
    hd_mem_free(name);
    return s;
}

static void put_names(hd_text *to, const hd_labeled *x, size_t item, const hd_vocab *labels)
{
    for (size_t k = x->first[item]; k < x->first[item + 1]; k++)
        hd_text_print(to, "%s%s", k > x->first[item] ? "," : "", hd_vocab_piece(labels, x->label[k]));
}

/* -- learning -- */

/* Whether each label is true, [items, classes]; with smoothing a share of that is one half. The loss of an
   item is the mean of those of its labels. */
static void send(const hd_packing *p, hd_class_batch *out)
{
    size_t cells = p->items * p->classes;
    hd_real *value = hd_host_take(p->r, (cells + 1) * sizeof *value);
    hd_real *weight = hd_host_take(p->r, (p->items + 1) * sizeof *weight);
    if (!value || !weight) return;
    for (size_t i = 0; i < cells; i++) value[i] = (hd_real)p->smoothing / 2;
    for (size_t i = 0; i < p->count; i++) {
        const size_t *first = p->x->first + p->which[i];
        weight[i] = (hd_real)1 / (hd_real)p->classes;
        for (size_t k = first[0]; k < first[1]; k++)
            if (p->x->label[k] >= 0)
                value[i * p->classes + (size_t)p->x->label[k]] = 1 - (hd_real)p->smoothing / 2;
    }
    out->value = hd_from(p->r, p->items, p->classes, value);
    out->weight = hd_from(p->r, p->items, 1, weight);
}

static hd_tensor *loss(hd_run *r, const hd_dense *out, hd_tensor *v, const hd_class_batch *b,
                       const hd_loss_opt *opt)
{
    return hd_binary_cross_entropy(r, hd_dense_of(r, out, v, HD_IDENTITY), b->value,
                                   &(hd_loss_opt){.coef = opt->coef, .weight = b->weight});
}

static hd_tensor *logp(hd_run *r, hd_tensor *logits)
{
    return hd_apply(r, hd_apply(r, logits, HD_sigmoid), HD_log);
}

static const hd_head head = {.least = 1,
                             .most = SIZE_MAX,
                             .wants = "no label, or one for every token",
                             .loss = loss,
                             .logp = logp,
                             .probs = "1 / (1 + exp(-logit)), each by itself"};

/* -- judging -- */

static double probability(hd_real logit)
{
    return 1 / (1 + exp(-(double)logit));
}

static bool is_true(const hd_examples *x, size_t item, size_t class)
{
    for (size_t k = x->first[item]; k < x->first[item + 1]; k++)
        if ((size_t)x->label[k] == class) return true;
    return false;
}

/* log(1 + exp(-x)) is the loss of a true label, and x more that of another; exp() must not overflow. */
static void hear(hd_judging *j, size_t i, const hd_real *logit)
{
    double sum = 0;
    for (size_t k = 0; k < j->classes; k++) {
        double x = (double)logit[k], away = is_true(j->x, i, k) ? -x : x;
        sum += fmax(away, 0) + log1p(exp(-fabs(x)));
        j->guess[i * j->classes + k] = probability(logit[k]);
    }
    j->loss += sum / (double)j->classes;
}

static hd_status judge(hd_judged *out, const hd_judging *j, hd_err *err)
{
    hd_set_scores found = {0};
    size_t cells = j->answers * j->classes;
    bool *truth = hd_mem_array(cells + 1, sizeof *truth);
    hd_status s = truth ? HD_OK : hd_err_nomem(err, cells * sizeof *truth);
    for (size_t i = 0; !s && i < cells; i++) truth[i] = is_true(j->x, i / j->classes, i % j->classes);
    if (!s) s = hd_label_sets_score(&found, j->guess, truth, j->answers, j->classes, err);
    hd_mem_free(truth);
    if (s) return s;
    out->figure[0] = (hd_figure){"micro_f1", "micro-F1", found.micro_f1, .share = true};
    out->figure[1] = (hd_figure){"macro_f1", "macro-F1", found.macro_f1, .share = true};
    out->figure[2] = (hd_figure){"exact_match", "exact match", found.exact, .share = true};
    out->figure[3] =
        (hd_figure){"average_precision", "average precision", found.average_precision, .share = true};
    return HD_OK;
}

const hd_label_kind hd_label_multilabel = {.head = &head,
                                           .predicts = "sets of labels",
                                           .problem = "multi_label_classification",
                                           .loss = "cross_entropy",
                                           .loss_title = "cross-entropy",
                                           .column = read_names,
                                           .put_labels = put_names,
                                           .send = send,
                                           .guesses_all = true,
                                           .hear = hear,
                                           .judge = judge,
                                           .probability = probability,
                                           .threshold = 0.5};
