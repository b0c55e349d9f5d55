/* An encoder-decoder in config.json, and what there is to say of one. */
#include <string.h>

#include "model/encdec/encdec.h"
#include "model/keys.h"
#include "model/vision/image_model.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_LAYERS = 1000, MOST_SIZE = 1 << 20 };

#define SOURCE_VOCAB "source_vocab"
#define TARGET_VOCAB "target_vocab"
#define T5_VOCAB     "vocab"

/* What it is, for the keys that it has: sources of ANY kind, or tokens. */
enum {
    PLAIN = 1,
    STAGED = 2,
    T5 = 4,
    PICTURES = 8,
    SOUNDS = 16,
    WHISPER = 32,
    CELLS = STAGED | PICTURES | SOUNDS,
    ANY = PLAIN | CELLS
};

#define KEY(name, kind, field) HD_KEY_OF(hd_encdec_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("encoder", STAGES, encoder), .of = CELLS},
    {KEY("decoder", STAGES, decoder), .of = CELLS},
    {KEY("encoder_layers", WHOLE, encoder_layers), .least = 1, .most = MOST_SIZE, .of = PLAIN | T5 | WHISPER},
    {KEY("decoder_layers", WHOLE, decoder_layers), .least = 1, .most = MOST_SIZE, .of = PLAIN | T5 | WHISPER},
    {KEY("heads", WHOLE, stack.heads), .least = 1, .most = MOST_SIZE},
    {KEY("width", WHOLE, stack.width), .least = 1, .most = MOST_SIZE},
    {KEY("inner", WHOLE, stack.inner), .least = 1, .most = MOST_SIZE},
    {KEY("positions", WHOLE, positions), .least = 2, .most = MOST_SIZE},
    /* All else is as hd_encdec_opt_t5 says. The tokenizer may have fewer pieces than there are ids. */
    {KEY("head_width", WHOLE, stack.head_width), .least = 1, .most = MOST_SIZE, .of = T5},
    {KEY("buckets", WHOLE, stack.relative.buckets), .least = 4, .most = MOST_SIZE, .of = T5},
    {KEY("reach", WHOLE, stack.relative.reach), .least = 1, .most = MOST_SIZE, .of = T5},
    {KEY(T5_VOCAB, WHOLE, source_vocab), .least = 1, .most = MOST_SIZE, .of = T5},
    {KEY("gated", FLAG, stack.gated), .of = T5},
    {KEY("own_output", FLAG, own_output), .of = T5},
    {KEY("scaled_output", FLAG, scaled_output), .of = T5},
    {KEY("tied", FLAG, tied), .of = ANY},
    {KEY("pre_norm", FLAG, stack.pre_norm), .of = ANY},
    {KEY("output_bias", FLAG, output_bias), .of = ANY},
    {KEY("learned_positions", FLAG, learned_positions), .of = ANY},
    {KEY(SOURCE_VOCAB, WHOLE, source_vocab), .least = 1, .most = INT32_MAX, .when = HD_KEY_LATE,
     .of = PLAIN | STAGED},
    {KEY(TARGET_VOCAB, WHOLE, target_vocab), .least = 1, .most = INT32_MAX, .when = HD_KEY_LATE,
     .of = ANY | WHISPER},
    {KEY("unscaled", FLAG, unscaled), .when = HD_KEY_RARE, .of = ANY},
    {KEY("no_positions", FLAG, no_positions), .when = HD_KEY_RARE, .of = ANY},
    {KEY("unscaled_scores", FLAG, stack.unscaled_scores), .when = HD_KEY_RARE, .of = ANY},
    {KEY("cell", CELL, cell), .when = HD_KEY_RARE, .of = CELLS},
    {KEY("context", CHOICE, recurrent.context), HD_KEY_NAMES(hd_context_names), .of = CELLS},
    {KEY("score", CHOICE, recurrent.score), HD_KEY_NAMES(hd_scoring_names), .of = CELLS},
    {KEY("attention", CHOICE, recurrent.locality), HD_KEY_NAMES(hd_locality_names), .of = CELLS},
    {KEY("query", CHOICE, recurrent.query), HD_KEY_NAMES(hd_query_names), .of = CELLS},
    {KEY("begin", CHOICE, recurrent.begin), HD_KEY_NAMES(hd_beginning_names), .of = CELLS},
    {KEY("read", CHOICE, recurrent.read), HD_KEY_NAMES(hd_reading_names), .of = CELLS},
    {KEY("window", WHOLE, recurrent.window), .least = 0, .most = MOST_SIZE, .of = CELLS},
    {KEY("attention_heads", WHOLE, recurrent.heads), .least = 0, .most = MOST_SIZE, .of = CELLS},
    {KEY("project", FLAG, recurrent.project), .of = CELLS},
    {KEY("feed_context", FLAG, recurrent.feed_context), .of = CELLS},
    {KEY("skips", FLAG, recurrent.skips), .of = CELLS},
    {KEY("no_feedback", FLAG, recurrent.no_feedback), .of = CELLS},
    {KEY("relu", FLAG, recurrent.relu), .of = CELLS},
    {KEY("gate", FLAG, recurrent.gate), .when = HD_KEY_RARE, .of = CELLS},
    {KEY("ctc", REAL, ctc), .most = 1, .when = HD_KEY_RARE, .of = SOUNDS},
    {KEY("reverse_source", FLAG, reverse_source), .of = STAGED},
    {KEY("activation", UNARY, stack.act)},
    {KEY("eps", REAL, stack.eps), .most = 1},
    {0},
};

