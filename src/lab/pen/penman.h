/* A small network of handwriting (Graves 2013) that learns to write four letters with a pen: offsets from
   point to point, and whether the pen is lifted behind one. */
#ifndef HD_LAB_PEN_PENMAN_H
#define HD_LAB_PEN_PENMAN_H

#include "lab/course.h"
#include "lab/experiment.h"
#include "model/stroke/handwriting.h"

enum { HD_PENMAN_ITEMS = 32, HD_PENMAN_LETTERS = 4, HD_PENMAN_LEAST = 2, HD_PENMAN_MOST = 5 };
enum { HD_PENMAN_STROKES = 7, HD_PENMAN_POINTS = 1 + HD_PENMAN_MOST * HD_PENMAN_STROKES }; /* most */

/* A line: what it says, and its points. */
typedef struct hd_penman_line {
    int32_t letters, points, letter[HD_PENMAN_MOST];
    int32_t of[HD_PENMAN_POINTS];                          /* which letter of the line a point belongs to */
    hd_real point[HD_PENMAN_POINTS][HD_HANDWRITING_POINT]; /* offset across, upward, lifted behind it */
} hd_penman_line;

typedef struct hd_penman {
    hd_course course;
    hd_handwriting *model;
    hd_penman_line line[HD_PENMAN_ITEMS];
} hd_penman;

/* window: Gaussians; 0: it does not read the text. Lives where it was opened; the caller closes it whatever
   happens. */
hd_status hd_penman_open(hd_penman *w, hd_run *run, int window, uint64_t seed, hd_err *err);
void hd_penman_close(hd_penman *w); /* accepts {0} */

char hd_penman_name(int32_t letter);
/* The points of a text, each off by noise of that deviation; rng may be NULL where there is none. */
void hd_penman_spell(hd_penman_line *to, const int32_t *letter, int32_t letters, double noise, hd_rng *rng);
/* All lines of a lot; learning sees even numbers. */
void hd_penman_draw(hd_penman *w, uint64_t number);

/* So many updates, with a rate that falls to 0 over all `of` of them. */
hd_status hd_penman_learn(hd_penman *w, uint32_t steps, uint32_t of, double rate, hd_err *err);
/* Nats a point of new lines. */
hd_status hd_penman_judge(double *nats, hd_penman *w, hd_err *err);

/* What it makes of the points of a line after a start: means of the next ones, and where its window lies, as
   weights of letters [points, HD_PENMAN_MOST] and the places of its Gaussians, the first of them. */
typedef struct hd_penman_trace {
    double mean[HD_PENMAN_POINTS][2];
    bool lift[HD_PENMAN_POINTS];
    double weight[HD_PENMAN_POINTS][HD_PENMAN_MOST], kappa[HD_PENMAN_POINTS];
} hd_penman_trace;
hd_status hd_penman_follow(hd_penman_trace *to, hd_penman *w, const hd_penman_line *line, hd_err *err);
/* Writes a text by itself, mean after mean, with as many points as it has: those of `line` are replaced. */
hd_status hd_penman_write(hd_penman_line *line, hd_penman *w, hd_err *err);

#endif
