/* The folder of a masked language model, and texts as it reads them. */
#include "task/masked/masked.h"

#include <string.h>
#include <unistd.h>

#include "base/file/file.h"
#include "base/mem.h"
#include "model/prepare.h"
#include "task/model_config.h"
#include "train/published.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_SIZE = 1 << 20, MOST_LAYERS = 1000 };

/* X(key, field of hd_bert_opt, least, most): whole numbers of config.json */
#define SIZES(X)                              \
    X("layers", stack.layers, 1, MOST_LAYERS) \
    X("heads", stack.heads, 1, 1024)          \
    X("width", stack.width, 1, MOST_SIZE)     \
    X("inner", stack.inner, 1, 4 * MOST_SIZE) \
    X("context", positions, 3, MOST_SIZE)     \
    X("vocabulary", vocab, 1, 64 * MOST_SIZE)

/* -- tokens -- */

int32_t hd_masked_id(const hd_tokenizer *t)
{
    int32_t own = hd_tokenizer_special(t).mask;
    return own >= 0 ? own : (int32_t)hd_tokenizer_size(t);
}

const char *hd_masked_piece(const hd_tokenizer *t, int32_t id)
{
    const char *piece = hd_tokenizer_piece(t, id);
    return piece || id != hd_masked_id(t) ? piece : HD_MASK_TEXT;
}

size_t hd_masked_vocab(const hd_tokenizer *t)
{
    return hd_tokenizer_size(t) + (hd_tokenizer_special(t).mask < 0);
}

bool hd_masked_is_special(const hd_tokenizer *t, int32_t id)
{
    hd_special s = hd_tokenizer_special(t);
    return id == s.pad || id == s.unk || id == s.start || id == s.end || id == hd_masked_id(t);
}

static hd_status add(hd_ids *out, int32_t id, hd_err *err)
{
    hd_status s = hd_ids_reserve(out, 1, err);
    if (!s) out->at[out->count++] = id;
    return s;
}

size_t hd_masked_before(hd_line text)
{
    const size_t size = sizeof HD_MASK_TEXT - 1;
    for (size_t i = 0; i + size <= text.size; i++)
        if (!memcmp(text.text + i, HD_MASK_TEXT, size)) return i;
    return text.size;
}

static hd_status add_pieces(hd_ids *out, const hd_tokenizer *t, hd_line text, bool again, hd_err *err)
{
    hd_pieces piece = {0};
    hd_status s = again ? hd_tokenizer_encode_again(t, text.text, text.size, &piece, err)
                        : hd_tokenizer_encode(t, text.text, text.size, &piece, err);
    if (!s) s = hd_ids_reserve(out, piece.count, err);
    for (size_t i = 0; !s && i < piece.count; i++) out->at[out->count++] = piece.at[i].id;
    hd_pieces_release(&piece);
    return s;
}

static hd_status encode(const hd_tokenizer *t, hd_line text, bool again, hd_ids *out, hd_err *err)
{
    hd_special special = hd_tokenizer_special(t);
    hd_status s = add(out, special.start, err);
    while (!s && text.size) {
        size_t n = hd_masked_before(text);
        if (n) s = add_pieces(out, t, (hd_line){text.text, n}, again, err);
        if (!s && n < text.size) s = add(out, hd_masked_id(t), err), n += sizeof HD_MASK_TEXT - 1;
        text.text += n, text.size -= n;
    }
    return s ? s : add(out, special.end, err);
}

hd_status hd_masked_encode(const hd_tokenizer *t, hd_line text, hd_ids *out, hd_err *err)
{
    return encode(t, text, false, out, err);
}

hd_status hd_masked_encode_again(const hd_tokenizer *t, hd_line text, hd_ids *out, hd_err *err)
{
    return encode(t, text, true, out, err);
}

/* -- writing -- */

void hd_masked_put_model(hd_text *to, const hd_bert_opt *o)
{
#define X(key, field, least, most) hd_text_print(to, ",\n \"" key "\": %zu", (size_t)o->field);
    SIZES(X)
#undef X
    hd_model_config_put_real(to, "dropout", (double)o->stack.dropout);
    hd_model_config_put_real(to, "eps", (double)o->stack.eps);
    hd_text_print(to, ",\n \"types\": %zu,\n \"headless\": %s,\n \"pooler\": %s", o->types,
                  o->headless ? "true" : "false", o->pooler ? "true" : "false");
    hd_text_print(to, ",\n \"activation\": \"%s\"", hd_unary_name(o->stack.act));
}

