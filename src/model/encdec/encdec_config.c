/* An encoder-decoder in config.json, and what there is to say of one. */
#include <string.h>

#include "model/encdec/encdec.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_LAYERS = 1000, MOST_SIZE = 1 << 20 };

#define SOURCE_VOCAB "source_vocab"
#define TARGET_VOCAB "target_vocab"
#define T5_VOCAB     "vocab"

/* X(key, field of hd_encdec_opt, least): whole numbers */
#define LAYERS(X)                          \
    X("encoder_layers", encoder_layers, 1) \
    X("decoder_layers", decoder_layers, 1)
#define SIZES(X)               \
    X("heads", stack.heads, 1) \
    X("width", stack.width, 1) \
    X("inner", stack.inner, 1) \
    X("positions", positions, 2)
/* X(key, field) */
#define SWITCHES(X)               \
    X("tied", tied)               \
    X("pre_norm", stack.pre_norm) \
    X("output_bias", output_bias) \
    X("learned_positions", learned_positions)

/* Of what is not a plain Transformer. */
#define STAGES(X)         \
    X("encoder", encoder) \
    X("decoder", decoder)
/* X(key, field, names, how many) */
#define CHOICES(X)                                                       \
    X("context", recurrent.context, hd_context_names, HD_CONTEXTS)       \
    X("score", recurrent.score, hd_scoring_names, HD_SCORINGS)           \
    X("attention", recurrent.locality, hd_locality_names, HD_LOCALITIES) \
    X("query", recurrent.query, hd_query_names, HD_QUERIES)              \
    X("begin", recurrent.begin, hd_beginning_names, HD_BEGINNINGS)       \
    X("read", recurrent.read, hd_reading_names, HD_READINGS)
#define MORE_SIZES(X)                \
    X("window", recurrent.window, 0) \
    X("attention_heads", recurrent.heads, 0)
#define MORE_SWITCHES(X)                      \
    X("project", recurrent.project)           \
    X("feed_context", recurrent.feed_context) \
    X("skips", recurrent.skips)               \
    X("no_feedback", recurrent.no_feedback)   \
    X("relu", recurrent.relu)                 \
    X("reverse_source", reverse_source)

/* Of all others; those of older folders do not say it. */
#define VOCABS(X)                    \
    X(SOURCE_VOCAB, source_vocab, 1) \
    X(TARGET_VOCAB, target_vocab, 1)

/* Of a T5; all else is as hd_encdec_opt_t5 says. The tokenizer may have fewer pieces than there are ids. */
#define T5_SIZES(X)                         \
    X("head_width", stack.head_width, 1)    \
    X("buckets", stack.relative.buckets, 4) \
    X("reach", stack.relative.reach, 1)     \
    X(T5_VOCAB, source_vocab, 1)
#define T5_SWITCHES(X)          \
    X("gated", stack.gated)     \
    X("own_output", own_output) \
    X("scaled_output", scaled_output)

static const char transformer[] = "transformer", encdec[] = "encoder-decoder", t5[] = "t5";

static bool plain(const hd_stages *s)
{
    return !s->count || (s->count == 1 && s->at[0].kind == HD_STAGE_transformer);
}

const char *hd_encdec_kind(const hd_encdec_opt *o)
{
    if (o->names == &hd_encdec_t5) return t5;
    return plain(&o->encoder) && plain(&o->decoder) ? transformer : encdec;
}

const char *hd_encdec_vocab_key(const hd_encdec_opt *o, int side)
{
    return o->names == &hd_encdec_t5 ? T5_VOCAB : side ? TARGET_VOCAB : SOURCE_VOCAB;
}

/* -- writing -- */

#define PUT_SIZE(key, field, least)          hd_text_print(to, ",\n \"" key "\": %zu", (size_t)o->field);
#define PUT_SWITCH(key, field)               hd_text_print(to, ",\n \"" key "\": %s", o->field ? "true" : "false");
#define PUT_TEXT(key, value)                 hd_text_print(to, ",\n \"" key "\": \"%s\"", value);
#define PUT_STAGES(key, field)               PUT_TEXT(key, hd_stages_text(&o->field, text))
#define PUT_CHOICE(key, field, names, count) PUT_TEXT(key, names[o->field])

