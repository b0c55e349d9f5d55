/* The Transformer of `heed translate`, whose tensors have these names already: MarianMT, which normalizes
   behind each layer, and Pegasus, which does before, with the same sinusoids. */
#include <unistd.h>

#include "base/file/folder.h"
#include "base/mem.h"
#include "hub/family.h"
#include "hub/own.h"
#include "hub/weights.h"
#include "model/encdec/encdec.h"
#include "task/model_folder.h"
#include "text/published/tokenizer_json_write.h"

enum { MOST_SIZE = 1 << 20, MOST_POSITIONS = 1 << 16, MOST_LAYERS = 1000, MOST_HEADS = 1024 };

typedef struct transformer_form {
    const char *name;                /* for people */
    const char *type, *architecture; /* for config.json */
    bool pre_norm;
    bool one_table;  /* of source, target and output */
    long long vocab; /* where config.json does not say it */
} transformer_form;

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

static hd_encdec_opt read_config(hd_model_config *c, const transformer_form *form)
{
    hd_encdec_opt o = {.stack.pre_norm = form->pre_norm,
                       .output_bias = true,
                       .stack.eps = EPS,
                       .sinusoid = {.halves = true}};
    o.encoder_layers = (int)hd_family_whole(c, "encoder_layers", 1, MOST_LAYERS, 12);
    o.decoder_layers = (int)hd_family_whole(c, "decoder_layers", 1, MOST_LAYERS, 12);
    o.stack.heads = (int)both(c, "encoder_attention_heads", "decoder_attention_heads", MOST_HEADS, 16);
    o.stack.width = (size_t)hd_family_whole(c, "d_model", 1, MOST_SIZE, 1024);
    o.stack.inner = both(c, "encoder_ffn_dim", "decoder_ffn_dim", MOST_SIZE, 4096);
    o.positions = (size_t)hd_family_whole(c, "max_position_embeddings", 2, MOST_POSITIONS, 1024);
    o.source_vocab = (size_t)hd_family_whole(c, "vocab_size", 1, 64 * MOST_SIZE, form->vocab);
    o.target_vocab =
        (size_t)hd_family_whole(c, "decoder_vocab_size", 1, 64 * MOST_SIZE, (long long)o.source_vocab);
    if (form->one_table && o.target_vocab != o.source_vocab)
        hd_model_config_refuse(c, "\"decoder_vocab_size\" is not \"vocab_size\"");
    o.stack.act = hd_family_activation(c, "gelu");
    o.unscaled = !hd_family_switch(c, "scale_embedding", false);
    o.tied = form->one_table || hd_family_switch(c, "share_encoder_decoder_embeddings", true);
    if (o.tied) hd_family_insist(c, "tie_word_embeddings", true);
    if (o.stack.width % (size_t)o.stack.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o.stack.width,
                               o.stack.heads);
    return o;
}

/* Those of MarianMT, or what heed or others put there; of a SentencePiece model alone Pegasus takes other ids
   than it has. */
static void open_files(hd_model_config *c, const char *folder, hd_tokenizer *t[2])
{
    char path[HD_PATH];
    for (int side = 0; side < 2; side++) {
        const char *name = hd_tokenizer_file(HD_TOKENIZER_marian, side ? HD_OF_TARGET : HD_OF_SOURCE);
        if (!c->status) c->status = hd_path(path, folder, name, c->err);
        if (!side && !c->status && access(path, F_OK)) {
            hd_family_open_tokenizers(c, folder, t);
            break;
        }
        if (!c->status) c->status = hd_tokenizer_open(&t[side], HD_TOKENIZER_marian, path, c->err);
    }
    if (!c->status) c->status = hd_path(path, folder, hd_tokenizer_file(HD_TOKENIZER_t5, HD_OF_BOTH), c->err);
    if (!c->status && hd_tokenizer_kind_of(t[0]) == HD_TOKENIZER_t5 && !access(path, F_OK))
        hd_model_config_refuse(c,
                               "spiece.model does not say the ids of \"%s\": save the tokenizer with "
                               "transformers, which writes tokenizer.json alone",
                               hd_model_config_text(c, "model_type"));
}

