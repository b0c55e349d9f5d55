/* Lines with their special tokens, by the functions that training and inference read them with. */
#include "show/framed.h"

#include <string.h>

#include "data/labels/examples.h"
#include "task/masked/masked.h"

hd_status hd_frame_open(hd_frame *out, const hd_tokenizer *t, const char *path, hd_err *err)
{
    hd_model_config c;
    hd_err why = {0};
    *out = (hd_frame){.tokenizer = t, .longest = SIZE_MAX};
    hd_model_config_read_file(&c, path, "config.json", &why);
    bool own = !c.status && hd_model_config_has(&c, "format") && hd_model_config_has(&c, "task");
    const hd_task_folder *task = own ? hd_task_folder_find(hd_model_config_text(&c, "task")) : NULL;
    if (task) out->kind = task->line;
    if (out->kind == HD_LINE_item || out->kind == HD_LINE_words)
        out->bare =
            hd_model_config_has(&c, "bare") ? hd_model_config_switch(&c, "bare") : out->kind == HD_LINE_words;
    if (out->kind == HD_LINE_item) {
        out->longest = (size_t)hd_model_config_whole(&c, "positions", 3, 1 << 20);
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

static hd_status put_item(const hd_frame *f, hd_line line, hd_pieces *out, hd_err *err)
{
    const char *tab = f->pairs ? memchr(line.text, '\t', line.size) : NULL;
    const size_t first = tab ? (size_t)(tab - line.text) : line.size;
    const hd_line text[2] = {{line.text, first}, {tab ? tab + 1 : "", tab ? line.size - first - 1 : 0}};
    bool cut;
    size_t from = out->count;
    hd_status s = hd_item_pieces(f->tokenizer, text, tab,
                                 &(hd_examples_opt){.bare = f->bare, .longest = f->longest}, out, &cut, err);
    for (; !s && from < out->count; from++)
        if (out->at[from].type && !out->at[from].text)
            out->at[from].begin += (uint32_t)first + 1, out->at[from].end += (uint32_t)first + 1;
    return s;
}

static hd_status put_words(const hd_frame *f, hd_line line, hd_pieces *out, hd_err *err)
{
    hd_special special = hd_tokenizer_special(f->tokenizer);
    hd_status s = f->bare || special.start < 0 ? HD_OK : hd_pieces_add_around(out, special.start, 0, err);
    if (!s) s = hd_line_pieces(HD_LINE_words, !f->bare, f->tokenizer, line, out, err);
    return s || f->bare ? s : hd_pieces_add_around(out, special.end, 0, err);
}

hd_status hd_frame_encode(const hd_frame *f, hd_line line, hd_pieces *out, hd_err *err)
{
    if (f->kind == HD_LINE_masks) return hd_masked_pieces(f->tokenizer, line, false, out, err);
    if (f->kind == HD_LINE_item) return put_item(f, line, out, err);
    return f->kind == HD_LINE_words ? put_words(f, line, out, err)
                                    : hd_tokenizer_encode_framed(f->tokenizer, line, NULL, out, err);
}
