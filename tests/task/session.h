/* Runs of tasks from inside a program: the defaults of the options, which a test changes, and a sitting. */
#ifndef TESTS_TASK_SESSION_H
#define TESTS_TASK_SESSION_H

#include "base/file/folder.h"
#include "check.h"
#include "run/session.h"
#include "task/list.h"

/* Plain: what is drawn or pulled at random, smoothing and warm-up are off. */
static inline hd_train_options plain_options(hd_train_task task, const char *out)
{
    hd_train_options o = {0};
    hd_err err = {0};
    if (hd_option_set_defaults(&(hd_option_set){.table = hd_train_table, .into = &o}, &err))
        fail_msg("%s", err.text);
    o.task = task, o.out = out, o.device = "cpu";
    o.dropout = o.label_smoothing = o.weight_decay = o.clip = 0, o.warmup = 0;
    o.optimizer = HD_OPT_ADAM, o.schedule = HD_SCHEDULE_constant, o.adam_eps = 1e-8;
    return o;
}

static inline hd_texts one_text(const char *text)
{
    return (hd_texts){.text = {text}, .count = 1};
}

static inline hd_status session_try(hd_outcome *out, const hd_train_options *o, hd_err *err)
{
    return hd_session_train(out, hd_tasks[o->task], o, &(hd_session_hooks){.threads = 1}, err);
}

/* With the folder made. */
static inline hd_outcome session_train(const hd_train_options *o)
{
    hd_err err = {0};
    hd_outcome out = {0};
    if (hd_folder_make(o->out, NULL, &err) || session_try(&out, o, &err)) fail_msg("%s", err.text);
    return out;
}

#endif
