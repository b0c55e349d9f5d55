/* A small captioner as in "Show, Attend and Tell": a network of convolutions makes cells of a picture, and an
   LSTM that attends to them says the colors of what there is, the largest shape first: "red and blue". */
#ifndef HD_LAB_PICTURE_NARRATOR_H
#define HD_LAB_PICTURE_NARRATOR_H

#include "lab/course.h"
#include "lab/picture/album.h"
#include "model/encdec/encdec.h"

enum { HD_NARRATOR_BEGIN = 1, HD_NARRATOR_END, HD_NARRATOR_AND, HD_NARRATOR_COLOR };
enum { HD_NARRATOR_WORDS = HD_NARRATOR_COLOR + HD_SHAPE_COLORS };
enum {
    HD_NARRATOR_SIDE = 16,
    HD_NARRATOR_ACROSS = 8,
    HD_NARRATOR_CELLS = HD_NARRATOR_ACROSS * HD_NARRATOR_ACROSS
};
enum { HD_NARRATOR_MOST = 2, HD_NARRATOR_LENGTH = 2 * HD_NARRATOR_MOST }; /* objects; words with the end */

typedef struct hd_narrator {
    hd_course course;
    hd_encdec *model;
    hd_album album;
} hd_narrator;

/* Lives where it was opened; the caller closes it whatever happens. */
hd_status hd_narrator_open(hd_narrator *n, hd_run *run, uint64_t seed, hd_err *err);
void hd_narrator_close(hd_narrator *n); /* accepts {0} */

/* Turns to a page of the album, which learning does not see where `fresh`. */
hd_status hd_narrator_turn(hd_narrator *n, bool fresh, uint64_t page, hd_err *err);
/* So many updates, with a rate that falls to 0 over all `of` of them. */
hd_status hd_narrator_learn(hd_narrator *n, uint32_t steps, uint32_t of, double rate, hd_err *err);

/* What is to be said of a picture; returns the number of words, the end included. */
size_t hd_narrator_truth(int32_t to[HD_NARRATOR_LENGTH], const hd_scene *s);
const char *hd_narrator_word(int32_t id);

/* What it says of the pictures of the page, word by word after its own words. */
hd_status hd_narrator_say(int32_t to[HD_ALBUM_PICTURES][HD_NARRATOR_LENGTH], hd_narrator *n, hd_err *err);
/* The weights of attention to the cells while it says what is true of one of them; *count: numbers, which are
   words * cells. */
hd_status hd_narrator_gaze(double to[HD_NARRATOR_LENGTH * HD_NARRATOR_CELLS], size_t *count, hd_narrator *n,
                           size_t picture, hd_err *err);

#endif
