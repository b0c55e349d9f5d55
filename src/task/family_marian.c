/* MarianMT: the Transformer of `heed translate`, normalised behind each layer, whose tensors have these names
   already. */
#include "base/mem.h"
#include "task/family.h"
#include "task/family_weights.h"
#include "task/translator.h"

enum { MOST_SIZE = 1 << 20, MOST_POSITIONS = 1 << 16, MOST_LAYERS = 1000, MOST_HEADS = 1024 };

static const float EPS = 1e-5f; /* transformers' own; no config.json says it */

/* Sinusoids, which are computed here. */
static const char *const ignored[] = {".embed_positions.weight", NULL};

/* -- here -- */

/* A number that the two sides share here. */
static size_t both(hd_model_config *c, const char *encoder, const char *decoder, long long most,
                   long long otherwise)
{
    long long a = hd_family_whole(c, encoder, 1, most, otherwise),
              b = hd_family_whole(c, decoder, 1, most, otherwise);
    if (a != b)
        hd_model_config_refuse(c, "\"%s\" is %lld and \"%s\" %lld: heed has models where they are the same",
                               encoder, a, decoder, b);
    return (size_t)a;
}

static hd_encdec_opt read_config(hd_model_config *c)
{
    hd_encdec_opt o = {.output_bias = true, .eps = EPS, .sinusoid = {.halves = true}};
    o.encoder_layers = (int)hd_family_whole(c, "encoder_layers", 1, MOST_LAYERS, 12);
    o.decoder_layers = (int)hd_family_whole(c, "decoder_layers", 1, MOST_LAYERS, 12);
    o.heads = (int)both(c, "encoder_attention_heads", "decoder_attention_heads", MOST_HEADS, 16);
    o.width = (size_t)hd_family_whole(c, "d_model", 1, MOST_SIZE, 1024);
    o.inner = both(c, "encoder_ffn_dim", "decoder_ffn_dim", MOST_SIZE, 4096);
    o.positions = (size_t)hd_family_whole(c, "max_position_embeddings", 2, MOST_POSITIONS, 1024);
    o.source_vocab = (size_t)hd_family_whole(c, "vocab_size", 1, 64 * MOST_SIZE, 58101);
    o.target_vocab =
        (size_t)hd_family_whole(c, "decoder_vocab_size", 1, 64 * MOST_SIZE, (long long)o.source_vocab);
    o.act = hd_family_activation(c, "gelu");
    if (!hd_family_switch(c, "scale_embedding", false))
        hd_model_config_refuse(c, "\"scale_embedding\" is not true: heed's translators scale theirs");
    o.tied = hd_family_switch(c, "share_encoder_decoder_embeddings", true);
    if (o.tied) hd_family_insist(c, "tie_word_embeddings", true);
    if (o.width % (size_t)o.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o.width, o.heads);
    return o;
}

static void check_id(hd_model_config *c, const char *key, int32_t id)
{
    if (hd_family_whole(c, key, INT32_MIN, INT32_MAX, id) != id)
        hd_model_config_refuse(c, "\"%s\" is not %d, as the tokeniser has it", key, id);
}

static void open_tokenisers(hd_model_config *c, const char *folder, const hd_encdec_opt *o,
                            hd_tokeniser *t[2])
{
    const size_t vocab[2] = {o->source_vocab, o->target_vocab};
    char path[HD_PATH];
    for (int side = 0; side < 2; side++) {
        const char *name = hd_tokeniser_file(HD_TOKENISER_marian, side ? HD_OF_TARGET : HD_OF_SOURCE);
        if (!c->status) c->status = hd_path(path, folder, name, c->err);
        if (!c->status) c->status = hd_tokeniser_open(&t[side], HD_TOKENISER_marian, path, c->err);
        if (!c->status && hd_tokeniser_size(t[side]) != vocab[side])
            hd_model_config_refuse(c, "a vocabulary of %zu, but that of the tokeniser has %zu pieces",
                                   vocab[side], hd_tokeniser_size(t[side]));
    }
    if (c->status) return;
    hd_special special = hd_tokeniser_special(t[1]);
    check_id(c, "pad_token_id", special.pad);
    check_id(c, "eos_token_id", special.end);
    check_id(c, "decoder_start_token_id", special.start);
}

/* Before memory is taken for it; positions are not in the files. */
static hd_status check_size(hd_encdec_opt opt, const char *folder, hd_err *err)
{
    hd_backend *nowhere = NULL;
    hd_encdec *m = NULL;
    opt.positions = 1;
    hd_status s = hd_backend_new(&nowhere, "null", NULL, err);
    if (!s) s = hd_encdec_new(&m, nowhere, &opt, false, err);
    if (!s) s = hd_family_weights_fit(&m->params, folder, err);
    hd_encdec_free(m);
    hd_backend_free(nowhere);
    return s;
}

