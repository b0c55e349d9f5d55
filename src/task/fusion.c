/* Language models in a search. Both sides may have vocabularies of their own: pieces are found by their text.
 */
#include "task/fusion.h"

#include "base/mem.h"

/* The end of a line: a token of its own, or the newline where that is a byte like others. */
static int32_t end_of(const hd_tokenizer *t)
{
    int32_t line = hd_tokenizer_keeps_lines(t) ? hd_tokenizer_id(t, "\u010a") : -1;
    return line >= 0 ? line : hd_tokenizer_special(t).end;
}

static hd_status name_tokens(hd_fusion *f, const char *folder, const hd_tokenizer *writer, hd_err *err)
{
    const hd_tokenizer *t = f->lm.tokenizer[0];
    const hd_special own = hd_tokenizer_special(writer);
    size_t count = hd_tokenizer_size(writer), pieces = 0, known = 0;
    f->token = hd_mem_array(count + 1, sizeof *f->token);
    if (!f->token) return hd_err_nomem(err, count * sizeof *f->token);
    for (size_t i = 0; i < count; i++) {
        const char *piece = hd_tokenizer_piece(writer, (int32_t)i);
        bool special = (int32_t)i == own.pad || (int32_t)i == own.unk || (int32_t)i == own.start;
        int32_t id = piece && !special ? hd_tokenizer_id(t, piece) : -1;
        if ((int32_t)i != own.end) pieces += !special, known += id >= 0;
        f->token[i] = (int32_t)i == own.end ? end_of(t) : id >= 0 ? id : hd_tokenizer_special(t).unk;
    }
    if (2 * known >= pieces) return HD_OK;
    return hd_err_set(err, HD_EARG,
                      "%s: the language model knows %zu of the model's %zu tokens: train it with the "
                      "model's tokenizer (--tokenizer-model)",
                      folder, known, pieces);
}

hd_status hd_fusion_open(hd_fusion *out, const char *folder, const hd_tokenizer *writer, hd_backend *backend,
                         hd_err *err)
{
    hd_fusion f = {0};
    hd_status s = hd_model_folder_open(&f.lm, folder, "lm", backend, HD_WEIGHTS_BEST, err);
    if (!s && !f.lm.model.type->stepper)
        s = hd_err_set(err, HD_EARG, "%s: the language model does not write", folder);
    if (!s) s = name_tokens(&f, folder, writer, err);
    if (!s) f.start = hd_tokenizer_special(f.lm.tokenizer[0]).end;
    if (s) hd_fusion_release(&f);
    *out = f;
    return s;
}

void hd_fusion_release(hd_fusion *f)
{
    hd_model_folder_release(&f->lm);
    hd_mem_free(f->token);
    *f = (hd_fusion){0};
}

hd_status hd_fusion_part(hd_mix_part *out, const hd_fusion *f, size_t items, double weight, hd_err *err)
{
    const hd_model *m = &f->lm.model;
    int32_t *ids = hd_mem_array(2 * items + 1, sizeof *ids), *len = ids ? ids + items : NULL;
    hd_status s = ids ? HD_OK : hd_err_nomem(err, 2 * items * sizeof *ids);
    for (size_t i = 0; !s && i < items; i++) ids[i] = f->start, len[i] = 1;
    *out = (hd_mix_part){.weight = weight, .token = f->token};
    if (!s) s = m->type->stepper(&out->stepper, m->self, ids, len, items, 0, err);
    hd_mem_free(ids);
    return s;
}
