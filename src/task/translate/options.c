/* What the options of a run mean to a translator: which of them its encoder and decoder have, and the model.
 */
#include "task/translate/options.h"

#include <string.h>

#include "run/loop.h"

/* What a model must have for an option to matter. */
typedef enum need { CELLS, LOOK, WINDOW, WORDS, COIN, SAMPLES, BLOCKS, ACTS, PLACES, BACKWARDS, NEEDS } need;

static const char *const need_text[NEEDS] = {
    [CELLS] = "a recurrent --decoder",
    [LOOK] = "a recurrent --decoder with --context attention",
    [WINDOW] = "a recurrent --decoder with local --attention",
    [WORDS] = "a recurrent --decoder alone, which reads the token before",
    [COIN] = "--feeding scheduled or gumbel",
    [SAMPLES] = "--feeding free, scheduled or gumbel",
    [BLOCKS] = "a transformer as --encoder or --decoder",
    [ACTS] = "layers that have it, a transformer (relu, gelu, gelu_tanh, silu) or an rnn (tanh, sigmoid)",
    [PLACES] = "a transformer at the beginning of --encoder or --decoder",
    [BACKWARDS] = "an --encoder that begins with a recurrent network of one direction",
};

static const struct {
    const char *option;
    need need;
} needs[] = {
    {"context", CELLS},        {"begin", CELLS},
    {"read", CELLS},           {"skips", CELLS},
    {"no-feedback", CELLS},    {"relu", CELLS},
    {"score", LOOK},           {"attention", LOOK},
    {"attention-heads", LOOK}, {"project", LOOK},
    {"query", LOOK},           {"feed-context", LOOK},
    {"window", WINDOW},        {"heads", BLOCKS},
    {"inner", BLOCKS},         {"norm", BLOCKS},
    {"activation", ACTS},      {"inner-dropout", BLOCKS},
    {"recompute", BLOCKS},     {"no-scale", BLOCKS},
    {"position-kind", PLACES}, {"reverse-source", BACKWARDS},
    {"feeding", WORDS},        {"sampling-rate", COIN},
    {"sampling-decay", COIN},  {"temperature", SAMPLES},
};

static hd_status read_side(hd_stages *to, const char *option, const char *text, hd_err *err)
{
    hd_err why = {0};
    if (!hd_stages_read(to, text ? text : "transformer", &why)) return HD_OK;
    return hd_err_set(err, HD_EARG, "--%s: %s", option, why.text);
}

static hd_status read_context(hd_context *to, const char *text, hd_err *err)
{
    static const hd_option row = {"context", .type = HD_OPTION_CHOICE, .choices = hd_context_names};
    hd_err why = {0};
    int found = HD_CONTEXT_attention;
    if (text && hd_option_read(&row, &found, text, &why))
        return hd_err_set(err, HD_EARG, "--context: %s", why.text);
    *to = (hd_context)found;
    return HD_OK;
}

static hd_status read_shape(hd_encdec_opt *to, const hd_train_options *o, hd_err *err)
{
    hd_status s = read_side(&to->encoder, "encoder", o->encoder, err);
    if (!s) s = read_side(&to->decoder, "decoder", o->decoder, err);
    return s ? s : read_context(&to->recurrent.context, o->context, err);
}

static bool either_has(const hd_encdec_opt *m, hd_stage_kind kind)
{
    return hd_stages_have(&m->encoder, kind) || hd_stages_have(&m->decoder, kind);
}

static bool has(const hd_encdec_opt *m, const hd_train_options *o, need n)
{
    const hd_stage *first = &m->encoder.at[0];
    bool cells = hd_stages_recur(&m->decoder);
    bool look = cells && m->recurrent.context == HD_CONTEXT_attention;
    bool words = cells && m->decoder.count == 1 && !o->no_feedback;
    switch (n) {
    case CELLS:
        return cells;
    case LOOK:
        return look;
    case WINDOW:
        return look && o->attention != HD_LOCALITY_GLOBAL;
    case WORDS:
        return words;
    case COIN:
        return words && (o->feeding == HD_FEEDING_scheduled || o->feeding == HD_FEEDING_gumbel);
    case SAMPLES:
        return words && o->feeding != HD_FEEDING_teacher;
    case BLOCKS:
        return either_has(m, HD_STAGE_transformer);
    case ACTS:
        return either_has(m, hd_train_names_cell(o->activation) ? HD_STAGE_rnn : HD_STAGE_transformer);
    case PLACES:
        return first->kind == HD_STAGE_transformer || m->decoder.at[0].kind == HD_STAGE_transformer;
    case BACKWARDS:
        return hd_stage_recurs(first) && !first->both_ways;
    case NEEDS:
        break;
    }
    return true;
}

bool hd_train_encdec_idle(const hd_train_options *o, const char *option)
{
    hd_encdec_opt m = {0};
    if (read_shape(&m, o, &(hd_err){0})) return false;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (!strcmp(needs[i].option, option)) return !has(&m, o, needs[i].need);
    return false;
}