static hd_status save_config(const hd_masked *m, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_text c = {0};
    hd_text_put(&c, "{\"format\": 1,\n \"task\": \"mlm\",\n \"model\": \"bert\"");
    hd_masked_put_model(&c, &m->model->opt);
    hd_model_config_put_padded(&c, m->model->opt.vocab, hd_masked_vocab(m->tokenizer));
    if (m->longest) hd_text_print(&c, ",\n \"longest\": %zu", m->longest);
    if (m->pool != HD_POOLING_AUTO)
        hd_text_print(&c, ",\n \"pool\": \"%s\",\n \"normalize\": %s", hd_pooling_names[m->pool],
                      m->normalize ? "true" : "false");
    hd_text_print(&c, ",\n \"tokenizer\": \"%s\"}\n", hd_tokenizer_name(hd_tokenizer_kind_of(m->tokenizer)));
    hd_status s = hd_text_status(&c, err);
    if (!s) s = hd_path(path, folder, "config.json", err);
    if (!s) s = hd_save_bytes(path, c.data, c.size, err);
    hd_text_release(&c);
    return s;
}

hd_status hd_masked_save(const hd_masked *m, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_tokenizer_path(path, folder, hd_tokenizer_kind_of(m->tokenizer), err);
    if (!s) s = hd_tokenizer_save(m->tokenizer, path, err);
    if (!s) s = save_config(m, folder, err);
    return s ? s : hd_model_config_seal(folder, err);
}

hd_status hd_masked_publish(const hd_masked *m, const char *folder, hd_err *err)
{
    return hd_published_save(&m->model->params, folder, err);
}

/* -- reading -- */

/* What folders may lack: that of models trained here. */
static void read_parts(hd_model_config *c, hd_bert_opt *o)
{
    if (hd_model_config_has(c, "eps")) o->stack.eps = (float)hd_model_config_real(c, "eps", 1);
    if (hd_model_config_has(c, "types")) o->types = (size_t)hd_model_config_whole(c, "types", 1, MOST_SIZE);
    if (hd_model_config_has(c, "headless")) o->headless = hd_model_config_switch(c, "headless");
    if (hd_model_config_has(c, "pooler")) o->pooler = hd_model_config_switch(c, "pooler");
}

void hd_masked_read_model(hd_model_config *c, hd_bert_opt *o)
{
    static const char *const models[] = {"bert"};
    *o = (hd_bert_opt){0};
    hd_model_config_name(c, "model", models, 1);
#define X(key, field, least, most) \
    o->field = (__typeof__(o->field))hd_model_config_whole(c, key, least, most);
    SIZES(X)
#undef X
    o->stack.dropout = (float)hd_model_config_real(c, "dropout", 0.999);
    o->stack.act = hd_model_config_activation(c);
    read_parts(c, o);
    if (!c->status && o->stack.width % (size_t)o->stack.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o->stack.width,
                               o->stack.heads);
}

/* How texts become vectors: keys that only sentence models have. */
static void read_sentence(hd_model_config *c, hd_masked *m, size_t positions)
{
    static const char limit[] = "longest", pool[] = "pool";
    if (hd_model_config_has(c, limit))
        m->longest = (size_t)hd_model_config_whole(c, limit, 3, (long long)positions);
    if (!hd_model_config_has(c, pool)) return;
    m->pool = (hd_pooling)hd_model_config_name(c, pool, hd_pooling_names, HD_POOLINGS);
    m->normalize = hd_model_config_switch(c, "normalize");
    if (m->pool == HD_POOLING_NONE || m->pool == HD_POOLING_POOLER)
        hd_model_config_refuse(c, "\"%s\" is \"%s\", which no sentence model has", pool,
                               hd_pooling_names[m->pool]);
}

/* Fills all but the model. */
static hd_status describe(const char *folder, hd_bert_opt *opt, hd_masked *m, hd_err *err)
{
    hd_model_config c;
    hd_model_config_open(&c, folder, err);
    hd_model_config_task(&c, "mlm");
    if (!c.status) hd_masked_read_model(&c, opt);
    if (!c.status) read_sentence(&c, m, opt->positions);
    if (!c.status) m->tokenizer = hd_model_config_tokenizer(&c, folder);
    if (!c.status) hd_model_config_check_vocab(&c, opt->vocab, m->tokenizer, hd_masked_vocab(m->tokenizer));
    if (c.status) {
        hd_tokenizer_free(m->tokenizer);
        m->tokenizer = NULL;
    }
    hd_model_config_release(&c);
    return c.status;
}

hd_status hd_masked_describe(const char *folder, hd_bert_opt *opt, hd_tokenizer **tokenizer, hd_err *err)
{
    hd_masked m = {0};
    hd_status s = describe(folder, opt, &m, err);
    *tokenizer = m.tokenizer;
    return s;
}

hd_status hd_masked_open(hd_masked **out, const char *folder, hd_backend *backend, hd_err *err)
{
    hd_bert_opt opt;
    hd_masked *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->backend = backend;
    hd_status s = describe(folder, &opt, m, err);
    if (!s) s = hd_bert_new(&m->model, backend, &opt, false, err);
    if (!s) s = hd_published_load(&m->model->params, folder, err);
    if (!s) s = hd_bert_prepare(m->model, HD_ASKING, err);
    if (s)
        hd_masked_free(m);
    else
        *out = m;
    return s;
}

void hd_masked_free(hd_masked *m)
{
    if (!m) return;
    hd_bert_free(m->model);
    hd_tokenizer_free(m->tokenizer);
    hd_mem_free(m);
}
