/* A small encoder-decoder that learns an exercise: what recurrent decoders, attention and Transformers are
   compared by. */
#ifndef HD_LAB_LEARNER_H
#define HD_LAB_LEARNER_H

#include "data/exercise/exercise.h"
#include "lab/course.h"
#include "lab/experiment.h"
#include "model/encdec/encdec.h"

enum { HD_LEARNER_ITEMS = 32, HD_LEARNER_BEGIN = 1, HD_LEARNER_END, HD_LEARNER_FIRST };

typedef struct hd_learner_opt {
    const char *encoder, *decoder; /* stages, as `heed train --encoder` has them: "bi-gru:1" */
    hd_exercise_kind exercise;
    int32_t plain, shortest, longest; /* plain words, and lengths while learning */
    uint64_t seed;
    hd_encdec_opt model; /* hd_learner_model, changed as the experiment needs it */
} hd_learner_opt;

/* Pairs of a step, as models read them. */
typedef struct hd_learner_lot {
    size_t items, source_rows, target_rows;
    int32_t source_len[HD_LEARNER_ITEMS], target_len[HD_LEARNER_ITEMS];
    int32_t source[HD_LEARNER_ITEMS * (HD_EXERCISE_SOURCE + 1)];
    int32_t input[HD_LEARNER_ITEMS * (HD_EXERCISE_TARGET + 1)],
        target[HD_LEARNER_ITEMS * (HD_EXERCISE_TARGET + 1)];
} hd_learner_lot;

typedef struct hd_learner {
    hd_course course;
    hd_learner_opt opt;
    hd_encdec *model;
    hd_learner_lot *lot;
} hd_learner;

/* A model of that width with two heads, whose words are those of an exercise. */
hd_encdec_opt hd_learner_model(size_t width);

/* A Transformer of one layer on each side, of that width, and an exercise of so many words, always. */
hd_learner_opt hd_learner_block(hd_exercise_kind exercise, int32_t length, size_t width, uint64_t seed);

/* Lives where it was opened; the caller closes it whatever happens. */
hd_status hd_learner_open(hd_learner *l, hd_run *run, const hd_learner_opt *o, hd_err *err);
void hd_learner_close(hd_learner *l); /* accepts {0} */

/* Pairs of that length; 0: of those it learns. number: which lot, from 0 on; lots that are learned from have
   even numbers. */
void hd_learner_draw(hd_learner_lot *to, const hd_learner *l, int32_t length, uint64_t number);
/* Rows of the decoder before the output layer, of a step that was begun; the memory of the encoder, if
   asked for. */
hd_rows hd_learner_rows(hd_learner *l, const hd_learner_lot *lot, hd_encoded *memory);

/* So many updates, with a rate that falls to 0 over all `of` of them; *loss, which may be NULL, is the mean
   of the last tenth, nats a token. */
hd_status hd_learner_learn(hd_learner *l, uint32_t steps, uint32_t of, double rate, double *loss,
                           hd_err *err);
/* The share of words that are the likeliest where they stand, after the right ones, in new pairs. */
hd_status hd_learner_judge(double *share, hd_learner *l, int32_t length, hd_err *err);

/* Opens one, lets it learn in so many updates, judges it at each length (0: those it learns) and closes it.
 */
hd_status hd_learner_taught(double *share, hd_run *run, const hd_learner_opt *o, uint32_t updates,
                            double rate, const int32_t *length, size_t lengths, hd_err *err);

#endif
