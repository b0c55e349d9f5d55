/* Finding the objects of pictures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/mem.h"
#include "nn/pixels.h"
#include "task/detect/training.h"

enum { BOX = 4, JUDGED_AT_ONCE = 16 };

const hd_image_prepare *hd_detector_prepare(const hd_model_folder *f)
{
    return &hd_model_folder_detr(f)->opt.image.prepare;
}

/* -- pictures on their way to the model -- */

static hd_status reserve(hd_detect_batch *to, size_t objects, size_t pictures, hd_err *err)
{
    hd_status s = hd_mem_reserve(&to->object, &to->room[0], objects + 1, sizeof *to->object, err);
    if (!s) s = hd_mem_reserve(&to->first, &to->room[1], pictures + 1, sizeof *to->first, err);
    return s ? s : hd_mem_reserve(&to->key, &to->room[2], pictures + 1, sizeof *to->key, err);
}

bool hd_detect_batch_send(hd_run *r, hd_detect_batch *to, const hd_image_batch *b, const hd_image_prepare *p,
                          uint64_t number)
{
    size_t objects = b->first_box ? b->first_box[b->items] : 0;
    hd_pixels_send(r, &to->pixels, b, p);
    if (r->err.status || reserve(to, objects, b->items, &r->err)) return false;
    for (size_t i = 0; i < b->items; i++) {
        float height = (float)b->size[2 * i], width = (float)b->size[2 * i + 1];
        to->first[i] = b->first_box ? b->first_box[i] : 0;
        to->key[i] = number << 32 | (b->which ? b->which[i] : (uint32_t)i);
        for (size_t k = to->first[i]; b->first_box && k < b->first_box[i + 1]; k++) {
            const hd_box *x = &b->box[k];
            to->object[k] =
                (hd_detr_object){x->label, (x->x + x->width / 2) / width, (x->y + x->height / 2) / height,
                                 x->width / width, x->height / height};
        }
    }
    to->first[b->items] = objects;
    to->truth = (hd_detr_truth){to->object, to->first, b->items};
    to->in = (hd_items){.pixels = &to->pixels};
    return true;
}

void hd_detect_batch_release(hd_detect_batch *b)
{
    hd_mem_free(b->object);
    hd_mem_free(b->first);
    hd_mem_free(b->key);
    *b = (hd_detect_batch){0};
}

/* -- answers -- */

/* What query number q answers: its likeliest label but that of no object. */
static hd_found_object object_of(const hd_real *logits, const hd_real *box, size_t labels, size_t q,
                                 double width, double height)
{
    double most = -INFINITY, sum = 0;
    size_t best = 0;
    for (size_t c = 0; c <= labels; c++) most = fmax(most, (double)logits[c]);
    for (size_t c = 0; c <= labels; c++) sum += exp((double)logits[c] - most);
    for (size_t c = 1; c < labels; c++)
        if (logits[c] > logits[best]) best = c;
    return (hd_found_object){.label = best,
                             .query = q,
                             .score = exp((double)logits[best] - most) / sum,
                             .x = ((double)box[0] - (double)box[2] / 2) * width,
                             .y = ((double)box[1] - (double)box[3] / 2) * height,
                             .width = (double)box[2] * width,
                             .height = (double)box[3] * height};
}

static int by_score(const void *a, const void *b)
{
    const hd_found_object *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->query < y->query ? -1 : x->query > y->query;
}

/* Answers of all queries for the one picture of a batch. */
static hd_status ask(hd_found_object *to, hd_run *r, const hd_detr *m, const hd_detect_batch *b, double width,
                     double height, hd_err *err)
{
    size_t queries = m->opt.queries, labels = m->opt.labels;
    hd_tensor *place = NULL;
    hd_rows memory = hd_detr_encode(r, m, &b->in, &place);
    hd_detr_queries q = hd_detr_ask(r, m, memory.seg, 1, NULL, NULL);
    hd_detr_found f = hd_detr_decode(r, m, memory, place, &q, false);
    hd_real *logits = hd_host_take(r, queries * (labels + 1) * sizeof *logits),
            *box = hd_host_take(r, queries * BOX * sizeof *box);
    if (logits && box && hd_read_output(r, f.logits, logits) && hd_read_output(r, f.box, box))
        for (size_t i = 0; i < queries; i++)
            to[i] = object_of(logits + i * (labels + 1), box + i * BOX, labels, i, width, height);
    return hd_run_status(r, err);
}

