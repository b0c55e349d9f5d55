/* The options of a run of a captioner. */
#include "task/caption/training.h"

#include <stdio.h>

#include "run/decoder.h"
#include "run/pictures.h"

/* -- what a model has -- */

static hd_run_parts parts(const hd_train_options *o)
{
    hd_stages decoder;
    bool blocks = o->image_encoder == HD_IMAGE_vit;
    if (hd_decoder_stages(&decoder, "decoder", o->decoder, NULL))
        return ~(hd_run_parts)0; /* the check says why */
    hd_run_parts all =
        HD_HAS_UPDATES | HD_HAS_NETWORK | HD_HAS_PICTURES | HD_HAS_TEXTS | hd_decoder_parts(&decoder, o);
    hd_stage_kind active = hd_train_names_cell(o->activation) ? HD_STAGE_rnn : HD_STAGE_transformer;
    if (o->image_encoder == HD_IMAGE_resnet) all |= HD_HAS_RESNET;
    if (blocks || o->encoder_from) all |= HD_HAS_VIT; /* another model's may be one */
    if (blocks || hd_stages_have(&decoder, HD_STAGE_transformer)) all |= HD_HAS_BLOCKS;
    if ((blocks && active == HD_STAGE_transformer) || hd_stages_have(&decoder, active))
        all |= HD_HAS_ACTIVATION;
    if (decoder.at[0].kind == HD_STAGE_transformer) all |= HD_HAS_POSITIONS;
    if (o->unit == HD_TRAIN_SUBWORD && !o->tokenizer_model.count) all |= HD_HAS_SUBWORDS;
    return all;
}

static const char *shape(const hd_train_options *o, char to[HD_RECIPE_TEXT])
{
    hd_stages decoder;
    char text[HD_STAGES_TEXT];
    if (hd_decoder_stages(&decoder, "decoder", o->decoder, NULL)) return "";
    snprintf(to, HD_RECIPE_TEXT, "--image-encoder is %s, --decoder %s",
             hd_image_encoder_names[o->image_encoder], hd_stages_text(&decoder, text));
    return to;
}

/* -- what is not given -- */

static hd_status choose(hd_preset *out, const hd_option_set *set, hd_err *err)
{
    const hd_train_options *o = set->into;
    hd_stages decoder;
    hd_status s = hd_decoder_stages(&decoder, "decoder", o->decoder, err);
    bool blocks = hd_train_given(set, "decoder") && !s && !hd_stages_recur(&decoder);
    *out = blocks ? HD_PRESET_CAPTION_TRANSFORMER : HD_PRESET_SHOW_ATTEND_TELL;
    return s;
}

/* What a decoder of one stage is called: the text stays, as that of an option has to. */
static const char *stage_name(hd_stage_kind kind)
{
    static const char *const names[] = {
#define X(name, text) #name,
        HD_STAGE_LIST(X)
#undef X
    };
    return names[kind];
}

static hd_status take(hd_taking *t, hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_describe(&f, t->options->from, "caption", err);
    if (s) return s;
    const hd_encdec_opt m = hd_model_folder_encdec(&f)->opt;
    const hd_image_encoder_opt *i = &m.image;
    if (m.decoder.count == 1) s = hd_taking_say(t, "decoder", stage_name(m.decoder.at[0].kind), err);
    if (!s) s = hd_taking_number(t, "decoder-layers", (size_t)m.decoder.at[0].layers, err);
    if (!s) s = hd_taking_say(t, "image-encoder", hd_image_encoder_names[i->kind], err);
    if (!s) s = hd_taking_number(t, "image-size", (size_t)i->height, err);
    if (!s) s = hd_taking_number(t, "width", m.stack.width, err);
    if (!s) s = hd_taking_number(t, "max-positions", m.positions, err);
    hd_model_folder_release(&f);
    return s;
}

static hd_status derive(const hd_option_set *set, bool named, hd_err *err)
{
    const hd_train_options *o = set->into;
    return o->from && !named ? hd_recipe_continue(set, hd_recipe_rate((size_t)o->width), err) : HD_OK;
}

const hd_recipe hd_recipe_caption = {
    .choose = choose, .take = take, .derive = derive, .parts = parts, .shape = shape};

/* -- what they mean -- */

static hd_image_encoder_opt encoder_of(const hd_train_options *o)
{
    hd_image_encoder_opt e = hd_train_image_encoder(o, o->image_encoder, o->encoder_layers);
    e.height = e.width = o->image_size ? o->image_size : HD_CAPTION_SIDE;
    e.stack.act = hd_train_block_activation(o->activation, HD_gelu);
    return e;
}

hd_status hd_caption_model(hd_encdec_opt *to, const hd_train_options *o, hd_err *err)
{
    hd_run_parts has = parts(o);
    *to = hd_seq2seq_model(o);
    to->pictures = to->output_bias = true, to->encoder_layers = 0, to->image = encoder_of(o);
    hd_status s = hd_decoder_stages(&to->decoder, "decoder", o->decoder, err);
    if (!s && to->image.kind == HD_IMAGE_resnet)
        s = hd_train_resnet(&to->image.resnet, o, to->image.height, err);
    if (s) return s;
    to->recurrent = hd_decoder_cells(o, has);
    return hd_seq2seq_check_heads(o, has, err);
}

hd_status hd_caption_check(const hd_train_options *o, hd_err *err)
{
    hd_encdec_opt model;
    hd_augment augment = hd_train_augment(o);
    hd_status s = hd_train_check_files(o, "a captioner learns from one file of captions", err);
    if (!s) s = hd_train_check_positions(o, err);
    if (s) return s;
    if (o->mixup > 0 || o->cutmix > 0)
        return hd_err_set(err, HD_EARG, "--mixup and --cutmix mix labels: captions cannot be mixed");
    if (o->decoder_input != HD_FEEDING_teacher)
        return hd_err_set(err, HD_EARG, "--decoder-input: captioners read the captions that they learn");
    if (o->valid_names && o->valid_fraction > 0)
        return hd_err_set(err, HD_EARG, "--valid-names and --valid-fraction exclude each other");
    if (o->select_by == HD_CHOICE_BLEU)
        return hd_err_set(err, HD_EARG, "--select-by bleu is for translators: use cider or loss");
    s = hd_seq2seq_check_length(o, err);
    if (!s) s = hd_augment_check(&augment, err);
    if (!s) s = hd_train_check_end(o, err);
    if (!s) s = hd_caption_model(&model, o, err);
    if (!s && o->from && o->encoder_from)
        s = hd_err_set(err, HD_EARG, "--from and --encoder-from exclude each other");
    if (!s && o->encoder_from) s = hd_caption_origin(&model.image, o->encoder_from, err);
    if (s || o->from) return s; /* what another model is, it says itself */
    return hd_seq2seq_attempt(&model, &(hd_feeding){0}, err);
}

hd_status hd_caption_read(hd_captions *train, hd_captions *valid, const hd_train_options *o, hd_err *err)
{
    hd_captions_read how = {o->train.text[0], o->images, o->train_names, .skip = o->on_invalid == 1,
                            .cased = o->cased};
    hd_status s = hd_captions_open(train, &how, err);
    if (!s && o->valid.count) how.path = o->valid.text[0];
    how.names = o->valid_names;
    if (!s && (o->valid.count || o->valid_names)) return hd_captions_open(valid, &how, err);
    if (!s && o->valid_fraction > 0)
        s = hd_captions_split(train, o->valid_fraction, (uint64_t)o->seed, valid, err);
    return s;
}
