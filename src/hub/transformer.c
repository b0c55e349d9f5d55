/* The Transformer of `heed translate`, whose tensors have these names already: MarianMT, which normalizes
   behind each layer, and Pegasus, which does before, with the same sinusoids. */
#include <unistd.h>

#include "base/file/folder.h"
#include "base/mem.h"
#include "hub/family.h"
#include "hub/own.h"
#include "hub/weights.h"

typedef struct transformer_form {
    const char *name;         /* for people */
    const char *architecture; /* for config.json */
    bool pre_norm;
    bool one_table;  /* of source, target and output */
    long long vocab; /* where config.json does not say it */
} transformer_form;

static const char LONGEST[] = "longest"; /* sentence of training */

static const float EPS = 1e-5f; /* transformers' own; no config.json says it */

/* Sinusoids, which are computed here. */
static const char *const ignored[] = {".embed_positions.weight", NULL};

static const hd_key keys[] = {HD_KEY(WHOLE, "d_model", hd_encdec_opt, stack.width, HD_MOST_SIZE, 1024),
                              HD_KEY(UNARY, "activation_function", hd_encdec_opt, stack.act, 0, HD_gelu),
                              {0}};

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
    hd_keys_read(c, keys, 0, &o);
    o.encoder_layers = (int)hd_family_whole(c, "encoder_layers", 1, HD_MOST_LAYERS, 12);
    o.decoder_layers = (int)hd_family_whole(c, "decoder_layers", 1, HD_MOST_LAYERS, 12);
    o.stack.heads = (int)both(c, "encoder_attention_heads", "decoder_attention_heads", HD_MOST_HEADS, 16);
    o.stack.inner = both(c, "encoder_ffn_dim", "decoder_ffn_dim", HD_MOST_SIZE, 4096);
    o.positions = (size_t)hd_family_whole(c, "max_position_embeddings", 2, HD_MOST_POSITIONS, 1024);
    o.source_vocab = (size_t)hd_family_whole(c, "vocab_size", 1, 64 * HD_MOST_SIZE, form->vocab);
    o.target_vocab =
        (size_t)hd_family_whole(c, "decoder_vocab_size", 1, 64 * HD_MOST_SIZE, (long long)o.source_vocab);
    if (form->one_table && o.target_vocab != o.source_vocab)
        hd_model_config_refuse(c, "\"decoder_vocab_size\" is not \"vocab_size\"");
    o.unscaled = !hd_family_switch(c, "scale_embedding", false);
    o.tied = form->one_table || hd_family_switch(c, "share_encoder_decoder_embeddings", true);
    if (o.tied) hd_family_insist(c, "tie_word_embeddings", true);
    hd_family_insist_heads(c, &o.stack);
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
    hd_family_insist_ids(c, t[1]);
}

/* What config.json does not say: a bias of the output, and how long sentences were. */
static void read_folder(hd_passage *p, hd_model_config *c)
{
    hd_encdec_opt *o = &p->encdec;
    hd_model_config own = hd_family_own(c);
    *o = read_config(c, p->family->self);
    p->task = HD_TRAIN_TRANSLATE, p->make = hd_passage_encdec;
    p->copies = !o->tied && hd_family_switch(c, "tie_word_embeddings", true);
    open_tokenizers(c, p->from, o, p->m.tokenizer);
    p->m.trained = o->positions;
    if (hd_model_config_has(&own, LONGEST))
        p->m.trained = (size_t)hd_model_config_whole(&own, LONGEST, 1, (long long)o->positions);
    hd_family_own_end(c, &own);
    if (!c->status) c->status = hd_family_weights_have(&o->output_bias, p->from, "final_logits_bias", c->err);
}

static void name(hd_passage *p)
{
    if (p->copies) hd_model_folder_encdec(&p->m)->output->optional = true;
}

/* Two tables, of which that of the decoder is the output layer, too: here the output has one of its own. */
static hd_status complete(hd_passage *p, hd_err *err)
{
    hd_encdec *m = hd_model_folder_encdec(&p->m);
    if (!p->copies) return HD_OK;
    size_t count = hd_count_of(&m->output->t);
    hd_real *table = hd_mem_array(count, sizeof *table);
    if (!table) return hd_err_nomem(err, count * sizeof *table);
    hd_status s = hd_params_get(&m->params, m->target.table, &m->target.table->t, table);
    if (!s) s = hd_params_set(&m->params, m->output, table);
    hd_mem_free(table);
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

static void put_unwritten(json_t *to, const hd_tokenizer *t)
{
    int32_t banned[3];
    size_t count = hd_tokenizer_unwritten(t, banned);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) hd_json_append(list, json_pack("[i]", banned[i]));
    hd_json_set(to, "bad_words_ids", list);
}

