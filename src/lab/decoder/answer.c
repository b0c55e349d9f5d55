/* Greedy search over new pairs, and a probe of attention. */
#include "lab/decoder/answer.h"

#include <string.h>

#include "decode/search.h"
#include "lab/witness.h"
#include "metric/metric.h"

enum { EXTRA = 4, NEW = 1000001 }; /* words beyond the right length; odd: never learned from */

/* What it says of new pairs of that length, which are then in l->lot; the caller frees *found. */
static hd_status say(hd_found **found, hd_learner *l, int32_t length, hd_err *err)
{
    hd_stepper stepper = {0};
    hd_learner_lot *b = l->lot;
    int32_t most = 0;
    hd_learner_draw(b, l, length, NEW);
    for (size_t i = 0; i < b->items; i++) most = most > b->target_len[i] ? most : b->target_len[i];
    const hd_search_opt o = {.kind = HD_SEARCH_GREEDY,
                             .end = HD_LEARNER_END,
                             .max_length = (size_t)most + EXTRA,
                             .unscored = true};
    hd_status s =
        hd_encdec_stepper(&stepper, l->model, b->source, b->source_len, b->items, HD_LEARNER_BEGIN, err);
    if (!s) s = hd_search(found, l->course.run, &stepper, &o, err);
    hd_stepper_release(&stepper);
    return s;
}

hd_status hd_answer_judge(double *share, hd_learner *l, int32_t length, hd_err *err)
{
    hd_found *found = NULL;
    const hd_learner_lot *b = l->lot;
    size_t right = 0, all = 0, at = 0;
    hd_status s = say(&found, l, length, err);
    for (size_t i = 0; !s && i < b->items; at += (size_t)b->target_len[i++]) {
        const hd_guess *g = hd_found_at(found, i);
        for (size_t k = 0; k < (size_t)b->target_len[i]; k++)
            all++, right += k < g->length && g->ids[k] == b->target[at + k];
    }
    *share = all ? (double)right / (double)all : 0;
    hd_found_free(found);
    return s;
}

/* Words without the end, with blanks between. */
static void write_words(hd_text *to, const hd_learner *l, const int32_t *ids, size_t count)
{
    to->size = 0;
    for (size_t i = 0; i < count && ids[i] != HD_LEARNER_END; i++)
        hd_text_print(
            to, "%s%s", i ? " " : "",
            ids[i] < HD_LEARNER_FIRST ? "?" : hd_exercise_word(l->opt.exercise, ids[i] - HD_LEARNER_FIRST));
}

hd_status hd_answer_bleu(double *score, hd_learner *l, hd_err *err)
{
    hd_found *found = NULL;
    hd_metric *bleu = NULL;
    hd_text hypothesis = {0}, reference = {0};
    const hd_learner_lot *b = l->lot;
    size_t at = 0;
    hd_status s = hd_metric_new(&bleu, HD_METRIC_bleu,
                                &(hd_metric_opt){.refs = 1, .tokenizer = HD_BLEU_TOKENIZER_none}, err);
    if (!s) s = say(&found, l, 0, err);
    for (size_t i = 0; !s && i < b->items; at += (size_t)b->target_len[i++]) {
        const hd_guess *g = hd_found_at(found, i);
        write_words(&hypothesis, l, g->ids, g->length);
        write_words(&reference, l, b->target + at, (size_t)b->target_len[i]);
        s = hd_text_status(&hypothesis, err);
        if (!s) s = hd_text_status(&reference, err);
        if (!s)
            s = hd_metric_add(bleu, (hd_line){hypothesis.data ? hypothesis.data : "", hypothesis.size},
                              &(hd_line){reference.data, reference.size}, err);
    }
    if (!s) s = hd_metric_finish(bleu, score, err);
    hd_text_release(&hypothesis);
    hd_text_release(&reference);
    hd_metric_free(bleu);
    hd_found_free(found);
    return s;
}

hd_status hd_gaze_take(hd_gaze *to, hd_learner *l, int32_t length, uint64_t number, hd_err *err)
{
    hd_run *r = l->course.run;
    hd_learner_lot *b = l->lot;
    hd_witness w = {.to = to->weight, .room = sizeof to->weight / sizeof *to->weight};
    hd_learner_draw(b, l, length, NEW + 2 + 2 * number);
    b->items = 1, b->source_rows = (size_t)b->source_len[0], b->target_rows = (size_t)b->target_len[0];
    to->sources = b->source_rows, to->targets = b->target_rows;
    memcpy(to->source, b->source, to->sources * sizeof *to->source);
    memcpy(to->target, b->target, to->targets * sizeof *to->target);
    hd_run_begin(r, HD_INFERENCE);
    hd_witness_begin(r, &w);
    hd_learner_rows(l, b, NULL);
    hd_witness_end(r);
    hd_status s = hd_run_status(r, err);
    if (!s && w.count != to->sources * to->targets)
        s = hd_err_set(err, HD_EARG, "attention of %zu words to %zu gave %zu weights", to->targets,
                       to->sources, w.count);
    return s;
}
