/* Language models that learn labels. */
#include "lab/pretrained/tuner.h"

#include <string.h>

#include "base/mem.h"
#include "lab/desk.h"
#include "lab/language/pupil.h"

enum {
    TOPICS = 2,
    WORDS = 20,
    LABELED = 5,
    LENGTH = 6,
    ITEMS = 16,
    ROWS = ITEMS * LENGTH,
    WIDTH = 32,
    JUDGED = 8
};
enum { VOCAB = HD_PUPIL_FIRST + TOPICS * WORDS };

typedef enum lines { PLAIN, WITH_LABEL, NEW } lines;

typedef struct lot {
    int32_t ids[ROWS], next[ROWS], len[ITEMS], one[ITEMS], topic[ITEMS];
} lot;

#define ASTRAY 0.1 /* share of words that are of the other topic */

hd_status hd_tuner_open(hd_tuner *t, hd_run *run, hd_lm_kind kind, uint64_t seed, hd_err *err)
{
    hd_classifier_opt o = {.body = {.positions = LENGTH}, .pool = HD_POOL_last, .classes = TOPICS};
    *t = (hd_tuner){0};
    o.body.type = hd_lm_types[kind], o.body.lm = hd_pupil_model(kind, WIDTH, VOCAB);
    hd_status s = hd_classifier_new(&t->model, run->backend, &o, true, err);
    return s ? s : hd_course_open(&t->course, run, t->model->params, seed, err);
}

void hd_tuner_close(hd_tuner *t)
{
    hd_course_close(&t->course);
    hd_classifier_free(t->model);
    hd_mem_free(t->kept);
    *t = (hd_tuner){0};
}

/* -- weights -- */

hd_status hd_tuner_keep(hd_tuner *t, hd_err *err)
{
    const hd_params *p = t->model->params;
    if (!t->kept) t->kept = hd_mem_array(p->total, sizeof *t->kept);
    if (!t->kept) return hd_err_nomem(err, p->total * sizeof *t->kept);
    p->backend->download(p->backend, t->kept, p->value, p->total * sizeof *t->kept);
    return HD_OK;
}

hd_status hd_tuner_return(hd_tuner *t, hd_err *err)
{
    hd_params *p = t->model->params;
    p->backend->upload(p->backend, p->value, t->kept, p->total * sizeof *t->kept);
    hd_status s = hd_params_renew(p, err);
    return s ? s : hd_course_renew(&t->course, err);
}

bool hd_tuner_same(const hd_tuner *a, const hd_tuner *b)
{
    return !memcmp(a->kept, b->kept, a->model->params->total * sizeof *a->kept);
}

/* -- lines -- */

static void draw(lot *l, lines kind, uint64_t seed, const uint64_t number[ITEMS])
{
    static const int32_t first[] = {0, 0, LABELED}, behind[] = {WORDS, LABELED, WORDS};
    for (int32_t i = 0; i < ITEMS; i++) {
        hd_rng rng = hd_rng_make(seed, 3 * number[i] + (uint64_t)kind);
        int32_t *ids = l->ids + i * LENGTH;
        l->topic[i] = (int32_t)(number[i] % TOPICS), l->len[i] = LENGTH, l->one[i] = 1;
        for (int32_t k = 0; k < LENGTH; k++) {
            int32_t topic = hd_rng_unit(&rng) < ASTRAY ? 1 - l->topic[i] : l->topic[i];
            ids[k] = HD_PUPIL_FIRST + topic * WORDS + first[kind] +
                     (int32_t)hd_rng_below(&rng, (uint32_t)(behind[kind] - first[kind]));
            l->next[i * LENGTH + k] = -1;
            if (k) l->next[i * LENGTH + k - 1] = ids[k];
        }
    }
}

/* In a step that was begun. share: the weight of a word, below 0: words are not asked for. */
static hd_class_batch send(hd_run *r, const lot *l, double share)
{
    hd_real weight[ROWS];
    for (int i = 0; i < ROWS; i++) weight[i] = (hd_real)share;
    return (hd_class_batch){.in = {.seg = hd_seg_of(r, l->len, ITEMS, NULL), .ids = hd_ints(r, l->ids, ROWS)},
                            .items = hd_seg_of(r, l->one, ITEMS, NULL),
                            .target = hd_ints(r, l->topic, ITEMS),
                            .next = share < 0 ? NULL : hd_ints(r, l->next, ROWS),
                            .share = share < 0 ? NULL : hd_from(r, ROWS, 1, weight)};
}

static hd_status update(hd_tuner *t, const lot *l, double share, double rate, hd_err *err)
{
    hd_run *r = hd_course_begin(&t->course);
    hd_class_batch b = send(r, l, share);
    hd_classifier_loss(r, t->model, &b, &(hd_loss_opt){.coef = 1});
    return hd_course_end(&t->course, rate, ITEMS, err);
}

hd_status hd_tuner_read(hd_tuner *t, int updates, hd_err *err)
{
    uint64_t number[ITEMS];
    hd_status s = HD_OK;
    lot l;
    for (int u = 0; !s && u < updates; u++) {
        for (int i = 0; i < ITEMS; i++) number[i] = (uint64_t)(u * ITEMS + i);
        draw(&l, PLAIN, t->course.seed, number);
        for (int i = 0; i < ITEMS; i++) l.topic[i] = -1;
        s = update(t, &l, 1.0 / LENGTH, 0.01 * (1 - (double)u / updates), err);
    }
    return s;
}

hd_status hd_tuner_tune(hd_tuner *t, int count, int updates, double beside, hd_err *err)
{
    uint64_t number[ITEMS];
    hd_status s = HD_OK;
    lot l;
    for (int u = 0; !s && u < updates; u++) {
        for (int i = 0; i < ITEMS; i++) number[i] = (uint64_t)((u * ITEMS + i) % count);
        draw(&l, WITH_LABEL, t->course.seed, number);
        s = update(t, &l, beside < 0 ? beside : beside / LENGTH, 0.005 * (1 - (double)u / updates), err);
    }
    return s;
}

hd_status hd_tuner_judge(double *share, hd_tuner *t, hd_err *err)
{
    uint64_t number[ITEMS];
    hd_status s = HD_OK;
    size_t right = 0;
    lot l;
    for (int k = 0; !s && k < JUDGED; k++) {
        double answer[ITEMS * TOPICS];
        for (int i = 0; i < ITEMS; i++) number[i] = (uint64_t)(k * ITEMS + i);
        draw(&l, NEW, t->course.seed, number);
        hd_run_begin(t->course.run, HD_INFERENCE);
        hd_class_batch b = send(t->course.run, &l, -1);
        hd_desk_read(answer, t->course.run, hd_classifier_answer(t->course.run, t->model, &b));
        s = hd_run_status(t->course.run, err);
        for (int i = 0; !s && i < ITEMS; i++)
            right += answer[2 * i + l.topic[i]] > answer[2 * i + 1 - l.topic[i]];
    }
    *share = (double)right / (JUDGED * ITEMS);
    return s;
}