static void put(const hd_passage *p, json_t *to, json_t *own)
{
    const transformer_form *form = p->family->self;
    const hd_encdec_opt *o = &hd_model_folder_encdec(&p->m)->opt;
    const int layers = o->encoder.at[0].layers, heads = o->stack.heads;
    const json_int_t inner = (json_int_t)o->stack.inner, positions = (json_int_t)o->positions;
    hd_special special = hd_tokenizer_special(p->m.tokenizer[1]);
    hd_json_set(to, "architectures", json_pack("[s]", form->architecture));
    hd_keys_set(to, keys, o);
    hd_json_join(to, json_pack("{s:I,s:I,s:i,s:i,s:i}", "vocab_size", (json_int_t)o->source_vocab,
                               "decoder_vocab_size", (json_int_t)o->target_vocab, "encoder_layers", layers,
                               "decoder_layers", o->decoder.at[0].layers, "num_hidden_layers", layers));
    hd_json_join(to,
                 json_pack("{s:i,s:i,s:I,s:I}", "encoder_attention_heads", heads, "decoder_attention_heads",
                           heads, "encoder_ffn_dim", inner, "decoder_ffn_dim", inner));
    hd_json_join(to, json_pack("{s:I,s:I,s:b,s:b}", "max_position_embeddings", positions, "max_length",
                               positions, "scale_embedding", !o->unscaled, "static_position_embeddings", 1));
    hd_json_join(to, json_pack("{s:b,s:b,s:b}", "share_encoder_decoder_embeddings", o->tied,
                               "tie_word_embeddings", o->tied, "is_encoder_decoder", 1));
    hd_json_join(to, json_pack("{s:i,s:i,s:i,s:i,s:i}", "pad_token_id", special.pad, "bos_token_id",
                               special.start != special.pad ? special.start : special.end, "eos_token_id",
                               special.end, "decoder_start_token_id", special.start, "forced_eos_token_id",
                               special.end));
    put_unwritten(to, p->m.tokenizer[1]);
    hd_family_own_tokenizers(own, p->m.tokenizer);
    if (p->m.trained != o->positions) hd_json_set(own, LONGEST, json_integer((json_int_t)p->m.trained));
}

static hd_text_form reads(const hd_passage *p, const hd_tokenizer *t)
{
    return (hd_text_form){.native = HD_TOKENIZER_marian,
                          .lead = -1,
                          .trail = hd_tokenizer_special(t).end,
                          .longest = hd_model_folder_encdec(&p->m)->opt.positions};
}

static hd_status check(const hd_passage *p, hd_err *err)
{
    const transformer_form *form = p->family->self;
    const char *fault = fault_of(&hd_model_folder_encdec(&p->m)->opt, form);
    if (!fault) return HD_OK;
    return hd_err_set(err, HD_EARG, "%s: cannot become a %s: %s", p->from, form->name, fault);
}

static bool has(const hd_family *f, hd_model_config *c)
{
    const transformer_form *form = f->self;
    return hd_family_says(c, "task", "translate") && !hd_family_says(c, "model", "t5") &&
           hd_family_switch(c, "pre_norm", false) == form->pre_norm;
}

/* -- the families -- */

static const hd_family_form family_form = {.has = has,
                                           .read = read_folder,
                                           .name = name,
                                           .complete = complete,
                                           .check = check,
                                           .reads = reads,
                                           .put = put};
static const transformer_form marian = {"MarianMT", "MarianMTModel", .vocab = 58101};
const hd_family hd_family_marian = {"marian", &family_form, ignored, &marian};

/* As `heed train` makes them. Published ones summarize. */
static const transformer_form pegasus = {"Pegasus", "PegasusForConditionalGeneration", .pre_norm = true,
                                         .one_table = true, .vocab = 50265};
const hd_family hd_family_pegasus = {"pegasus", &family_form, ignored, &pegasus};
