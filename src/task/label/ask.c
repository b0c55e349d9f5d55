/* Examples on their way through a classifier or tagger. Everything is sent before the first kernel is called,
   always in the same order: the rest can then be captured. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/ranks.h"
#include "base/mem.h"
#include "op/replay.h"
#include "task/label/labeler.h"

enum { ROWS = 2048 }; /* of a step, about */

/* The tokens between blanks. */
static hd_status take_tokens(hd_labeled *items, hd_line text, hd_err *err)
{
    hd_status s = HD_OK;
    for (const char *at = text.text, *end = at + text.size; !s && at < end;) {
        size_t size = 0;
        while (at + size < end && !strchr(" \t\r", at[size])) size++;
        if (size) s = hd_labeled_add(items, (hd_line){at, size}, err);
        if (size && !s) s = hd_labeled_mark(items, -1, (double)NAN, err);
        at += size + 1;
    }
    return s ? s : hd_labeled_end(items, err);
}

hd_status hd_labeler_take(hd_labeled *items, const hd_model_folder *f, hd_line text, hd_err *err)
{
    if (hd_model_folder_classifier(f)->opt.pool == HD_POOL_each) return take_tokens(items, text, err);
    const char *tab = f->pairs ? memchr(text.text, '\t', text.size) : NULL;
    size_t size = tab ? (size_t)(tab - text.text) : text.size;
    hd_status s = hd_labeled_add(items, (hd_line){text.text, size}, err);
    if (!s && tab) s = hd_labeled_add(items, (hd_line){tab + 1, text.size - size - 1}, err);
    if (!s) s = hd_labeled_mark(items, -1, (double)NAN, err);
    return s ? s : hd_labeled_end(items, err);
}

/* -- sending -- */

/* Whether a row is of a first text or of a second. */
static const int32_t *send_types(const hd_packing *p)
{
    int32_t *type = hd_host_take(p->r, (p->rows + 1) * sizeof *type);
    size_t row = 0;
    if (!type) return NULL;
    for (size_t i = 0; i < p->count; i++) {
        size_t e = p->which[i], n = p->x->begin[e + 1] - p->x->begin[e];
        for (size_t j = 0; j < n; j++) type[row++] = p->types != 1 && j >= p->x->second[e];
    }
    while (row < p->rows) type[row++] = -1;
    return hd_ints(p->r, type, p->rows);
}

/* The token after each row, but the last of an item; all of an item together weigh `weight`. */
static void send_next(const hd_packing *p, float weight, hd_class_batch *out)
{
    int32_t *next = hd_host_take(p->r, (p->rows + 1) * sizeof *next);
    hd_real *share = hd_host_take(p->r, (p->rows + 1) * sizeof *share);
    size_t row = 0;
    if (!next || !share) return;
    for (size_t i = 0; i < p->count; i++) {
        const size_t *begin = p->x->begin + p->which[i];
        for (size_t j = begin[0]; j < begin[1]; j++, row++) {
            next[row] = j + 1 < begin[1] ? p->x->id[j + 1] : -1;
            share[row] = next[row] < 0 ? 0 : (hd_real)weight / (hd_real)(begin[1] - begin[0] - 1);
        }
    }
    while (row < p->rows) next[row++] = -1;
    out->next = hd_ints(p->r, next, p->rows);
    out->share = hd_from(p->r, p->rows, 1, share);
}

/* A row for each item. */
static const hd_seg *send_items(const hd_packing *p)
{
    int32_t *one = hd_host_take(p->r, (p->count + 1) * sizeof *one);
    for (size_t i = 0; one && i < p->count; i++) one[i] = 1;
    hd_bounds bounds = {.items = p->items, .rows = p->items, .longest = 1};
    return one ? hd_seg_within(p->r, one, p->count, p->key, bounds) : NULL;
}