/* Models that read pictures: with names of our own, and a VisionEncoderDecoder of transformers with a GPT-2.
 */
static const char transformer[] = "transformer", encdec[] = "encoder-decoder", t5[] = "t5",
                  captioner[] = "captioner", vision[] = "vision-encoder-decoder",
                  transcriber[] = "transcriber", whisper[] = "whisper", ENCODER[] = "picture_encoder",
                  FRONT[] = "sound_front";

static bool plain(const hd_stages *s)
{
    return !s->count || (s->count == 1 && s->at[0].kind == HD_STAGE_transformer);
}

const char *hd_encdec_kind(const hd_encdec_opt *o)
{
    if (o->names == &hd_encdec_t5) return t5;
    if (o->pictures) return o->names == &hd_encdec_vision ? vision : captioner;
    if (o->sounds) return o->names == &hd_encdec_whisper ? whisper : transcriber;
    return plain(&o->encoder) && plain(&o->decoder) ? transformer : encdec;
}

const char *hd_encdec_vocab_key(const hd_encdec_opt *o, int side)
{
    return o->names == &hd_encdec_t5 ? T5_VOCAB : side ? TARGET_VOCAB : SOURCE_VOCAB;
}

static unsigned having(const char *kind)
{
    if (kind == captioner || kind == vision) return PICTURES;
    if (kind == transcriber) return SOUNDS;
    if (kind == whisper) return WHISPER;
    return kind == t5 ? T5 : kind == encdec ? STAGED : PLAIN;
}

void hd_encdec_config_write(hd_text *to, const hd_encdec_opt *o)
{
    hd_encdec_opt m = *o;
    /* as a model has them that was made: stages say how many layers they have */
    if (!m.pictures) m.encoder = hd_stages_resolved(&m.encoder, m.encoder_layers);
    m.decoder = hd_stages_resolved(&m.decoder, m.decoder_layers);
    m.encoder_layers = m.encoder.at[0].layers, m.decoder_layers = m.decoder.at[0].layers;
    const char *kind = hd_encdec_kind(&m);
    hd_text_print(to, ",\n \"model\": \"%s\"", kind);
    hd_keys_write(to, keys, having(kind), &m);
    if (hd_encdec_reads_tokens(&m)) return;
    hd_text_print(to, ",\n \"%s\": {\"format\": 1", m.pictures ? ENCODER : FRONT);
    if (m.pictures)
        hd_image_encoder_write(to, &m.image);
    else
        hd_sound_encoder_write(to, &m.sound);
    hd_text_put(to, "}");
}

static void read_image(hd_model_config *c, hd_encdec_opt *o)
{
    hd_model_config inside = hd_model_config_inside(c, ENCODER);
    const char *name = hd_model_config_text(&inside, "model");
    int kind = 0;
    while (hd_image_encoder_names[kind] && strcmp(hd_image_encoder_names[kind], name)) kind++;
    if (kind == HD_IMAGE_KINDS)
        hd_model_config_refuse(&inside, "\"model\" is \"%.40s\", not \"%s\"", name,
                               hd_image_encoder_names[0]);
    else
        hd_image_encoder_read(&inside, (hd_image_encoder_kind)kind, &o->image);
    hd_model_config_leave(c, &inside);
}

static void read_sound(hd_model_config *c, hd_encdec_opt *o)
{
    hd_model_config inside = hd_model_config_inside(c, FRONT);
    hd_sound_encoder_read(&inside, &o->sound);
    hd_model_config_leave(c, &inside);
}

static const char *kind_named(const char *model)
{
    static const char *const kinds[] = {transformer, encdec, t5, captioner, vision, transcriber, whisper};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(model, kinds[i])) return kinds[i];
    return transformer;
}

void hd_encdec_config_read(hd_model_config *c, hd_encdec_opt *o)
{
    const char *model = hd_model_config_text(c, "model");
    const char *kind = kind_named(model);
    *o = kind == t5        ? hd_encdec_opt_t5()
         : kind == whisper ? hd_encdec_opt_whisper()
                           : (hd_encdec_opt){.sinusoid = {.halves = true}}; /* as Marian */
    o->encoder_layers = o->decoder_layers = 1;
    if (strcmp(model, kind))
        hd_model_config_refuse(c, "\"model\" is \"%.40s\", not \"%s\", \"%s\" or \"%s\"", model, transformer,
                               encdec, t5);
    if (kind == encdec || kind == captioner || kind == transcriber) o->cell = HD_tanh;
    hd_keys_read(c, keys, having(kind), o);
    o->pictures = kind == captioner || kind == vision;
    if (kind == vision) o->names = &hd_encdec_vision;
    if (o->pictures) read_image(c, o);
    o->sounds = kind == transcriber || kind == whisper;
    if (o->sounds) read_sound(c, o);
    if (kind == t5) o->target_vocab = o->source_vocab;
    if (o->encoder_layers > MOST_LAYERS || o->decoder_layers > MOST_LAYERS)
        hd_model_config_refuse(c, "more than %d layers", MOST_LAYERS);
}

