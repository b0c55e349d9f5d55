/* The options of a run of a classifier or tagger. */
#include "task/label/training.h"

#include "run/pictures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 512 }; /* tokens of an item, where the model has as many positions */
enum { CARD_STEPS = 80000, CORE_STEPS = 5500, MOST_EPOCHS = 300 }; /* of pictures, where nothing is said */

/* Whether every token has a label. */
static bool tags(const hd_train_options *o)
{
    return hd_label_kind_of((hd_train_task)o->task)->each;
}

/* -- what an encoder has -- */

/* The stages of --encoder, or the one of --model. */
static hd_status stages_of(hd_stages *out, const hd_train_options *o, hd_err *err)
{
    static const hd_stage_kind kinds[] = {[HD_LM_rnn] = HD_STAGE_rnn,
                                          [HD_LM_gru] = HD_STAGE_gru,
                                          [HD_LM_lstm] = HD_STAGE_lstm,
                                          [HD_TRAIN_MODEL_TRANSFORMER] = HD_STAGE_transformer};
    if (o->encoder) return hd_stages_read(out, o->encoder, err);
    if (o->model < HD_LM_rnn || (o->model >= HD_LM_gpt && o->model < HD_LM_KINDS) ||
        o->model == HD_TRAIN_MODEL_MUSIC)
        return hd_err_set(err, HD_EARG,
                          "--model %s is for --task lm: use rnn, gru, lstm or transformer, or --encoder",
                          hd_train_model_names[o->model]);
    *out = (hd_stages){.at = {{.kind = kinds[o->model]}}, .count = 1};
    return HD_OK;
}

static hd_run_parts parts_of(const hd_train_options *o)
{
    hd_stages stages;
    hd_run_parts parts = HD_HAS_UPDATES | HD_HAS_NETWORK | HD_HAS_LAYERS;
    if (o->model == HD_TRAIN_MODEL_IMAGE + HD_IMAGE_vit)
        return parts | HD_HAS_BLOCKS | HD_HAS_ACTIVATION | HD_HAS_PICTURES | HD_HAS_VIT;
    if (hd_train_pictures(o)) return HD_HAS_UPDATES | HD_HAS_NETWORK | HD_HAS_PICTURES | HD_HAS_RESNET;
    if (o->unit == HD_TRAIN_SUBWORD && !o->tokenizer_model.count) parts |= HD_HAS_SUBWORDS;
    if (o->from) return parts | HD_HAS_BLOCKS | HD_HAS_ACTIVATION;
    if (stages_of(&stages, o, NULL)) return ~(hd_run_parts)0; /* the check of the task says why */
    hd_stage_kind active = hd_train_names_cell(o->activation) ? HD_STAGE_rnn : HD_STAGE_transformer;
    if (hd_stages_have(&stages, HD_STAGE_transformer)) parts |= HD_HAS_BLOCKS;
    if (hd_stages_have(&stages, active)) parts |= HD_HAS_ACTIVATION;
    if (hd_stage_recurs(&stages.at[0])) parts |= HD_HAS_CELLS_FIRST;
    return parts;
}

static const char *shape(const hd_train_options *o, char to[HD_RECIPE_TEXT])
{
    hd_stages stages;
    char text[HD_STAGES_TEXT];
    snprintf(to, HD_RECIPE_TEXT, "the model is a %s, which reads pictures", hd_train_model_names[o->model]);
    if (hd_train_pictures(o)) return to;
    if (stages_of(&stages, o, NULL)) return "";
    snprintf(to, HD_RECIPE_TEXT, "the encoder is %s", hd_stages_text(&stages, text));
    return to;
}

/* -- a model that is fine-tuned -- */

/* 2e-5 at the width of bert-base; the narrower, the larger. Recurrent layers, and weights that were only
   drawn, bear more (measured at a width of 128: docs/classification.md). */
static double rate_of(const hd_body_opt *b, bool scratch)
{
    bool recurs = hd_body_model(b)->lm.state;
    double rate = 2e-5 * pow(768 / (double)hd_body_width(b), 1.5);
    if (b->encoder.count || scratch) rate *= 3;
    return fmin(recurs ? 5 * rate : rate, 0.002);
}

static hd_status take_sizes(hd_taking *t, hd_body_opt *b, hd_err *err)
{
    const hd_stack_opt *o = hd_body_stack(b);
    int layers = b->encoder.count ? b->encoder.at[0].layers : o->layers;
    hd_status s = hd_taking_number(t, "layers", (size_t)layers, err);
    if (!s) s = hd_taking_number(t, "width", o->width, err);
    if (!s) s = hd_taking_number(t, "heads", (size_t)o->heads, err);
    if (!s && o->inner) s = hd_taking_number(t, "ffn-size", o->inner, err);
    return s;
}