/* A box does not leave its picture. */
static void cut(hd_found_object *o, double width, double height)
{
    double right = fmin(o->x + o->width, width), bottom = fmin(o->y + o->height, height);
    o->x = fmax(o->x, 0), o->y = fmax(o->y, 0);
    o->width = fmax(right - o->x, 0), o->height = fmax(bottom - o->y, 0);
}

hd_status hd_detect(hd_found_objects *out, hd_run *r, const hd_model_folder *f, const hd_image *picture,
                    double threshold, hd_err *err)
{
    const hd_detr *m = hd_model_folder_detr(f);
    const double width = picture->width, height = picture->height;
    hd_image read = {0};
    hd_detect_batch b = {0};
    *out = (hd_found_objects){.at = hd_mem_array(m->opt.queries, sizeof *out->at)};
    hd_status s = out->at ? HD_OK : hd_err_nomem(err, m->opt.queries * sizeof *out->at);
    if (!s) s = hd_image_prepared(&read, picture, hd_detector_prepare(f), err);
    hd_run_begin(r, HD_INFERENCE);
    const int32_t begin = 0, size[2] = {read.height, read.width};
    hd_image_batch one = {.items = 1,
                          .bytes = read.pixel,
                          .byte_count = s ? 0 : hd_image_bytes(&read),
                          .begin = &begin,
                          .size = size,
                          .channels = read.channels};
    if (!s && !hd_detect_batch_send(r, &b, &one, hd_detector_prepare(f), 0)) s = hd_run_status(r, err);
    if (!s) s = ask(out->at, r, m, &b, width, height, err);
    if (!s) qsort(out->at, m->opt.queries, sizeof *out->at, by_score);
    for (size_t i = 0; !s && i < m->opt.queries && out->at[i].score > threshold; i++, out->count++)
        cut(&out->at[i], width, height);
    hd_image_release(&read);
    hd_detect_batch_release(&b);
    if (s) hd_found_objects_release(out);
    return s;
}

void hd_found_objects_release(hd_found_objects *f)
{
    hd_mem_free(f->at);
    *f = (hd_found_objects){0};
}

/* -- judging -- */

typedef struct answers { /* of all pictures of a set */
    hd_real *at;         /* [pictures, queries, row]: logits, then the box */
    size_t queries, labels, row, count;
} answers;

static hd_status answers_make(answers *a, const hd_detr *m, size_t pictures, hd_err *err)
{
    *a = (answers){.queries = m->opt.queries, .labels = m->opt.labels, .row = m->opt.labels + 1 + BOX};
    if (!hd_size_mul(a->queries, a->row, &a->count) || !hd_size_mul(a->count, pictures, &a->count))
        return hd_err_set(err, HD_ELIMIT, "%zu pictures are too many to be judged at once", pictures);
    a->at = hd_mem_array(a->count, sizeof *a->at);
    return a->at ? HD_OK : hd_err_nomem(err, a->count * sizeof *a->at);
}

/* Overlaps do not depend on how wide and high a picture is: shares of it will do. */
static hd_status add_picture(hd_detection *to, const hd_image_set *set, size_t picture, const answers *a,
                             hd_err *err)
{
    const double height = set->size[2 * picture], width = set->size[2 * picture + 1];
    hd_status s = HD_OK;
    for (size_t k = set->first_box[picture]; !s && k < set->first_box[picture + 1]; k++) {
        const hd_box *o = &set->box[k];
        hd_detection_box true_one = {.picture = picture,
                                     .label = (size_t)o->label,
                                     .x = (double)o->x / width,
                                     .y = (double)o->y / height,
                                     .width = (double)o->width / width,
                                     .height = (double)o->height / height};
        s = hd_detection_add_truth(to, &true_one, err);
    }
    for (size_t q = 0; !s && q < a->queries; q++) {
        const hd_real *row = a->at + (picture * a->queries + q) * a->row;
        hd_found_object o = object_of(row, row + a->labels + 1, a->labels, q, 1, 1);
        hd_detection_box found = {picture, o.label, o.x, o.y, o.width, o.height, .score = o.score};
        s = hd_detection_add_found(to, &found, err);
    }
    return s;
}

