/* What model folders hold: translators, language models, masked ones, classifiers and taggers. */
#include "cli/verb/info_models.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/folder.h"
#include "task/any_model.h"
#include "task/translate/config.h"
#include "train/checkpoint.h"
#include "view/draw/markup.h"

static void put_stages(hd_sheet *s, const hd_encdec_opt *o)
{
    char text[HD_STAGES_TEXT];
    if (!strcmp(hd_translator_model_name(o), "encoder-decoder")) {
        hd_sheet_text(s, "encoder", hd_stages_text(&o->encoder, text));
        hd_sheet_text(s, "decoder", hd_stages_text(&o->decoder, text));
    } else {
        hd_sheet_whole(s, "encoder_layers", (uint64_t)o->encoder.at[0].layers);
        hd_sheet_whole(s, "decoder_layers", (uint64_t)o->decoder.at[0].layers);
    }
}

/* What only Transformer blocks have. */
static void put_blocks(hd_sheet *s, const hd_encdec_opt *o)
{
    bool any = hd_stages_have(&o->encoder, HD_STAGE_transformer) ||
               hd_stages_have(&o->decoder, HD_STAGE_transformer);
    if (any) hd_sheet_whole(s, "heads", (uint64_t)o->stack.heads);
    if (any && o->stack.head_width) hd_sheet_whole(s, "head_width", o->stack.head_width);
    hd_sheet_whole(s, "width", o->stack.width);
    if (o->cell == HD_sigmoid) hd_sheet_text(s, "cell", hd_unary_name(o->cell));
    if (!any) return;
    hd_sheet_whole(s, "inner", o->stack.inner);
    if (o->stack.gated) hd_sheet_switch(s, "gated", true);
    if (o->stack.unscaled_scores && !o->stack.relative.buckets) hd_sheet_switch(s, "unscaled_scores", true);
    hd_sheet_text(s, "norm", o->stack.pre_norm ? "pre" : "post");
    hd_sheet_text(s, "activation", hd_unary_name(o->stack.act));
    if (o->encoder.at[0].kind == HD_STAGE_transformer || o->decoder.at[0].kind == HD_STAGE_transformer)
        hd_sheet_text(s, "position_kind",
                      o->stack.relative.buckets ? "relative"
                      : o->no_positions         ? "none"
                      : o->learned_positions    ? "learned"
                                                : "sinusoidal");
    if (o->stack.relative.buckets) {
        hd_sheet_whole(s, "buckets", o->stack.relative.buckets);
        hd_sheet_whole(s, "reach", (uint64_t)o->stack.relative.reach);
    }
}

/* What only a recurrent decoder has. */
static void put_cells(hd_sheet *s, const hd_encdec *m)
{
    const hd_recurrent_decoder_opt *o = &m->cells.opt;
    hd_sheet_text(s, "context", hd_context_names[o->context]);
    if (o->context == HD_CONTEXT_attention) {
        hd_sheet_text(s, "score", hd_scoring_names[o->score]);
        hd_sheet_text(s, "attention", hd_locality_names[o->locality]);
        if (o->locality != HD_LOCALITY_GLOBAL) hd_sheet_whole(s, "window", (uint64_t)o->window);
        hd_sheet_whole(s, "attention_heads", (uint64_t)o->heads);
        hd_sheet_switch(s, "project", m->cells.look.opt.project);
        hd_sheet_text(s, "query", hd_asking_names[o->query]);
        hd_sheet_switch(s, "feed_context", o->feed_context);
    }
    hd_sheet_text(s, "begin", hd_beginning_names[o->begin]);
    hd_sheet_text(s, "read", hd_reading_names[o->read]);
    if (o->skips) hd_sheet_switch(s, "skips", true);
    if (o->no_feedback) hd_sheet_switch(s, "no_feedback", true);
    if (o->relu) hd_sheet_switch(s, "relu", true);
    if (m->opt.reverse_source) hd_sheet_switch(s, "reverse_source", true);
}

