/* heed_score. */
#include "api/api.h"
#include "base/mem.h"
#include "task/rank.h"

void heed_verdicts_free(heed_verdicts *verdicts)
{
    hd_api_drop(verdicts);
}

static hd_status give(heed_verdicts **out, heed_model *m, const hd_verdict *v, size_t count, hd_err *err)
{
    hd_api_held *h;
    heed_verdicts *shown = hd_api_hold(&h, sizeof *shown, m, err);
    if (!shown) return HD_ENOMEM;
    heed_verdict *all = hd_api_take(h, count, sizeof *all);
    const heed_verdict **at = hd_api_take(h, count, sizeof *at);
    for (size_t i = 0; at && i < count; i++) {
        all[i] = (heed_verdict){.status = (heed_status)v[i].status,
                                .error = v[i].status ? v[i].why : "",
                                .log_probability = v[i].logp,
                                .tokens = v[i].tokens};
        at[i] = &all[i];
    }
    *shown = (heed_verdicts){count, at};
    return hd_api_give(out, shown, h, HD_OK, err);
}

static hd_status score(heed_verdicts **out, heed_context *c, const char *const *source,
                       const char *const *text, size_t count, hd_err *err)
{
    hd_line *line[2] = {source ? hd_mem_array(count, sizeof **line) : NULL,
                        hd_mem_array(count, sizeof **line)};
    hd_verdict *v = hd_mem_array(count, sizeof *v);
    hd_status s = (source && !line[0]) || !line[1] || !v ? hd_err_nomem(err, count * sizeof *v) : HD_OK;
    if (!s && source) s = hd_api_lines(line[0], source, NULL, count, "source", false, err);
    if (!s) s = hd_api_lines(line[1], text, NULL, count, "text", false, err);
    if (!s && count)
        s = hd_rank_judge(v, &c->run, &c->model->folder, line[0], line[1], count, &(hd_rank_opt){0}, err);
    if (!s) s = give(out, c->model, v, count, err);
    hd_mem_free(v);
    hd_mem_free(line[1]);
    hd_mem_free(line[0]);
    return s;
}

heed_status heed_score(heed_context *context, const char *const *sources, const char *const *texts,
                       size_t count, heed_verdicts **out, heed_error *error)
{
    hd_err err = {0};
    const char *missing = !context ? "context" : !texts && count ? "texts" : !out ? "out" : NULL;
    hd_status s = hd_api_enter(context, "heed_score", missing, &err);
    const bool entered = !s;
    if (!s && context->model->folder.task->id == HD_TRAIN_TRANSLATE && count && !sources)
        s = hd_err_set(&err, HD_EARG, "heed_score: a translator needs sources");
    else if (!s && context->model->folder.task->id != HD_TRAIN_TRANSLATE)
        s = hd_api_reads(context->model, "generate", "heed_score", &err);
    if (!s) s = score(out, context, sources, texts, count, &err);
    return hd_api_leave(context, entered, error, &err, s);
}