/* A model that reads pictures. */
static hd_status take_pictures(hd_taking *t, const hd_origin *origin, hd_err *err)
{
    const hd_classifier_opt *m = &origin->model;
    const hd_image_encoder_opt *o = &m->body.image;
    hd_status s = hd_taking_say(t, "model", hd_body_model(&m->body)->name, err);
    if (!s) s = hd_taking_number(t, "layers", (size_t)o->stack.layers, err);
    if (!s) s = hd_taking_number(t, "width", o->stack.width, err);
    if (!s) s = hd_taking_number(t, "heads", (size_t)o->stack.heads, err);
    if (!s) s = hd_taking_number(t, "ffn-size", o->stack.inner, err);
    if (!s) s = hd_taking_activation(t, o->stack.act, err);
    if (!s) s = hd_taking_number(t, "channels", (size_t)o->channels, err);
    if (!s) s = hd_taking_number(t, "conv-stem", (size_t)o->stem, err);
    if (!s && !o->stem) s = hd_taking_number(t, "patch-size", (size_t)o->patch, err);
    if (!s) s = hd_recipe_follow(t->set, "lr", hd_recipe_rate(o->stack.width), err);
    if (s || t->options->pool) return s;
    return hd_recipe_follow(t->set, "pool", 1 + (int)m->pool, err);
}

/* Longer items than the model has positions for are refused; the positions of stages are as many as there
   are. */
static hd_status fit_length(hd_taking *t, const hd_body_opt *b, hd_err *err)
{
    const hd_train_options *o = t->options;
    int most = b->positions && b->positions < LONGEST ? (int)b->positions : LONGEST;
    hd_status s = hd_recipe_follow(t->set, "max-length", most, err);
    if (s || !b->positions || ((size_t)o->max_length <= b->positions && !b->encoder.count)) return s;
    return hd_taking_number(t, "max-length", b->positions, err);
}

static hd_status take_body(hd_taking *t, hd_origin *origin, hd_err *err)
{
    const hd_train_options *o = t->options;
    hd_body_opt *b = &origin->model.body;
    const hd_model_type *model = hd_body_model(b);
    hd_pool_kind own = model->pooled ? HD_POOL_first : HD_POOL_last;
    bool texts = origin->model.classes && origin->model.pool != HD_POOL_each;
    hd_pool_kind pool = texts ? origin->model.pool : own;
    if (hd_train_given(t->set, "model"))
        return hd_err_set(err, HD_EARG, "--model does not go with --from: it is %s there", model->name);
    if (o->lm_loss > 0 && !model->lm.loss_of)
        return hd_err_set(err, HD_EARG, "--lm-loss: %s is not a language model, but %s", o->from,
                          model->name);
    hd_status s = take_sizes(t, b, err);
    if (!s) s = fit_length(t, b, err);
    if (!s) s = hd_recipe_follow(t->set, "lr", rate_of(b, o->scratch), err);
    if (!s) s = hd_taking_real(t, "dropout", round(1e6 * (double)hd_body_dropout(b)) / 1e6, err);
    return s || o->pool || tags(o) ? s : hd_recipe_follow(t->set, "pool", 1 + (int)pool, err);
}

static hd_status take(hd_taking *t, hd_err *err)
{
    hd_origin origin;
    hd_status s = hd_origin_open(&origin, t->options->from, err);
    if (s) return s;
    s = hd_body_reads_pictures(&origin.model.body) ? take_pictures(t, &origin, err)
                                                   : take_body(t, &origin, err);
    hd_model_folder_release(&origin.folder);
    return s;
}

/* -- what is not given -- */

static hd_status choose(hd_preset *out, const hd_option_set *set, hd_err *err)
{
    const hd_train_options *o = set->into;
    hd_stages stages;
    *out = hd_train_pictures(o) ? HD_PRESET_FINE_TUNING_PICTURES : HD_PRESET_FINE_TUNING;
    if (o->from) return HD_OK;
    bool asked = hd_train_given(set, "model") || hd_train_given(set, "encoder");
    if (asked ? hd_train_pictures(o) : hd_label_finds_pictures(o)) {
        *out = HD_PRESET_VIT_LITE;
        return HD_OK;
    }
    hd_status s = hd_recipe_follow(set, "model", HD_LM_gru, err);
    if (!s) s = stages_of(&stages, o, err);
    if (!s) *out = hd_stage_recurs(&stages.at[stages.count - 1]) ? HD_PRESET_LABELS : HD_PRESET_LABELS_BLOCKS;
    return s;
}

/* Whether a card computes. */
static bool on_card(const hd_train_options *o)
{
    hd_device first;
    bool found = !strcmp(o->device, "auto") && hd_backend_find(&first, "auto");
    return !strcmp(found ? first.backend : o->device, "cuda");
}