static void put_model(hd_sheet *s, const hd_encdec *m)
{
    const hd_encdec_opt *o = &m->opt;
    hd_sheet_text(s, "task", "translate");
    hd_sheet_text(s, "model", hd_translator_model_name(o));
    put_stages(s, o);
    put_blocks(s, o);
    if (hd_encdec_recurs(m)) put_cells(s, m);
    hd_sheet_whole(s, "positions", o->positions);
    hd_sheet_switch(s, "tied", o->tied);
    if (o->own_output) hd_sheet_switch(s, "own_output", true);
    hd_sheet_whole(s, "parameters", hd_params_size(&m->params));
    hd_sheet_real(s, "gflop_per_translation", hd_encdec_flops(m, 1, 25, 25) / 1e9, " (25 tokens to 25)");
}

static void put_vocabulary(hd_sheet *s, hd_tokenizer *const t[2])
{
    static const char *const kind[] = {"source_tokenizer", "target_tokenizer"}, *const size[] = {
                                                                                    "source_vocab",
                                                                                    "target_vocab"};
    for (int side = 0; side < 2; side++) {
        hd_sheet_text(s, kind[side], hd_tokenizer_name(hd_tokenizer_kind_of(t[side])));
        hd_sheet_whole(s, size[side], hd_tokenizer_size(t[side]));
    }
    hd_sheet_switch(s, "shared_tokenizer", t[0] == t[1]);
}

/* measure: the key of what the best was chosen by, where it was not the loss. */
static hd_status put_training(hd_sheet *s, const char *folder, const char *measure, hd_err *err)
{
    hd_progress p;
    hd_err why = {0};
    hd_sheet_switch(s, "resumable", hd_checkpoint_exists(folder));
    if (!hd_checkpoint_exists(folder)) return HD_OK;
    if (hd_checkpoint_load(folder, &p, NULL, &why)) {
        if (why.status == HD_ENOMEM) return hd_err_set(err, HD_ENOMEM, "%s", why.text);
        hd_sheet_text(s, "training", why.text);
        return HD_OK;
    }
    hd_sheet_whole(s, "steps", p.step);
    hd_sheet_whole(s, "epochs", p.epoch);
    hd_sheet_whole(s, "target_tokens", p.tokens);
    hd_sheet_whole(s, "skipped_updates", p.skipped);
    hd_sheet_real(s, "training_tflop", p.flops / 1e12, "");
    if (isnan(p.best)) return HD_OK;
    bool by_loss = p.best <= -p.best_loss && p.best >= -p.best_loss; /* what the best was chosen by */
    hd_sheet_real(s, by_loss ? "best_loss" : measure, fabs(p.best), "");
    hd_sheet_whole(s, "best_step", p.best_step);
    return HD_OK;
}

static void put_tensors(hd_sheet *s, const hd_params *params)
{
    bool first = true;
    if (s->json) hd_sheet_name(s, "tensors"), hd_text_put(&s->out, "{");
    for (size_t i = 0; i < params->count; i++) {
        const hd_param *p = params->list[i];
        if (!p->name || p->alias) continue;
        size_t rows = p->t.shape[0], cols = p->t.rank == 2 ? p->t.shape[1] : 0;
        if (s->json) {
            hd_text_put(&s->out, first ? "" : ", ");
            hd_put_json(&s->out, p->name, false);
            hd_text_print(&s->out, cols ? ": [%zu, %zu]" : ": [%zu]", rows, cols);
        } else {
            hd_text_print(&s->out, cols ? "%-60s %zu x %zu\n" : "%-60s %zu\n", p->name, rows, cols);
        }
        first = false;
    }
    if (s->json) hd_text_put(&s->out, "}");
}