static void open_tokenizers(hd_model_config *c, const char *folder, const hd_encdec_opt *o,
                            hd_tokenizer *t[2])
{
    const size_t vocab[2] = {o->source_vocab, o->target_vocab};
    open_files(c, folder, t);
    for (int side = 0; side < 2; side++)
        if (!c->status && hd_tokenizer_size(t[side]) != vocab[side])
            c->status = hd_tokenizer_refuse(
                t[side], hd_tokenizer_size(t[side]),
                side && hd_model_config_has(c, "decoder_vocab_size") ? "decoder_vocab_size" : "vocab_size",
                vocab[side], c->err);
    if (c->status) return;
    hd_special special = hd_tokenizer_special(t[1]);
    hd_family_insist_id(c, "pad_token_id", special.pad);
    hd_family_insist_id(c, "eos_token_id", special.end);
    hd_family_insist_id(c, "decoder_start_token_id", special.start);
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

/* What config.json does not say: a bias of the output, and how long sentences were. */
static hd_status find_rest(hd_encdec_opt *o, hd_model_folder *t, hd_model_config *c, const char *folder,
                           hd_err *err)
{
    static const char longest[] = "longest";
    hd_model_config own = hd_family_own(c);
    t->trained = hd_model_config_has(&own, longest)
                     ? (size_t)hd_model_config_whole(&own, longest, 1, (long long)o->positions)
                     : o->positions;
    hd_family_own_end(c, &own);
    return c->status ? c->status : hd_family_weights_have(&o->output_bias, folder, "final_logits_bias", err);
}

static hd_status import(const hd_family *f, const hd_passage *p, hd_model_config *c, hd_err *err)
{
    hd_model_folder t = {0};
    hd_encdec *m = NULL;
    hd_encdec_opt opt = read_config(c, f->form);
    bool copies = !opt.tied && hd_family_switch(c, "tie_word_embeddings", true);
    open_tokenizers(c, p->from, &opt, t.tokenizer);
    hd_status s = c->status;
    if (!s) s = find_rest(&opt, &t, c, p->from, err);
    if (!s) s = check_size(opt, p->from, err);
    if (!s) s = hd_encdec_new(&m, p->backend, &opt, false, err);
    if (!s) hd_model_folder_take(&t, HD_TRAIN_TRANSLATE, hd_encdec_model(m));
    if (!s) s = load(m, p->from, copies, err);
    if (!s) s = hd_model_folder_write(&t, p->to, err);
    hd_model_folder_release(&t);
    return s;
}

/* -- and back -- */

/* Why it cannot be such a model, and what to train instead. */
static const char *fault_of(const hd_encdec_opt *o, const transformer_form *form)
{
    if (o->encoder.count != 1 || o->decoder.count != 1 || o->encoder.at[0].kind != HD_STAGE_transformer ||
        o->decoder.at[0].kind != HD_STAGE_transformer)
        return "it is no Transformer: `heed train --model transformer` makes one";
    if (o->learned_positions) return "its positions are learned: train with --position-kind sinusoidal";
    if (o->no_positions) return "it has no positions: train with --position-kind sinusoidal";
    if (o->stack.unscaled_scores)
        return "its attention scores are not scaled: train without --unscaled-attention";
    if (form->one_table && !o->tied)
        return "source and target have tables of their own: train without --untied and --separate-vocab, or "
               "with --norm post, which is MarianMT's form";
    if (!hd_family_activation_name(o->stack.act))
        return "transformers lacks its activation: train with another --activation";
    if (o->stack.eps < EPS || o->stack.eps > EPS) return "its norms have another epsilon than 1e-5";
    return NULL;
}

static void put_sizes(hd_text *c, const hd_encdec_opt *o)
{
    static const char *const side[] = {"encoder", "decoder"};
    hd_text_print(c, ",\n \"vocab_size\": %zu,\n \"decoder_vocab_size\": %zu,\n \"d_model\": %zu",
                  o->source_vocab, o->target_vocab, o->stack.width);
    for (int i = 0; i < 2; i++) {
        hd_text_print(c, ",\n \"%s_layers\": %d,\n \"%s_attention_heads\": %d", side[i],
                      (i ? &o->decoder : &o->encoder)->at[0].layers, side[i], o->stack.heads);
        hd_text_print(c, ",\n \"%s_ffn_dim\": %zu", side[i], o->stack.inner);
    }
    hd_text_print(c, ",\n \"num_hidden_layers\": %d", o->encoder.at[0].layers);
}

static void put_unwritten(hd_text *c, const hd_tokenizer *t)
{
    int32_t banned[3];
    size_t count = hd_tokenizer_unwritten(t, banned);
    for (size_t i = 0; i < count; i++)
        hd_text_print(c, "%s[%d]", i ? ", " : ",\n \"bad_words_ids\": [", banned[i]);
    hd_text_put(c, count ? "]" : "");
}

static hd_status save_config(const hd_model_folder *t, const transformer_form *form, const char *folder,
                             hd_err *err)
{
    const hd_encdec_opt *o = &hd_model_folder_encdec(t)->opt;
    hd_special special = hd_tokenizer_special(t->tokenizer[1]);
    hd_text c = {0}, own = {0};
    hd_text_print(&c, "{\"model_type\": \"%s\",\n \"architectures\": [\"%s\"]", form->type,
                  form->architecture);
    put_sizes(&c, o);
    hd_text_print(&c, ",\n \"activation_function\": \"%s\"", hd_family_activation_name(o->stack.act));
    hd_text_print(&c, ",\n \"max_position_embeddings\": %zu,\n \"max_length\": %zu", o->positions,
                  o->positions);
    hd_text_print(&c, ",\n \"scale_embedding\": %s,\n \"static_position_embeddings\": true",
                  o->unscaled ? "false" : "true");
    hd_text_print(&c, ",\n \"share_encoder_decoder_embeddings\": %s,\n \"tie_word_embeddings\": %s",
                  o->tied ? "true" : "false", o->tied ? "true" : "false");
    hd_text_put(&c, ",\n \"is_encoder_decoder\": true");
    hd_text_print(&c, ",\n \"pad_token_id\": %d,\n \"bos_token_id\": %d,\n \"eos_token_id\": %d", special.pad,
                  special.start != special.pad ? special.start : special.end, special.end);
    hd_text_print(&c, ",\n \"decoder_start_token_id\": %d,\n \"forced_eos_token_id\": %d", special.start,
                  special.end);
    put_unwritten(&c, t->tokenizer[1]);
    hd_family_own_tokenizers(&own, t->tokenizer);
    if (t->trained != o->positions) hd_family_own_size(&own, "longest", t->trained);
    hd_family_own_put(&c, &own);
    hd_text_put(&c, ",\n \"torch_dtype\": \"float32\"}\n");
    hd_status s = hd_family_save_config(&c, folder, err);
    hd_text_release(&c);
    return s;
}

/* One tokenizer.json knows one vocabulary: those of two sides lie in folders of their own. */
static hd_status save_tokenizers(const hd_model_folder *t, const char *folder, hd_err *err)
{
    static const char *const side[] = {"source", "target"};
    const bool shared = t->tokenizer[0] == t->tokenizer[1];
    hd_status s = hd_model_folder_save_tokenizers(t->tokenizer, folder, err);
    for (int i = 0; !s && i < (shared ? 1 : 2); i++) {
        char path[HD_PATH];
        const hd_text_form how = {.native = HD_TOKENIZER_marian,
                                  .lead = -1,
                                  .trail = hd_tokenizer_special(t->tokenizer[i]).end,
                                  .longest = hd_model_folder_encdec(t)->opt.positions};
        if (hd_tokenizer_kind_of(t->tokenizer[i]) == HD_TOKENIZER_marian) continue;
        s = hd_path(path, folder, shared ? "." : side[i], err);
        if (!s && !shared) s = hd_folder_make(path, NULL, err);
        if (!s) s = hd_tokenizer_json_save(t->tokenizer[i], &how, path, err);
    }
    return s;
}

/* HD_EARG where transformers has no such model; the text says what to train instead. */
static hd_status export(const hd_family *f, const hd_passage *p, hd_err *err)
{
    const transformer_form *form = f->form;
    hd_model_folder t;
    hd_status s = hd_model_folder_open(&t, p->from, "translate", p->backend, HD_WEIGHTS_BEST, err);
    const char *fault = s ? NULL : fault_of(&hd_model_folder_encdec(&t)->opt, form);
    if (fault) s = hd_err_set(err, HD_EARG, "%s: cannot become a %s: %s", p->from, form->name, fault);
    if (!s) s = save_tokenizers(&t, p->to, err);
    if (!s) s = save_config(&t, form, p->to, err);
    if (!s) s = hd_model_folder_publish(&t, p->to, err);
    hd_model_folder_release(&t);
    return s;
}

static bool has(const hd_family *f, hd_model_config *c)
{
    const transformer_form *form = f->form;
    return hd_family_says(c, "task", "translate") && !hd_family_says(c, "model", "t5") &&
           hd_family_switch(c, "pre_norm", false) == form->pre_norm;
}

/* -- the families -- */

static const transformer_form marian = {"MarianMT", "marian", "MarianMTModel", .vocab = 58101};

/* As `heed train` makes them. Published ones summarize. */
static const transformer_form pegasus = {
    "Pegasus",        "pegasus",         "PegasusForConditionalGeneration",
    .pre_norm = true, .one_table = true, .vocab = 50265};

const hd_family hd_family_marian = {&marian, .has = has, .import = import, .export = export};
const hd_family hd_family_pegasus = {&pegasus, .has = has, .import = import, .export = export};
