/* Encoder-decoders that learn exercises. */
#include "lab/learner.h"

#include "base/mem.h"
#include "lab/desk.h"

enum { JUDGED = 4, HEADS = 2, POSITIONS = 2 * HD_EXERCISE_TARGET };

hd_encdec_opt hd_learner_model(size_t width)
{
    return (hd_encdec_opt){
        .stack = {.heads = HEADS, .width = width, .inner = 2 * width, .eps = 1e-5f, .act = HD_relu},
        .tied = true,
        .output_bias = true,
        .positions = POSITIONS,
        .sinusoid = {.halves = true}};
}

hd_learner_opt hd_learner_block(hd_exercise_kind exercise, int32_t length, size_t width, uint64_t seed)
{
    return (hd_learner_opt){.encoder = "transformer:1",
                            .decoder = "transformer:1",
                            .exercise = exercise,
                            .plain = 10,
                            .shortest = length,
                            .longest = length,
                            .seed = seed,
                            .model = hd_learner_model(width)};
}

hd_status hd_learner_open(hd_learner *l, hd_run *run, const hd_learner_opt *o, hd_err *err)
{
    *l = (hd_learner){.opt = *o};
    hd_encdec_opt *m = &l->opt.model;
    m->source_vocab = m->target_vocab =
        (size_t)(HD_LEARNER_FIRST + hd_exercise_vocabulary(o->exercise, o->plain));
    hd_status s = hd_stages_read(&m->encoder, o->encoder, err);
    if (!s) s = hd_stages_read(&m->decoder, o->decoder, err);
    if (!s && !(l->lot = hd_mem_new(sizeof *l->lot))) s = hd_err_nomem(err, sizeof *l->lot);
    if (!s) s = hd_encdec_new(&l->model, run->backend, m, true, err);
    if (!s) s = hd_course_open(&l->course, run, &l->model->params, o->seed, err);
    return s;
}

void hd_learner_close(hd_learner *l)
{
    hd_course_close(&l->course);
    hd_encdec_free(l->model);
    hd_mem_free(l->lot);
    *l = (hd_learner){0};
}

void hd_learner_draw(hd_learner_lot *to, const hd_learner *l, int32_t length, uint64_t number)
{
    const hd_learner_opt *o = &l->opt;
    hd_rng rng = hd_rng_make(o->seed, 100 + number);
    hd_exercise x;
    to->items = to->source_rows = to->target_rows = 0;
    for (; to->items < HD_LEARNER_ITEMS; to->items++) {
        int32_t n = length
                        ? length
                        : o->shortest + (int32_t)hd_rng_below(&rng, (uint32_t)(o->longest - o->shortest + 1));
        hd_exercise_draw(&x, o->exercise, o->plain, n, &rng);
        to->source_len[to->items] = x.sources + 1, to->target_len[to->items] = x.targets + 1;
        for (int32_t i = 0; i <= x.sources; i++)
            to->source[to->source_rows++] = i < x.sources ? HD_LEARNER_FIRST + x.source[i] : HD_LEARNER_END;
        for (int32_t i = 0; i <= x.targets; i++) {
            to->input[to->target_rows] = i ? HD_LEARNER_FIRST + x.target[i - 1] : HD_LEARNER_BEGIN;
            to->target[to->target_rows++] = i < x.targets ? HD_LEARNER_FIRST + x.target[i] : HD_LEARNER_END;
        }
    }
}

hd_rows hd_learner_rows(hd_learner *l, const hd_learner_lot *b, hd_encoded *memory)
{
    hd_run *r = l->course.run;
    hd_encoded from = hd_encdec_encode(r, l->model,
                                       &(hd_items){.seg = hd_seg_of(r, b->source_len, b->items, NULL),
                                                   .ids = hd_ints(r, b->source, b->source_rows)});
    if (memory) *memory = from;
    return hd_encdec_decode(r, l->model, hd_ints(r, b->input, b->target_rows),
                            hd_seg_of(r, b->target_len, b->items, NULL), from, NULL);
}

hd_status hd_learner_learn(hd_learner *l, uint32_t steps, uint32_t of, double rate, double *loss, hd_err *err)
{
    hd_course *c = &l->course;
    hd_status s = HD_OK;
    double sum = 0, tokens = 0;
    for (uint32_t i = 0; !s && i < steps; i++) {
        hd_run *r = hd_course_begin(c);
        hd_learner_lot *b = l->lot;
        hd_learner_draw(b, l, 0, 2 * c->updates);
        hd_tensor *cost = hd_encdec_loss(r, l->model, hd_learner_rows(l, b, NULL),
                                         hd_ints(r, b->target, b->target_rows), &(hd_loss_opt){.coef = 1});
        if (loss && i >= steps - (steps + 9) / 10)
            sum += hd_loss_total(r, cost), tokens += (double)b->target_rows;
        s = hd_course_end(c, hd_course_falling(c, rate, of), (double)b->target_rows, err);
    }
    if (loss) *loss = sum / tokens;
    return s;
}

hd_status hd_learner_judge(double *share, hd_learner *l, int32_t length, hd_err *err)
{
    hd_run *r = l->course.run;
    size_t right = 0, all = 0;
    hd_status s = HD_OK;
    for (uint64_t k = 0; !s && k < JUDGED; k++) {
        hd_learner_lot *b = l->lot;
        hd_learner_draw(b, l, length, 2 * k + 1);
        hd_run_begin(r, HD_INFERENCE);
        int32_t *said = hd_host_take(r, b->target_rows * sizeof *said);
        if (said) hd_desk_best(said, r, hd_encdec_logits(r, l->model, hd_learner_rows(l, b, NULL)));
        s = hd_run_status(r, err);
        for (size_t i = 0; !s && i < b->target_rows; i++)
            if (b->target[i] != HD_LEARNER_END) all++, right += said[i] == b->target[i];
    }
    *share = all ? (double)right / (double)all : 0;
    return s;
}

hd_status hd_learner_taught(double *share, hd_run *run, const hd_learner_opt *o, uint32_t updates,
                            double rate, const int32_t *length, size_t lengths, hd_err *err)
{
    hd_learner l;
    hd_status s = hd_learner_open(&l, run, o, err);
    if (!s) s = hd_learner_learn(&l, updates, updates, rate, NULL, err);
    for (size_t i = 0; !s && i < lengths; i++) s = hd_learner_judge(&share[i], &l, length[i], err);
    hd_learner_close(&l);
    return s;
}
