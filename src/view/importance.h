/* What attention heads are worth: a table of the terminal, JSON and a picture. */
#ifndef HD_VIEW_IMPORTANCE_H
#define HD_VIEW_IMPORTANCE_H

#include "base/text.h"
#include "show/heads/importance.h"
#include "view/draw/drawing.h"

/* A line for each head, the most important first. */
void hd_importance_text(hd_text *to, const hd_importance *i);
/* One object. */
void hd_importance_json(hd_text *to, const hd_importance *i);
/* Cells of layers and heads, a block for each kind of attention, to a file that hd_plot_check allows. */
hd_status hd_importance_save(const char *path, const hd_importance *i, hd_err *err);

#endif