/* Two tables, of which that of the decoder is the output layer, too: here the output has one of its own. */
static hd_status load(hd_encdec *m, const char *folder, bool copies, hd_err *err)
{
    hd_params *p = &m->params;
    if (copies) m->output->optional = true;
    hd_status s = hd_family_weights_load(p, folder, ignored, err);
    if (s || !copies) return s;
    size_t count = hd_count_of(&m->output->t);
    hd_real *table = hd_mem_array(count, sizeof *table);
    if (!table) return hd_err_nomem(err, count * sizeof *table);
    s = hd_params_get(p, m->target.table, &m->target.table->t, table);
    if (!s) s = hd_params_set(p, m->output, table);
    hd_mem_free(table);
    return s;
}

static hd_status import(const hd_passage *p, hd_model_config *c, hd_err *err)
{
    hd_translator t = {0};
    hd_encdec_opt opt = read_config(c);
    bool copies = !opt.tied && hd_family_switch(c, "tie_word_embeddings", true);
    open_tokenisers(c, p->from, &opt, t.tokeniser);
    t.longest = opt.positions;
    hd_status s = c->status;
    if (!s) s = check_size(opt, p->from, err);
    if (!s) s = hd_encdec_new(&t.model, p->backend, &opt, false, err);
    if (!s) s = load(t.model, p->from, copies, err);
    if (!s) s = hd_translator_save(&t, p->to, err);
    if (!s) s = hd_translator_publish(&t, p->to, err);
    hd_encdec_free(t.model);
    hd_tokeniser_free_pair(t.tokeniser);
    return s;
}

/* -- and back -- */

static hd_status check(const hd_encdec_opt *o, const char *folder, hd_err *err)
{
    const char *why = o->encoder.count != 1 || o->decoder.count != 1 ||
                              o->encoder.at[0].kind != HD_STAGE_transformer ||
                              o->decoder.at[0].kind != HD_STAGE_transformer
                          ? "it is no Transformer"
                      : o->pre_norm                        ? "it normalises before each layer"
                      : o->learned_positions               ? "its positions are learned"
                      : !hd_family_activation_name(o->act) ? "transformers lacks its activation"
                      : o->eps < EPS || o->eps > EPS       ? "its norms have another epsilon than 1e-5"
                                                           : NULL;
    return why ? hd_err_set(err, HD_EARG, "%s: cannot become a MarianMT: %s", folder, why) : HD_OK;
}

static hd_status save_config(const hd_translator *t, const char *folder, hd_err *err)
{
    static const char *const side[] = {"encoder", "decoder"};
    const hd_encdec_opt *o = &t->model->opt;
    hd_special special = hd_tokeniser_special(t->tokeniser[1]);
    hd_text c = {0};
    hd_text_put(&c, "{\"model_type\": \"marian\",\n \"architectures\": [\"MarianMTModel\"]");
    hd_text_print(&c, ",\n \"vocab_size\": %zu,\n \"decoder_vocab_size\": %zu,\n \"d_model\": %zu",
                  o->source_vocab, o->target_vocab, o->width);
    for (int i = 0; i < 2; i++) {
        hd_text_print(&c, ",\n \"%s_layers\": %d,\n \"%s_attention_heads\": %d", side[i],
                      (i ? &o->decoder : &o->encoder)->at[0].layers, side[i], o->heads);
        hd_text_print(&c, ",\n \"%s_ffn_dim\": %zu", side[i], o->inner);
    }
    hd_text_print(&c, ",\n \"num_hidden_layers\": %d", o->encoder.at[0].layers);
    hd_text_print(&c, ",\n \"activation_function\": \"%s\"", hd_family_activation_name(o->act));
    hd_text_print(&c, ",\n \"max_position_embeddings\": %zu,\n \"max_length\": %zu", o->positions,
                  o->positions);
    hd_text_put(&c, ",\n \"scale_embedding\": true,\n \"static_position_embeddings\": true");
    hd_text_print(&c, ",\n \"share_encoder_decoder_embeddings\": %s,\n \"tie_word_embeddings\": %s",
                  o->tied ? "true" : "false", o->tied ? "true" : "false");
    hd_text_put(&c, ",\n \"is_encoder_decoder\": true");
    hd_text_print(&c, ",\n \"pad_token_id\": %d,\n \"bos_token_id\": %d,\n \"eos_token_id\": %d", special.pad,
                  special.end, special.end);
    hd_text_print(&c, ",\n \"decoder_start_token_id\": %d,\n \"forced_eos_token_id\": %d", special.start,
                  special.end);
    hd_text_print(&c, ",\n \"bad_words_ids\": [[%d]],\n \"torch_dtype\": \"float32\"}\n", special.pad);
    hd_status s = hd_family_save_config(&c, folder, err);
    hd_text_release(&c);
    return s;
}

static hd_status export(const hd_passage *p, hd_err *err)
{
    hd_translator *t = NULL;
    hd_status s = hd_translator_open(&t, p->from, p->backend, HD_WEIGHTS_BEST, err);
    if (!s) s = check(&t->model->opt, p->from, err);
    if (!s) s = hd_translator_save_tokenisers(t, p->to, err);
    if (!s) s = save_config(t, p->to, err);
    if (!s) s = hd_translator_publish(t, p->to, err);
    hd_translator_free(t);
    return s;
}

static bool has(hd_model_config *c)
{
    return hd_family_says(c, "task", "translate");
}

const hd_family hd_family_marian = {.has = has, .import = import, .export = export};