static void put_language(hd_sheet *s, const hd_lm *m, const hd_tokenizer *t)
{
    const hd_lm_opt *o = &m->opt;
    bool windowed = o->kind == HD_LM_ngram || o->kind == HD_LM_maxent || o->kind == HD_LM_ffnn;
    hd_sheet_text(s, "task", "lm");
    hd_sheet_text(s, "model", hd_lm_names[o->kind]);
    if (windowed) hd_sheet_whole(s, "order", (uint64_t)o->order);
    if (o->kind == HD_LM_ngram) hd_sheet_text(s, "smoothing", hd_smoothing_names[o->smoothing]);
    if (o->kind == HD_LM_maxent) hd_sheet_whole(s, "features", o->buckets);
    if (!windowed)
        hd_sheet_whole(s, "layers", (uint64_t)o->stack.layers), hd_sheet_whole(s, "context", o->context);
    if (o->kind == HD_LM_gpt) hd_sheet_whole(s, "heads", (uint64_t)o->stack.heads);
    if (o->kind != HD_LM_ngram && o->kind != HD_LM_maxent) hd_sheet_whole(s, "width", o->stack.width);
    hd_sheet_whole(s, m->params ? "parameters" : "ngrams", hd_lm_size(m));
    hd_sheet_text(s, "tokenizer", hd_tokenizer_name(hd_tokenizer_kind_of(t)));
    hd_sheet_whole(s, "vocab", hd_tokenizer_size(t));
}

static hd_status put_language_folder(hd_sheet *page, const char *folder, bool tensors, hd_err *err)
{
    hd_lm_opt opt;
    hd_tokenizer *tokenizer = NULL;
    hd_backend *backend = NULL;
    hd_lm *lm = NULL;
    hd_status s = hd_language_describe(folder, &opt, &tokenizer, err);
    if (!s) s = hd_backend_new(&backend, "null", NULL, err);
    if (!s) s = hd_lm_new(&lm, &opt, backend, false, err);
    if (!s && !lm->params) s = lm->type->load(lm, folder, err);
    if (!s) {
        put_language(page, lm, tokenizer);
        s = put_training(page, folder, "best_bleu", err);
        if (tensors && lm->params) put_tensors(page, lm->params);
    }
    hd_lm_free(lm);
    hd_backend_free(backend);
    hd_tokenizer_free(tokenizer);
    return s;
}

static void put_labeler(hd_sheet *s, const hd_classifier *m, const hd_tokenizer *t)
{
    const hd_classifier_opt *o = &m->opt;
    const hd_body_opt *b = &o->body;
    char stages[HD_STAGES_TEXT];
    bool tags = hd_labeler_task(o) == HD_TAG;
    hd_sheet_text(s, "task", tags ? "tag" : o->numbers ? "regress" : "classify");
    hd_sheet_text(s, "encoder", hd_body_text(b, stages));
    if (!tags) hd_sheet_text(s, "pool", hd_pool_names[o->pool]);
    hd_sheet_whole(s, "width", hd_body_width(b));
    if (b->cell == HD_sigmoid) hd_sheet_text(s, "cell", hd_unary_name(b->cell));
    if (b->one_hot) hd_sheet_switch(s, "one_hot", true);
    if (b->kind == HD_BODY_bert) hd_sheet_whole(s, "heads", (uint64_t)b->bert.stack.heads);
    if (b->kind == HD_BODY_lm && b->lm.kind == HD_LM_gpt)
        hd_sheet_whole(s, "heads", (uint64_t)b->lm.stack.heads);
    if (b->kind == HD_BODY_stages && hd_stages_have(&b->encoder, HD_STAGE_transformer)) {
        hd_sheet_whole(s, "heads", (uint64_t)b->stack.heads);
        hd_sheet_whole(s, "inner", b->stack.inner);
        hd_sheet_text(s, "norm", b->stack.pre_norm ? "pre" : "post");
        hd_sheet_text(s, "activation", hd_unary_name(b->stack.act));
    }
    hd_sheet_whole(s, "positions", b->positions);
    if (!o->numbers) hd_sheet_whole(s, "classes", o->classes);
    hd_sheet_whole(s, "parameters", hd_params_size(m->params));
    hd_sheet_text(s, "tokenizer", hd_tokenizer_name(hd_tokenizer_kind_of(t)));
    hd_sheet_whole(s, "vocab", hd_tokenizer_size(t));
}

static hd_status put_labeler_folder(hd_sheet *page, const char *folder, bool tensors, hd_err *err)
{
    hd_classifier_opt opt;
    hd_labeler l;
    hd_backend *backend = NULL;
    hd_status s = hd_labeler_describe(&l, &opt, folder, err);
    if (!s) s = hd_backend_new(&backend, "null", NULL, err);
    if (!s) s = hd_classifier_new(&l.model, backend, &opt, false, err);
    if (!s) {
        put_labeler(page, l.model, l.tokenizer);
        s = put_training(page, folder, "best_accuracy", err);
        if (tensors) put_tensors(page, l.model->params);
    }
    hd_labeler_release(&l);
    hd_backend_free(backend);
    return s;
}

