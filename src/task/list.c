/* The tasks of `heed train`, in the order of hd_train_task. */
#include "task/list.h"

const hd_task *const hd_tasks[HD_TRAIN_TASKS] = {
#define X(NAME, name, ...) &hd_task_##name,
    HD_TASK_LIST(X)
#undef X
};
