/* A small listener and speller as in "Listen, Attend and Spell": frames of made sound in, letters out. A
   letter is a spectrum of its own that lasts for some frames, under noise. */
#ifndef HD_LAB_SOUND_LISTENER_H
#define HD_LAB_SOUND_LISTENER_H

#include "lab/course.h"
#include "lab/experiment.h"
#include "model/encdec/encdec.h"
#include "nn/frames.h"

enum { HD_LISTENER_BEGIN = 1, HD_LISTENER_END, HD_LISTENER_FIRST };
enum { HD_LISTENER_ITEMS = 32, HD_LISTENER_BINS = 8, HD_LISTENER_LETTERS = 6 };
enum { HD_LISTENER_LEAST = 3, HD_LISTENER_MOST = 5 };  /* letters of an utterance */
enum { HD_LISTENER_SHORT = 6, HD_LISTENER_LONG = 10 }; /* frames of a letter */
enum { HD_LISTENER_FRAMES = HD_LISTENER_MOST * HD_LISTENER_LONG };

/* Utterances of a step. */
typedef struct hd_listener_lot {
    size_t items, words, rows; /* utterances; letters with ends; frames of all */
    int32_t frames[HD_LISTENER_ITEMS], len[HD_LISTENER_ITEMS]; /* of each; len: letters with the end */
    int32_t letter[HD_LISTENER_ITEMS * (HD_LISTENER_MOST + 1)];
    int32_t begin[HD_LISTENER_ITEMS * (HD_LISTENER_MOST + 1)]; /* first frame of a letter, in its utterance */
    float value[HD_LISTENER_ITEMS * HD_LISTENER_FRAMES * HD_LISTENER_BINS];
} hd_listener_lot;

typedef struct hd_listener {
    hd_course course;
    hd_encdec *model;
    hd_listener_lot *lot;
} hd_listener;

/* encoder: stages, as `heed train --encoder` has them: "pyramid:2". Lives where it was opened; the caller
   closes it whatever happens. */
hd_status hd_listener_open(hd_listener *l, hd_run *run, const char *encoder, uint64_t seed, hd_err *err);
void hd_listener_close(hd_listener *l); /* accepts {0} */

/* So many updates, with a rate that falls to 0 over all `of` of them. */
hd_status hd_listener_learn(hd_listener *l, uint32_t steps, uint32_t of, double rate, hd_err *err);
/* The share of letters that are the likeliest where they stand, after the right ones, in new utterances. */
hd_status hd_listener_judge(double *share, hd_listener *l, hd_err *err);

/* A new utterance, which is then the only one of l->lot, and the weights of attention to the rows of the
   encoder while its letters are said, [letters with the end, rows]. */
hd_status hd_listener_gaze(double *to, size_t room, size_t *rows, hd_listener *l, uint64_t number,
                           hd_err *err);

#endif
