/* The folder of a language model. */
#include "task/language/language.h"

#include <unistd.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/mem.h"
#include "model/prepare.h"
#include "task/model_config.h"
#include "task/translate/translator.h"
#include "train/published.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_SIZE = 1 << 20, MOST_BUCKETS = 1 << 28, MOST_LAYERS = 1000 };

/* X(key, field of hd_lm_opt, least, most): whole numbers of config.json */
#define SIZES(X)                              \
    X("order", order, 1, 1000)                \
    X("buckets", buckets, 0, MOST_BUCKETS)    \
    X("layers", stack.layers, 1, MOST_LAYERS) \
    X("heads", stack.heads, 1, 1024)          \
    X("width", stack.width, 1, MOST_SIZE)     \
    X("inner", stack.inner, 0, 4 * MOST_SIZE) \
    X("context", context, 1, MOST_SIZE)       \
    X("vocabulary", vocab, 1, 64 * MOST_SIZE)
/* X(key, field, most) */
#define REALS(X)       \
    X("add_k", k, 1e9) \
    X("dropout", stack.dropout, 0.999)
/* X(key, field, most, what it is where the file lacks it): came later */
#define LATE_REALS(X)                                                        \
    X("embedding_dropout", embedding_dropout, 0.999, o->stack.dropout)       \
    X("attention_dropout", stack.attention_dropout, 0.999, o->stack.dropout) \
    X("eps", stack.eps, 1, 1e-5f)

/* -- writing -- */

void hd_language_put_model(hd_text *to, const hd_lm_opt *o)
{
    hd_text_print(to, ",\n \"model\": \"%s\"", hd_lm_names[o->kind]);
#define X(key, field, least, most) hd_text_print(to, ",\n \"" key "\": %zu", (size_t)o->field);
    SIZES(X)
#undef X
    hd_text_print(to, ",\n \"post_norm\": %s,\n \"tied\": %s", o->stack.pre_norm ? "false" : "true",
                  o->tied ? "true" : "false");
#define X(key, field, most) hd_model_config_put_real(to, key, (double)o->field);
    REALS(X)
#undef X
#define X(key, field, most, otherwise) hd_model_config_put_real(to, key, (double)o->field);
    if (o->kind == HD_LM_gpt) {
        LATE_REALS(X)
    }
#undef X
    hd_text_print(to, ",\n \"smoothing\": \"%s\",\n \"activation\": \"%s\"", hd_smoothing_names[o->smoothing],
                  hd_unary_name(o->stack.act));
}

static hd_status save_config(const hd_language *l, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_text c = {0};
    hd_text_put(&c, "{\"format\": 1,\n \"task\": \"lm\"");
    hd_language_put_model(&c, &l->lm->opt);
    hd_model_config_put_padded(&c, l->lm->opt.vocab, hd_tokenizer_size(l->tokenizer));
    hd_text_print(&c, ",\n \"tokenizer\": \"%s\"}\n", hd_tokenizer_name(hd_tokenizer_kind_of(l->tokenizer)));
    hd_status s = hd_text_status(&c, err);
    if (!s) s = hd_path(path, folder, "config.json", err);
    if (!s) s = hd_save_bytes(path, c.data, c.size, err);
    hd_text_release(&c);
    return s;
}

hd_status hd_language_save(const hd_language *l, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_tokenizer_path(path, folder, hd_tokenizer_kind_of(l->tokenizer), err);
    if (!s) s = hd_tokenizer_save(l->tokenizer, path, err);
    if (!s) s = save_config(l, folder, err);
    return s ? s : hd_model_config_seal(folder, err);
}

hd_status hd_language_publish(const hd_language *l, const char *folder, hd_err *err)
{
    if (l->lm->params) return hd_published_save(l->lm->params, folder, err);
    hd_status s = l->lm->type->save(l->lm, folder, err);
    return s ? s : hd_model_config_seal(folder, err); /* counts have no place for a checksum of their own */
}

hd_status hd_language_remove(const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_translator_remove(folder, err);
    if (!s) s = hd_path(path, folder, HD_NGRAM_FILE, err);
    return s ? s : hd_folder_remove(path, err);
}

/* -- reading -- */

void hd_language_read_model(hd_model_config *c, hd_lm_opt *o)
{
    *o = (hd_lm_opt){0};
    o->kind = (hd_lm_kind)hd_model_config_name(c, "model", hd_lm_names, HD_LM_KINDS);
#define X(key, field, least, most) \
    o->field = (__typeof__(o->field))hd_model_config_whole(c, key, least, most);
    SIZES(X)
#undef X
    o->stack.pre_norm = !hd_model_config_switch(c, "post_norm");
    o->tied = hd_model_config_switch(c, "tied");
#define X(key, field, most) o->field = (__typeof__(o->field))hd_model_config_real(c, key, most);
    REALS(X)
#undef X
#define X(key, field, most, otherwise) \
    o->field = hd_model_config_has(c, key) ? (float)hd_model_config_real(c, key, most) : otherwise;
    LATE_REALS(X)
#undef X
    o->smoothing = (hd_smoothing)hd_model_config_name(c, "smoothing", hd_smoothing_names, HD_SMOOTHINGS);
    o->stack.act = hd_model_config_activation(c);
    if (o->kind == HD_LM_gpt && o->stack.width % (size_t)o->stack.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o->stack.width,
                               o->stack.heads);
}

static void open_tokenizer(hd_model_config *c, const char *folder, hd_lm_opt *o, hd_tokenizer **tokenizer)
{
    *tokenizer = hd_model_config_tokenizer(c, folder);
    if (c->status) return;
    hd_model_config_check_vocab(c, o->vocab, *tokenizer, hd_tokenizer_size(*tokenizer));
    hd_special special = hd_tokenizer_special(*tokenizer);
    o->start = special.start, o->end = special.end, o->unk = special.unk;
}

hd_status hd_language_describe(const char *folder, hd_lm_opt *opt, hd_tokenizer **tokenizer, hd_err *err)
{
    hd_model_config c;
    *tokenizer = NULL;
    hd_model_config_open(&c, folder, err);
    hd_model_config_task(&c, "lm");
    if (!c.status) hd_language_read_model(&c, opt);
    if (!c.status) open_tokenizer(&c, folder, opt, tokenizer);
    if (c.status) {
        hd_tokenizer_free(*tokenizer);
        *tokenizer = NULL;
    }
    hd_model_config_release(&c);
    return c.status;
}

hd_status hd_language_open(hd_language **out, const char *folder, hd_backend *backend, hd_err *err)
{
    hd_lm_opt opt;
    hd_language *l = hd_mem_zero(sizeof *l);
    if (!l) return hd_err_nomem(err, sizeof *l);
    l->backend = backend;
    hd_status s = hd_language_describe(folder, &opt, &l->tokenizer, err);
    if (!s) s = hd_lm_new(&l->lm, &opt, backend, false, err);
    if (!s)
        s = l->lm->params ? hd_published_load(l->lm->params, folder, err)
                          : l->lm->type->load(l->lm, folder, err);
    if (!s) s = hd_lm_prepare(l->lm, HD_ASKING, err);
    if (s)
        hd_language_free(l);
    else
        *out = l;
    return s;
}

void hd_language_free(hd_language *l)
{
    if (!l) return;
    hd_lm_free(l->lm);
    hd_tokenizer_free(l->tokenizer);
    hd_mem_free(l);
}