/* Pictures from number `first` on. */
static hd_status judge_batch(answers *to, double *loss, hd_run *r, const hd_detr *m, hd_detect_batch *b,
                             const hd_image_batch *of, size_t first, hd_err *err)
{
    size_t classes = to->labels + 1, rows = of->items * to->queries;
    hd_tensor *place = NULL;
    hd_detr_found f = {0};
    hd_run_begin(r, HD_INFERENCE);
    if (!hd_detect_batch_send(r, b, of, &m->opt.image.prepare, 0)) return hd_run_status(r, err);
    hd_rows memory = hd_detr_encode(r, m, &b->in, &place);
    hd_detr_loss_opt opt = {.objects = (double)b->first[of->items], .pictures = (double)of->items};
    *loss += hd_loss_total(r, hd_detr_loss(r, m, memory, place, &b->truth, &opt, &f));
    size_t last = f.layers ? (f.layers - 1) * rows : 0;
    hd_real *logits = hd_host_take(r, rows * classes * sizeof *logits),
            *box = hd_host_take(r, rows * BOX * sizeof *box);
    if (!logits || !box || r->err.status) return hd_run_status(r, err);
    hd_tensor z = hd_view_rows(f.logits, last, rows), x = hd_view_rows(f.box, last, rows);
    if (!hd_read_output(r, &z, logits) || !hd_read_output(r, &x, box)) return hd_run_status(r, err);
    for (size_t i = 0; i < rows; i++) {
        hd_real *row = to->at + (first * to->queries + i) * to->row;
        memcpy(row, logits + i * classes, classes * sizeof *row);
        memcpy(row + classes, box + i * BOX, BOX * sizeof *row);
    }
    return HD_OK;
}

/* All batches, or every so many: then the answers of other processes come by a sum, to which they add 0. */
static hd_status judge_set(answers *to, double *loss, hd_run *r, const hd_model_folder *f,
                           const hd_image_set *set, bool together, hd_err *err)
{
    hd_image_loader_opt opt = {
        .set = set, .prepare = hd_detector_prepare(f), .batch = JUDGED_AT_ONCE, .in_order = true};
    hd_image_loader *loader = NULL;
    const hd_image_batch *b;
    hd_detect_batch room = {0};
    size_t n = together ? (size_t)hd_rank() : 0, step = together ? (size_t)hd_ranks() : 1;
    hd_status s = to->at ? hd_image_loader_new(&loader, &opt, err) : err->status;
    for (; !s && n * JUDGED_AT_ONCE < set->count; n += step) {
        size_t at = n * JUDGED_AT_ONCE, left = set->count - at;
        s = hd_image_loader_get(loader, n, 0, left < JUDGED_AT_ONCE ? left : JUDGED_AT_ONCE, &b, err);
        if (!s) s = judge_batch(to, loss, r, hd_model_folder_detr(f), &room, b, at, err);
    }
    hd_image_loader_free(loader);
    hd_detect_batch_release(&room);
    if (!together) return s;
    s = hd_ranks_agree(s, loss, 1, err);
    hd_status sum = s ? s : hd_ranks_sum(to->at, to->count);
    if (!s && sum) s = hd_err_set(err, sum, "the processes could not exchange what they found");
    return s;
}

hd_status hd_detector_judge(hd_detector_judged *out, hd_run *r, const hd_model_folder *f,
                            const hd_image_set *set, bool together, hd_err *err)
{
    const hd_detr *m = hd_model_folder_detr(f);
    hd_detection *d = NULL;
    answers a;
    hd_err why = {0};
    *out = (hd_detector_judged){.pictures = set->count, .objects = set->first_box[set->count]};
    answers_make(&a, m, set->count, &why);
    hd_status s = judge_set(&a, &out->loss, r, f, set, together, &why);
    if (s) hd_err_set(err, s, "%s", why.text);
    out->of = hd_mem_array(m->opt.labels, sizeof *out->of);
    if (!s)
        s = out->of ? hd_detection_new(&d, m->opt.labels, err)
                    : hd_err_nomem(err, m->opt.labels * sizeof *out->of);
    for (size_t i = 0; !s && i < set->count; i++) s = add_picture(d, set, i, &a, err);
    if (!s) s = hd_detection_finish(d, &out->all, out->of, err);
    if (out->objects) out->loss /= (double)out->objects;
    hd_detection_free(d);
    hd_mem_free(a.at);
    if (s) hd_detector_judged_release(out);
    return s;
}

void hd_detector_judged_release(hd_detector_judged *j)
{
    hd_mem_free(j->of);
    *j = (hd_detector_judged){0};
}