uint64_t hd_labeler_send(hd_run *r, hd_class_batch *out, const hd_model_folder *f, const hd_examples *x,
                         const uint32_t *which, size_t count, const hd_train_options *o)
{
    const hd_classifier_opt *m = &hd_model_folder_classifier(f)->opt;
    const hd_label_kind *kind = hd_labeler_kind(f);
    bool each = kind->each;
    const hd_model_type *model = hd_body_model(&m->body);
    *out = (hd_class_batch){0};
    int32_t *len = hd_host_take(r, (2 * count + 1) * sizeof *len), *key = len + count;
    if (!len) return 0;
    size_t live = 0, row = 0, label = 0;
    for (size_t i = 0; i < count; i++) {
        size_t n = x->begin[which[i] + 1] - x->begin[which[i]];
        len[i] = (int32_t)n, key[i] = (int32_t)which[i], live += n;
    }
    hd_bounds bounds = hd_bounds_now(r, len, count);
    size_t rows = bounds.rows, labels = each ? rows : bounds.items;
    int32_t *all = hd_host_take(r, (2 * rows + labels + 1) * sizeof *all);
    int32_t *target = all + rows, *at = target + labels;
    if (!all) return 0;
    for (size_t i = 0; i < 2 * rows + labels; i++) all[i] = -1; /* what is filled up is no token */
    for (size_t i = 0; i < count; i++) {
        size_t e = which[i], before = row;
        for (size_t j = x->begin[e]; j < x->begin[e + 1]; j++) all[row++] = x->id[j];
        for (size_t j = x->first[e]; !kind->send && j < x->first[e + 1]; j++, label++)
            target[label] = x->label[j], at[label] = (int32_t)before + x->row[j];
    }
    bool some = each && !x->plain;
    *out = (hd_class_batch){.in.seg = hd_seg_within(r, len, count, key, bounds),
                            .in.ids = hd_ints(r, all, rows),
                            .target = hd_ints(r, target, labels),
                            .row = some ? hd_ints(r, at, rows) : NULL,
                            .rows = rows};
    hd_packing p = {r,
                    x,
                    which,
                    count,
                    m->classes,
                    rows,
                    bounds.items,
                    key,
                    m->body.bert.types,
                    o ? (float)o->label_smoothing : 0};
    if (model->reads_types) out->in.type = send_types(&p);
    if (model->head_dropout != HD_HEAD_DROPOUT_ROWS) out->items = send_items(&p);
    if (kind->send) kind->send(&p, out);
    if (o && o->lm_loss > 0) send_next(&p, (float)o->lm_loss, out);
    return hd_shape_of(bounds, live);
}

/* -- asking -- */

/* Examples from .. to-1. */
static hd_status ask_some(hd_run *r, const hd_model_folder *f, const hd_examples *x, size_t from, size_t to,
                          hd_labeler_hear *hear, void *context, hd_err *err)
{
    const hd_classifier *m = hd_model_folder_classifier(f);
    bool each = hd_labeler_kind(f)->each;
    size_t first = each ? x->first[from] : from, end = each ? x->first[to] : to;
    hd_class_batch batch;
    hd_run_begin(r, HD_INFERENCE);
    uint32_t *which = hd_host_take(r, (to - from + 1) * sizeof *which);
    for (size_t i = from; which && i < to; i++) which[i - from] = (uint32_t)i;
    if (which) hd_labeler_send(r, &batch, f, x, which, to - from, NULL);
    hd_tensor *y = which ? hd_classifier_answer(r, m, &batch) : NULL;
    hd_real *answer = hd_host_take(r, (y ? hd_count_of(y) + 1 : 1) * sizeof *answer);
    if (y && answer) hd_read_output(r, y, answer);
    if (r->err.status) return hd_err_set(err, r->err.status, "labels: %s", r->err.text);
    for (size_t i = first; i < end; i++) hear(context, i, answer + (i - first) * m->opt.classes);
    return HD_OK;
}

hd_status hd_labeler_ask(hd_run *r, const hd_model_folder *f, const hd_examples *x, hd_labeler_hear *hear,
                         void *context, hd_err *err)
{
    hd_status s = HD_OK;
    int turn = 0;
    for (size_t from = 0, to; !s && from < x->count; from = to) {
        for (to = from + 1; to < x->count && x->begin[to + 1] - x->begin[from] <= ROWS;) to++;
        if (turn++ % hd_ranks() == hd_rank()) s = ask_some(r, f, x, from, to, hear, context, err);
    }
    return s;
}

