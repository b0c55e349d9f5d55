/* How alike a word is to itself in several sentences: a table of the terminal, JSON and a picture. */
#ifndef HD_VIEW_SIMILARITY_H
#define HD_VIEW_SIMILARITY_H

#include "show/words.h"
#include "view/draw/text_pen.h"

typedef struct hd_similarity_view {
    const hd_similar *of;
    int layer; /* whose vectors they are; 0: the table of token vectors */
    const char *title;
} hd_similarity_view;

/* A line for each place with its number and what stands around it, then the matrix of cosines. */
void hd_similarity_text(hd_text_pen *p, const hd_similarity_view *v);
/* One object: word, layer, places, cosines. */
void hd_similarity_json(hd_text *to, const hd_similarity_view *v);
/* To a file that hd_plot_check allows. */
hd_status hd_similarity_save(const char *path, const hd_similarity_view *v, hd_err *err);

#endif
