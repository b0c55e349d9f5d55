/* Language models that learn small texts. */
#include "lab/language/pupil.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/grammar/grammar.h"
#include "lab/desk.h"

/* -- texts -- */

static hd_status add_word(hd_story *t, const char *word, size_t size, hd_err *err)
{
    int32_t id = HD_PUPIL_FIRST;
    size_t at = 0;
    for (; at < t->words.size; at += strlen(t->words.data + at) + 1, id++)
        if (strlen(t->words.data + at) == size && !memcmp(t->words.data + at, word, size)) break;
    if (at >= t->words.size) hd_text_add(&t->words, word, size), hd_text_add(&t->words, "", 1);
    t->vocab = (size_t)id >= t->vocab ? (size_t)id + 1 : t->vocab;
    hd_status s = hd_text_status(&t->words, err);
    if (!s) s = hd_mem_reserve(&t->ids, &t->room, t->count + 1, sizeof *t->ids, err);
    if (!s) t->ids[t->count++] = id;
    return s;
}

hd_status hd_story_draw(hd_story *to, size_t sentences, uint64_t seed, hd_err *err)
{
    hd_grammar *g = NULL;
    hd_text english = {0}, german = {0};
    *to = (hd_story){.vocab = HD_PUPIL_FIRST};
    hd_status s = hd_grammar_new(&g, seed, err);
    for (size_t i = 0; !s && i < sentences; i++) {
        s = hd_grammar_next(g, &english, &german, err);
        for (const char *at = english.data; !s && at && *at;) {
            size_t n = strcspn(at, " ");
            s = add_word(to, at, n, err);
            at += n + (at[n] == ' ');
        }
        if (!s) s = hd_mem_reserve(&to->ids, &to->room, to->count + 1, sizeof *to->ids, err);
        if (!s) to->ids[to->count++] = HD_PUPIL_END;
    }
    hd_text_release(&english);
    hd_text_release(&german);
    hd_grammar_free(g);
    return s;
}

void hd_story_release(hd_story *t)
{
    hd_mem_free(t->ids);
    hd_text_release(&t->words);
    *t = (hd_story){0};
}

void hd_story_repeat(int32_t *ids, size_t count, size_t period, uint32_t words, uint64_t seed)
{
    hd_rng rng = hd_rng_make(seed, 3);
    for (size_t i = 0; i < count; i++)
        ids[i] = i / period % 2 ? ids[i - period] : HD_PUPIL_FIRST + (int32_t)hd_rng_below(&rng, words);
}

/* -- models -- */

hd_lm_opt hd_pupil_model(hd_lm_kind kind, size_t width, size_t vocab)
{
    const bool modern = kind >= HD_LM_llama;
    const hd_experts_opt experts = {.count = 4, .used = 2, .inner = width, .normalized = true};
    hd_lm_opt o = {.kind = kind,
                   .vocab = vocab,
                   .start = HD_PUPIL_START,
                   .end = HD_PUPIL_END,
                   .unk = HD_PUPIL_UNK,
                   .order = 3,
                   .smoothing = HD_SMOOTHING_KNESER_NEY,
                   .buckets = 1024,
                   .context = HD_PUPIL_WINDOW,
                   .stack = {.layers = 1, .heads = 2, .width = width, .pre_norm = true}};
    if (modern)
        o.stack.rms = o.stack.gated = o.stack.unbiased = true, o.stack.rotary.kind = HD_ROTARY_HALVES,
        o.stack.inner = 2 * width;
    if (kind == HD_LM_moe || kind == HD_LM_deepseek) o.stack.experts = experts;
    if (kind == HD_LM_deepseek)
        o.stack.latent =
            (hd_latent_opt){.rank = width / 4, .plain = width / 2, .rotated = width / 4, .value = width / 2};
    return o;
}

hd_status hd_pupil_open(hd_pupil *p, hd_run *run, const hd_lm_opt *o, uint64_t seed, hd_err *err)
{
    *p = (hd_pupil){.course = {.run = run}};
    hd_status s = hd_lm_new(&p->model, o, run->backend, true, err);
    if (!s && p->model->params) s = hd_course_open(&p->course, run, p->model->params, seed, err);
    return s;
}

