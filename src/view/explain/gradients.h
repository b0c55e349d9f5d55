/* Gradients by layer, position and head, as a paper. */
#ifndef HD_VIEW_EXPLAIN_GRADIENTS_H
#define HD_VIEW_EXPLAIN_GRADIENTS_H

#include "show/backward/gradients.h"
#include "view/paper/paper.h"

/* Fills a paper that is empty; asks for its status. */
hd_status hd_gradients_paper(hd_paper *to, const hd_gradients *g, hd_err *err);

#endif
