/* The tasks of `heed train`, in the order of hd_train_task. */
#include "task/list.h"

#include <math.h>

#include "task/model_folder.h"

const hd_task *const hd_tasks[HD_TRAIN_TASKS] = {
#define X(NAME, name, ...) &hd_task_##name,
    HD_TASK_LIST(X)
#undef X
};

hd_status hd_task_save(hd_session *s, const char *folder, hd_err *err)
{
    return hd_model_folder_save(s->state, folder, err);
}

hd_status hd_task_publish(hd_session *s, const char *folder, hd_err *err)
{
    return hd_model_folder_publish(s->state, folder, err);
}

void hd_task_choose(hd_validation *v, const hd_train_options *o, bool judged)
{
    bool by_loss = o->select_by == HD_CHOICE_LOSS || !judged;
    double score = v->figure[0].less ? -v->figure[0].value : v->figure[0].value;
    v->quality = isnan(v->loss) ? -INFINITY : by_loss ? -v->loss : score;
}
