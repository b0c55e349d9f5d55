/* --attention of verbs whose model reads one text or a picture. */
#include "cli/frame/attending.h"

#include <string.h>

#include "cli/frame/verb.h"
#include "view/attention/text.h"

static hd_attention_pick pick_of(const hd_attending_options *o)
{
    return (hd_attention_pick){o->kind, o->layer, o->head};
}

hd_status hd_attending_open(hd_command *c, const hd_attending_options *o, hd_err *err)
{
    const hd_attention_pick pick = pick_of(o);
    bool looks = hd_attending_wanted(o) || pick.kind || pick.layer || pick.head;
    c->attending = (hd_attending){.o = *o, .model = hd_model_body(&c->model.model)};
    hd_status s = looks ? hd_attention_check(&c->attending.model, &pick, err) : HD_OK;
    return s || !o->file ? s : hd_attention_file_open(&c->attending.file, o->file, &pick, err);
}

hd_status hd_attending_put(const hd_command *c, const hd_attention_maps *maps, hd_text *drawn, hd_err *err)
{
    const hd_attending *a = &c->attending;
    const hd_attention_look look = {
        .width = c->out.width, .color = c->out.color, .utf8 = true, .pick = pick_of(&a->o)};
    hd_status s = a->file ? hd_attention_file_add(a->file, maps, err) : HD_OK;
    if (s || !a->o.view) return s;
    s = hd_attention_text(drawn, maps, &look, err);
    hd_text_put(drawn, "\n");
    return s;
}

hd_status hd_attending_add(hd_command *c, const hd_attended *t, hd_err *err)
{
    const hd_attending *a = &c->attending;
    const hd_tokenizer *pieces = c->model.tokenizer[0];
    const bool writes = a->model.type && a->model.type->attends == HD_ATTENTION_DECODER;
    hd_attention_maps maps;
    hd_text drawn = {0};
    hd_attention_ask ask = {.source = writes ? NULL : t->ids,
                            .sources = writes ? 0 : t->count,
                            .second = t->second,
                            .target = writes ? t->ids : NULL,
                            .targets = writes ? t->count : 0,
                            .source_pieces = pieces,
                            .target_pieces = pieces,
                            .source_text = {t->text, t->second_text},
                            .target_text = t->text,
                            .sentence = t->second_text.text ? (hd_line){NULL, 0} : t->text,
                            .translation = t->written,
                            .score = t->score};
    if (!hd_attending_wanted(&a->o)) return HD_OK;
    hd_status s = hd_attention_collect(&maps, &c->machine.run, &a->model, &ask, err);
    if (!s) s = hd_attending_put(c, &maps, &drawn, err);
    hd_attention_release(&maps);
    return a->o.view ? hd_command_put_page(c, &drawn, s, err) : s;
}

unsigned hd_attending_kinds(const hd_attending_options *o)
{
    return 1u << HD_ATTENTION_CROSS | 1u << HD_ATTENTION_DECODER | (o->kind ? 1u << (o->kind - 1) : 0);
}

hd_status hd_attending_picture(hd_command *c, const hd_attended_picture *t, hd_err *err)
{
    const hd_attending *a = &c->attending;
    hd_attention_maps maps;
    hd_text drawn = {0};
    hd_attention_ask ask = {.picture = t->image,
                            .name = t->name,
                            .start = t->start,
                            .target = t->target,
                            .targets = t->targets,
                            .target_pieces = c->model.tokenizer[1],
                            .translation = {t->said, t->said ? strlen(t->said) : 0},
                            .score = t->score,
                            .box = t->box,
                            .boxes = t->boxes,
                            .kinds = t->kinds};
    if (!hd_attending_wanted(&a->o)) return HD_OK;
    hd_status s = hd_attention_collect(&maps, &c->machine.run, &a->model, &ask, err);
    if (!s) s = hd_attending_put(c, &maps, &drawn, err);
    hd_attention_release(&maps);
    return a->o.view ? hd_command_put_page(c, &drawn, s, err) : s;
}

hd_status hd_attending_scale(hd_command *c, const char *list, hd_err *err)
{
    hd_err why = {0};
    if (!list) return HD_OK;
    hd_status s = hd_heads_init(&c->heads, &c->model.model, &why);
    if (!s) s = hd_heads_set(&c->heads, list, &why);
    c->misused = s == HD_EARG;
    if (!s) c->machine.run.heads = &c->heads;
    return s ? hd_err_set(err, s, "--heads: %s", why.text) : HD_OK;
}

hd_status hd_attending_close(hd_attending *a, hd_status s, hd_err *err)
{
    hd_attention_file *file = a->file;
    a->file = NULL;
    if (!s && file) return hd_attention_file_close(file, err);
    hd_attention_file_abandon(file);
    return s;
}