static void put_model(hd_text *to, const hd_encdec_opt *o)
{
    char text[HD_STAGES_TEXT];
    const char *name = hd_encdec_kind(o);
    PUT_TEXT("model", name)
    if (name == encdec) {
        STAGES(PUT_STAGES)
    } else {
        LAYERS(PUT_SIZE)
    }
    SIZES(PUT_SIZE)
    if (name == t5) {
        T5_SIZES(PUT_SIZE)
        T5_SWITCHES(PUT_SWITCH)
    } else {
        SWITCHES(PUT_SWITCH)
        VOCABS(PUT_SIZE)
    }
    if (name != t5 && o->unscaled) PUT_SWITCH("unscaled", unscaled)
    if (name != t5 && o->no_positions) PUT_SWITCH("no_positions", no_positions)
    if (name != t5 && o->stack.unscaled_scores) PUT_SWITCH("unscaled_scores", stack.unscaled_scores)
    if (name == encdec && o->cell == HD_sigmoid) PUT_TEXT("cell", hd_unary_name(o->cell))
    if (name == encdec) {
        CHOICES(PUT_CHOICE)
        MORE_SIZES(PUT_SIZE)
        MORE_SWITCHES(PUT_SWITCH)
    }
    PUT_TEXT("activation", hd_unary_name(o->stack.act))
    hd_model_config_put_real(to, "eps", (double)o->stack.eps);
}

void hd_encdec_config_write(hd_text *to, const hd_encdec_opt *o)
{
    hd_encdec_opt m = *o;
    /* as a model has them that was made: stages say how many layers they have */
    m.encoder = hd_stages_resolved(&m.encoder, m.encoder_layers);
    m.decoder = hd_stages_resolved(&m.decoder, m.decoder_layers);
    m.encoder_layers = m.encoder.at[0].layers, m.decoder_layers = m.decoder.at[0].layers;
    put_model(to, &m);
}

/* -- reading -- */

#define GET_SIZE(key, field, least) \
    o->field = (__typeof__(o->field))hd_model_config_whole(c, key, least, MOST_SIZE);
#define GET_VOCAB(key, field, least) \
    if (hd_model_config_has(c, key)) o->field = (size_t)hd_model_config_whole(c, key, least, INT32_MAX);
#define GET_SWITCH(key, field) o->field = hd_model_config_switch(c, key);
#define GET_STAGES(key, field) o->field = hd_model_config_stages(c, key);
#define GET_CHOICE(key, field, names, count) \
    o->field = (__typeof__(o->field))hd_model_config_name(c, key, names, count);

void hd_encdec_config_read(hd_model_config *c, hd_encdec_opt *o)
{
    const char *model = hd_model_config_text(c, "model");
    bool more = !strcmp(model, encdec), is_t5 = !strcmp(model, t5);
    *o = is_t5 ? hd_encdec_opt_t5() : (hd_encdec_opt){.sinusoid = {.halves = true}}; /* as Marian */
    o->encoder_layers = o->decoder_layers = 1;
    if (!more && !is_t5 && strcmp(model, transformer))
        hd_model_config_refuse(c, "\"model\" is \"%.40s\", not \"%s\", \"%s\" or \"%s\"", model, transformer,
                               encdec, t5);
    if (more) {
        STAGES(GET_STAGES)
        o->cell = hd_model_config_cell(c);
        CHOICES(GET_CHOICE)
        MORE_SIZES(GET_SIZE)
        MORE_SWITCHES(GET_SWITCH)
    } else {
        LAYERS(GET_SIZE)
    }
    SIZES(GET_SIZE)
    if (is_t5) {
        T5_SIZES(GET_SIZE)
        T5_SWITCHES(GET_SWITCH)
        o->target_vocab = o->source_vocab;
    } else {
        SWITCHES(GET_SWITCH)
        VOCABS(GET_VOCAB)
        if (hd_model_config_has(c, "unscaled")) GET_SWITCH("unscaled", unscaled)
        if (hd_model_config_has(c, "no_positions")) GET_SWITCH("no_positions", no_positions)
        if (hd_model_config_has(c, "unscaled_scores")) GET_SWITCH("unscaled_scores", stack.unscaled_scores)
    }
    o->stack.eps = (float)hd_model_config_real(c, "eps", 1);
    o->stack.act = hd_model_config_activation(c, "activation");
    if (o->encoder_layers > MOST_LAYERS || o->decoder_layers > MOST_LAYERS)
        hd_model_config_refuse(c, "more than %d layers", MOST_LAYERS);
}

/* -- telling -- */

static void tell_stages(hd_details *to, const hd_encdec_opt *o)
{
    char text[HD_STAGES_TEXT];
    if (hd_encdec_kind(o) == encdec) {
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
    hd_details_whole(to, "positions", o->positions);
    hd_details_flag(to, "tied", o->tied);
    if (o->own_output) hd_details_flag(to, "own_output", true);
}