/* -- judging -- */

typedef struct hearing {
    const hd_label_kind *kind;
    hd_judging judging;
} hearing;

static void hear(void *context, size_t i, const hd_real *answer)
{
    hearing *h = context;
    h->kind->hear(&h->judging, i, answer);
}

hd_status hd_labeler_judge_with(hd_judged *out, const hd_model_folder *f, const hd_examples *x,
                                hd_labeler_asker *ask, void *context, hd_err *err)
{
    const hd_label_kind *kind = hd_labeler_kind(f);
    size_t classes = hd_model_folder_classifier(f)->opt.classes, answers = kind->each ? x->labels : x->count;
    size_t guesses = answers * (kind->guesses_all ? classes : 1);
    hearing h = {kind, {.x = x, .classes = classes, .answers = answers, .ranked = f->pictures}};
    hd_judging *j = &h.judging;
    *out = (hd_judged){.count = answers};
    j->guess = hd_mem_array(guesses + 1, sizeof *j->guess);
    hd_status s = j->guess ? HD_OK : hd_err_nomem(err, guesses * sizeof *j->guess);
    if (!s) s = ask(context, hear, &h, err);
    s = hd_ranks_agree(s, &j->loss, 1, err);
    if (!s && j->ranked) s = hd_ranks_agree(s, &j->near, 1, err);
    if (!s) s = hd_ranks_agree(s, j->guess, guesses, err);
    out->loss = j->loss;
    if (!s) s = kind->judge(out, j, err);
    if (s) hd_confusion_release(&out->confusion);
    hd_mem_free(j->guess);
    return s;
}

typedef struct asking {
    hd_run *r;
    const hd_model_folder *f;
    const hd_examples *x;
} asking;

static hd_status ask_texts(void *context, hd_labeler_hear *told, void *of, hd_err *err)
{
    const asking *a = context;
    return hd_labeler_ask(a->r, a->f, a->x, told, of, err);
}

hd_status hd_labeler_judge(hd_judged *out, hd_run *r, const hd_model_folder *f, const hd_examples *x,
                           hd_err *err)
{
    return hd_labeler_judge_with(out, f, x, ask_texts, &(asking){r, f, x}, err);
}

static hd_status read_items(hd_labeled *out, const hd_model_folder *f, const char *path, hd_err *err)
{
    const hd_label_kind *kind = hd_labeler_kind(f);
    hd_vocab labels = f->labels; /* not added to */
    struct stat info;
    if (kind->each || stat(path, &info) || !S_ISDIR(info.st_mode))
        return hd_label_kind_read(kind, out, &labels, path, err);
    if (kind->top == 1) return hd_labeled_folder(out, &labels, path, err);
    return hd_err_set(err, HD_EARG,
                      "the model predicts %s: a folder of classes is for one label of each text",
                      kind->predicts);
}

hd_status hd_labeler_judge_file(hd_judged *out, hd_run *r, const hd_model_folder *f, const char *path,
                                hd_err *err)
{
    const hd_examples_opt o = hd_labeler_examples(&hd_model_folder_classifier(f)->opt);
    hd_labeled items = {0};
    hd_examples x = {0};
    hd_status s = read_items(&items, f, path, err);
    if (!s) s = hd_examples_make(&x, &items, f->tokenizer[0], &o, err);
    if (!s) s = hd_labeler_judge(out, r, f, &x, err);
    hd_examples_release(&x);
    hd_labeled_release(&items);
    return s;
}

size_t hd_labeler_next_best(const hd_real *answer, size_t classes, size_t rank, size_t last)
{
    size_t best = classes;
    for (size_t k = 0; k < classes; k++) {
        bool later = !rank || answer[k] < answer[last] || (answer[k] <= answer[last] && k > last);
        if (later && (best == classes || answer[k] > answer[best])) best = k;
    }
    return best;
}
