/* The processes that train together, started by a launcher (mpirun, srun): the rank of this one, and
   collective operations. In a single process every function does nothing and succeeds. A failure of one
   process becomes that of all at the next call of any function here except sum; from then on all return it
   without waiting. So a process that fails may take any path that ends in hd_ranks_agree, and no other is
   left waiting. To be called from one thread. */
#ifndef HD_BACKEND_RANKS_H
#define HD_BACKEND_RANKS_H

#include "base/status.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the other processes if the launcher's environment names some; call it before a backend is made,
   which takes its rank from here. Calls may be nested, each with its end, but after the last end there is no
   other begin: MPI allows one per process. Fails in a build without MPI that is started as several processes.
 */
hd_status hd_ranks_begin(hd_err *err);
void hd_ranks_end(void);

int hd_rank(void);  /* from 0 */
int hd_ranks(void); /* 1: alone */

enum { HD_RANKS_NUMBERS = 7 }; /* numbers per exchange; more need a second one */

/* Waits for all processes and sums count numbers, the same count in each. If s is a failure in any
   process, it fails in all, with the text of the first process that failed; if that is this one, err's. */
hd_status hd_ranks_agree(hd_status s, double *sum, size_t count, hd_err *err);

/* Copies these bytes from process 0 to all. */
hd_status hd_ranks_share(void *data, size_t bytes, hd_err *err);

/* Sums count numbers of host memory over all processes, with the same bits in each and in every run. To be
   called right after hd_ranks_agree. */
hd_status hd_ranks_sum(hd_real *x, size_t count);
/* The same without waiting: all processes begin the same sums in the same order, at most HD_RANKS_SUMS
   before an end, which waits for all of them. x must not be used meanwhile. */
enum { HD_RANKS_SUMS = 64 };
hd_status hd_ranks_sum_begin(hd_real *x, size_t count);
hd_status hd_ranks_sum_end(void);

#ifdef __cplusplus
}
#endif

#endif
