/* The folder of a run, and the options that are kept in its training.yml. */
#ifndef HD_CLI_TRAIN_FOLDER_H
#define HD_CLI_TRAIN_FOLDER_H

#include "base/arena.h"
#include "run/options.h"

/* A new run wants an empty folder, or with --overwrite a model's. */
hd_status hd_train_folder_check(const hd_train_options *o, hd_err *err);
/* Makes the folder of a new run, with its options. */
hd_status hd_train_folder_open(const hd_train_options *o, hd_err *err);
/* That there is a checkpoint to go on from. */
hd_status hd_train_folder_resumable(const hd_train_options *o, hd_err *err);

/* Gives files their full names, so that a run can be resumed from anywhere. */
hd_status hd_train_folder_name(hd_train_options *o, hd_arena *memory, hd_err *err);
/* Makes o the options of the run in o->out, with what may change as it is given now; HD_EARG where something
   else is given that differs. */
hd_status hd_train_folder_resume(hd_train_options *o, hd_given *given, hd_arena *memory, hd_err *err);
/* HD_EARG where a run with these options is another than the one in o->out. */
hd_status hd_train_folder_same(const hd_train_options *o, hd_err *err);

#endif
