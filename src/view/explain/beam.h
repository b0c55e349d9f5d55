/* A search of a translator as it forks and prunes, as a paper with a tree. */
#ifndef HD_VIEW_EXPLAIN_BEAM_H
#define HD_VIEW_EXPLAIN_BEAM_H

#include "show/live/inspection.h"
#include "view/paper/paper.h"

/* Fills a paper that is empty with the steps of a search; asks for its status. */
hd_status hd_beam_paper(hd_paper *to, const hd_inspection *x, hd_err *err);

#endif
