/* What a narrator says of new pictures, and where it looks while it names what is on them. */
#ifndef HD_LAB_PICTURE_TELLING_H
#define HD_LAB_PICTURE_TELLING_H

#include "lab/picture/narrator.h"

enum { HD_TELLING_EXAMPLES = 4, HD_TELLING_TEXT = 64 };

typedef struct hd_telling {
    double right;        /* share of captions that are right from the first word to the last */
    double mass, chance; /* of attention on the shape that is named; of cells that it has */
    size_t weights;      /* of a word */
    double off;          /* how far the weights of a word are from adding up to 1, the most of all calls */
    struct {
        char truth[HD_TELLING_TEXT], said[HD_TELLING_TEXT];
    } example[HD_TELLING_EXAMPLES];
    /* the first picture with two shapes: how far pixels are from the background, what is true of it, and the
       weights of each word */
    double shades[HD_NARRATOR_SIDE * HD_NARRATOR_SIDE];
    int32_t word[HD_NARRATOR_LENGTH];
    double gaze[HD_NARRATOR_LENGTH * HD_NARRATOR_CELLS];
} hd_telling;

/* Begins with {0}, and may be taken again from a narrator that has learned more, or from another one. */
hd_status hd_telling_take(hd_telling *t, hd_narrator *n, hd_err *err);

#endif