/* A run that is short makes do with a smaller model, and what keeps a long one from learning by heart would
   only slow it down. */
static hd_status shorten(const hd_option_set *set, hd_err *err)
{
    static const struct {
        const char *name;
        double value;
    } all[] = {{"drop-path", 0}, {"shift", 1}, {"width", 64}, {"ffn-size", 128}, {"heads", 2}};
    bool sized = hd_train_given(set, "width") || hd_train_given(set, "ffn-size") ||
                 hd_train_given(set, "heads") || hd_train_given(set, "model");
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < (sized ? 2 : sizeof all / sizeof *all); i++)
        s = hd_recipe_follow(set, all[i].name, all[i].value, err);
    return s;
}

/* As many updates as a card makes in less than three minutes, and two cores in fifteen; of few pictures
   fewer. */
static hd_status derive_pictures(const hd_option_set *set, hd_err *err)
{
    const hd_train_options *o = set->into;
    hd_status s = HD_OK;
    if (!o->valid.count) s = hd_recipe_follow(set, "valid-fraction", 0.05, err);
    if (s || o->from || o->epochs || o->steps) return s;
    bool card = on_card(o);
    s = hd_recipe_follow(set, "steps", card ? CARD_STEPS : CORE_STEPS, err);
    if (!s) s = hd_recipe_follow(set, "epochs", MOST_EPOCHS, err);
    if (!s) s = hd_recipe_follow(set, "erase", card ? 0.25 : 0, err);
    return s || card ? s : shorten(set, err);
}

static hd_status derive(const hd_option_set *set, bool named, hd_err *err)
{
    const hd_train_options *o = set->into;
    hd_stages stages;
    hd_status s = HD_OK;
    (void)named;
    if (hd_train_pictures(o)) return derive_pictures(set, err);
    if (!o->valid.count) s = hd_recipe_follow(set, "valid-fraction", 0.1, err);
    if (s || o->from) return s;
    s = stages_of(&stages, o, err);
    if (!s && !hd_stages_have(&stages, HD_STAGE_transformer)) {
        s = hd_recipe_follow(set, "heads", 1, err);
        if (!s) s = hd_recipe_follow(set, "ffn-size", 1, err);
    }
    if (!s && tags(o)) s = hd_recipe_follow(set, "unit", HD_TRAIN_WORD, err);
    if (!s && o->unit != HD_TRAIN_SUBWORD) s = hd_recipe_follow(set, "vocab-size", HD_TRAIN_ALL_PIECES, err);
    return s;
}

const hd_recipe hd_recipe_labels = {NULL, choose, take, derive, parts_of, shape};

/* -- what they mean -- */

static hd_pool_kind pool_of(const hd_train_options *o, const hd_stages *s)
{
    if (tags(o)) return HD_POOL_each;
    if (o->pool) return (hd_pool_kind)(o->pool - 1);
    return hd_stage_recurs(&s->at[s->count - 1]) ? HD_POOL_last : HD_POOL_mean;
}

/* All but the size of pictures. A class token is there where it is read. */
static void model_of_pictures(hd_classifier_opt *to, const hd_train_options *o)
{
    int kind = o->model - HD_TRAIN_MODEL_IMAGE;
    hd_image_encoder_opt e = hd_train_image_encoder(o, kind, o->layers);
    e.class_token = kind == HD_IMAGE_vit && (o->pool ? o->pool == 1 + HD_POOL_first : !o->conv_stem);
    e.stack.act = hd_train_block_activation(o->activation, HD_gelu);
    *to = (hd_classifier_opt){.body = {.type = hd_model_find(hd_train_model_names[o->model]), .image = e},
                              .pool = o->pool         ? (hd_pool_kind)(o->pool - 1)
                                      : e.class_token ? HD_POOL_first
                                                      : HD_POOL_mean};
}

