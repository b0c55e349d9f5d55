/* Whisper: a transcriber whose front are two convolutions and whose tensors have these names already. Easy to
   get wrong: keys have no bias, the table of positions of the encoder is in the file but not learned, and the
   output layer is the table of tokens. */
#include <math.h>
#include <string.h>

#include "hub/own.h"
#include "hub/sound/preprocessor.h"
#include "hub/weights.h"
#include "task/transcribe/whisper/rules.h"

#define TITLE "WhisperForConditionalGeneration"

static const char TYPE[] = "whisper", SCALED[] = "scale_embedding";
enum { MOST_PADDING = 4096 }; /* tables have rows for times, which older tokenizers do not name */

static const char *const ignored[] = {NULL};

static const hd_key keys[] = {
    HD_KEY(WHOLE, "d_model", hd_encdec_opt, stack.width, HD_MOST_SIZE, 384),
    HD_KEY(WHOLE, "encoder_layers", hd_encdec_opt, encoder_layers, HD_MOST_LAYERS, 4),
    HD_KEY(WHOLE, "decoder_layers", hd_encdec_opt, decoder_layers, HD_MOST_LAYERS, 4),
    HD_KEY(WHOLE, "encoder_attention_heads", hd_encdec_opt, stack.heads, HD_MOST_HEADS, 6),
    HD_KEY(WHOLE, "encoder_ffn_dim", hd_encdec_opt, stack.inner, 4 * HD_MOST_SIZE, 1536),
    HD_KEY(WHOLE, "num_mel_bins", hd_encdec_opt, sound.features.mels, HD_MOST_SIZE, 80),
    HD_KEY(WHOLE, "max_source_positions", hd_encdec_opt, sound.positions, HD_MOST_SIZE, 1500),
    HD_KEY(WHOLE, "max_target_positions", hd_encdec_opt, positions, HD_MOST_SIZE, 448),
    HD_KEY(WHOLE, "vocab_size", hd_encdec_opt, target_vocab, 64 * HD_MOST_SIZE, 51865),
    HD_KEY(UNARY, "activation_function", hd_encdec_opt, stack.act, 0, HD_gelu),
    HD_KEY(REAL, "dropout", hd_encdec_opt, stack.dropout, HD_KEY_DROPOUT, 0),
    HD_KEY(REAL, "attention_dropout", hd_encdec_opt, stack.attention_dropout, HD_KEY_DROPOUT, 0),
    HD_KEY(REAL, "activation_dropout", hd_encdec_opt, stack.inner_dropout, HD_KEY_DROPOUT, 0),
    {0}};

/* -- here -- */

/* Both sides are alike here. */
static void insist_same(hd_model_config *c, const char *key, const char *other, long long value)
{
    if (hd_family_whole(c, key, 1, INT32_MAX, value) != value)
        hd_model_config_refuse(c, "\"%s\" is not \"%s\": heed does not support this", key, other);
}

/* What says how it is used has to fit, too: not found out when a file is to be transcribed. */
static void check_rules(const hd_passage *p, hd_model_config *c)
{
    const hd_encdec_opt *o = &p->encdec;
    const hd_whisper_sizes sizes = {o->target_vocab, o->positions, o->decoder_layers, o->stack.heads};
    hd_whisper_rules rules = {0};
    c->status = hd_whisper_rules_read(&rules, p->from, p->m.tokenizer[0], &sizes, c->err);
    hd_whisper_rules_release(&rules);
}

static void read_folder(hd_passage *p, hd_model_config *c)
{
    const char *kind = hd_family_architecture(c, "");
    hd_encdec_opt *o = &p->encdec;
    if (strcmp(kind, TITLE) && strcmp(kind, "Model"))
        hd_model_config_refuse(c, "\"architectures\" has \"%.60s\": of this type heed imports " TITLE, kind);
    *o = hd_encdec_opt_whisper();
    p->task = HD_TRAIN_TRANSCRIBE, p->make = hd_passage_encdec;
    hd_keys_read(c, keys, 0, o);
    insist_same(c, "decoder_attention_heads", "encoder_attention_heads", o->stack.heads);
    insist_same(c, "decoder_ffn_dim", "encoder_ffn_dim", (long long)o->stack.inner);
    hd_family_insist(c, "tie_word_embeddings", true);
    hd_family_insist_heads(c, &o->stack);
    hd_family_features_read(c, p->from, (size_t)o->sound.features.mels, 2 * o->sound.positions,
                            &o->sound.features);
    hd_family_open_tokenizer(c, p->from, &p->m.tokenizer[0]);
    if (c->status) return;
    size_t pieces = hd_tokenizer_size(p->m.tokenizer[0]);
    if (o->target_vocab < pieces || o->target_vocab - pieces > MOST_PADDING)
        c->status = hd_tokenizer_refuse(p->m.tokenizer[0], pieces, "vocab_size", o->target_vocab, c->err);
    if (!c->status) check_rules(p, c);
}

/* -- and back -- */

static bool has(const hd_family *f, hd_model_config *c)
{
    (void)f;
    return hd_family_says(c, "task", "transcribe");
}

static const hd_encdec_opt *options_of(const hd_passage *p)
{
    return &hd_model_folder_encdec(&p->m)->opt;
}

static hd_status check(const hd_passage *p, hd_err *err)
{
    const hd_encdec_opt *o = options_of(p);
    if (o->names != &hd_encdec_whisper)
        return hd_err_set(err, HD_EARG,
                          "%s: transformers has no such transcriber: import a Whisper and train it further "
                          "with --from",
                          p->from);
    return hd_family_check_activation(o->stack.act, p->from, err);
}

static hd_text_form reads(const hd_passage *p, const hd_tokenizer *t)
{
    (void)t;
    return (hd_text_form){
        .native = HD_TOKENIZER_bpe, .lead = -1, .trail = -1, .longest = options_of(p)->positions};
}

static void put(const hd_passage *p, json_t *config, json_t *own)
{
    hd_encdec_opt o = *options_of(p);
    hd_whisper_rules rules = {0};
    const hd_whisper_sizes sizes = {o.target_vocab, o.positions, o.decoder.at[0].layers, o.stack.heads};
    hd_err err = {0};
    o.encoder_layers = o.encoder.at[0].layers, o.decoder_layers = o.decoder.at[0].layers;
    hd_json_set(config, "architectures", json_pack("[s]", TITLE));
    hd_keys_set(config, keys, &o);
    hd_json_join(config, json_pack("{s:i,s:I,s:b,s:b,s:i}", "decoder_attention_heads", o.stack.heads,
                                   "decoder_ffn_dim", (json_int_t)o.stack.inner, "is_encoder_decoder", 1,
                                   SCALED, 0, "num_hidden_layers", o.encoder_layers));
    if (!hd_whisper_rules_read(&rules, p->from, p->m.tokenizer[0], &sizes, &err))
        hd_json_join(config,
                     json_pack("{s:i,s:i,s:i,s:i}", "decoder_start_token_id", rules.start, "eos_token_id",
                               rules.end, "bos_token_id", rules.end, "pad_token_id", rules.end));
    hd_whisper_rules_release(&rules);
    hd_family_own_tokenizers(own, p->m.tokenizer);
}

static hd_status save_files(const hd_passage *p, hd_err *err)
{
    return hd_family_features_save(&options_of(p)->sound.features, p->to, err);
}

static const hd_family_form form = {
    .has = has, .read = read_folder, .check = check, .reads = reads, .put = put, .files = save_files};
const hd_family hd_family_whisper = {TYPE, &form, ignored, NULL};