/* A flag that was taken back is not asked for. */
static bool asked_for(hd_option_place at)
{
    return *at.given && (at.option->type != HD_OPTION_FLAG || *(const bool *)at.field);
}

hd_status hd_train_encdec_belong(const hd_option_set sets[2], hd_err *err)
{
    const hd_train_options *o = sets[0].into;
    hd_encdec_opt m = {0};
    char from[HD_STAGES_TEXT], to[HD_STAGES_TEXT];
    hd_status s = read_shape(&m, o, err);
    for (size_t i = 0; !s && i < sizeof needs / sizeof *needs; i++) {
        const char *name = needs[i].option;
        if (asked_for(hd_option_find(sets, name, strlen(name))) && !has(&m, o, needs[i].need))
            s = hd_err_set(err, HD_EARG, "--%s needs %s: here --encoder is %s, --decoder %s%s%s", name,
                           need_text[needs[i].need], hd_stages_text(&m.encoder, from),
                           hd_stages_text(&m.decoder, to), has(&m, o, CELLS) ? ", --context " : "",
                           has(&m, o, CELLS) ? hd_context_names[m.recurrent.context] : "");
    }
    return s;
}

/* Makes the model on a machine that computes nothing: whatever cannot go together is said before any data is
   read. */
static hd_status attempt(const hd_encdec_opt *m, const hd_feeding *feeding, hd_err *err)
{
    hd_backend *nowhere = NULL;
    hd_encdec *model = NULL;
    hd_encdec_opt o = *m;
    o.source_vocab = o.target_vocab = 1;
    hd_status s = hd_backend_new(&nowhere, "null", NULL, err);
    if (!s) s = hd_encdec_new(&model, nowhere, &o, true, err);
    if (!s) s = hd_encdec_feed(model, feeding, err);
    hd_encdec_free(model);
    hd_backend_free(nowhere);
    return s;
}

static hd_encdec_opt model_of(const hd_train_options *o)
{
    return (hd_encdec_opt){.encoder_layers = o->encoder_layers,
                           .decoder_layers = o->decoder_layers,
                           .stack.heads = o->heads,
                           .stack.width = (size_t)o->width,
                           .stack.inner = (size_t)o->inner,
                           .tied = !o->untied,
                           .stack.pre_norm = o->norm == 0,
                           .stack.eps = 1e-5f,
                           .stack.act = hd_train_block_activation(o->activation, HD_relu),
                           .cell = hd_train_cell(o->activation),
                           .stack.dropout = (float)o->dropout,
                           .stack.attention_dropout = (float)o->attention_dropout,
                           .stack.inner_dropout = (float)o->inner_dropout,
                           .source_dropout = (float)o->source_dropout,
                           .learned_positions = o->position_kind == 1,
                           .no_positions = o->position_kind == 2,
                           .stack.unscaled_scores = o->no_scale,
                           .positions = (size_t)o->positions,
                           .sinusoid = {.halves = true},
                           .stack.recompute = o->recompute,
                           .frozen = {o->freeze.text, (size_t)o->freeze.count}};
}

hd_status hd_translate_model(hd_encdec_opt *to, hd_feeding *feeding, const hd_train_options *o, hd_err *err)
{
    *to = model_of(o);
    *feeding = (hd_feeding){(hd_feeding_kind)o->feeding, (float)o->sampling_rate, (float)o->temperature};
    to->recurrent = (hd_recurrent_decoder_opt){.begin = (hd_beginning)o->begin,
                                               .query = (hd_asking)o->query,
                                               .read = (hd_reading)o->read,
                                               .score = (hd_scoring)o->score,
                                               .locality = (hd_locality)o->attention,
                                               .window = o->window,
                                               .heads = o->attention_heads,
                                               .project = o->project,
                                               .skips = o->skips,
                                               .no_feedback = o->no_feedback,
                                               .relu = o->relu};
    hd_status s = read_shape(to, o, err);
    if (s) return s;
    /* a preset's, where another option has taken what they are for */
    to->recurrent.feed_context = o->feed_context && has(to, o, LOOK);
    to->reverse_source = o->reverse_source && has(to, o, BACKWARDS);
    if (has(to, o, BLOCKS) && o->width % o->heads)
        return hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    return HD_OK;
}

hd_status hd_translate_check(const hd_train_options *o, hd_err *err)
{
    hd_encdec_opt model;
    hd_feeding feeding;
    hd_status s = hd_train_check_files(o, NULL, err);
    if (s) return s;
    if (o->max_length + 1 > o->positions)
        return hd_err_set(err, HD_EARG, "--positions %d is too few for --max-length %d and the end",
                          o->positions, o->max_length);
    if (o->batch_tokens < o->max_length + 1)
        return hd_err_set(err, HD_EARG,
                          "--batch-tokens %d is less than a sentence of --max-length %d and its end",
                          o->batch_tokens, o->max_length);
    if (o->separate_vocab && !o->untied)
        return hd_err_set(err, HD_EARG, "--separate-vocab needs --untied: tables of their own");
    s = hd_train_check_end(o, err);
    if (!s) s = hd_translate_model(&model, &feeding, o, err);
    return s ? s : attempt(&model, &feeding, err);
}
