/* The options of a run of a speech recognizer. */
#include "task/transcribe/training.h"

#include <stdio.h>

#include "run/decoder.h"
#include "task/transcribe/whisper/tuning.h"

enum {
    MOST_RATE = 16000, /* where nothing is said */
    PROMPT = 4
}; /* most tokens that a Whisper reads before a text */

/* -- what a model has -- */

static hd_run_parts parts(const hd_train_options *o)
{
    hd_stages encoder, decoder;
    if (hd_seq2seq_stages(&encoder, &decoder, o, NULL)) return ~(hd_run_parts)0; /* the check says why */
    hd_run_parts all = HD_HAS_SOUND | HD_HAS_TEXTS | hd_seq2seq_parts(&encoder, &decoder, o);
    if (o->unit == HD_TRAIN_SUBWORD && !o->tokenizer_model.count) all |= HD_HAS_SUBWORDS;
    return all;
}

static const char *shape(const hd_train_options *o, char to[HD_RECIPE_TEXT])
{
    hd_stages encoder, decoder;
    char in[HD_STAGES_TEXT], out[HD_STAGES_TEXT];
    if (hd_seq2seq_stages(&encoder, &decoder, o, NULL)) return "";
    snprintf(to, HD_RECIPE_TEXT, "--encoder is %s, --decoder %s", hd_stages_text(&encoder, in),
             hd_stages_text(&decoder, out));
    return to;
}

/* -- what is not given -- */

static hd_status choose(hd_preset *out, const hd_option_set *set, hd_err *err)
{
    const hd_train_options *o = set->into;
    hd_stages encoder, decoder;
    hd_status s = hd_seq2seq_stages(&encoder, &decoder, o, err);
    bool blocks = hd_train_given(set, "decoder") && !s && !hd_stages_recur(&decoder), whisper = false;
    if (!s && o->from) s = hd_whisper_tuned(&whisper, o->from, err);
    *out = whisper ? HD_PRESET_FINE_TUNING_WHISPER : blocks ? HD_PRESET_SPEECH_TINY : HD_PRESET_LAS;
    return s;
}

/* Blocks of a Whisper, which options can name. */
static hd_status take_blocks(hd_taking *t, const hd_encdec_opt *m, hd_err *err)
{
    hd_status s = hd_taking_number(t, "encoder-layers", (size_t)m->encoder.at[0].layers, err);
    if (!s) s = hd_taking_number(t, "decoder-layers", (size_t)m->decoder.at[0].layers, err);
    if (!s) s = hd_taking_number(t, "ffn-size", m->stack.inner, err);
    if (!s) s = hd_taking_number(t, "heads", (size_t)m->stack.heads, err);
    if (!s) s = hd_taking_say(t, "norm", m->stack.pre_norm ? "pre" : "post", err);
    if (!s) s = hd_taking_say(t, "position-kind", "learned", err);
    return s ? s : hd_taking_activation(t, m->stack.act, err);
}

static const char *normalizing_of(const hd_features_opt *f)
{
    return !f->normalize ? "none" : f->together ? "sound" : "bins";
}

static hd_status take(hd_taking *t, hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_describe(&f, t->options->from, "transcribe", err);
    if (s) return s;
    const hd_encdec_opt m = hd_model_folder_encdec(&f)->opt;
    s = hd_taking_number(t, "width", m.stack.width, err);
    if (!s) s = hd_taking_number(t, "mels", (size_t)m.sound.features.mels, err);
    if (!s) s = hd_taking_number(t, "sample-rate", (size_t)m.sound.features.rate, err);
    if (!s) s = hd_taking_say(t, "sound-features", hd_features_name(m.sound.features.kind), err);
    if (!s) s = hd_taking_say(t, "normalize", normalizing_of(&m.sound.features), err);
    if (!s) s = hd_taking_number(t, "max-frames", hd_sound_encoder_frames(&m.sound), err);
    if (!s) s = hd_taking_number(t, "max-positions", m.positions, err);
    if (!s && m.names == &hd_encdec_whisper) s = take_blocks(t, &m, err);
    hd_model_folder_release(&f);
    return s;
}

static hd_status derive(const hd_option_set *set, bool named, hd_err *err)
{
    const hd_train_options *o = set->into;
    hd_stages encoder, decoder;
    hd_status s = hd_seq2seq_stages(&encoder, &decoder, o, err);
    bool cells = hd_stages_recur(&encoder) || hd_stages_have(&encoder, HD_STAGE_pyramid);
    bool whisper = false; /* it was trained at length, with a smaller rate than others of its width */
    if (!s && o->from) s = hd_whisper_tuned(&whisper, o->from, err);
    double rate = hd_recipe_rate((size_t)o->width) / (whisper ? 4 : 1);
    if (!s && o->from && !named) s = hd_recipe_continue(set, rate, err);
    if (!s && whisper && o->max_length > o->max_positions - PROMPT && o->max_positions > PROMPT)
        s = hd_recipe_follow(set, "max-length", o->max_positions - PROMPT, err);
    if (!s && !cells) s = hd_recipe_follow(set, "decoder-init", HD_BEGINNING_map, err);
    if (!s && decoder.at[0].kind == HD_STAGE_none) s = hd_recipe_follow(set, "ctc-weight", 1, err);
    return s;
}

