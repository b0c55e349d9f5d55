/* Attention of a text: the heads that are asked for, each with its weights. */
#include <string.h>

#include "base/mem.h"
#include "model/heads.h"
#include "serve/api/inspect.h"

enum { DIGITS = 6, AS_NUMBERS = HD_INSPECT_WEIGHTS / 8 };

static bool prepare(hd_call *c, hd_inspect_job *j)
{
    const json_t *given = json_object_get(c->params, "encoding"),
                 *select = json_object_get(c->params, "select");
    const char *encoding = json_string_value(given);
    j->select = json_string_value(select);
    j->base64 = encoding && !strcmp(encoding, "base64");
    j->bytes = encoding && !strcmp(encoding, "bytes");
    if (given && !json_is_null(given) && !j->base64 && !j->bytes && (!encoding || strcmp(encoding, "float")))
        return hd_call_fail(c, 400, "'encoding' must be float, base64 or bytes"), false;
    if (select && !json_is_null(select) && (!j->select || strlen(j->select) > HD_INSPECT_HEADS))
        return hd_call_fail(c, 400, "'select' must be names of heads, as dec.*.cross.*"), false;
    j->ask.bare = true, j->ask.tokens = 0;
    return true;
}

/* -- which heads -- */

/* The heads that are asked for get factor 0. */
static hd_status choose(hd_heads *h, const hd_model_folder *f, const char *select, hd_err *err)
{
    hd_text list = {0};
    hd_status s = hd_heads_init(h, &f->model, err);
    for (const char *at = select && *select ? select : NULL; !s && at; at = strchr(at, ',')) {
        at += *at == ',';
        hd_text_print(&list, "%s%.*s=0", list.size ? "," : "", (int)strcspn(at, ","), at);
    }
    if (!s && list.size) s = hd_text_status(&list, err);
    if (!s && list.size) s = hd_heads_set(h, list.data, err);
    for (size_t i = 0; !s && !list.size && i < h->layers; i++)
        for (size_t k = 0; k < h->layer[i].heads; k++) h->layer[i].factor[k] = 0;
    hd_text_release(&list);
    return s;
}

static unsigned kinds_of(const hd_heads *h)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < h->layers; i++)
        for (size_t k = 0; k < h->layer[i].heads; k++)
            if (h->layer[i].factor[k] == 0) kinds |= 1u << h->layer[i].kind;
    return kinds;
}

static hd_status check_size(const hd_inspect_job *j, const hd_heads *h, const hd_inspection *x, hd_err *err)
{
    size_t most = j->base64 || j->bytes ? HD_INSPECT_WEIGHTS : AS_NUMBERS, all = 0;
    for (size_t i = 0; i < h->layers; i++) {
        const hd_heads_layer *l = &h->layer[i];
        size_t rows = l->kind == HD_ATTENTION_ENCODER ? x->sources : x->targets,
               cols = l->kind == HD_ATTENTION_DECODER ? x->targets : x->sources;
        for (size_t k = 0; k < l->heads; k++) all += l->factor[k] == 0 ? rows * cols : 0;
    }
    if (all <= most) return HD_OK;
    return hd_err_set(err, HD_ELIMIT,
                      "these heads have %zu weights: at most %zu are sent at a time%s: 'select' some", all,
                      most, most == AS_NUMBERS ? " as numbers" : "");
}

/* -- writing -- */

static hd_status put_bytes(hd_text *to, const float *w, size_t count, hd_err *err)
{
    uint8_t *share = hd_mem_array(count + 1, 1);
    if (!share) return hd_err_nomem(err, count);
    for (size_t i = 0; i < count; i++) share[i] = (uint8_t)(w[i] * 255 + 0.5F);
    hd_text_base64(to, share, count);
    hd_mem_free(share);
    return HD_OK;
}

static hd_status put_weights(hd_text *to, const hd_inspect_job *j, const hd_attention_part *p, const float *w,
                             hd_err *err)
{
    hd_status s = HD_OK;
    hd_member_key(to, "weights");
    if (j->base64 || j->bytes) {
        hd_text_put(to, "\"");
        if (j->base64)
            hd_text_base64(to, w, p->rows * p->cols * sizeof *w);
        else
            s = put_bytes(to, w, p->rows * p->cols, err);
        hd_text_put(to, "\"");
        return s;
    }
    hd_text_put(to, "[");
    for (size_t i = 0; i < p->rows; i++) {
        hd_member_begin(to, NULL, '[');
        for (size_t k = 0; k < p->cols; k++) hd_member_number(to, NULL, (double)w[i * p->cols + k], DIGITS);
        hd_member_end(to, ']');
    }
    hd_text_put(to, "]");
    return s;
}

static void put_names(hd_text *to, const char *key, const hd_shown_token *t, size_t count)
{
    hd_member_begin(to, key, '[');
    for (size_t i = 0; i < count; i++) hd_member_text(to, NULL, hd_shown_plain(&t[i]));
    hd_member_end(to, ']');
}

static hd_status put_heads(hd_text *to, const hd_inspect_job *j, const hd_heads *h,
                           const hd_attention_maps *a, hd_err *err)
{
    hd_status s = HD_OK;
    char name[HD_HEAD_NAME];
    hd_member_begin(to, "attention", '[');
    for (size_t i = 0; !s && i < h->layers; i++) {
        const hd_heads_layer *l = &h->layer[i];
        const hd_attention_part *p = &a->part[l->kind];
        for (size_t k = 0; !s && k < l->heads; k++) {
            if (l->factor[k] != 0) continue;
            hd_member_begin(to, NULL, '{');
            hd_member_text(to, "name", hd_head_name(l, k, name));
            hd_member_text(to, "kind", hd_attention_name((hd_attention_kind)l->kind));
            hd_member_count(to, "layer", l->number);
            hd_member_count(to, "head", k);
            hd_member_count(to, "rows", p->rows);
            hd_member_count(to, "cols", p->cols);
            s = put_weights(to, j, p, hd_attention_at(p, l->number, k), err);
            hd_member_end(to, '}');
        }
    }
    hd_member_end(to, ']');
    return s;
}

static hd_status visit(hd_job *job, hd_run *r, const hd_model_folder *f, hd_err *err)
{
    hd_inspect_job *j = (hd_inspect_job *)job;
    hd_text *to = &j->json;
    hd_heads heads = {0};
    hd_inspection *x = NULL;
    hd_attention_maps maps = {0};
    hd_status s = choose(&heads, f, j->select, err);
    if (!s) s = hd_inspect(&x, r, f, &j->ask, err);
    if (!s) s = check_size(j, &heads, x, err);
    if (!s) s = hd_inspect_attention(&maps, r, f, x, &j->ask, kinds_of(&heads), err);
    if (!s) {
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "model", j->model->name);
        hd_member_text(to, "kind", hd_inspection_names[x->kind]);
        hd_member_text(to, "encoding", j->base64 ? "base64" : j->bytes ? "bytes" : "float");
        put_names(to, "source", maps.source, maps.sources);
        put_names(to, "input", maps.input, maps.targets);
        put_names(to, "output", maps.output, x->kind == HD_INSPECTION_TRANSLATOR ? maps.targets : 0);
        s = put_heads(to, j, &heads, &maps, err);
        hd_member_end(to, '}');
    }
    hd_attention_release(&maps);
    hd_inspection_free(x);
    hd_heads_release(&heads);
    return s ? s : hd_text_status(to, err);
}

void hd_api_attention(hd_call *c)
{
    hd_inspect_begin(c, visit, prepare);
}
