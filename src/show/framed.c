/* Lines with their special tokens. Easy to get wrong: what training and inference do is done in masked.c,
   model_folder.c and data/labels/examples.c; tests hold this file to them. */
#include "show/framed.h"

#include <string.h>

#include "task/masked/masked.h"

/* -- opening -- */

hd_status hd_frame_open(hd_frame *out, const hd_tokenizer *t, const char *path, hd_err *err)
{
    hd_model_config c;
    hd_err why = {0};
    *out = (hd_frame){.tokenizer = t, .longest = SIZE_MAX};
    hd_model_config_read_file(&c, path, "config.json", &why);
    bool own = !c.status && hd_model_config_has(&c, "format") && hd_model_config_has(&c, "task");
    const hd_task_folder *task = own ? hd_task_folder_find(hd_model_config_text(&c, "task")) : NULL;
    if (task) out->kind = task->line;
    if (out->kind == HD_LINE_item) {
        out->longest = (size_t)hd_model_config_whole(&c, "positions", 3, 1 << 20);
        out->bare = hd_model_config_has(&c, "bare") && hd_model_config_switch(&c, "bare");
        out->pairs = hd_model_config_has(&c, "pairs") && hd_model_config_switch(&c, "pairs");
    }
    hd_model_config_release(&c);
    return c.status ? hd_err_set(err, c.status, "%s", why.text) : HD_OK;
}

int32_t hd_frame_mask(const hd_frame *f)
{
    bool behind = f->kind == HD_LINE_masks && hd_tokenizer_special(f->tokenizer).mask < 0;
    return behind ? hd_masked_id(f->tokenizer) : -1;
}

const char *hd_frame_piece(const hd_frame *f, int32_t id)
{
    return f->kind == HD_LINE_masks ? hd_masked_piece(f->tokenizer, id)
                                    : hd_tokenizer_piece(f->tokenizer, id);
}

/* -- lines -- */

static hd_status put(hd_pieces *out, int32_t id, int type, hd_err *err)
{
    const hd_piece around = {.id = id, .text = -1, .type = (int8_t)type};
    return hd_pieces_add(out, around) ? HD_OK : hd_err_nomem(err, sizeof around);
}

/* The pieces of a part of a line that begins at `at`. */
static hd_status put_part(const hd_frame *f, hd_line part, size_t at, hd_pieces *out, hd_err *err)
{
    size_t from = out->count;
    hd_status s = part.size ? hd_tokenizer_encode(f->tokenizer, part.text, part.size, out, err) : HD_OK;
    for (size_t i = from; !s && i < out->count; i++)
        out->at[i].begin += (uint32_t)at, out->at[i].end += (uint32_t)at;
    return s;
}

static hd_status put_masked(const hd_frame *f, hd_line line, hd_pieces *out, hd_err *err)
{
    const size_t size = sizeof HD_MASK_TEXT - 1;
    hd_special special = hd_tokenizer_special(f->tokenizer);
    hd_status s = put(out, special.start, 0, err);
    for (size_t at = 0; !s && at < line.size;) {
        const hd_line rest = {line.text + at, line.size - at};
        size_t n = hd_masked_before(rest);
        s = put_part(f, hd_masked_part(f->tokenizer, rest, n), at, out, err);
        at += n;
        if (s || at == line.size) break;
        const hd_piece mask = {
            .id = hd_masked_id(f->tokenizer), .begin = (uint32_t)at, .end = (uint32_t)(at + size)};
        if (!hd_pieces_add(out, mask)) s = hd_err_nomem(err, sizeof mask);
        at += size;
    }
    return s ? s : put(out, special.end, 0, err);
}

/* Of two texts the longer one is cut first. */
static void fit(size_t size[2], size_t most)
{
    for (; size[0] + size[1] > most; size[size[1] > size[0]]--) continue;
}

static hd_status put_item(const hd_frame *f, hd_line line, hd_pieces *out, hd_err *err)
{
    hd_special special = hd_tokenizer_special(f->tokenizer);
    const char *tab = f->pairs ? memchr(line.text, '\t', line.size) : NULL;
    size_t first = tab ? (size_t)(tab - line.text) : line.size, size[2] = {0};
    hd_pieces text[2] = {{0}, {0}};
    hd_status s = put_part(f, (hd_line){line.text, first}, 0, &text[0], err);
    if (!s && tab) s = put_part(f, (hd_line){tab + 1, line.size - first - 1}, first + 1, &text[1], err);
    size[0] = text[0].count, size[1] = text[1].count;
    bool bare = f->bare && !tab;
    size_t between = hd_tokenizer_between(f->tokenizer);
    if (between > f->longest - 2) between = f->longest - 2;
    fit(size, f->longest - (tab ? 2 + between : bare ? 0 : 2));
    if (!s && !bare && special.start >= 0) s = put(out, special.start, 0, err);
    for (int i = 0; i < (tab ? 2 : 1); i++) {
        for (size_t k = 0; !s && k < size[i]; k++) {
            text[i].at[k].type = (int8_t)i;
            if (!hd_pieces_add(out, text[i].at[k])) s = hd_err_nomem(err, sizeof *out->at);
        }
        for (size_t k = tab && !i ? between : 1; !s && k && (!bare || !size[0]); k--)
            s = put(out, special.end, i, err);
    }
    hd_pieces_release(&text[0]), hd_pieces_release(&text[1]);
    return s;
}

hd_status hd_frame_encode(const hd_frame *f, hd_line line, hd_pieces *out, hd_err *err)
{
    if (f->kind == HD_LINE_masks) return put_masked(f, line, out, err);
    if (f->kind == HD_LINE_item) return put_item(f, line, out, err);
    return f->kind == HD_LINE_words ? hd_line_pieces(f->kind, f->tokenizer, line, out, err)
                                    : hd_tokenizer_encode_framed(f->tokenizer, line, NULL, out, err);
}
