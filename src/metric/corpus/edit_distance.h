/* Edit distance of a hypothesis from its reference, inside a band around the diagonal, as TER needs it: once
   with the alignment, then for many hypotheses that begin like that one. Words are numbers. */
#ifndef HD_METRIC_CORPUS_EDIT_DISTANCE_H
#define HD_METRIC_CORPUS_EDIT_DISTANCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_edit_distance {
    size_t hyps, refs; /* words */
    const uint32_t *ref;
    /* Of the hypothesis last aligned, refs of them: */
    int32_t *align;                /* the last hypothesis word at or before each reference word; -1: none */
    uint32_t *hyp_errs, *ref_errs; /* errors before each word, and in all behind the last */
    /* The matrix: a row for each hypothesis word, of which only the band is kept. */
    struct hd_edit_distance_band *band; /* [hyps+1] */
    int32_t *cost;
    uint8_t *op, *path;
    int32_t *above, *row; /* [refs+1] two rows in work */
    size_t align_room, hyp_room, ref_room, band_room, cost_room, op_room, path_room, above_room, row_room;
} hd_edit_distance;

/* {0} before first use. */
void hd_edit_distance_release(hd_edit_distance *e);

/* Makes ready for hypotheses of `hyps` words against ref (borrowed). */
hd_status hd_edit_distance_begin(hd_edit_distance *e, size_t hyps, const uint32_t *ref, size_t refs,
                                 hd_err *err);

/* The distance, with the alignment. */
size_t hd_edit_distance_align(hd_edit_distance *e, const uint32_t *hyp);

/* The distance of a hypothesis whose first `same` words are those of the one last aligned. */
size_t hd_edit_distance_after(hd_edit_distance *e, const uint32_t *hyp, size_t same);

#endif
