/* Detection Transformers that learn drawn shapes. */
#include "lab/picture/finder.h"

#include <math.h>

#include "backend/box.h"
#include "lab/desk.h"

enum { WIDTH = 32, SIDE = HD_FINDER_SIDE, PATCH = 4, PICTURES = HD_ALBUM_PICTURES };
enum { QUERIES = HD_FINDER_QUERIES, LABELS = HD_SHAPE_COLORS };

hd_status hd_finder_open(hd_finder *f, hd_run *run, uint64_t seed, hd_err *err)
{
    const hd_stack_opt stack = {
        .layers = 1, .heads = 2, .width = WIDTH, .inner = 2 * WIDTH, .init = {HD_INIT_XAVIER, 1, 0}};
    const hd_detr_opt o = {
        .image = {.height = SIDE, .width = SIDE, .channels = 3, .patch = PATCH, .stack = stack},
        .stack = {.heads = 2, .width = WIDTH, .inner = 2 * WIDTH},
        .decoder_layers = 1,
        .queries = QUERIES,
        .labels = LABELS,
        .anchors = true,
    };
    *f = (hd_finder){.album = {.seed = seed, .side = SIDE, .most = HD_FINDER_MOST}};
    hd_status s = hd_detr_new(&f->model, run->backend, &o, true, err);
    if (!s) s = hd_course_open(&f->course, run, &f->model->params, seed, err);
    return s ? s : hd_detr_draw(f->model, seed, err);
}

void hd_finder_close(hd_finder *f)
{
    hd_course_close(&f->course);
    hd_detr_free(f->model);
    hd_album_close(&f->album);
    *f = (hd_finder){0};
}

hd_status hd_finder_turn(hd_finder *f, bool fresh, uint64_t page, hd_err *err)
{
    hd_status s = hd_album_turn(&f->album, 2 * page + fresh, err);
    size_t n = 0;
    for (size_t i = 0; !s && i < PICTURES; i++) {
        const hd_scene *scene = &f->album.scene[i];
        for (int k = 0; k < scene->count; k++) {
            hd_box b = hd_scene_box(scene, k, SIDE);
            f->object[n++] = (hd_detr_object){(int32_t)scene->shape[k].color, (b.x + b.width / 2) / SIDE,
                                              (b.y + b.height / 2) / SIDE, b.width / SIDE, b.height / SIDE};
        }
        f->first[i + 1] = n;
    }
    return s;
}

/* In a step that was begun. */
static hd_tensor *loss_of(hd_finder *f, const hd_detr_object *object)
{
    hd_run *r = f->course.run;
    hd_tensor *place = NULL;
    const hd_items in = {.pixels = hd_album_send(r, &f->album, 0, PICTURES, &f->model->opt.image.prepare)};
    const hd_detr_truth truth = {object, f->first, PICTURES};
    const hd_detr_loss_opt o = {.objects = (double)f->first[PICTURES], .pictures = PICTURES};
    hd_rows memory = in.pixels ? hd_detr_encode(r, f->model, &in, &place) : (hd_rows){0};
    return hd_detr_loss(r, f->model, memory, place, &truth, &o, NULL);
}

hd_status hd_finder_learn(hd_finder *f, uint32_t steps, uint32_t of, double rate, hd_err *err)
{
    hd_course *c = &f->course;
    hd_status s = HD_OK;
    for (uint32_t i = 0; !s && i < steps; i++) {
        s = hd_finder_turn(f, false, c->updates, err);
        if (s) return s;
        hd_course_begin(c);
        loss_of(f, f->object);
        s = hd_course_end(c, hd_course_falling(c, rate, of), (double)f->first[PICTURES], err);
    }
    return s;
}

hd_status hd_finder_loss(double *loss, hd_finder *f, bool reversed, hd_err *err)
{
    hd_detr_object object[HD_FINDER_OBJECTS];
    for (size_t i = 0; i < PICTURES; i++)
        for (size_t k = f->first[i]; k < f->first[i + 1]; k++)
            object[k] = f->object[reversed ? f->first[i] + f->first[i + 1] - 1 - k : k];
    hd_run_begin(f->course.run, HD_INFERENCE);
    *loss = hd_loss_total(f->course.run, loss_of(f, object)) / (double)f->first[PICTURES];
    return hd_run_status(f->course.run, err);
}