hd_status hd_label_model(hd_classifier_opt *to, const hd_train_options *o, hd_err *err)
{
    hd_stages stages;
    const hd_head *head = hd_label_kind_of((hd_train_task)o->task)->head;
    hd_frozen frozen = {o->freeze.text, (size_t)o->freeze.count};
    if (hd_train_pictures(o)) {
        model_of_pictures(to, o);
        to->head = head, to->frozen = frozen;
        return HD_OK;
    }
    if (o->from) { /* the rest is the body of that model */
        *to = (hd_classifier_opt){
            .body = {.positions = (size_t)o->max_length, .stack.dropout = (float)o->dropout},
            .pool = tags(o) ? HD_POOL_each : (hd_pool_kind)(o->pool - 1),
            .head = head,
            .frozen = frozen};
        return HD_OK;
    }
    hd_status s = stages_of(&stages, o, err);
    if (s) return s;
    if (hd_stages_have(&stages, HD_STAGE_transformer) && o->width % o->heads)
        return hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    *to = (hd_classifier_opt){.body = {.encoder = hd_stages_resolved(&stages, o->layers),
                                       .positions = (size_t)o->max_length,
                                       .stack.width = (size_t)o->width,
                                       .stack.inner = (size_t)o->ffn_size,
                                       .stack.heads = o->heads,
                                       .stack.pre_norm = o->norm != 1,
                                       .stack.act = hd_train_block_activation(o->activation, HD_gelu),
                                       .cell = hd_train_cell(o->activation),
                                       .one_hot = o->one_hot,
                                       .stack.dropout = (float)o->dropout},
                              .pool = pool_of(o, &stages),
                              .bare = tags(o),
                              .head = head,
                              .frozen = frozen};
    if (hd_train_names_cell(o->activation) && !hd_stages_have(&stages, HD_STAGE_rnn))
        return hd_err_set(err, HD_EARG, "--activation %s is of an rnn, and the encoder has none",
                          hd_unary_name(hd_train_activation(o->activation)));
    const hd_stages *all = &to->body.encoder;
    for (int i = 0; i < all->count; i++)
        if (hd_stage_recurs(&all->at[i]) && all->at[i].layers > HD_RECURRENT_LAYERS)
            return hd_err_set(err, HD_EARG, "%d recurrent layers: at most %d can be stacked",
                              all->at[i].layers, HD_RECURRENT_LAYERS);
    return HD_OK;
}

/* Makes the model on a machine that computes nothing: a pattern that freezes nothing is said before any data
   is read. */
static hd_status attempt(const hd_classifier_opt *m, const hd_train_options *o, hd_err *err)
{
    hd_origin origin = {0};
    hd_backend *nowhere = NULL;
    hd_classifier *model = NULL;
    hd_classifier_opt c = *m;
    hd_status s = o->from ? hd_origin_open(&origin, o->from, err) : HD_OK;
    if (o->from) c.body = origin.model.body, c.body.positions = m->body.positions;
    if (!o->from) c.body.vocab = 1;
    if (!o->from && hd_train_pictures(o)) { /* of any size that fits */
        hd_image_encoder_opt *image = &c.body.image;
        image->height = image->width = o->image_size ? o->image_size : 4 * (image->stem ? 16 : image->patch);
    }
    c.classes = c.head->least;
    if (!s) s = hd_backend_new(&nowhere, "null", NULL, err);
    if (!s) s = hd_classifier_new(&model, nowhere, &c, true, err);
    hd_classifier_free(model);
    hd_backend_free(nowhere);
    hd_model_folder_release(&origin.folder);
    return s;
}

static hd_status check_pictures(const hd_train_options *o, hd_err *err)
{
    if (o->task != HD_TRAIN_CLASSIFY)
        return hd_err_set(err, HD_EARG, "--model %s is for --task classify: a label for each picture",
                          hd_train_model_names[o->model]);
    if (o->model - HD_TRAIN_MODEL_IMAGE != HD_IMAGE_vit && o->pool == 1 + HD_POOL_first)
        return hd_err_set(err, HD_EARG,
                          "--pool first reads the class token of a vit: of another model mean or max");
    if (o->norm == 1) return hd_err_set(err, HD_EARG, "--norm post: a vit normalizes before its sublayers");
    if (o->pool == 1 + HD_POOL_last)
        return hd_err_set(err, HD_EARG, "--pool last is for texts: of a picture first, mean or max");
    if (o->channels == 2)
        return hd_err_set(err, HD_EARG, "--channels 2: pictures have 1 (gray) or 3 (color)");
    return HD_OK;
}

hd_status hd_label_check(const hd_train_options *o, hd_err *err)
{
    hd_classifier_opt model;
    const char *file;
    const bool pictures = hd_train_pictures(o);
    hd_status s = hd_train_check_files(o, pictures ? NULL : "labeled items are in one file", err);
    if (!s && pictures) s = check_pictures(o, err);
    if (!s && !pictures && o->on_invalid == 1)
        s = hd_err_set(err, HD_EARG, "--on-invalid skip is for pictures that cannot be read");
    if (s) return s;
    if (!pictures && o->max_length < 3)
        return hd_err_set(err, HD_EARG, "--max-length %d: at least 3", o->max_length);
    if (o->pool == 1 + HD_POOL_each)
        return hd_err_set(err, HD_EARG, "--pool each is what --task tag does: a label for every token");
    s = hd_train_check_end(o, err);
    if (!s) s = hd_train_tokenizer(&file, o, err);
    if (!s) s = hd_label_model(&model, o, err);
    return s || !o->freeze.count || o->resume ? s : attempt(&model, o, err);
}
