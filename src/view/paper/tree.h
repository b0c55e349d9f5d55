/* A tree that grows to the right: what was tried, what was given up and what was found; as a drawing and as
   text. */
#ifndef HD_VIEW_PAPER_TREE_H
#define HD_VIEW_PAPER_TREE_H

#include "view/draw/drawing.h"
#include "view/draw/text_pen.h"

typedef enum hd_twig_state {
    HD_TWIG_KEPT,
    HD_TWIG_PRUNED,
    HD_TWIG_ENDED, /* kept, and nothing follows */
    HD_TWIG_BEST,  /* on the way to what was found, or it itself */
    HD_TWIG_STATES
} hd_twig_state;

typedef struct hd_twig {
    int parent;       /* a number before its own; -1: the root */
    const char *name; /* valid UTF-8 */
    double value;
    hd_twig_state state;
    /* laid out */
    int depth;
    double row; /* from the top */
} hd_twig;

typedef struct hd_tree {
    const char *title, *about; /* what is drawn, and what its numbers are */
    hd_twig *twig;
    size_t count;
    int digits; /* behind the point */
    /* laid out */
    double column; /* from a twig to the next */
} hd_tree;

hd_drawing hd_tree_drawing(hd_tree *v); /* v is borrowed */
void hd_tree_text(hd_text_pen *p, hd_tree *v);

extern const char *const hd_twig_names[HD_TWIG_STATES]; /* "kept", "pruned", ... */

#endif