hd_status hd_finder_answers(hd_finder_answer *to, hd_finder *f, hd_err *err)
{
    hd_run *r = f->course.run;
    hd_tensor *place = NULL;
    hd_real box[PICTURES * QUERIES * 4];
    int32_t label[PICTURES * QUERIES];
    hd_run_begin(r, HD_INFERENCE);
    const hd_items in = {.pixels = hd_album_send(r, &f->album, 0, PICTURES, &f->model->opt.image.prepare)};
    hd_rows memory = in.pixels ? hd_detr_encode(r, f->model, &in, &place) : (hd_rows){0};
    if (memory.t) {
        hd_detr_queries q = hd_detr_ask(r, f->model, memory.seg, PICTURES, NULL, NULL);
        hd_detr_found found = hd_detr_decode(r, f->model, memory, place, &q, false);
        if (hd_read(r, found.box, box)) hd_desk_best(label, r, found.logits);
    }
    hd_status s = hd_run_status(r, err);
    for (size_t i = 0; !s && i < PICTURES * QUERIES; i++) {
        to[i].label = label[i];
        for (size_t k = 0; k < 4; k++) to[i].box[k] = (double)box[4 * i + k];
    }
    return s;
}

/* -- judging -- */

/* Shared area by that of both. */
static double overlap(const double box[4], const hd_detr_object *o)
{
    const double want[4] = {(double)o->x, (double)o->y, (double)o->width, (double)o->height};
    double shared = 1;
    for (int k = 0; k < 2; k++) shared *= hd_box_axis_of(box[k], box[2 + k], want[k], want[2 + k]).shared;
    return shared / (box[2] * box[3] + want[2] * want[3] - shared);
}

static void place(hd_finder_place *p, const double box[4])
{
    p->count++;
    for (int k = 0; k < 2; k++) p->middle[k] += box[k], p->deviation[k] += box[k] * box[k];
}

static void settle(hd_finder_place *p)
{
    for (int k = 0; p->count && k < 2; k++) {
        p->middle[k] /= (double)p->count;
        p->deviation[k] = sqrt(fmax(p->deviation[k] / (double)p->count - p->middle[k] * p->middle[k], 0));
    }
}

/* How far answers lie from their middle, summed over all of them. */
static double spread(const hd_finder_place *p)
{
    return (double)p->count * hypot(p->deviation[0], p->deviation[1]);
}

static void count(hd_finder_score *to, const hd_finder *f, const hd_finder_answer *answer, double one)
{
    for (size_t i = 0; i < PICTURES; i++, answer += QUERIES) {
        for (size_t q = 0; q < QUERIES; q++)
            if (answer[q].label < LABELS) place(&to->query[q], answer[q].box), place(&to->all, answer[q].box);
        for (size_t k = f->first[i]; k < f->first[i + 1]; k++) {
            int named = 0, found = 0;
            for (size_t q = 0; q < QUERIES; q++)
                if (answer[q].label == f->object[k].label)
                    named++, found += overlap(answer[q].box, &f->object[k]) > 0.5;
            to->named += named ? one : 0, to->found += found ? one : 0, to->twice += found > 1 ? one : 0;
        }
    }
}

hd_status hd_finder_judge(hd_finder_score *to, hd_finder *f, hd_err *err)
{
    enum { PAGES = 4 };
    hd_finder_answer answer[PICTURES * QUERIES];
    hd_status s = HD_OK;
    *to = (hd_finder_score){0};
    for (uint64_t page = PAGES; !s && page-- > 0;) { /* the first page stays */
        s = hd_finder_turn(f, true, page, err);
        if (!s) s = hd_finder_answers(answer, f, err);
        if (!s) count(to, f, answer, 1 / (PAGES * (double)f->first[PICTURES]));
        to->objects += (double)f->first[PICTURES] / (PAGES * PICTURES);
    }
    for (size_t q = 0; q < QUERIES; q++) settle(&to->query[q]);
    settle(&to->all);
    to->said = (double)to->all.count / (PAGES * PICTURES);
    for (size_t q = 0; q < QUERIES; q++) to->narrow += spread(&to->query[q]);
    to->narrow /= spread(&to->all);
    return s;
}
