/* What of the output layer is multiplied while sentences with a shortlist are decoded: the tokens of all that
   are there together, from which each row takes those of its own sentence. So a sentence gives the same
   beside any others. */
#ifndef HD_MODEL_ENCDEC_NARROWING_H
#define HD_MODEL_ENCDEC_NARROWING_H

#include "model/encdec/encdec.h"
#include "model/encdec/shortlist.h"
#include "model/stepper_parts.h"

typedef struct hd_narrowing hd_narrowing;

hd_status hd_narrowing_new(hd_narrowing **out, const hd_encdec *m, const hd_shortlist *list, size_t items,
                           const int32_t *prefix, const int32_t *prefix_len, hd_err *err);
void hd_narrowing_free(hd_narrowing *n); /* accepts NULL */

/* The next items come, behind the seats that there are. Failures stay in the run. */
void hd_narrowing_join(hd_run *r, hd_narrowing *n, const hd_arrivals *a);
void hd_narrowing_pick(hd_run *r, hd_narrowing *n, const int32_t *parent, size_t count);

/* The logits of rows: of those that joined last, if they are being read, or of all seats. */
hd_tensor *hd_narrowing_logits(hd_run *r, hd_narrowing *n, hd_tensor *x);
/* hd_stepper.columns. */
const hd_columns *const *hd_narrowing_columns(const hd_narrowing *n);

#endif
