/* The options of a run of a translator. */
#include "task/translate/training.h"

#include <stdio.h>

#include "run/decoder.h"

/* -- what a model has -- */

hd_run_parts hd_translate_parts(const hd_train_options *o)
{
    hd_stages encoder, decoder;
    if (hd_seq2seq_stages(&encoder, &decoder, o, NULL))
        return ~(hd_run_parts)0; /* the check of the task says why */
    const hd_stage *first = &encoder.at[0];
    hd_run_parts parts = hd_seq2seq_parts(&encoder, &decoder, o);
    if (hd_stage_recurs(first) && !first->both_ways) parts |= HD_HAS_ONE_WAY;
    if (o->tokenizer == HD_TOKENIZER_sentencepiece && !o->tokenizer_model.count) parts |= HD_HAS_SUBWORDS;
    return parts;
}

static const char *shape(const hd_train_options *o, char to[HD_RECIPE_TEXT])
{
    hd_stages encoder, decoder;
    char in[HD_STAGES_TEXT], out[HD_STAGES_TEXT];
    if (hd_seq2seq_stages(&encoder, &decoder, o, NULL)) return "";
    bool cells = hd_stages_recur(&decoder);
    snprintf(to, HD_RECIPE_TEXT, "--encoder is %s, --decoder %s%s%s", hd_stages_text(&encoder, in),
             hd_stages_text(&decoder, out), cells ? ", --decoder-context " : "",
             cells ? hd_context_names[o->decoder_context] : "");
    return to;
}

/* -- what is not given -- */

/* --layers is for both sides; what is said of one side counts more. */
static void spread(const hd_option_set *set)
{
    static const char *const sides[] = {"encoder-layers", "decoder-layers"};
    hd_option_place layers = hd_option_find(set, "layers");
    for (int i = 0; i < 2 && hd_option_given(layers.given); i++) {
        hd_option_place at = hd_option_find(set, sides[i]);
        if (hd_option_given(at.given)) continue;
        *(int *)at.field = *(const int *)layers.field;
        *at.given = *layers.given;
    }
    *layers.given = HD_GIVEN_NOT;
    hd_option_read(layers.option, layers.field, layers.option->fallback, NULL);
}

/* A recurrent encoder or decoder that is asked for without a preset. */
static hd_status choose(hd_preset *out, const hd_option_set *set, hd_err *err)
{
    hd_stages encoder, decoder;
    hd_status s = hd_seq2seq_stages(&encoder, &decoder, set->into, err);
    *out =
        !s && (hd_stages_recur(&encoder) || hd_stages_recur(&decoder)) ? HD_PRESET_TUTORIAL : HD_PRESET_TINY;
    return s;
}

static hd_status take(hd_taking *t, hd_err *err)
{
    hd_train_options *o = t->options;
    hd_model_folder f;
    hd_status s = hd_model_folder_describe(&f, o->from, "translate", err);
    if (s) return s;
    const hd_encdec_opt m = hd_model_folder_encdec(&f)->opt;
    hd_model_folder_release(&f);
    const char *kind = m.no_positions ? "none" : m.learned_positions ? "learned" : "sinusoidal";
    s = hd_taking_number(t, "encoder-layers", (size_t)m.encoder_layers, err);
    if (!s) s = hd_taking_number(t, "decoder-layers", (size_t)m.decoder_layers, err);
    if (!s) s = hd_taking_number(t, "width", m.stack.width, err);
    if (!s) s = hd_taking_number(t, "ffn-size", m.stack.inner, err);
    if (!s) s = hd_taking_number(t, "heads", (size_t)m.stack.heads, err);
    if (!s) s = hd_taking_number(t, "max-positions", m.positions, err);
    if (!s) s = hd_taking_say(t, "position-kind", kind, err);
    if (!s) s = hd_taking_number(t, "unscaled-attention", m.stack.unscaled_scores, err);
    if (!s) s = hd_taking_say(t, "norm", m.stack.pre_norm ? "pre" : "post", err);
    if (!s) s = hd_taking_number(t, "untied", !m.tied, err);
    if (!s) s = hd_taking_activation(t, m.cell == HD_sigmoid ? m.cell : m.stack.act, err);
    if (!s && o->max_length >= o->max_positions)
        s = hd_recipe_follow(t->set, "max-length", o->max_positions - 1, err);
    return s;
}

static hd_status derive(const hd_option_set *set, bool named, hd_err *err)
{
    hd_train_options *o = set->into;
    hd_stages encoder, decoder;
    hd_status s = hd_seq2seq_stages(&encoder, &decoder, o, err);
    if (!s && o->from && !named) { /* a model that has learned already needs less of it */
        s = hd_recipe_continue(set, hd_recipe_rate((size_t)o->width), err);
        if (!s) s = hd_recipe_follow(set, "dropout", 0.1, err);
        if (!s) s = hd_recipe_follow(set, "weight-decay", 0.01, err);
    }
    if (!s && !hd_stages_recur(&encoder)) s = hd_recipe_follow(set, "decoder-init", HD_BEGINNING_map, err);
    if (!s && o->decoder_input == HD_FEEDING_gumbel) s = hd_recipe_follow(set, "sampling-rate", 1, err);
    return s;
}

const hd_recipe hd_recipe_translate = {spread, choose, take, derive, hd_translate_parts, shape};

/* -- what they mean -- */

hd_status hd_translate_model(hd_encdec_opt *to, hd_feeding *feeding, const hd_train_options *o, hd_err *err)
{
    *to = hd_seq2seq_model(o);
    to->source_dropout = (float)o->source_dropout, to->stack.unscaled_scores = o->unscaled_attention;
    hd_status s = hd_seq2seq_stages(&to->encoder, &to->decoder, o, err);
    if (s) return s;
    hd_run_parts parts = hd_translate_parts(o);
    *feeding = hd_decoder_feeding(o, parts);
    to->recurrent = hd_decoder_cells(o, parts);
    /* a preset's, where another option has taken what it is for */
    to->reverse_source = o->reverse_source && parts & HD_HAS_ONE_WAY;
    return hd_seq2seq_check_heads(o, parts, err);
}

hd_status hd_translate_check(const hd_train_options *o, hd_err *err)
{
    hd_encdec_opt model;
    hd_feeding feeding;
    hd_status s = hd_train_check_files(o, NULL, err);
    if (!s) s = hd_train_check_positions(o, err);
    if (!s) s = hd_seq2seq_check_length(o, err);
    if (s) return s;
    if (o->batch_tokens < o->max_length + 1)
        return hd_err_set(err, HD_EARG,
                          "--batch-tokens %d is less than a sentence of --max-length %d and its end",
                          o->batch_tokens, o->max_length);
    s = hd_train_check_end(o, err);
    if (!s) s = hd_translate_model(&model, &feeding, o, err);
    return s ? s : hd_seq2seq_attempt(&model, &feeding, err);
}
