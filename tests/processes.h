/* Programs that are started as several processes, on this machine alone. Include after check.h. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include <stdlib.h>

/* Whether there is something to start them with; else says so. In the environment is what a launcher needs as
   root, with fewer cores than processes, and without a network or ssh. MPICH's has no use for it, and no
   need. */
__attribute__((unused)) static bool processes_prepare(void)
{
    static const char *const settings[][2] = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                              {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                              {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                              {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                              {"OMPI_MCA_mpi_yield_when_idle", "1"},
                                              {"OMPI_MCA_plm", "isolated"},
                                              {"OMPI_MCA_pml", "ob1"},
                                              {"OMPI_MCA_btl", "self,vader"},
                                              {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
                                              {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
                                              {"ASAN_OPTIONS", "detect_leaks=0"}, /* those of MPI are many */
                                              {"TSAN_OPTIONS", "ignore_noninstrumented_modules=1"}};
    if (!HEED_MPI || system("command -v mpirun >/dev/null 2>&1")) {
        puts("skipped: no mpirun, or a build without MPI");
        return false;
    }
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) setenv(settings[i][0], settings[i][1], 0);
    return true;
}

#endif
