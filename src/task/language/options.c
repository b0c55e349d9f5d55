/* The options of a run of a language model. */
#include "task/language/training.h"

#include <stdio.h>

#include "task/language/chat/dialogues.h"

/* Tokens of a batch: of GPT-2's training, and of one that goes on from a model. */
enum { TOKENS = 491520, CONTINUED_TOKENS = 8192 };

/* -- what a kind has -- */

/* A model of music is a gpt. */
static hd_lm_kind kind_of(const hd_train_options *o)
{
    return o->model == HD_TRAIN_MODEL_MUSIC ? HD_LM_gpt : (hd_lm_kind)o->model;
}

enum {
    TRAINED = HD_HAS_UPDATES | HD_HAS_WINDOWS,
    NETWORK = TRAINED | HD_HAS_NETWORK,
    CELLS = NETWORK | HD_HAS_LAYERS,
    BLOCKS = CELLS | HD_HAS_BLOCKS | HD_HAS_POSITIONS | HD_HAS_ACTIVATION,
};

static const struct {
    hd_run_parts parts;
    hd_preset preset; /* where none is named */
} kinds[HD_LM_KINDS] = {
    [HD_LM_ngram] = {HD_HAS_NGRAM, HD_PRESET_NGRAM},
    [HD_LM_maxent] = {TRAINED | HD_HAS_MAXENT, HD_PRESET_MAXENT},
    [HD_LM_ffnn] = {NETWORK | HD_HAS_FFNN | HD_HAS_ACTIVATION, HD_PRESET_FFNN},
    [HD_LM_rnn] = {CELLS | HD_HAS_ACTIVATION, HD_PRESET_RNN},
    [HD_LM_gru] = {CELLS, HD_PRESET_CELLS},
    [HD_LM_lstm] = {CELLS, HD_PRESET_CELLS},
    [HD_LM_gpt] = {BLOCKS, HD_PRESET_GPT},
    [HD_LM_llama] = {BLOCKS | HD_HAS_MODERN, HD_PRESET_LLAMA},
    [HD_LM_moe] = {BLOCKS | HD_HAS_MODERN | HD_HAS_EXPERTS, HD_PRESET_MOE},
    [HD_LM_deepseek] = {BLOCKS | HD_HAS_MODERN | HD_HAS_EXPERTS | HD_HAS_LATENT, HD_PRESET_DEEPSEEK},
};

bool hd_language_has(hd_lm_kind kind, const hd_option *row)
{
    hd_run_parts parts = kinds[kind].parts | HD_HAS_SUBWORDS;
    if (parts & HD_HAS_UPDATES) parts |= HD_HAS_ADAM | HD_HAS_SGD | HD_HAS_DECAY | HD_HAS_VALIDATION;
    if (parts & HD_HAS_BLOCKS) parts |= HD_HAS_MUON;
    if (parts & HD_HAS_NGRAM) parts |= HD_HAS_ADD_K;
    return hd_recipe_has_task(row, HD_TRAIN_LM) && (row->needs & parts || row->from == HD_FROM_TOKENIZER);
}

static hd_run_parts parts_of(const hd_train_options *o)
{
    hd_run_parts parts = kind_of(o) < HD_LM_KINDS ? kinds[kind_of(o)].parts : ~(hd_run_parts)0;
    if (o->model == HD_TRAIN_MODEL_MUSIC) return parts | HD_HAS_MUSIC;
    if (parts & HD_HAS_NGRAM && o->smoothing == HD_SMOOTHING_ADD_K) parts |= HD_HAS_ADD_K;
    if (o->unit == HD_TRAIN_SUBWORD && !o->tokenizer_model.count) parts |= HD_HAS_SUBWORDS;
    return parts;
}

static const char *shape(const hd_train_options *o, char to[HD_RECIPE_TEXT])
{
    snprintf(to, HD_RECIPE_TEXT, "--model is %s", hd_train_model_names[o->model]);
    return to;
}

/* -- what is not given -- */

static hd_status choose(hd_preset *out, const hd_option_set *set, hd_err *err)
{
    const hd_train_options *o = set->into;
    if (kind_of(o) >= HD_LM_KINDS)
        return hd_err_set(err, HD_EARG, "--model transformer is not a language model: --model gpt is one");
    *out = o->model == HD_TRAIN_MODEL_MUSIC ? HD_PRESET_MUSIC : kinds[o->model].preset;
    return HD_OK;
}

