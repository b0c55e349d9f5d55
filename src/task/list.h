/* The tasks of run/task_list.h. */
#ifndef HD_TASK_LIST_H
#define HD_TASK_LIST_H

#include "run/task.h"

#define X(NAME, name, ...) extern const hd_task hd_task_##name;
HD_TASK_LIST(X)
#undef X

extern const hd_task *const hd_tasks[HD_TRAIN_TASKS];

#endif
