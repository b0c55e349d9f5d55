/* A small language model of any kind that learns a small text: sentences of the grammar of `heed corpus`,
   word by word, or whatever stream of words an experiment makes. */
#ifndef HD_LAB_LANGUAGE_PUPIL_H
#define HD_LAB_LANGUAGE_PUPIL_H

#include "lab/course.h"
#include "lab/experiment.h"
#include "model/lm/lm.h"

enum { HD_PUPIL_UNK = 1, HD_PUPIL_START, HD_PUPIL_END, HD_PUPIL_FIRST };
enum { HD_PUPIL_ITEMS = 8, HD_PUPIL_WINDOW = 24 };

/* Words of a text in numbers; sentences end with HD_PUPIL_END. */
typedef struct hd_story {
    int32_t *ids;
    size_t count, room, vocab;
    hd_text words; /* each followed by a zero byte, in the order of their numbers from HD_PUPIL_FIRST on */
} hd_story;

/* English sentences of the grammar, which the caller releases whatever happens. */
hd_status hd_story_draw(hd_story *to, size_t sentences, uint64_t seed, hd_err *err);
void hd_story_release(hd_story *t); /* accepts {0} */

/* Another text: `period` random words of so many, the same again, and so on; who looks back by the period
   knows half of them. */
void hd_story_repeat(int32_t *ids, size_t count, size_t period, uint32_t words, uint64_t seed);

/* All kinds have these sizes; an experiment changes what it looks at. */
hd_lm_opt hd_pupil_model(hd_lm_kind kind, size_t width, size_t vocab);

typedef struct hd_pupil {
    hd_course course;
    hd_lm *model;
} hd_pupil;

/* Lives where it was opened; the caller closes it whatever happens. */
hd_status hd_pupil_open(hd_pupil *p, hd_run *run, const hd_lm_opt *o, uint64_t seed, hd_err *err);
void hd_pupil_close(hd_pupil *p); /* accepts {0} */

/* So many updates on windows of a text, drawn at random, with a rate that falls to 0; counted models count
 * it. */
hd_status hd_pupil_learn(hd_pupil *p, const int32_t *ids, size_t count, uint32_t steps, double rate,
                         hd_err *err);
/* Nats a word of a text, in windows of `window` that begin anew. */
hd_status hd_pupil_judge(double *nats, hd_pupil *p, const int32_t *ids, size_t count, size_t window,
                         hd_err *err);
/* Nats of each word of a text of at most a window. */
hd_status hd_pupil_words(double *nats, hd_pupil *p, const int32_t *ids, size_t count, hd_err *err);

#endif