/* What the blocks of a model are where they are not those of GPT-2. */
static hd_status take_blocks(hd_taking *t, const hd_lm_opt *m, hd_err *err)
{
    const hd_stack_opt *k = &m->stack;
    const struct {
        const char *name;
        double value; /* of a choice its place */
    } all[] = {{"norm-kind", k->rms},
               {"ffn", k->gated},
               {"bias", k->unbiased       ? 2
                        : k->unbiased_out ? 1
                                          : 0},
               {"kv-heads", k->kv_heads},
               {"head-width", (double)k->head_width},
               {"qk-norm", k->qk_norm},
               {"rope-theta", k->rotary.theta > 0 ? k->rotary.theta : 10000},
               {"sliding-window", k->window},
               {"window-every", k->window_every},
               {"score-cap", (double)k->score_cap},
               {"logit-cap", (double)m->logit_cap}};
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < sizeof all / sizeof *all; i++)
        s = hd_taking_real(t, all[i].name, all[i].value, err);
    return s;
}

static hd_status take_latent(hd_taking *t, const hd_latent_opt *l, hd_err *err)
{
    hd_status s = hd_taking_number(t, "latent-rank", l->rank, err);
    if (!s) s = hd_taking_number(t, "query-rank", l->query_rank, err);
    if (!s) s = hd_taking_number(t, "nope-width", l->plain, err);
    if (!s) s = hd_taking_number(t, "rope-width", l->rotated, err);
    return s ? s : hd_taking_number(t, "value-width", l->value, err);
}

static hd_status take_experts(hd_taking *t, const hd_experts_opt *e, hd_err *err)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"experts", e->count},
               {"experts-used", e->used},
               {"shared-experts", e->shared},
               {"expert-width", (double)e->inner},
               {"dense-layers", e->first},
               {"experts-every", e->every ? e->every : 1},
               {"router", e->router},
               {"expert-groups", e->groups},
               {"expert-groups-used", e->groups_used ? e->groups_used : 1},
               {"router-scale", e->scaling > 0 ? (double)e->scaling : 1},
               {"router-raw", !e->normalized},
               {"router-bias", e->bias}};
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < sizeof all / sizeof *all; i++)
        s = hd_taking_real(t, all[i].name, all[i].value, err);
    return s;
}

static const char *positions_of(const hd_lm_opt *m)
{
    return m->stack.rotary.kind ? "rotary" : m->no_positions ? "none" : hd_gpt_position_names[m->position];
}

static hd_status take_sizes(hd_taking *t, const hd_lm_opt *m, bool music, hd_err *err)
{
    hd_run_parts parts = kinds[m->kind].parts;
    size_t inner = m->stack.inner          ? m->stack.inner
                   : parts & HD_HAS_BLOCKS ? 4 * m->stack.width
                                           : m->stack.width;
    const struct {
        const char *name;
        size_t value;
        hd_run_parts needs;
    } numbers[] = {{"order", (size_t)m->order, HD_HAS_MAXENT | HD_HAS_FFNN},
                   {"hash-buckets", m->buckets, HD_HAS_MAXENT},
                   {"layers", (size_t)m->stack.layers, HD_HAS_LAYERS},
                   {"width", m->stack.width, HD_HAS_NETWORK},
                   {"ffn-size", inner, HD_HAS_FFNN | HD_HAS_BLOCKS},
                   {"heads", (size_t)m->stack.heads, HD_HAS_BLOCKS},
                   {"relative", (size_t)m->stack.relative_span, HD_HAS_BLOCKS},
                   {"local-block", (size_t)m->stack.local_block, HD_HAS_BLOCKS}};
    hd_status s = hd_taking_say(t, "model", music ? "music" : hd_lm_names[m->kind], err);
    if (!s && music) s = hd_taking_number(t, "music-span", m->positions ? m->positions : m->context, err);
    for (size_t i = 0; !s && i < sizeof numbers / sizeof *numbers; i++)
        if (parts & numbers[i].needs) s = hd_taking_number(t, numbers[i].name, numbers[i].value, err);
    if (!s && parts & HD_HAS_BLOCKS) s = hd_taking_say(t, "norm", m->stack.pre_norm ? "pre" : "post", err);
    if (!s && parts & HD_HAS_POSITIONS) s = hd_taking_say(t, "position-kind", positions_of(m), err);
    if (!s && parts & HD_HAS_MODERN) s = take_blocks(t, m, err);
    if (!s && parts & HD_HAS_LATENT) s = take_latent(t, &m->stack.latent, err);
    if (!s && parts & HD_HAS_EXPERTS) s = take_experts(t, &m->stack.experts, err);
    if (!s && parts & HD_HAS_NETWORK) s = hd_taking_number(t, "untied", !m->tied, err);
    if (!s && parts & HD_HAS_ACTIVATION) s = hd_taking_activation(t, m->stack.act, err);
    return s;
}

