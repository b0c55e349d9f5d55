/* heed_tokenize and heed_detokenize. */
#include <string.h>

#include "api/api.h"

static hd_status tokenizer_of(const hd_tokenizer **out, const heed_model *m, heed_side side, hd_err *err)
{
    if ((unsigned)side > HEED_SIDE_TARGET) return hd_err_set(err, HD_EARG, "there is no side %d", (int)side);
    *out = m->folder.tokenizer[side];
    return *out
               ? HD_OK
               : hd_err_set(err, HD_EARG, "the model is %s, which has no tokens there", m->folder.task->what);
}

void heed_tokens_free(heed_tokens *tokens)
{
    hd_api_drop(tokens);
}

static hd_status give(heed_tokens **out, heed_model *m, const hd_tokenizer *t, const hd_pieces *p,
                      hd_err *err)
{
    hd_api_held *h;
    heed_tokens *shown = hd_api_hold(&h, sizeof *shown, m, err);
    if (!shown) return HD_ENOMEM;
    int32_t *id = hd_api_take(h, p->count, sizeof *id);
    size_t *begin = hd_api_take(h, p->count, sizeof *begin), *end = hd_api_take(h, p->count, sizeof *end);
    for (size_t i = 0; end && i < p->count; i++)
        id[i] = p->at[i].id, begin[i] = p->at[i].begin, end[i] = p->at[i].end;
    *shown = (heed_tokens){p->count, id, end ? hd_api_pieces(h, t, id, p->count) : NULL, begin, end};
    return hd_api_give(out, shown, h, HD_OK, err);
}

heed_status heed_tokenize(heed_model *model, heed_side side, const char *text, size_t text_size,
                          heed_tokens **out, heed_error *error)
{
    hd_err err = {0};
    hd_line line;
    hd_pieces pieces = {0};
    const hd_tokenizer *t = NULL;
    const char *missing = !model ? "model" : !text ? "text" : !out ? "out" : NULL;
    hd_status s = missing ? hd_err_set(&err, HD_EARG, "heed_tokenize: %s is NULL", missing) : HD_OK;
    if (!s) s = tokenizer_of(&t, model, side, &err);
    if (!s) s = hd_api_lines(&line, &text, &text_size, 1, "text", false, &err);
    if (!s) s = hd_tokenizer_encode(t, line.text, line.size, &pieces, &err);
    if (!s) s = give(out, model, t, &pieces, &err);
    hd_pieces_release(&pieces);
    return hd_api_end(error, &err, s);
}

heed_status heed_detokenize(heed_model *model, heed_side side, const int32_t *id, size_t length, char *text,
                            size_t room, size_t *text_size, heed_error *error)
{
    hd_err err = {0};
    hd_text made = {0};
    const hd_tokenizer *t = NULL;
    const char *missing = !model                ? "model"
                          : !id && length       ? "id"
                          : !text && room       ? "text"
                          : !text_size && !room ? "text_size"
                                                : NULL;
    hd_status s = missing ? hd_err_set(&err, HD_EARG, "heed_detokenize: %s is NULL", missing) : HD_OK;
    if (!s) s = tokenizer_of(&t, model, side, &err);
    if (!s) s = hd_tokenizer_decode(t, id, length, &made, &err);
    if (!s) s = hd_text_status(&made, &err);
    if (!s && room) {
        size_t kept = made.size < room ? made.size : room - 1;
        if (kept) memcpy(text, made.data, kept);
        text[kept] = 0;
    }
    if (!s && text_size) *text_size = made.size;
    hd_text_release(&made);
    return hd_api_end(error, &err, s);
}
