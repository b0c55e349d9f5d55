/* Models that give labels or numbers: items of all jobs that are there are computed together, packed by
   tokens. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "serve/engine/packed.h"
#include "task/label/labeler.h"

static size_t items_of(const hd_job *j)
{
    return ((const hd_classify_job *)j)->items;
}

static hd_status open_worker(void **out, const hd_worker_use *use, hd_err *err)
{
    if (use->model->pictures) return hd_err_set(err, HD_EARG, "the model reads pictures");
    return hd_packed_open(out, use, items_of, err);
}

static hd_status add_item(hd_labeled *to, const hd_line item[2], hd_err *err)
{
    hd_status s = hd_labeled_add(to, item[0], err);
    if (!s && item[1].text) s = hd_labeled_add(to, item[1], err);
    if (!s) s = hd_labeled_mark(to, -1, (double)NAN, err);
    return s ? s : hd_labeled_end(to, err);
}

typedef struct hearing {
    float *answer; /* [items, classes] */
    size_t classes;
} hearing;

static void hear(void *context, size_t i, const hd_real *answer)
{
    const hearing *h = context;
    for (size_t k = 0; k < h->classes; k++) h->answer[i * h->classes + k] = (float)answer[k];
}

/* Of all jobs, one behind the other. */
static hd_status ask(const hd_packed *p, hearing *h, hd_err *err)
{
    const hd_model_folder *f = p->use.model;
    const hd_examples_opt how = hd_labeler_examples(&hd_model_folder_classifier(f)->opt);
    hd_labeled items = {0};
    hd_examples x = {0};
    hd_status s = HD_OK;
    h->answer = hd_mem_array(p->items * h->classes + 1, sizeof *h->answer);
    if (!h->answer) return hd_err_nomem(err, p->items * h->classes * sizeof *h->answer);
    for (const hd_job *j = p->first; !s && j; j = j->next) {
        const hd_classify_job *one = (const hd_classify_job *)j;
        for (size_t i = 0; !s && i < one->items; i++) s = add_item(&items, one->item[i], err);
    }
    if (!s) s = hd_examples_make(&x, &items, f->tokenizer[0], &how, err);
    if (!s) s = hd_labeler_ask(p->use.run, f, &x, hear, h, err);
    hd_examples_release(&x);
    hd_labeled_release(&items);
    return s;
}

static hd_status hand_over(hd_classify_job *j, const hearing *h, size_t from)
{
    const size_t count = j->items * h->classes;
    j->classes = h->classes;
    j->answer = hd_mem_array(count + 1, sizeof *j->answer);
    if (!j->answer) return hd_err_nomem(&j->job.err, count * sizeof *j->answer);
    memcpy(j->answer, h->answer + from * h->classes, count * sizeof *j->answer);
    return HD_OK;
}

static bool turn(void *worker)
{
    hd_packed *p = worker;
    hearing h = {.classes = hd_model_folder_classifier(p->use.model)->opt.classes};
    hd_err err = {0};
    hd_status s = ask(p, &h, &err);
    for (size_t at = 0; p->first;) {
        hd_classify_job *j = (hd_classify_job *)p->first;
        size_t items = j->items;
        if (s) j->job.err = err;
        hd_packed_end_first(p, s || hand_over(j, &h, at) ? HD_JOB_FAILED : HD_JOB_DONE);
        at += items;
    }
    hd_mem_free(h.answer);
    return true;
}

const hd_worker_type hd_worker_classifying = {HD_JOB_CLASSIFY, open_worker, hd_packed_has_room,
                                              hd_packed_take,  turn,        hd_packed_free};
