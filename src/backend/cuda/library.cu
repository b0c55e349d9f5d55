/* Where CUDA's libraries are searched: the system's library path, then the toolkit's folder at build time
   and its usual places. */
#include "backend/cuda/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "base/system/library.h"
}

hd_status hd_cuda_library(void *to, const char *name, const char *file, const char *package,
                          const char *const *symbols, hd_err *err)
{
    static const char *const folders[] = {HD_CUDA_FOLDER, "/usr/local/cuda/lib64", NULL};
    const char *const files[] = {file, NULL};
    char remedy[200];
    snprintf(remedy, sizeof remedy,
             "install %s, name the folder it is in with HEED_CUDA_LIBRARIES, or give --device cpu", package);
    hd_library l = {};
    l.name = name, l.file = files, l.folder = folders, l.only = getenv("HEED_CUDA_LIBRARIES");
    l.remedy = remedy, l.symbols = symbols;
    return hd_library_load(&l, (void **)to, err);
}
