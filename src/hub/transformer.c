/* The Transformer of `heed translate`, whose tensors have these names already: MarianMT, which normalizes
   behind each layer, and Pegasus, which does before, with the same sinusoids. */
#include <unistd.h>

#include "base/file/folder.h"
#include "base/mem.h"
#include "hub/family.h"
#include "hub/own.h"
#include "hub/weights.h"

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

static const hd_key keys[] = {HD_KEY(SIZE, "d_model", hd_encdec_opt, stack.width, HD_MOST_SIZE, 1024),
                              HD_KEY(ACT, "activation_function", hd_encdec_opt, stack.act, 0, HD_gelu),
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
    hd_keys_read(c, keys, &o);
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
static void read_folder(const hd_family *f, hd_passage *p, hd_model_config *c)
{
    static const char longest[] = "longest";
    hd_encdec_opt *o = &p->encdec;
    hd_model_config own = hd_family_own(c);
    *o = read_config(c, f->form);
    p->task = HD_TRAIN_TRANSLATE, p->make = hd_passage_encdec;
    p->copies = !o->tied && hd_family_switch(c, "tie_word_embeddings", true);
    open_tokenizers(c, p->from, o, p->m.tokenizer);
    p->m.trained = o->positions;
    if (hd_model_config_has(&own, longest))
        p->m.trained = (size_t)hd_model_config_whole(&own, longest, 1, (long long)o->positions);
    hd_family_own_end(c, &own);
    if (!c->status) c->status = hd_family_weights_have(&o->output_bias, p->from, "final_logits_bias", c->err);
}

static void name(const hd_family *f, hd_passage *p)
{
    (void)f;
    if (p->copies) hd_model_folder_encdec(&p->m)->output->optional = true;
}

/* Two tables, of which that of the decoder is the output layer, too: here the output has one of its own. */
static hd_status complete(const hd_family *f, hd_passage *p, hd_err *err)
{
    (void)f;
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

static void put_sizes(hd_text *c, const hd_encdec_opt *o)
{
    static const char *const side[] = {"encoder", "decoder"};
    hd_text_print(c, ",\n \"vocab_size\": %zu,\n \"decoder_vocab_size\": %zu", o->source_vocab,
                  o->target_vocab);
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

static void put(const hd_family *f, const hd_passage *p, hd_text *c, hd_text *own)
{
    const transformer_form *form = f->form;
    const hd_encdec_opt *o = &hd_model_folder_encdec(&p->m)->opt;
    const char *tied = o->tied ? "true" : "false";
    hd_special special = hd_tokenizer_special(p->m.tokenizer[1]);
    hd_text_print(c, "\"model_type\": \"%s\",\n \"architectures\": [\"%s\"]", form->type, form->architecture);
    hd_keys_write(c, keys, o);
    put_sizes(c, o);
    hd_text_print(c, ",\n \"max_position_embeddings\": %zu,\n \"max_length\": %zu", o->positions,
                  o->positions);
    hd_text_print(c, ",\n \"scale_embedding\": %s,\n \"static_position_embeddings\": true",
                  o->unscaled ? "false" : "true");
    hd_text_print(c, ",\n \"share_encoder_decoder_embeddings\": %s,\n \"tie_word_embeddings\": %s", tied,
                  tied);
    hd_text_print(c, ",\n \"is_encoder_decoder\": true,\n \"pad_token_id\": %d", special.pad);
    hd_text_print(c, ",\n \"bos_token_id\": %d,\n \"eos_token_id\": %d",
                  special.start != special.pad ? special.start : special.end, special.end);
    hd_text_print(c, ",\n \"decoder_start_token_id\": %d,\n \"forced_eos_token_id\": %d", special.start,
                  special.end);
    put_unwritten(c, p->m.tokenizer[1]);
    hd_family_own_tokenizers(own, p->m.tokenizer);
    if (p->m.trained != o->positions) hd_family_own_size(own, "longest", p->m.trained);
}

static hd_text_form reads(const hd_family *f, const hd_passage *p, const hd_tokenizer *t)
{
    (void)f;
    return (hd_text_form){.native = HD_TOKENIZER_marian,
                          .lead = -1,
                          .trail = hd_tokenizer_special(t).end,
                          .longest = hd_model_folder_encdec(&p->m)->opt.positions};
}

static hd_status check(const hd_family *f, hd_passage *p, hd_err *err)
{
    const transformer_form *form = f->form;
    const char *fault = fault_of(&hd_model_folder_encdec(&p->m)->opt, form);
    if (!fault) return HD_OK;
    return hd_err_set(err, HD_EARG, "%s: cannot become a %s: %s", p->from, form->name, fault);
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

#define FAMILY(of)                                                                                           \
    {                                                                                                        \
        .form = of, .ignored = ignored, .has = has, .read = read_folder, .name = name, .complete = complete, \
        .check = check, .reads = reads, .put = put                                                           \
    }
const hd_family hd_family_marian = FAMILY(&marian), hd_family_pegasus = FAMILY(&pegasus);