/* -- telling -- */

static void tell_stages(hd_details *to, const hd_encdec_opt *o)
{
    char text[HD_STAGES_TEXT];
    if (o->pictures) {
        hd_image_encoder_describe(&o->image, to);
        hd_details_text(to, "decoder", hd_stages_text(&o->decoder, text));
    } else if (hd_encdec_kind(o) == encdec || o->sounds) {
        if (o->sounds) hd_sound_encoder_describe(&o->sound, to);
        hd_details_text(to, "encoder", hd_stages_text(&o->encoder, text));
        hd_details_text(to, "decoder", hd_stages_text(&o->decoder, text));
    } else {
        hd_details_whole(to, "encoder_layers", (uint64_t)o->encoder.at[0].layers);
        hd_details_whole(to, "decoder_layers", (uint64_t)o->decoder.at[0].layers);
    }
}

/* What only Transformer blocks have. */
static void tell_blocks(hd_details *to, const hd_encdec_opt *o)
{
    bool any = hd_stages_have(&o->encoder, HD_STAGE_transformer) ||
               hd_stages_have(&o->decoder, HD_STAGE_transformer);
    if (any) hd_details_whole(to, "heads", (uint64_t)o->stack.heads);
    if (any && o->stack.head_width) hd_details_whole(to, "head_width", o->stack.head_width);
    hd_details_whole(to, "width", o->stack.width);
    if (o->cell == HD_sigmoid) hd_details_text(to, "cell", hd_unary_name(o->cell));
    if (!any) return;
    hd_details_whole(to, "inner", o->stack.inner);
    if (o->stack.gated) hd_details_flag(to, "gated", true);
    if (o->stack.unscaled_scores && !o->stack.relative.buckets) hd_details_flag(to, "unscaled_scores", true);
    hd_details_text(to, "norm", o->stack.pre_norm ? "pre" : "post");
    hd_details_text(to, "activation", hd_unary_name(o->stack.act));
    if (o->encoder.at[0].kind == HD_STAGE_transformer || o->decoder.at[0].kind == HD_STAGE_transformer)
        hd_details_text(to, "position_kind",
                        o->stack.relative.buckets ? "relative"
                        : o->no_positions         ? "none"
                        : o->learned_positions    ? "learned"
                                                  : "sinusoidal");
    if (o->stack.relative.buckets) {
        hd_details_whole(to, "buckets", o->stack.relative.buckets);
        hd_details_whole(to, "reach", (uint64_t)o->stack.relative.reach);
    }
}

/* What only a recurrent decoder has. */
static void tell_cells(hd_details *to, const hd_encdec *m)
{
    const hd_recurrent_decoder_opt *o = &m->cells.opt;
    hd_details_text(to, "context", hd_context_names[o->context]);
    if (o->context == HD_CONTEXT_attention) {
        hd_details_text(to, "score", hd_scoring_names[o->score]);
        hd_details_text(to, "attention", hd_locality_names[o->locality]);
        if (o->locality != HD_LOCALITY_GLOBAL) hd_details_whole(to, "window", (uint64_t)o->window);
        hd_details_whole(to, "attention_heads", (uint64_t)o->heads);
        hd_details_flag(to, "project", m->cells.look.opt.project);
        hd_details_text(to, "query", hd_query_names[o->query]);
        hd_details_flag(to, "feed_context", o->feed_context);
        if (o->gate) hd_details_flag(to, "gate", true);
    }
    hd_details_text(to, "begin", hd_beginning_names[o->begin]);
    hd_details_text(to, "read", hd_reading_names[o->read]);
    if (o->skips) hd_details_flag(to, "skips", true);
    if (o->no_feedback) hd_details_flag(to, "no_feedback", true);
    if (o->relu) hd_details_flag(to, "relu", true);
    if (m->opt.reverse_source) hd_details_flag(to, "reverse_source", true);
}

void hd_encdec_describe(const void *self, hd_details *to)
{
    const hd_encdec *m = self;
    const hd_encdec_opt *o = &m->opt;
    hd_details_text(to, "model", hd_encdec_kind(o));
    tell_stages(to, o);
    tell_blocks(to, o);
    if (hd_encdec_recurs(m)) tell_cells(to, m);
    if (o->ctc > 0) hd_details_real(to, "ctc", (double)o->ctc, "");
    hd_details_whole(to, "positions", o->positions);
    hd_details_flag(to, "tied", o->tied);
    if (o->own_output) hd_details_flag(to, "own_output", true);
}
