/* The tasks of run/task_list.h. */
#ifndef HD_TASK_LIST_H
#define HD_TASK_LIST_H

#include "run/session.h"

#define X(NAME, name, ...) extern const hd_task hd_task_##name;
HD_TASK_LIST(X)
#undef X

extern const hd_task *const hd_tasks[HD_TRAIN_TASKS];

/* Of tasks whose state begins with the hd_model_folder that they train. */
hd_status hd_task_save(hd_session *s, const char *folder, hd_err *err);
hd_status hd_task_publish(hd_session *s, const char *folder, hd_err *err);

/* Of tasks whose best model is chosen by their first figure, or by the loss where --select-by asks for that
   or nothing was judged. */
void hd_task_choose(hd_validation *v, const hd_train_options *o, bool judged);

#endif
