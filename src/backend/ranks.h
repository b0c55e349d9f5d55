/* The processes that train together, as a launcher started them (mpirun, srun): which of them this is, and
   what they do in common. Alone, every function does nothing and succeeds. A failure of one process becomes
   that of all at the next call of any function here but sum; from then on they all return it without waiting
   for anyone. So whoever fails may leave by any way that ends in hd_ranks_agree, and nobody is left behind.
   One thread calls.
 */
#ifndef HD_BACKEND_RANKS_H
#define HD_BACKEND_RANKS_H

#include "base/status.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the others, where a launcher's environment says that there are some; before a backend is made, which
   takes its rank from here. Calls may be nested, each with its end, but behind the last end there is no
   further beginning: MPI allows one a process. Fails in a build without MPI that is started as several. */
hd_status hd_ranks_begin(hd_err *err);
void hd_ranks_end(void);

int hd_rank(void);  /* from 0 */
int hd_ranks(void); /* 1: alone */

enum { HD_RANKS_NUMBERS = 7 }; /* that one exchange has room for; more take a second */

/* Waits for all, and sums count numbers over them, as many in each. Fails everywhere where s is a failure
   somewhere, with the text of the first process that failed; where that is this one, with err's. */
hd_status hd_ranks_agree(hd_status s, double *sum, size_t count, hd_err *err);

/* Everyone gets what process 0 has in these bytes. */
hd_status hd_ranks_share(void *data, size_t bytes, hd_err *err);

/* Sums count numbers of host memory over all processes, with the same bits in each and in every run. To be
   called where all have just agreed. */
hd_status hd_ranks_sum(hd_real *x, size_t count);
/* The same while the caller goes on: all begin the same sums in the same order, at most HD_RANKS_SUMS of them
   before an end, which waits for all. x must not be touched meanwhile. */
enum { HD_RANKS_SUMS = 64 };
hd_status hd_ranks_sum_begin(hd_real *x, size_t count);
hd_status hd_ranks_sum_end(void);

#ifdef __cplusplus
}
#endif

#endif
