/* A small Vision Transformer that says of drawn shapes which color they have and in which quarter of the
   picture they are. */
#ifndef HD_LAB_PICTURE_VIEWER_H
#define HD_LAB_PICTURE_VIEWER_H

#include "lab/course.h"
#include "lab/picture/album.h"
#include "model/encoder/classifier.h"

enum { HD_VIEWER_SIDE = 16, HD_VIEWER_PATCH = 4, HD_VIEWER_ACROSS = HD_VIEWER_SIDE / HD_VIEWER_PATCH };
enum { HD_VIEWER_PATCHES = HD_VIEWER_ACROSS * HD_VIEWER_ACROSS, HD_VIEWER_QUARTERS = 4 };
enum { HD_VIEWER_CLASSES = HD_SHAPE_COLORS * HD_VIEWER_QUARTERS };

typedef enum hd_viewer_order {
    HD_VIEWER_PLAIN,
    HD_VIEWER_ONE, /* patches are shuffled, in all pictures alike */
    HD_VIEWER_ANY  /* ... in each picture anew */
} hd_viewer_order;

typedef struct hd_viewer {
    hd_course course;
    hd_viewer_order order;
    hd_classifier *model;
    hd_album album;
} hd_viewer;

/* Lives where it was opened; the caller closes it whatever happens. nowhere: positions are zeros and stay so.
 */
hd_status hd_viewer_open(hd_viewer *v, hd_run *run, hd_viewer_order order, bool nowhere, uint64_t seed,
                         hd_err *err);
void hd_viewer_close(hd_viewer *v); /* accepts {0} */

/* Turns to a page of the album, which learning does not see where `fresh`, with the patches in its order. */
hd_status hd_viewer_turn(hd_viewer *v, bool fresh, uint64_t page, hd_err *err);
/* Log-probabilities of all classes of the pictures of the page, [HD_ALBUM_PICTURES, HD_VIEWER_CLASSES]. */
hd_status hd_viewer_answer(hd_real *logp, hd_viewer *v, hd_err *err);

/* So many updates, with a rate that falls to 0 over all `of` of them. */
hd_status hd_viewer_learn(hd_viewer *v, uint32_t steps, uint32_t of, double rate, hd_err *err);
/* The shares of new pictures whose color and whose quarter are said right. */
hd_status hd_viewer_judge(double *color, double *quarter, hd_viewer *v, hd_err *err);
/* By how much probabilities of new pictures change, the most, when their patches are put into another order;
   and the shades of the first picture (lab/picture/album.h) before and after. */
hd_status hd_viewer_compare_shuffled(double *moved, double shades[2][HD_VIEWER_SIDE * HD_VIEWER_SIDE],
                                     hd_viewer *v, hd_err *err);

#endif
