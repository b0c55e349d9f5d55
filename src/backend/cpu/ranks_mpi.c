/* The processes of a run, through MPI. Easy to get wrong: collective calls must pair up even where one
   process has failed and takes another way out. All of them but the sum of gradients therefore begin with the
   same call, a vector of one size whose first number counts failures. */
#include "backend/ranks.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/library.h"

enum { MOST_AT_ONCE = 1 << 28 }; /* numbers: MPI counts in int */

#ifdef HD_REAL_DOUBLE
#define REAL MPI_DOUBLE
#else
#define REAL MPI_FLOAT
#endif

/* MPI is per process, and so is this. */
static struct {
    int users, rank, ranks; /* ranks 0: not begun, or alone */
    bool ours;              /* MPI was started here */
    bool lost;              /* the others cannot be reached: nothing may wait for them */
    hd_err failed;          /* the result that all agreed on */
    MPI_Comm all;
    MPI_Request sum[HD_RANKS_SUMS]; /* of gradients, in progress */
    int sums;
} us;

int hd_rank(void)
{
    return us.rank;
}

int hd_ranks(void)
{
    return us.ranks > 1 ? us.ranks : 1;
}

/* Open MPI and what follows its naming; Hydra (MPICH, Intel) and Slurm's PMI-2; PMIx. */
static bool is_launched(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE") || getenv("PMIX_RANK");
}

static hd_status lose(hd_err *err)
{
    us.lost = true;
    hd_err_set(&us.failed, HD_EMISSING, "the other processes of this run cannot be reached anymore");
    return hd_err_set(err, HD_EMISSING, "%s", us.failed.text);
}

static hd_status join(hd_err *err)
{
    int there = 0, ended = 0, level;
    MPI_Finalized(&ended);
    if (ended)
        return hd_err_set(err, HD_ELIMIT,
                          "this process has already left the others: MPI cannot be started twice");
    MPI_Initialized(&there);
    if (!there && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level)) return lose(err);
    us.ours = !there;
    if (MPI_Comm_dup(MPI_COMM_WORLD, &us.all) || MPI_Comm_set_errhandler(us.all, MPI_ERRORS_RETURN) ||
        MPI_Comm_rank(us.all, &us.rank) || MPI_Comm_size(us.all, &us.ranks))
        return lose(err);
    return HD_OK;
}

hd_status hd_ranks_begin(hd_err *err)
{
    hd_status s = us.users || !is_launched() ? HD_OK : join(err);
    if (!s) us.users++;
    return s;
}

/* Open MPI 4.1 unloads its modules while a thread of its own may still be told that another process has
   left, by a function of one of them: seen as a crash once in some hundred runs. */
static void leave(void)
{
    hd_libraries_keep();
    MPI_Finalize();
}

void hd_ranks_end(void)
{
    if (--us.users || !us.ranks) return;
    if (!us.lost) MPI_Comm_free(&us.all);
    if (!us.lost && us.ours) leave();
    memset(&us, 0, sizeof us);
}

/* Some failed: all get the error of the first one. */
static hd_status hear(hd_status s, hd_err *err)
{
    hd_err why = {0};
    int first = s ? us.rank : us.ranks;
    if (err) why = *err;
    if (s) hd_err_set(&why, s, "%s", hd_status_text(s));
    if (MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, us.all)) return lose(err);
    if (MPI_Bcast(&why, sizeof why, MPI_BYTE, first, us.all)) return lose(err);
    if (first)
        hd_err_set(&us.failed, why.status, "process %d: %s", first, why.text);
    else
        us.failed = why;
    return hd_err_set(err, us.failed.status, "%s", us.failed.text);
}

/* Over all processes, where all are known to be here. */
static int add_up(void *x, size_t count, MPI_Datatype type, size_t size)
{
    int failed = MPI_SUCCESS;
    for (size_t n; count && !failed; x = (char *)x + n * size, count -= n) {
        n = count < MOST_AT_ONCE ? count : MOST_AT_ONCE;
        failed = MPI_Allreduce(MPI_IN_PLACE, x, (int)n, type, MPI_SUM, us.all);
    }
    return failed;
}

hd_status hd_ranks_agree(hd_status s, double *sum, size_t count, hd_err *err)
{
    double all[1 + HD_RANKS_NUMBERS] = {s != HD_OK};
    size_t first = count < HD_RANKS_NUMBERS ? count : HD_RANKS_NUMBERS;
    if (us.ranks < 2) return s;
    if (us.failed.status) return hd_err_set(err, us.failed.status, "%s", us.failed.text);
    if (first) memcpy(all + 1, sum, first * sizeof *sum);
    if (MPI_Allreduce(MPI_IN_PLACE, all, 1 + HD_RANKS_NUMBERS, MPI_DOUBLE, MPI_SUM, us.all)) return lose(err);
    if (all[0] > 0) return hear(s, err);
    if (first) memcpy(sum, all + 1, first * sizeof *sum);
    return count > first && add_up(sum + first, count - first, MPI_DOUBLE, sizeof *sum) ? lose(err) : HD_OK;
}

hd_status hd_ranks_share(void *data, size_t bytes, hd_err *err)
{
    hd_status s = bytes <= INT_MAX ? HD_OK : hd_err_set(err, HD_ELIMIT, "%zu bytes to share", bytes);
    s = hd_ranks_agree(s, NULL, 0, err);
    if (s || us.ranks < 2) return s;
    return MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, us.all) ? lose(err) : HD_OK;
}

hd_status hd_ranks_sum(hd_real *x, size_t count)
{
    if (us.ranks < 2) return HD_OK;
    if (us.failed.status) return us.failed.status;
    return add_up(x, count, REAL, sizeof *x) ? lose(NULL) : HD_OK;
}

/* MPI makes progress only when it is called: each new sum drives the earlier ones. */
hd_status hd_ranks_sum_begin(hd_real *x, size_t count)
{
    int done;
    if (us.ranks < 2) return HD_OK;
    if (us.failed.status) return us.failed.status;
    if (count > MOST_AT_ONCE || us.sums == HD_RANKS_SUMS) return HD_ELIMIT;
    if (MPI_Iallreduce(MPI_IN_PLACE, x, (int)count, REAL, MPI_SUM, us.all, &us.sum[us.sums]))
        return lose(NULL);
    us.sums++;
    return MPI_Testall(us.sums, us.sum, &done, MPI_STATUSES_IGNORE) ? lose(NULL) : HD_OK;
}

hd_status hd_ranks_sum_end(void)
{
    int sums = us.sums;
    us.sums = 0;
    if (us.lost) return us.failed.status;
    return sums && MPI_Waitall(sums, us.sum, MPI_STATUSES_IGNORE) ? lose(NULL) : HD_OK;
}