static void put_masked(hd_sheet *s, const hd_bert *m, const hd_tokenizer *t)
{
    const hd_bert_opt *o = &m->opt;
    hd_sheet_text(s, "task", "mlm");
    hd_sheet_text(s, "model", "bert");
    hd_sheet_whole(s, "layers", (uint64_t)o->stack.layers);
    hd_sheet_whole(s, "heads", (uint64_t)o->stack.heads);
    hd_sheet_whole(s, "width", o->stack.width);
    hd_sheet_whole(s, "inner", o->stack.inner);
    hd_sheet_text(s, "activation", hd_unary_name(o->stack.act));
    hd_sheet_whole(s, "context", o->positions);
    hd_sheet_switch(s, "predicts_words", !o->headless);
    hd_sheet_switch(s, "pooler", o->pooler);
    hd_sheet_whole(s, "parameters", hd_params_size(&m->params));
    hd_sheet_text(s, "tokenizer", hd_tokenizer_name(hd_tokenizer_kind_of(t)));
    hd_sheet_whole(s, "vocab", o->vocab);
}

static hd_status put_masked_folder(hd_sheet *page, const char *folder, bool tensors, hd_err *err)
{
    hd_bert_opt opt;
    hd_masked m = {0};
    hd_backend *backend = NULL;
    hd_status s = hd_masked_describe(folder, &opt, &m.tokenizer, err);
    if (!s) s = hd_backend_new(&backend, "null", NULL, err);
    if (!s) s = hd_bert_new(&m.model, backend, &opt, false, err);
    if (!s) {
        put_masked(page, m.model, m.tokenizer);
        s = put_training(page, folder, "best_loss", err);
        if (tensors) put_tensors(page, &m.model->params);
    }
    hd_bert_free(m.model);
    hd_backend_free(backend);
    hd_tokenizer_free(m.tokenizer);
    return s;
}

static hd_status put_translator_folder(hd_sheet *page, const char *folder, bool tensors, hd_err *err)
{
    char path[HD_PATH];
    struct stat info;
    hd_encdec_opt opt;
    hd_tokenizer *tokenizer[2] = {NULL, NULL};
    hd_backend *backend = NULL;
    hd_encdec *model = NULL;
    size_t longest = 0;
    hd_status s = hd_translator_describe(folder, &opt, tokenizer, &longest, err);
    if (!s) s = hd_backend_new(&backend, "null", NULL, err);
    if (!s) s = hd_encdec_new(&model, backend, &opt, false, err);
    if (!s) s = hd_path(path, folder, "model.safetensors", err);
    if (!s) {
        put_model(page, model);
        put_vocabulary(page, tokenizer);
        hd_sheet_whole(page, "longest_trained", longest);
        if (!stat(path, &info)) hd_sheet_real(page, "megabytes", (double)info.st_size / 1e6, "");
        s = put_training(page, folder, "best_bleu", err);
        if (tensors) put_tensors(page, &model->params);
    }
    hd_encdec_free(model);
    hd_backend_free(backend);
    hd_tokenizer_free_pair(tokenizer);
    return s;
}

hd_status hd_info_model(hd_sheet *page, const char *folder, bool tensors, hd_err *err)
{
    static hd_status (*const put[])(hd_sheet * page, const char *folder, bool tensors, hd_err *err) = {
        [HD_MODEL_TRANSLATOR] = put_translator_folder, [HD_MODEL_LANGUAGE] = put_language_folder,
        [HD_MODEL_MASKED] = put_masked_folder,         [HD_MODEL_CLASSIFIER] = put_labeler_folder,
        [HD_MODEL_TAGGER] = put_labeler_folder,
    };
    hd_model_kind kind;
    hd_status s = hd_any_model_kind(&kind, folder, err);
    return s ? s : put[kind](page, folder, tensors, err);
}