/* Windows may be shorter than what a gpt can see, not longer. */
static hd_status take(hd_taking *t, hd_err *err)
{
    hd_train_options *o = t->options;
    hd_model_folder f;
    hd_status s = hd_model_folder_describe(&f, o->from, "lm", err);
    if (s) return s;
    const hd_lm_opt m = hd_model_folder_lm(&f)->opt;
    bool music = hd_music_of(f.tokenizer[0]);
    hd_model_folder_release(&f);
    const hd_model_type *type = hd_lm_types[m.kind];
    if (type->lm.count)
        return hd_err_set(err, HD_EARG, "--from %s: an %s counts and cannot continue training", o->from,
                          type->name);
    s = take_sizes(t, &m, music, err);
    if (!s) s = hd_taking_number(t, "context", m.context, err);
    if (!s && type->attention && !m.no_positions && (size_t)o->context > m.context)
        s = hd_err_set(err, HD_EARG, "--context is %d, but the model of --from %s sees %zu tokens",
                       o->context, o->from, m.context);
    return s ? s : hd_taking_real(t, "dropout", (double)m.stack.dropout, err);
}

/* Windows of an update: a preset's are told by their tokens, and those of long ones are fewer. */
static hd_status fill_batch(const hd_option_set *set, bool named, hd_err *err)
{
    const hd_train_options *o = set->into;
    if (!(named || o->from) || !(parts_of(o) & HD_HAS_BLOCKS)) return HD_OK;
    bool own = false; /* a preset may say it */
    if (named && hd_preset_value((hd_preset)o->preset, "batch-size", &own) && own) return HD_OK;
    int most = (named ? TOKENS : CONTINUED_TOKENS) / o->context;
    if (!named && most >= o->batch_size) return HD_OK;
    return hd_recipe_follow(set, "batch-size", most ? most : 1, err);
}

static hd_status derive_tokens(const hd_option_set *set, hd_err *err)
{
    const hd_train_options *o = set->into;
    hd_status s = HD_OK;
    if (o->from || o->model == HD_TRAIN_MODEL_MUSIC) return HD_OK;
    if (o->tokenizer_model.count && !strstr(o->tokenizer_model.text[0], ".txt"))
        s = hd_recipe_follow(set, "unit", HD_TRAIN_SUBWORD, err);
    if (!s && o->unit != HD_TRAIN_SUBWORD) s = hd_recipe_follow(set, "vocab-size", HD_TRAIN_ALL_PIECES, err);
    bool network = parts_of(o) & HD_HAS_FFNN;
    int letters = network ? 9 : 6, words = network ? 5 : 3;
    return s ? s : hd_recipe_follow(set, "order", o->unit == HD_TRAIN_CHAR ? letters : words, err);
}

/* Of a gpt. Vectors of distances tell the order of tokens already, but not where in a bar they are. */
static int usual_positions(const hd_train_options *o)
{
    if (parts_of(o) & HD_HAS_MODERN && !o->relative) return HD_TRAIN_POSITIONS_ROTARY;
    if (o->model == HD_TRAIN_MODEL_MUSIC)
        return o->relative ? HD_TRAIN_POSITIONS_PERIODIC : HD_TRAIN_POSITIONS_SINUSOIDAL;
    return o->relative ? HD_TRAIN_POSITIONS_NONE : HD_TRAIN_POSITIONS_LEARNED;
}

static const char *preset_model(const hd_train_options *o)
{
    bool own;
    const char *model = hd_preset_value((hd_preset)o->preset, "model", &own);
    return model ? model : "gpt";
}

/* A gate takes a third matrix: two thirds of the columns have as many weights, in whole vectors. */
static int usual_inner(const hd_train_options *o)
{
    bool gated = parts_of(o) & HD_HAS_MODERN && o->ffn == 1;
    return gated ? (8 * o->width / 3 + 31) / 32 * 32 : 4 * o->width;
}

/* Those that a token uses are as much work as one layer of all columns. */
static hd_status derive_experts(const hd_option_set *set, hd_err *err)
{
    const hd_train_options *o = set->into;
    bool moves = o->balance == HD_TRAIN_BALANCE_BIAS || o->balance == HD_TRAIN_BALANCE_BOTH;
    if (!(parts_of(o) & HD_HAS_EXPERTS)) return HD_OK;
    if (o->from) return o->router_bias ? HD_OK : hd_recipe_follow(set, "balance", HD_TRAIN_BALANCE_LOSS, err);
    int each = (o->ffn_size / (o->experts_used + o->shared_experts) + 4) / 8 * 8; /* products like eights */
    hd_status s = o->expert_width ? HD_OK : hd_recipe_follow(set, "expert-width", each ? each : 8, err);
    return !s && moves ? hd_recipe_follow(set, "router-bias", 1, err) : s;
}

