/* What one thread needs to run a model. */
#include <string.h>

#include "api/api.h"
#include "base/mem.h"

_Static_assert((int)HEED_LOG_ERROR == (int)HD_ERROR && (int)HEED_LOG_WARN == (int)HD_WARN &&
                   (int)HEED_LOG_INFO == (int)HD_INFO && (int)HEED_LOG_DEBUG == (int)HD_DEBUG,
               "heed_level and hd_level differ");

static const heed_context_options defaults = {.size = sizeof defaults, .log_most = HEED_LOG_INFO};

void heed_context_options_init(heed_context_options *options, size_t size)
{
    hd_api_defaults(options, size, &defaults, sizeof defaults);
}

static void pass_on(void *context, hd_level level, const char *text)
{
    const heed_context *c = context;
    c->log(c->log_user, (heed_level)level, text);
}

static hd_status open_context(heed_context *c, const heed_context_options *given, hd_err *err)
{
    heed_context_options o = defaults;
    hd_status s = hd_api_options(&o, sizeof o, given, "heed_context_options", err);
    if (s) return s;
    if (o.threads < 0) return hd_err_set(err, HD_EARG, "%d threads cannot compute", o.threads);
    if ((unsigned)o.log_most > HEED_LOG_DEBUG)
        return hd_err_set(err, HD_EARG, "there is no log level %d", (int)o.log_most);
    s = hd_backend_again(&c->backend, c->model->backend, o.threads, err);
    if (!s) s = hd_run_init(&c->run, c->backend, err);
    if (s) return s;
    c->run.halt = &c->halt;
    c->log = o.log, c->log_user = o.log_user;
    if (o.log) c->run.log = (hd_log){pass_on, c, (hd_level)o.log_most};
    if (c->model->aside[0]) hd_log_say(&c->run.log, HD_WARN, "%s", c->model->aside);
    hd_log_say(&c->run.log, HD_DEBUG, "computing on %s", c->backend->detail);
    return HD_OK;
}

heed_status heed_context_new(heed_context **out, heed_model *model, const heed_context_options *options,
                             heed_error *error)
{
    hd_err err = {0};
    hd_status s = HD_OK;
    if (!out || !model) s = hd_err_set(&err, HD_EARG, "heed_context_new: %s is NULL", out ? "model" : "out");
    heed_context *c = s ? NULL : hd_mem_zero(sizeof *c);
    if (!s && !c) s = hd_err_nomem(&err, sizeof *c);
    if (!s) {
        hd_api_keep(model);
        c->model = model;
        atomic_flag_clear(&c->busy);
        s = open_context(c, options, &err);
    }
    if (s)
        heed_context_free(c);
    else
        *out = c;
    return hd_api_end(error, &err, s);
}

hd_status hd_api_enter(heed_context *c, const char *function, const char *missing, hd_err *err)
{
    if (missing) return hd_err_set(err, HD_EARG, "%s: %s is NULL", function, missing);
    if (atomic_flag_test_and_set(&c->busy))
        return hd_err_set(err, HD_EARG,
                          "%s: the context is in use by another thread: create one for each thread",
                          function);
    atomic_store(&c->halt, false);
    return HD_OK;
}

heed_status hd_api_leave(heed_context *c, bool entered, heed_error *to, const hd_err *err, hd_status s)
{
    if (entered) atomic_flag_clear(&c->busy);
    return hd_api_end(to, err, s);
}

hd_status hd_api_reads(const heed_model *m, const char *verb, const char *function, hd_err *err)
{
    const hd_task_folder *is = m->folder.task;
    if (!strcmp(is->verb, verb)) return HD_OK;
    return hd_err_set(err, HD_EARG, "%s: the model is %s, which 'heed %s' reads", function, is->what,
                      is->verb);
}

void heed_context_stop(heed_context *context)
{
    if (context) atomic_store(&context->halt, true);
}

/* An empty list, too, has none. */
static hd_status set_heads(heed_context *c, const char *list, hd_err *err)
{
    hd_heads heads = {0};
    hd_status s = list && *list ? hd_heads_init(&heads, &c->model->folder.model, err) : HD_OK;
    if (!s && list && *list) s = hd_heads_set(&heads, list, err);
    if (s) {
        hd_heads_release(&heads);
        return s;
    }
    hd_heads_release(&c->heads);
    c->heads = heads;
    c->run.heads = list && *list ? &c->heads : NULL;
    return HD_OK;
}

heed_status heed_context_heads(heed_context *context, const char *heads, heed_error *error)
{
    hd_err err = {0};
    hd_status s = hd_api_enter(context, "heed_context_heads", context ? NULL : "context", &err);
    const bool entered = !s;
    if (!s) s = set_heads(context, heads, &err);
    return hd_api_leave(context, entered, error, &err, s);
}

void heed_context_free(heed_context *context)
{
    if (!context) return;
    hd_heads_release(&context->heads);
    hd_run_release(&context->run);
    hd_backend_free(context->backend);
    heed_model_free(context->model);
    hd_mem_free(context);
}
