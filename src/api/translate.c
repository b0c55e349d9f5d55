/* heed_translate. */
#include <string.h>

#include "api/api.h"
#include "base/mem.h"
#include "show/attention.h"

#define X(id, name, stack, sublayer, title) \
    _Static_assert((int)HEED_ATTENTION_##id == (int)HD_ATTENTION_##id, "heed_attention_kind differs");
HD_ATTENTION_LIST(X)
#undef X

static hd_status find(heed_results **out, heed_context *c, const char *const *text, size_t count,
                      const heed_translate_options *o, const hd_translate_opt *opt, hd_err *err)
{
    hd_translations found = {0};
    hd_line *line = hd_mem_array(count, sizeof *line), *prefix = NULL;
    if (!line) return hd_err_nomem(err, count * sizeof *line);
    hd_status s = hd_api_lines(line, text, o->line_size, count, "line", false, err);
    if (!s && o->prefix) {
        prefix = hd_mem_array(count, sizeof *prefix);
        if (!prefix) s = hd_err_nomem(err, count * sizeof *prefix);
        if (!s) s = hd_api_lines(prefix, o->prefix, o->prefix_size, count, "prefix", !o->force, err);
    }
    if (!s) s = hd_translate(&found, &c->run, &c->model->folder, line, prefix, count, opt, err);
    if (!s) s = hd_api_results(out, c->model, &found, err);
    hd_mem_free(prefix);
    hd_mem_free(line);
    return s;
}

static void report(const heed_context *c, const heed_results *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const heed_translation *t = r->translation[i];
        if (t->status) hd_log_say(&c->run.log, HD_WARN, "line %zu of %zu: %s", i + 1, r->count, t->error);
        if (t->cut)
            hd_log_say(&c->run.log, HD_WARN, "line %zu of %zu: too long: only its beginning is translated",
                       i + 1, r->count);
    }
}

/* -- attention -- */

typedef struct listener {
    const heed_translate_options *o;
    heed_attention to; /* line and translation are set */
} listener;

/* The tokens' names alone, as lists of the interface are. */
static hd_status names_of(const char ***out, const hd_attention_maps *maps, hd_err *err)
{
    size_t count = maps->sources + maps->targets + 1; /* output is input from the second on */
    const char **name = *out = hd_mem_array(count, sizeof *name);
    if (!name) return hd_err_nomem(err, count * sizeof *name);
    for (size_t i = 0; i < count; i++) name[i] = hd_shown_plain(&maps->source[i]);
    return HD_OK;
}

static hd_status hand_over(void *context, size_t part, const hd_attention_maps *maps, hd_err *err)
{
    const heed_translate_options *o = ((listener *)context)->o;
    heed_attention *to = &((listener *)context)->to;
    const char **name = NULL;
    hd_status s = names_of(&name, maps, err);
    to->part = part;
    for (int k = 0; !s && k < HD_ATTENTION_KINDS; k++) {
        const hd_attention_part *p = &maps->part[k];
        if (!p->layers) continue;
        to->kind = (heed_attention_kind)k;
        to->layers = p->layers, to->heads = p->heads, to->rows = p->rows, to->cols = p->cols;
        to->weight = p->weight;
        to->col_label = k == HD_ATTENTION_DECODER ? name + maps->sources : name;
        to->row_label = k == HD_ATTENTION_CROSS ? name + maps->sources + 1 : to->col_label;
        s = (hd_status)o->attention(o->attention_user, to);
        if (s) hd_err_set(err, s, "stopped by the attention function: %s", hd_status_text(s));
    }
    hd_mem_free(name);
    return s;
}

static hd_status attend(heed_context *c, const heed_translate_options *o, const heed_results *r, size_t line,
                        hd_err *err)
{
    listener l = {o, {.line = line, .translation = r->translation[line]}};
    const hd_attention_of of = {.by = &c->model->folder, .found = hd_api_found(r, line)};
    return hd_attention_parts(&c->run, &of, hand_over, &l, err);
}

/* -- the call -- */

static hd_status translate(heed_results **out, heed_context *c, const char *const *text, size_t count,
                           const heed_translate_options *given, hd_err *err)
{
    heed_translate_options o;
    hd_translate_opt opt;
    heed_results *r = NULL;
    hd_status s = hd_api_read_options(&opt, &o, given, err);
    opt.shortlist = c->model->shortlist;
    if (!s) s = find(&r, c, text, count, &o, &opt, err);
    if (!s) report(c, r);
    for (size_t i = 0; !s && o.attention && i < count; i++) s = attend(c, &o, r, i, err);
    if (s)
        heed_results_free(r);
    else
        *out = r;
    return s;
}

heed_status heed_translate(heed_context *context, const char *const *lines, size_t count,
                           const heed_translate_options *options, heed_results **out, heed_error *error)
{
    hd_err err = {0};
    const char *missing = !context ? "context" : !lines && count ? "lines" : !out ? "out" : NULL;
    hd_status s = hd_api_enter(context, "heed_translate", missing, &err);
    const bool entered = !s;
    if (!s) s = hd_api_reads(context->model, "translate", "heed_translate", &err);
    if (!s) s = translate(out, context, lines, count, options, &err);
    return hd_api_leave(context, entered, error, &err, s);
}
