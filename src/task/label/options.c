/* What the options of a run mean to a classifier or tagger. */
#include "task/label/options.h"

#include "run/loop.h"
#include "task/label/pretrained.h"

hd_status hd_label_stages(hd_stages *out, const hd_train_options *o, hd_err *err)
{
    static const hd_stage_kind kinds[] = {[HD_LM_rnn] = HD_STAGE_rnn,
                                          [HD_LM_gru] = HD_STAGE_gru,
                                          [HD_LM_lstm] = HD_STAGE_lstm,
                                          [HD_TRAIN_MODEL_TRANSFORMER] = HD_STAGE_transformer};
    if (o->encoder) return hd_stages_read(out, o->encoder, err);
    if (o->model < HD_LM_rnn || o->model == HD_LM_gpt)
        return hd_err_set(err, HD_EARG,
                          "--model %s is for --task lm: use rnn, gru, lstm or transformer, or --encoder",
                          hd_lm_names[o->model]);
    *out = (hd_stages){.at = {{.kind = kinds[o->model]}}, .count = 1};
    return HD_OK;
}

static hd_pool_kind pool_of(const hd_train_options *o, const hd_stages *s)
{
    if (o->task == HD_TRAIN_TAG) return HD_POOL_each;
    if (o->pool) return (hd_pool_kind)(o->pool - 1);
    return hd_stage_recurs(&s->at[s->count - 1]) ? HD_POOL_last : HD_POOL_mean;
}

hd_status hd_label_model(hd_classifier_opt *to, const hd_train_options *o, hd_err *err)
{
    hd_stages stages;
    hd_frozen frozen = {o->freeze.text, (size_t)o->freeze.count};
    if (o->from) { /* the rest is the body of that model */
        *to = (hd_classifier_opt){
            .body = {.positions = (size_t)o->max_length, .stack.dropout = (float)o->dropout},
            .pool = (hd_pool_kind)(o->pool - 1),
            .frozen = frozen};
        return HD_OK;
    }
    hd_status s = hd_label_stages(&stages, o, err);
    if (s) return s;
    if (hd_stages_have(&stages, HD_STAGE_transformer) && o->width % o->heads)
        return hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    *to = (hd_classifier_opt){.body = {.encoder = hd_stages_resolved(&stages, o->layers),
                                       .positions = (size_t)o->max_length,
                                       .stack.width = (size_t)o->width,
                                       .stack.inner = (size_t)o->inner,
                                       .stack.heads = o->heads,
                                       .stack.pre_norm = o->norm != 1,
                                       .stack.act = hd_train_block_activation(o->activation, HD_gelu),
                                       .cell = hd_train_cell(o->activation),
                                       .one_hot = o->one_hot,
                                       .stack.dropout = (float)o->dropout},
                              .pool = pool_of(o, &stages),
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
    if (o->from) c.body = origin.body, c.body.positions = m->body.positions;
    if (!o->from) c.body.vocab = 1;
    c.classes = 2;
    if (!s) s = hd_backend_new(&nowhere, "null", NULL, err);
    if (!s) s = hd_classifier_new(&model, nowhere, &c, true, err);
    hd_classifier_free(model);
    hd_backend_free(nowhere);
    hd_origin_release(&origin);
    return s;
}

hd_status hd_label_check(const hd_train_options *o, hd_err *err)
{
    hd_classifier_opt model;
    const char *file;
    hd_status s = hd_train_check_files(o, "labeled items are in one file", err);
    if (s) return s;
    if (o->max_length < 3) return hd_err_set(err, HD_EARG, "--max-length %d: at least 3", o->max_length);
    if (o->pool == 1 + HD_POOL_each)
        return hd_err_set(err, HD_EARG, "--pool each is what --task tag does: a label for every token");
    s = hd_train_check_end(o, err);
    if (!s) s = hd_train_tokenizer(&file, o, err);
    if (!s) s = hd_label_model(&model, o, err);
    return s || !o->freeze.count || o->resume ? s : attempt(&model, o, err);
}