const hd_recipe hd_recipe_transcribe = {
    .choose = choose, .take = take, .derive = derive, .parts = parts, .shape = shape};

/* -- what they mean -- */

enum { NORMALIZE_NOTHING, NORMALIZE_BINS, NORMALIZE_SOUND }; /* --normalize */

static hd_features_opt features_of(const hd_train_options *o, int rate)
{
    hd_features_opt f = hd_features_usual((hd_features_kind)o->features, rate);
    f.mels = o->mels, f.chunk = 0;
    f.normalize = o->normalize != NORMALIZE_NOTHING, f.together = o->normalize == NORMALIZE_SOUND;
    return f;
}

hd_status hd_transcribe_model(hd_encdec_opt *to, hd_feeding *feeding, const hd_train_options *o, hd_err *err)
{
    hd_run_parts has = parts(o);
    *to = hd_seq2seq_model(o);
    to->sounds = to->output_bias = true, to->ctc = (float)o->ctc_weight;
    to->sound = (hd_sound_encoder_opt){.stack = o->frame_stack,
                                       .positions = (size_t)((o->max_frames - 1) / o->frame_stack + 1)};
    *feeding = hd_decoder_feeding(o, has);
    hd_status s = hd_seq2seq_stages(&to->encoder, &to->decoder, o, err);
    if (s) return s;
    to->recurrent = hd_decoder_cells(o, has);
    to->sound.features = features_of(o, MOST_RATE);
    s = hd_seq2seq_check_heads(o, has, err);
    if (!s && (to->ctc >= 1) != !hd_encdec_decodes(to))
        return hd_err_set(err, HD_EARG, "CTC alone is --decoder none with --ctc-weight 1: give both");
    return s;
}

/* The least rate of the sounds has all that they have in common. */
hd_status hd_transcribe_choose_features(hd_features_opt *to, const hd_sound_set *set,
                                        const hd_train_options *o, hd_err *err)
{
    int rate = o->sample_rate ? o->sample_rate : MOST_RATE;
    for (size_t i = 0; !o->sample_rate && i < set->count; i++)
        if (set->rate[i] < rate) rate = set->rate[i];
    *to = features_of(o, rate);
    return hd_features_check(to, err);
}

hd_spec_augment hd_transcribe_augment(const hd_train_options *o)
{
    return (hd_spec_augment){.bins = o->bin_mask_size,
                             .bin_masks = o->bin_masks,
                             .frames = o->max_frames,
                             .frame_masks = o->frame_masks,
                             .share = o->frame_mask_share};
}

/* Not every rate that a file may have suits frames of 25 ms. */
static hd_status check_rate(const hd_train_options *o, hd_err *err)
{
    const hd_features_opt f = hd_features_usual((hd_features_kind)o->features, o->sample_rate);
    hd_err why = {0};
    if (!o->sample_rate || !hd_features_check(&f, &why)) return HD_OK;
    return hd_err_set(err, HD_EARG, "--sample-rate %d: %s", o->sample_rate, why.text);
}

hd_status hd_transcribe_check(const hd_train_options *o, hd_err *err)
{
    hd_encdec_opt model;
    hd_feeding feeding;
    const hd_spec_augment augment = hd_transcribe_augment(o);
    hd_status s = hd_train_check_files(o, "a speech recognizer learns from one list of sounds", err);
    if (s) return s;
    if (o->select_by != HD_CHOICE_WER && o->select_by != HD_CHOICE_LOSS)
        return hd_err_set(err, HD_EARG, "--select-by %s is for another task: use wer or loss",
                          hd_choice_names[o->select_by]);
    s = hd_seq2seq_check_length(o, err);
    if (s) return s;
    if (o->batch_frames < o->max_frames)
        return hd_err_set(err, HD_EARG, "--batch-frames %d is less than a sound of --max-frames %d",
                          o->batch_frames, o->max_frames);
    s = check_rate(o, err);
    if (!s) s = hd_spec_augment_check(&augment, err);
    if (!s) s = hd_train_check_end(o, err);
    if (!s) s = hd_transcribe_model(&model, &feeding, o, err);
    if (!s && o->from) /* what another model is, it says itself */
        return hd_whisper_tuning_check(o->resume ? o->out : o->from, o->language, err);
    return s ? s : hd_seq2seq_attempt(&model, &feeding, err);
}

hd_status hd_transcribe_read(hd_speech *train, hd_speech *valid, const hd_train_options *o,
                             hd_speech_form form, hd_err *err)
{
    bool skip = o->on_invalid == 1;
    hd_status s = hd_speech_open(train, o->train.text[0], skip, form, err);
    if (!s && o->valid.count) return hd_speech_open(valid, o->valid.text[0], skip, form, err);
    if (!s && o->valid_fraction > 0)
        s = hd_speech_split(train, o->valid_fraction, (uint64_t)o->seed, valid, err);
    return s;
}
