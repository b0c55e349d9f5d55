/* Which classes are taken for which: a table of the terminal and a picture. Labels are valid UTF-8. */
#ifndef HD_VIEW_CONFUSION_H
#define HD_VIEW_CONFUSION_H

#include "metric/confusion.h"
#include "view/draw/drawing.h"
#include "view/draw/text_pen.h"

typedef struct hd_confusion_view {
    const hd_confusion *of;
    const char *const *label; /* [classes] */
    const char *title;
    double left, top, cell; /* laid out: where cells begin, and their sides */
} hd_confusion_view;

enum { HD_CONFUSION_MATRIX = 200 }; /* labels of which every pair is shown, and not only what occurs */

/* A row for each true label: how often each label was guessed, and what share was right; of many labels those
   that it was taken for most often. */
hd_status hd_confusion_text(hd_text_pen *p, const hd_confusion_view *v, hd_err *err);
/* One object: labels, rows, accuracy, macro_f1, of two labels the f1 of the second, matthews, and precision,
   recall and f1 of each label. What it is taken for is an array with a number for each label, of many labels
   an object of those that occur. */
hd_status hd_confusion_json(hd_text *to, const hd_confusion_view *v, hd_err *err);

/* To a file that hd_plot_check allows; HD_ELIMIT with more labels than a matrix can show. */
hd_status hd_confusion_save(const char *path, hd_confusion_view *v, hd_err *err);

#endif