static hd_status derive(const hd_option_set *set, bool named, hd_err *err)
{
    const hd_train_options *o = set->into;
    bool gpt = parts_of(o) & HD_HAS_BLOCKS;
    const char *model = named ? preset_model(o) : NULL;
    if (named && kind_of(o) < HD_LM_KINDS && strcmp(hd_lm_names[kind_of(o)], model))
        return hd_err_set(err, HD_EARG, "--preset %s is a %s: --model %s does not go with it",
                          hd_preset_names[o->preset], model, hd_train_model_names[o->model]);
    hd_status s = fill_batch(set, named, err);
    if (!s && o->from && !named)
        s = hd_recipe_continue(
            set, (gpt ? hd_recipe_rate((size_t)o->width) : o->lr / 10) * (o->lora ? 10 : 1), err);
    if (!s && gpt && !o->from) s = hd_recipe_follow(set, "ffn-size", usual_inner(o), err);
    if (!s && gpt && !o->from) s = hd_recipe_follow(set, "position-kind", usual_positions(o), err);
    if (!s) s = derive_experts(set, err);
    return s ? s : derive_tokens(set, err);
}

const hd_recipe hd_recipe_lm = {NULL, choose, take, derive, parts_of, shape};

/* -- what they mean -- */

/* Options of blocks that a gpt does not have. */
static void set_blocks(hd_lm_opt *m, const hd_train_options *o)
{
    hd_stack_opt *k = &m->stack;
    k->rms = o->norm_kind == 1, k->gated = o->ffn == 1;
    k->unbiased = o->bias == 2, k->unbiased_out = k->unbiased_inner = o->bias == 1;
    k->kv_heads = o->kv_heads, k->head_width = (size_t)o->head_width;
    k->qk_norm = (hd_qk_norm)o->qk_norm;
    k->window = o->window, k->window_every = o->window_every;
    k->score_cap = (float)o->score_cap, m->logit_cap = (float)o->logit_cap;
    if (o->position_kind == HD_TRAIN_POSITIONS_ROTARY)
        k->rotary = (hd_rotary){.kind = HD_ROTARY_HALVES, .theta = o->rope_theta};
    if (!(parts_of(o) & HD_HAS_LATENT)) return;
    if (k->rotary.kind) k->rotary.kind = HD_ROTARY_INTERLEAVED;
    k->latent = (hd_latent_opt){.rank = (size_t)o->latent_rank,
                                .query_rank = (size_t)o->query_rank,
                                .plain = (size_t)o->nope_width,
                                .rotated = (size_t)o->rope_width,
                                .value = (size_t)o->value_width};
}

static hd_experts_opt experts_of(const hd_train_options *o)
{
    bool moves = o->balance == HD_TRAIN_BALANCE_BIAS || o->balance == HD_TRAIN_BALANCE_BOTH,
         loss = o->balance == HD_TRAIN_BALANCE_LOSS, by_item = o->balance == HD_TRAIN_BALANCE_SEQUENCE;
    by_item |= o->balance == HD_TRAIN_BALANCE_BOTH;
    return (hd_experts_opt){.count = o->experts,
                            .used = o->experts_used,
                            .shared = o->shared_experts,
                            .inner = (size_t)o->expert_width,
                            .router = (hd_router)o->router,
                            .groups = o->expert_groups,
                            .groups_used = o->expert_groups ? o->expert_groups_used : 0,
                            .scaling = (float)o->router_scale,
                            .normalized = !o->router_raw,
                            .first = o->dense_layers,
                            .every = o->experts_every > 1 ? o->experts_every : 0,
                            .balance = loss || by_item ? (float)o->balance_loss : 0,
                            .by_item = by_item,
                            .bias = o->router_bias,
                            .bias_rate = moves ? (float)o->balance_rate : 0};
}

