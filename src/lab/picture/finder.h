/* A small Detection Transformer that finds drawn shapes: of each object its color and its box. */
#ifndef HD_LAB_PICTURE_FINDER_H
#define HD_LAB_PICTURE_FINDER_H

#include "lab/course.h"
#include "lab/picture/album.h"
#include "model/vision/detr.h"

enum { HD_FINDER_SIDE = 16, HD_FINDER_MOST = 2, HD_FINDER_QUERIES = 6 };
enum { HD_FINDER_OBJECTS = HD_ALBUM_PICTURES * HD_FINDER_MOST };

typedef struct hd_finder {
    hd_course course;
    hd_detr *model;
    hd_album album;
    hd_detr_object object[HD_FINDER_OBJECTS]; /* of the page */
    size_t first[HD_ALBUM_PICTURES + 1];
} hd_finder;

/* What a query says of a picture. */
typedef struct hd_finder_answer {
    int32_t label; /* the likeliest color, or HD_SHAPE_COLORS: there is no object */
    double box[4]; /* center and size, as shares of the picture */
} hd_finder_answer;

/* Lives where it was opened; the caller closes it whatever happens. */
hd_status hd_finder_open(hd_finder *f, hd_run *run, uint64_t seed, hd_err *err);
void hd_finder_close(hd_finder *f); /* accepts {0} */

/* Turns to a page of the album, which learning does not see where `fresh`. */
hd_status hd_finder_turn(hd_finder *f, bool fresh, uint64_t page, hd_err *err);
/* So many updates, with a rate that falls to 0 over all `of` of them. */
hd_status hd_finder_learn(hd_finder *f, uint32_t steps, uint32_t of, double rate, hd_err *err);
/* The loss of the page, with the objects of each picture in their order or in the reverse one. */
hd_status hd_finder_loss(double *loss, hd_finder *f, bool reversed, hd_err *err);
/* What all queries say of the page, [HD_ALBUM_PICTURES * HD_FINDER_QUERIES]. */
hd_status hd_finder_answers(hd_finder_answer *to, hd_finder *f, hd_err *err);

/* Where the answers of a query lie: the mean of their centers and their deviation from it. */
typedef struct hd_finder_place {
    size_t count;
    double middle[2], deviation[2];
} hd_finder_place;

/* What came of new pictures, as shares of their objects. */
typedef struct hd_finder_score {
    double named, found, twice; /* the color is said; with a box that overlaps by half; so by two */
    double said, objects;       /* of a picture: answers that are an object, and objects */
    hd_finder_place query[HD_FINDER_QUERIES], all;
    double narrow; /* how far the answers of a query spread, as share of how far all answers do */
} hd_finder_score;

hd_status hd_finder_judge(hd_finder_score *to, hd_finder *f, hd_err *err);

#endif
