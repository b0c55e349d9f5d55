/* What one thread needs to run a model. */
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

void heed_context_free(heed_context *context)
{
    if (!context) return;
    hd_run_release(&context->run);
    hd_backend_free(context->backend);
    heed_model_free(context->model);
    hd_mem_free(context);
}