hd_lm_opt hd_language_model(const hd_train_options *o)
{
    bool music = o->model == HD_TRAIN_MODEL_MUSIC;
    hd_lm_opt m = {.kind = kind_of(o),
                   .position = o->position_kind == HD_TRAIN_POSITIONS_SINUSOIDAL ? HD_GPT_SINUSOIDAL
                               : o->position_kind == HD_TRAIN_POSITIONS_PERIODIC ? HD_GPT_PERIODIC
                                                                                 : HD_GPT_LEARNED,
                   .positions = music && o->music_span > o->context ? (size_t)o->music_span : 0,
                   .context = (size_t)o->context,
                   .order = o->order,
                   .smoothing = (hd_smoothing)o->smoothing,
                   .k = o->add_k,
                   .buckets = (size_t)o->hash_buckets,
                   .stack.layers = o->layers,
                   .stack.heads = o->heads,
                   .stack.width = (size_t)o->width,
                   .stack.inner = (size_t)o->ffn_size,
                   .stack.dropout = (float)o->dropout,
                   .embedding_dropout = (float)o->dropout,
                   .stack.attention_dropout = (float)o->dropout,
                   .stack.pre_norm = o->norm != 1,
                   .stack.relative_span = o->relative,
                   .stack.local_block = o->local_block,
                   .no_positions =
                       parts_of(o) & HD_HAS_POSITIONS && o->position_kind == HD_TRAIN_POSITIONS_NONE,
                   /* a hidden layer of another width needs an output table of its own */
                   .tied = !o->untied && (!(parts_of(o) & HD_HAS_FFNN) || o->ffn_size == o->width),
                   .stack.act = hd_train_activation(o->activation)};
    if (parts_of(o) & HD_HAS_MODERN) set_blocks(&m, o);
    if (parts_of(o) & HD_HAS_EXPERTS) m.stack.experts = experts_of(o);
    return m;
}

/* With the words of the stack where options do not fit each other. */
static hd_status check_blocks(const hd_train_options *o, hd_err *err)
{
    hd_lm_opt m = hd_language_model(o);
    m.stack.names = &hd_stack_llama, m.stack.causal = true;
    if (!o->head_width && !m.stack.latent.rank && o->width % o->heads)
        return hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    if (m.stack.experts.bias_rate > 0 && !m.stack.experts.bias)
        return hd_err_set(err, HD_EARG,
                          "--balance %s moves biases of the router, which has none: --balance loss",
                          o->balance == HD_TRAIN_BALANCE_BOTH ? "both" : "bias");
    hd_status s = o->from ? HD_OK : hd_stack_check(&m.stack, err);
    return s ? s : hd_train_check_end(o, err);
}

hd_status hd_language_check(const hd_train_options *o, hd_err *err)
{
    const char *file, *kind = hd_train_model_names[o->model];
    hd_run_parts parts = parts_of(o);
    hd_status s = hd_train_check_files(o, NULL, err);
    if (!s) s = hd_train_tokenizer(&file, o, err);
    if (s) return s;
    if (parts & HD_HAS_MUSIC && o->line_windows)
        return hd_err_set(err, HD_EARG, "--line-windows is for texts: windows of music begin with bars");
    if (parts & HD_HAS_MUSIC && o->shards)
        return hd_err_set(err, HD_EARG, "--shards is for texts: music is read to memory");
    if (o->documents && o->line_windows)
        return hd_err_set(err, HD_EARG, "--documents and --line-windows exclude each other");
    if (o->documents && (parts & HD_HAS_MUSIC || o->shards || hd_is_dialogues(o->train.text[0])))
        return hd_err_set(err, HD_EARG, "--documents is for texts: not for music, dialogues or --shards");
    if (parts & HD_HAS_NGRAM && o->order > HD_NGRAM_MOST)
        return hd_err_set(err, HD_EARG, "--order %d: an ngram has at most %d", o->order, HD_NGRAM_MOST);
    if (parts & (HD_HAS_FFNN | HD_HAS_MAXENT) && o->order < 2)
        return hd_err_set(err, HD_EARG, "--order 1: a %s looks at one token at least: --order 2", kind);
    if (parts & HD_HAS_NGRAM) return HD_OK;
    if (parts & HD_HAS_POSITIONS && !(parts & HD_HAS_MODERN) && o->position_kind == HD_TRAIN_POSITIONS_ROTARY)
        return hd_err_set(err, HD_EARG, "--position-kind rotary needs --model llama: here it is %s", kind);
    if (parts & HD_HAS_MODERN) return check_blocks(o, err);
    if (parts & HD_HAS_BLOCKS && o->width % o->heads)
        return hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    hd_unary act = hd_train_activation(o->activation);
    if (kinds[kind_of(o)].parts == (CELLS | HD_HAS_ACTIVATION) && act != HD_tanh && act != HD_sigmoid)
        return hd_err_set(err, HD_EARG, "--activation of a %s is tanh or sigmoid", kind);
    return hd_train_check_end(o, err);
}
