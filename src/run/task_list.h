/* The tasks of `heed train`: a line here and a folder in src/task. */
#ifndef HD_RUN_TASK_LIST_H
#define HD_RUN_TASK_LIST_H

/* X(NAME, name): HD_TRAIN_NAME, --task name, hd_task_name */
#define HD_TRAIN_TASK_LIST(X) \
    X(TRANSLATE, translate)   \
    X(LM, lm)                 \
    X(CLASSIFY, classify)     \
    X(TAG, tag)               \
    X(MLM, mlm)               \
    X(REGRESS, regress)

#endif
