/* VisionEncoderDecoder: a captioner whose encoder is a ViT and whose decoder is a GPT-2 with cross-attention;
   tensors have their names already. Easy to get wrong: the ViT's pooler is saved and never asked, and the
   output layer may be missing where it is the table of tokens. */
#include <string.h>

#include "hub/own.h"
#include "hub/vision/vit.h"
#include "hub/weights.h"

#define TITLE "VisionEncoderDecoderModel"

static const char TYPE[] = "vision-encoder-decoder", START[] = "decoder_start_token_id";

/* Masks, which older files hold. */
static const char *const ignored[] = {".attn.bias", ".attn.masked_bias", ".crossattention.bias",
                                      ".crossattention.masked_bias", NULL};

static const hd_key keys[] = {
    HD_KEY(WHOLE, "n_layer", hd_encdec_opt, decoder_layers, HD_MOST_LAYERS, 12),
    HD_KEY(WHOLE, "n_head", hd_encdec_opt, stack.heads, HD_MOST_HEADS, 12),
    HD_KEY(WHOLE, "n_embd", hd_encdec_opt, stack.width, HD_MOST_SIZE, 768),
    HD_KEY(WHOLE, "n_inner", hd_encdec_opt, stack.inner, 4 * HD_MOST_SIZE, 0),
    HD_KEY(WHOLE, "n_positions", hd_encdec_opt, positions, HD_MOST_SIZE, 1024),
    HD_KEY(WHOLE, "vocab_size", hd_encdec_opt, target_vocab, 64 * HD_MOST_SIZE, 50257),
    HD_KEY(UNARY, "activation_function", hd_encdec_opt, stack.act, 0, HD_gelu_tanh),
    HD_KEY(REAL, "resid_pdrop", hd_encdec_opt, stack.dropout, HD_KEY_DROPOUT, 0.1),
    HD_KEY(REAL, "attn_pdrop", hd_encdec_opt, stack.attention_dropout, HD_KEY_DROPOUT, 0.1),
    HD_KEY(REAL, "layer_norm_epsilon", hd_encdec_opt, stack.eps, 1, 1e-5),
    HD_KEY(FLAG, "tie_word_embeddings", hd_encdec_opt, tied, 0, 1),
    {0}};

/* -- here -- */

static void insist_type(hd_model_config *c, const char *type)
{
    if (!hd_family_says(c, "model_type", type))
        hd_model_config_refuse(
            c, "\"model_type\" is not \"%s\": heed imports captioners of a ViT and a GPT-2", type);
}

static void read_encoder(hd_passage *p, hd_model_config *c)
{
    hd_model_config inside = hd_model_config_inside(c, "encoder");
    hd_image_encoder_opt *o = &p->encdec.image;
    insist_type(&inside, "vit");
    hd_family_vit_read(&inside, o);
    hd_model_config_leave(c, &inside);
    if (!c->status) c->status = hd_family_weights_have(&o->pooler, p->from, "pooler.dense.weight", c->err);
    o->prepare = hd_family_vit_prepare(o);
    hd_family_preprocessor_read(c, p->from, &o->prepare);
}

static void read_decoder(hd_passage *p, hd_model_config *c)
{
    hd_model_config inside = hd_model_config_inside(c, "decoder");
    hd_encdec_opt *o = &p->encdec;
    insist_type(&inside, "gpt2");
    hd_keys_read(&inside, keys, 0, o);
    if (!o->stack.inner) o->stack.inner = 4 * o->stack.width;
    hd_family_insist(&inside, "add_cross_attention", true);
    hd_family_insist(&inside, "scale_attn_weights", true);
    hd_family_insist(&inside, "scale_attn_by_inverse_layer_idx", false);
    hd_family_insist_heads(&inside, &o->stack);
    hd_model_config_leave(c, &inside);
}

static void read_folder(hd_passage *p, hd_model_config *c)
{
    const char *kind = hd_family_architecture(c, "");
    if (strcmp(kind, TITLE) && strcmp(kind, "Model"))
        hd_model_config_refuse(c, "\"architectures\" has \"%.60s\": of this type heed imports " TITLE, kind);
    p->encdec = (hd_encdec_opt){.pictures = true,
                                .names = &hd_encdec_vision,
                                .stack.pre_norm = true,
                                .unscaled = true,
                                .learned_positions = true};
    p->task = HD_TRAIN_CAPTION, p->make = hd_passage_encdec;
    read_encoder(p, c);
    read_decoder(p, c);
    hd_family_open_tokenizer(c, p->from, &p->m.tokenizer[0]);
    if (c->status) return;
    const hd_tokenizer *t = p->m.tokenizer[0];
    hd_special special = hd_tokenizer_special(t);
    hd_family_check_vocab(c, p->encdec.target_vocab, t, hd_tokenizer_size(t));
    if (hd_family_whole(c, START, INT32_MIN, INT32_MAX, special.start) != special.start)
        hd_model_config_refuse(c, "\"%s\" is not %d, as the tokenizer has it", START, special.start);
}

/* -- and back -- */

static bool has(const hd_family *f, hd_model_config *c)
{
    (void)f;
    return hd_family_says(c, "task", "caption");
}

static const hd_encdec_opt *options_of(const hd_passage *p)
{
    return &hd_model_folder_encdec(&p->m)->opt;
}

static hd_status check(const hd_passage *p, hd_err *err)
{
    const hd_encdec_opt *o = options_of(p);
    if (o->names != &hd_encdec_vision)
        return hd_err_set(
            err, HD_EARG,
            "%s: transformers has no such captioner: import a VisionEncoderDecoder and train it "
            "further with --from",
            p->from);
    hd_status s = hd_family_vit_check(&o->image, p->from, err);
    return s ? s : hd_family_check_activation(o->stack.act, p->from, err);
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
    hd_special special = hd_tokenizer_special(p->m.tokenizer[0]);
    int32_t pad = special.pad >= 0 ? special.pad : special.end;
    json_t *encoder = json_pack("{s:s}", "model_type", "vit"),
           *decoder = json_pack("{s:s,s:b,s:b,s:i,s:i,s:i}", "model_type", "gpt2", "is_decoder", 1,
                                "add_cross_attention", 1, "bos_token_id", special.start, "eos_token_id",
                                special.end, "n_ctx", (int)o.positions);
    o.decoder_layers = o.decoder.at[0].layers;
    hd_json_set(config, "architectures", json_pack("[s]", TITLE));
    hd_family_vit_put(encoder, &o.image);
    hd_keys_set(decoder, keys, &o);
    hd_json_set(decoder, "embd_pdrop", json_real((double)o.stack.dropout));
    hd_json_set(config, "encoder", encoder);
    hd_json_set(config, "decoder", decoder);
    hd_json_join(config, json_pack("{s:i,s:i,s:i,s:b,s:b}", START, special.start, "eos_token_id", special.end,
                                   "pad_token_id", pad, "is_encoder_decoder", 1, "tie_word_embeddings", 0));
    hd_family_own_tokenizers(own, p->m.tokenizer);
}

static hd_status save_files(const hd_passage *p, hd_err *err)
{
    return hd_family_preprocessor_save(&options_of(p)->image.prepare, NULL, p->to, err);
}

static const hd_family_form form = {
    .has = has, .read = read_folder, .check = check, .reads = reads, .put = put, .files = save_files};
const hd_family hd_family_vision_encoder_decoder = {TYPE, &form, ignored, NULL};