void hd_pupil_close(hd_pupil *p)
{
    hd_course_close(&p->course);
    hd_lm_free(p->model);
    *p = (hd_pupil){0};
}

/* Losses of windows that begin at `from`. */
static hd_tensor *loss_of(hd_pupil *p, const int32_t *text, size_t count, const size_t *from,
                          const int32_t *len, size_t items)
{
    hd_run *r = p->course.run;
    const bool back = p->model->type->lm.looks_back;
    const size_t places = back ? (size_t)p->model->opt.order - 1 : 0;
    size_t rows = 0, at = 0;
    for (size_t i = 0; i < items; i++) rows += (size_t)len[i];
    int32_t *ids = hd_host_take(r, rows * sizeof *ids), *target = hd_host_take(r, rows * sizeof *target),
            *before = hd_host_take(r, (rows * places + 1) * sizeof *before), one[8];
    if (!ids || !target || !before) return NULL;
    for (size_t i = 0; i < items; i++)
        for (size_t k = from[i]; k < from[i] + (size_t)len[i]; k++, at++) {
            ids[at] = k ? text[k - 1] : HD_PUPIL_START, target[at] = text[k];
            if (back) hd_lm_features(p->model, text, count, k, one);
            for (size_t c = 0; c < places; c++) before[c * rows + at] = one[c];
        }
    hd_lm_batch b = {.seg = hd_seg_of(r, len, items, NULL),
                     .ids = hd_ints(r, ids, rows),
                     .target = hd_ints(r, target, rows),
                     .before = back ? hd_ints(r, before, rows * places) : NULL};
    return p->model->type->lm.loss(r, p->model, &b, NULL, &(hd_loss_opt){.coef = 1});
}

hd_status hd_pupil_learn(hd_pupil *p, const int32_t *ids, size_t count, uint32_t steps, double rate,
                         hd_err *err)
{
    hd_course *c = &p->course;
    hd_status s = HD_OK;
    if (!p->model->params) return p->model->type->lm.count(p->model, ids, count, err);
    for (uint32_t i = 0; !s && i < steps; i++) {
        size_t from[HD_PUPIL_ITEMS];
        int32_t len[HD_PUPIL_ITEMS];
        hd_rng rng = hd_rng_make(c->seed, 1000 + c->updates);
        for (size_t k = 0; k < HD_PUPIL_ITEMS; k++)
            from[k] = hd_rng_below(&rng, (uint32_t)(count - HD_PUPIL_WINDOW + 1)), len[k] = HD_PUPIL_WINDOW;
        hd_course_begin(c);
        loss_of(p, ids, count, from, len, HD_PUPIL_ITEMS);
        s = hd_course_end(c, rate * (1 - (double)i / steps), HD_PUPIL_ITEMS * HD_PUPIL_WINDOW, err);
    }
    return s;
}

hd_status hd_pupil_judge(double *nats, hd_pupil *p, const int32_t *ids, size_t count, size_t window,
                         hd_err *err)
{
    hd_run *r = p->course.run;
    hd_status s = HD_OK;
    double sum = 0;
    size_t words = 0;
    if (!p->model->params) {
        *nats = -p->model->type->lm.score(p->model, ids, count) / (double)count;
        return HD_OK;
    }
    for (size_t from = 0; !s && from + window <= count; from += window, words += window) {
        hd_run_begin(r, HD_INFERENCE);
        sum += hd_loss_total(r, loss_of(p, ids, count, &from, &(int32_t){(int32_t)window}, 1));
        s = hd_run_status(r, err);
    }
    *nats = words ? sum / (double)words : 0;
    return s;
}

hd_status hd_pupil_words(double *nats, hd_pupil *p, const int32_t *ids, size_t count, hd_err *err)
{
    hd_run_begin(p->course.run, HD_INFERENCE);
    hd_desk_read(nats, p->course.run, loss_of(p, ids, count, &(size_t){0}, &(int32_t){(int32_t)count}, 1));
    return hd_run_status(p->course.run, err);
}
