/* --attention of verbs whose model reads one text. */
#include "cli/verb/attention.h"

#include <string.h>

#include "view/attention/text.h"

static hd_attention_pick pick_of(const hd_attending *a)
{
    return (hd_attention_pick){.layer = a->o.layer, .head = a->o.head};
}

hd_status hd_attending_open(hd_attending *a, hd_err *err)
{
    const hd_attention_pick pick = pick_of(a);
    bool looks = hd_attending_wanted(a) || pick.layer || pick.head;
    hd_status s = looks ? hd_attention_check(&a->model, &pick, err) : HD_OK;
    return s || !a->o.file ? s : hd_attention_file_open(&a->file, a->o.file, &pick, err);
}

static hd_status show(const hd_attending *a, const hd_attention_maps *maps, hd_err *err)
{
    const hd_terminal *t = &a->command->out;
    hd_attention_look look = {.width = t->width, .color = t->color, .utf8 = true, .pick = pick_of(a)};
    hd_text out = {0};
    hd_status s = hd_attention_text(&out, maps, &look, err);
    hd_text_put(&out, "\n");
    return hd_command_put_page(a->command, &out, s, err);
}

hd_status hd_attending_add(hd_attending *a, hd_run *r, const hd_attended *t, hd_err *err)
{
    const bool writes = a->model.type && a->model.type->attends == HD_ATTENTION_DECODER;
    hd_attention_maps maps;
    hd_attention_ask ask = {.source = writes ? NULL : t->ids,
                            .sources = writes ? 0 : t->count,
                            .second = t->second,
                            .target = writes ? t->ids : NULL,
                            .targets = writes ? t->count : 0,
                            .source_pieces = a->pieces,
                            .target_pieces = a->pieces,
                            .source_text = {t->text, t->second_text},
                            .target_text = t->text,
                            .sentence = t->second_text.text ? (hd_line){NULL, 0} : t->text,
                            .translation = t->written,
                            .score = t->score};
    if (!hd_attending_wanted(a)) return HD_OK;
    hd_status s = hd_attention_collect(&maps, r, &a->model, &ask, err);
    if (!s && a->file) s = hd_attention_file_add(a->file, &maps, err);
    if (!s && a->o.view) s = show(a, &maps, err);
    hd_attention_release(&maps);
    return s;
}

hd_status hd_attending_close(hd_attending *a, hd_status s, hd_err *err)
{
    hd_attention_file *file = a->file;
    a->file = NULL;
    if (!s && file) return hd_attention_file_close(file, err);
    hd_attention_file_abandon(file);
    return s;
}
