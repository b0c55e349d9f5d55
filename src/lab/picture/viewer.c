/* Vision Transformers that learn drawn shapes. */
#include "lab/picture/viewer.h"

#include <math.h>
#include <string.h>

enum { SIDE = HD_VIEWER_SIDE, PATCH = HD_VIEWER_PATCH, ACROSS = HD_VIEWER_ACROSS, CELLS = HD_VIEWER_PATCHES };
enum { QUARTERS = HD_VIEWER_QUARTERS, CLASSES = HD_VIEWER_CLASSES, PICTURES = HD_ALBUM_PICTURES };
enum { WIDTH = 32, JUDGED = 4 };

/* -- pictures -- */

static bool clearly_in_a_quarter(const hd_scene *s)
{
    return fabs(s->shape[0].x - 0.5) > 0.05 && fabs(s->shape[0].y - 0.5) > 0.05;
}

static int32_t class_of(const hd_scene *s)
{
    return (int32_t)s->shape[0].color * QUARTERS + 2 * (s->shape[0].y > 0.5) + (s->shape[0].x > 0.5);
}

static void shuffle(hd_image *im, uint64_t seed, uint64_t stream)
{
    enum { BYTES = 3 * PATCH };
    hd_rng rng = hd_rng_make(seed, stream);
    uint8_t old[3 * SIDE * SIDE];
    uint32_t from[CELLS];
    memcpy(old, im->pixel, sizeof old);
    for (uint32_t i = 0; i < CELLS; i++) {
        uint32_t k = hd_rng_below(&rng, i + 1);
        from[i] = from[k], from[k] = i;
    }
    for (uint32_t i = 0; i < CELLS; i++)
        for (uint32_t y = 0; y < PATCH; y++)
            memcpy(im->pixel + ((i / ACROSS * PATCH + y) * ACROSS + i % ACROSS) * BYTES,
                   old + ((from[i] / ACROSS * PATCH + y) * ACROSS + from[i] % ACROSS) * BYTES, BYTES);
}

hd_status hd_viewer_turn(hd_viewer *v, bool fresh, uint64_t page, hd_err *err)
{
    const uint64_t number = 2 * page + fresh;
    hd_status s = hd_album_turn(&v->album, number, err);
    for (uint64_t i = 0; !s && v->order && i < PICTURES; i++)
        shuffle(&v->album.image[i], v->album.seed, v->order == HD_VIEWER_ANY ? 1 + number * PICTURES + i : 0);
    return s;
}

/* -- the model -- */

hd_status hd_viewer_open(hd_viewer *v, hd_run *run, hd_viewer_order order, bool nowhere, uint64_t seed,
                         hd_err *err)
{
    static const char *const positions[] = {"vit.embeddings.position_embeddings"};
    static const hd_real none[(1 + CELLS) * WIDTH];
    const hd_stack_opt stack = {
        .layers = 1, .heads = 2, .width = WIDTH, .inner = 2 * WIDTH, .init = {HD_INIT_XAVIER, 1, 0}};
    hd_classifier_opt o = {
        .body = {.type = &hd_model_vit,
                 .image = {.height = SIDE,
                           .width = SIDE,
                           .channels = 3,
                           .patch = PATCH,
                           .class_token = true,
                           .stack = stack}},
        .pool = HD_POOL_first,
        .classes = CLASSES,
        .frozen = {positions, nowhere},
    };
    *v = (hd_viewer){.order = order,
                     .album = {.seed = seed, .side = SIDE, .most = 1, .wanted = clearly_in_a_quarter}};
    hd_status s = hd_classifier_new(&v->model, run->backend, &o, true, err);
    if (!s) s = hd_course_open(&v->course, run, v->model->params, seed, err);
    if (!s && nowhere)
        s = hd_params_set(v->model->params, hd_params_find(v->model->params, positions[0]), none);
    return s;
}

void hd_viewer_close(hd_viewer *v)
{
    hd_course_close(&v->course);
    hd_classifier_free(v->model);
    hd_album_close(&v->album);
    *v = (hd_viewer){0};
}

static hd_class_batch send(hd_viewer *v)
{
    int32_t class[PICTURES];
    for (size_t i = 0; i < PICTURES; i++) class[i] = class_of(&v->album.scene[i]);
    return (hd_class_batch){
        .in.pixels = hd_album_send(v->course.run, &v->album, 0, PICTURES, &v->model->opt.body.image.prepare),
        .target = hd_ints(v->course.run, class, PICTURES)};
}

hd_status hd_viewer_answer(hd_real *logp, hd_viewer *v, hd_err *err)
{
    hd_run_begin(v->course.run, HD_INFERENCE);
    hd_class_batch b = send(v);
    hd_tensor *y = hd_classifier_logp(v->course.run, v->model, &b);
    if (y) hd_read(v->course.run, y, logp);
    return hd_run_status(v->course.run, err);
}

hd_status hd_viewer_learn(hd_viewer *v, uint32_t steps, uint32_t of, double rate, hd_err *err)
{
    hd_course *c = &v->course;
    hd_status s = HD_OK;
    for (uint32_t i = 0; !s && i < steps; i++) {
        s = hd_viewer_turn(v, false, c->updates, err);
        if (s) return s;
        hd_run *r = hd_course_begin(c);
        hd_class_batch b = send(v);
        hd_classifier_loss(r, v->model, &b, &(hd_loss_opt){.coef = 1});
        s = hd_course_end(c, hd_course_falling(c, rate, of), PICTURES, err);
    }
    return s;
}

hd_status hd_viewer_judge(double *color, double *quarter, hd_viewer *v, hd_err *err)
{
    hd_real logp[PICTURES * CLASSES];
    hd_status s = HD_OK;
    int right[2] = {0};
    for (uint64_t page = 0; !s && page < JUDGED; page++) {
        s = hd_viewer_turn(v, true, page, err);
        if (!s) s = hd_viewer_answer(logp, v, err);
        for (size_t i = 0; !s && i < PICTURES; i++) {
            const hd_real *p = logp + i * CLASSES;
            int32_t best = 0, class = class_of(&v->album.scene[i]);
            for (int32_t c = 1; c < CLASSES; c++)
                if (p[c] > p[best]) best = c;
            right[0] += best / QUARTERS == class / QUARTERS, right[1] += best % QUARTERS == class % QUARTERS;
        }
    }
    *color = right[0] / (double)(JUDGED * PICTURES), *quarter = right[1] / (double)(JUDGED * PICTURES);
    return s;
}

hd_status hd_viewer_compare_shuffled(double *moved, double shades[2][SIDE * SIDE], hd_viewer *v, hd_err *err)
{
    const hd_viewer_order order[2] = {v->order, HD_VIEWER_ANY};
    hd_real logp[2][PICTURES * CLASSES];
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 2; i++) {
        v->order = order[i];
        s = hd_viewer_turn(v, true, 0, err);
        if (!s) s = hd_viewer_answer(logp[i], v, err);
        if (!s) hd_album_shades(shades[i], &v->album, 0);
    }
    v->order = order[0], *moved = 0;
    for (size_t i = 0; !s && i < PICTURES * CLASSES; i++)
        *moved = fmax(*moved, fabs(exp((double)logp[0][i]) - exp((double)logp[1][i])));
    return s;
}
