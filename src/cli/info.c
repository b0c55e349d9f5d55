/* heed info: what a model folder holds, and what there is to compute on. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "cli/train_progress.h"
#include "cli/verb.h"
#include "task/labeller.h"
#include "task/language.h"
#include "task/masked.h"
#include "task/translator.h"
#include "task/translator_config.h"
#include "train/checkpoint.h"
#include "view/put.h"

struct info {
    bool json, tensors, devices;
};

static const hd_option options[] = {
    {"json", 0, NULL, NULL, "one JSON object", HD_FLAG_INTO(struct info, json)},
    {"tensors", 0, NULL, NULL, "list every tensor with its shape", HD_FLAG_INTO(struct info, tensors)},
    {"devices", 0, NULL, NULL, "list what --device can take, with or without a MODEL",
     HD_FLAG_INTO(struct info, devices)},
    {0},
};

static const hd_example examples[] = {
    {"heed info model", "architecture, parameters, vocabulary and how it was trained"},
    {"heed info model --json | jq .parameters", "for programs"},
    {"heed info --devices", "processors and cards, and which of them 'auto' takes"},
    {NULL, NULL},
};

const hd_usage hd_verb_info_usage = {
    .operands = "[MODEL]",
    .most = 1,
    .about =
        "Shows what the folder MODEL holds, without loading its weights: the architecture, the number of "
        "parameters, the vocabularies, the work of a translation, and how far its training came.\n"
        "With --devices: the processor and the CUDA cards of this machine, and why one cannot be used.",
    .options = options,
    .size = sizeof(struct info),
    .examples = examples,
};

/* A list of names with values, shown as aligned lines or as JSON. */
typedef struct sheet {
    hd_text out;
    bool json;
    bool begun;
} sheet;

static void put_name(sheet *s, const char *name)
{
    if (s->json) {
        hd_text_put(&s->out, s->begun ? ", " : "{");
        hd_put_json(&s->out, name, false);
        hd_text_put(&s->out, ": ");
    } else {
        hd_text_print(&s->out, "%-22s", name);
    }
    s->begun = true;
}

static void put_text(sheet *s, const char *name, const char *value)
{
    put_name(s, name);
    if (s->json)
        hd_put_json(&s->out, value, false);
    else
        hd_text_print(&s->out, "%s\n", value);
}

static void put_whole(sheet *s, const char *name, uint64_t value)
{
    char grouped[32];
    put_name(s, name);
    if (s->json)
        hd_text_print(&s->out, "%llu", (unsigned long long)value);
    else
        hd_text_print(&s->out, "%s\n", hd_grouped(value, grouped));
}

static void put_real(sheet *s, const char *name, double value, const char *unit)
{
    put_name(s, name);
    hd_put_number(&s->out, value, s->json ? 17 : 6);
    if (!s->json) hd_text_print(&s->out, "%s\n", unit);
}

static void put_switch(sheet *s, const char *name, bool value)
{
    put_name(s, name);
    hd_text_put(&s->out, s->json ? value ? "true" : "false" : value ? "yes\n" : "no\n");
}

static void put_stages(sheet *s, const hd_encdec_opt *o)
{
    char text[HD_STAGES_TEXT];
    if (!strcmp(hd_translator_model_name(o), "encoder-decoder")) {
        put_text(s, "encoder", hd_stages_text(&o->encoder, text));
        put_text(s, "decoder", hd_stages_text(&o->decoder, text));
    } else {
        put_whole(s, "encoder_layers", (uint64_t)o->encoder.at[0].layers);
        put_whole(s, "decoder_layers", (uint64_t)o->decoder.at[0].layers);
    }
}

/* What only Transformer blocks have. */
static void put_blocks(sheet *s, const hd_encdec_opt *o)
{
    bool any = hd_stages_have(&o->encoder, HD_STAGE_transformer) ||
               hd_stages_have(&o->decoder, HD_STAGE_transformer);
    if (any) put_whole(s, "heads", (uint64_t)o->heads);
    if (any && o->head_width) put_whole(s, "head_width", o->head_width);
    put_whole(s, "width", o->width);
    if (!any) return;
    put_whole(s, "inner", o->inner);
    if (o->gated) put_switch(s, "gated", true);
    put_text(s, "norm", o->pre_norm ? "pre" : "post");
    put_text(s, "activation", hd_unary_name(o->act));
    if (o->encoder.at[0].kind == HD_STAGE_transformer || o->decoder.at[0].kind == HD_STAGE_transformer)
        put_text(s, "position_kind",
                 o->relative.buckets    ? "relative"
                 : o->learned_positions ? "learned"
                                        : "sinusoidal");
    if (o->relative.buckets) {
        put_whole(s, "buckets", o->relative.buckets);
        put_whole(s, "reach", (uint64_t)o->relative.reach);
    }
}

/* What only a recurrent decoder has. */
static void put_cells(sheet *s, const hd_encdec *m)
{
    const hd_recurrent_decoder_opt *o = &m->cells.opt;
    put_text(s, "context", hd_context_names[o->context]);
    if (o->context == HD_CONTEXT_attention) {
        put_text(s, "score", hd_scoring_names[o->score]);
        put_text(s, "attention", hd_locality_names[o->locality]);
        if (o->locality != HD_LOCALITY_GLOBAL) put_whole(s, "window", (uint64_t)o->window);
        put_whole(s, "attention_heads", (uint64_t)o->heads);
        put_switch(s, "project", m->cells.look.opt.project);
        put_text(s, "query", hd_asking_names[o->query]);
        put_switch(s, "feed_context", o->feed_context);
    }
    put_text(s, "begin", hd_beginning_names[o->begin]);
    put_text(s, "read", hd_reading_names[o->read]);
    if (o->skips) put_switch(s, "skips", true);
    if (o->no_feedback) put_switch(s, "no_feedback", true);
    if (o->relu) put_switch(s, "relu", true);
    if (m->opt.reverse_source) put_switch(s, "reverse_source", true);
}

static void put_model(sheet *s, const hd_encdec *m)
{
    const hd_encdec_opt *o = &m->opt;
    put_text(s, "task", "translate");
    put_text(s, "model", hd_translator_model_name(o));
    put_stages(s, o);
    put_blocks(s, o);
    if (hd_encdec_recurs(m)) put_cells(s, m);
    put_whole(s, "positions", o->positions);
    put_switch(s, "tied", o->tied);
    if (o->own_output) put_switch(s, "own_output", true);
    put_whole(s, "parameters", hd_params_size(&m->params));
    put_real(s, "gflop_per_translation", hd_encdec_flops(m, 1, 25, 25) / 1e9, " (25 tokens to 25)");
}

static void put_vocabulary(sheet *s, hd_tokeniser *const t[2])
{
    static const char *const kind[] = {"source_tokeniser", "target_tokeniser"}, *const size[] = {
                                                                                    "source_vocab",
                                                                                    "target_vocab"};
    for (int side = 0; side < 2; side++) {
        put_text(s, kind[side], hd_tokeniser_name(hd_tokeniser_kind_of(t[side])));
        put_whole(s, size[side], hd_tokeniser_size(t[side]));
    }
    put_switch(s, "shared_tokeniser", t[0] == t[1]);
}

/* measure: the key of what the best was chosen by, where it was not the loss. */
static void put_training(sheet *s, const char *folder, const char *measure)
{
    hd_progress p;
    hd_err err = {0};
    put_switch(s, "resumable", hd_checkpoint_exists(folder));
    if (!hd_checkpoint_exists(folder)) return;
    if (hd_checkpoint_load(folder, &p, NULL, &err)) {
        put_text(s, "training", err.text);
        return;
    }
    put_whole(s, "steps", p.step);
    put_whole(s, "epochs", p.epoch);
    put_whole(s, "target_tokens", p.tokens);
    put_whole(s, "skipped_updates", p.skipped);
    put_real(s, "training_tflop", p.flops / 1e12, "");
    if (isnan(p.best)) return;
    bool by_loss = p.best <= -p.best_loss && p.best >= -p.best_loss; /* what the best was chosen by */
    put_real(s, by_loss ? "best_loss" : measure, fabs(p.best), "");
    put_whole(s, "best_step", p.best_step);
}

static void put_tensors(sheet *s, const hd_params *params)
{
    bool first = true;
    if (s->json) put_name(s, "tensors"), hd_text_put(&s->out, "{");
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

/* -- devices -- */

typedef struct devices {
    sheet *page;
    bool begun;
    char best[32]; /* the first that can be used */
} devices;

static void put_device_json(hd_text *to, const hd_device *d)
{
    hd_text_print(to, "{\"device\": \"%s\", \"usable\": %s", d->backend, d->why[0] ? "false" : "true");
    if (d->name[0]) {
        hd_text_print(to, ", \"number\": %d, \"%s\": ", d->number, d->major ? "name" : "instruction_set");
        hd_put_json(to, d->name, false);
        hd_text_print(to, ", \"%s\": %d", d->major ? "multiprocessors" : "threads", d->units);
    }
    if (d->major) hd_text_print(to, ", \"compute_capability\": \"%d.%d\"", d->major, d->minor);
    if (d->memory) hd_text_print(to, ", \"memory\": %zu", d->memory);
    if (d->left) hd_text_print(to, ", \"memory_free\": %zu", d->left);
    if (d->driver) hd_text_print(to, ", \"driver\": \"%d.%d\"", d->driver / 1000, d->driver % 1000 / 10);
    if (d->runtime) hd_text_print(to, ", \"runtime\": \"%d.%d\"", d->runtime / 1000, d->runtime % 1000 / 10);
    if (d->why[0]) hd_text_put(to, ", \"why\": "), hd_put_json(to, d->why, false);
    hd_text_put(to, "}");
}

static void put_device_text(hd_text *to, const hd_device *d)
{
    const double gib = 1 << 30;
    if (d->why[0]) hd_text_print(to, "not usable: %s%s", d->why, d->name[0] ? "; " : "");
    hd_text_put(to, d->name);
    if (d->units) hd_text_print(to, ", %d %s", d->units, d->major ? "multiprocessors" : "threads");
    if (d->major) hd_text_print(to, ", compute capability %d.%d", d->major, d->minor);
    if (d->left) hd_text_print(to, ", %.1f of", (double)d->left / gib);
    if (d->memory) hd_text_print(to, "%s%.1f GiB", d->left ? " " : ", ", (double)d->memory / gib);
    if (d->left) hd_text_put(to, " free");
    if (d->driver) hd_text_print(to, ", driver %d.%d", d->driver / 1000, d->driver % 1000 / 10);
    if (d->runtime) hd_text_print(to, ", runtime %d.%d", d->runtime / 1000, d->runtime % 1000 / 10);
    hd_text_put(to, "\n");
}

static void put_device(void *context, const hd_device *d)
{
    devices *all = context;
    char name[32];
    if (d->major)
        snprintf(name, sizeof name, "%s %d", d->backend, d->number);
    else
        snprintf(name, sizeof name, "%s", d->backend);
    if (!all->best[0] && !d->why[0]) memcpy(all->best, name, sizeof name);
    if (all->page->json) {
        hd_text_put(&all->page->out, all->begun ? ", " : "");
        put_device_json(&all->page->out, d);
    } else {
        put_name(all->page, name);
        put_device_text(&all->page->out, d);
    }
    all->begun = true;
}

static void put_devices(sheet *s)
{
    devices all = {.page = s};
    if (s->json) put_name(s, "devices"), hd_text_put(&s->out, "[");
    hd_backend_list(put_device, &all);
    if (s->json) hd_text_put(&s->out, "]");
    put_text(s, "auto", all.best);
}

static void put_language(sheet *s, const hd_lm *m, const hd_tokeniser *t)
{
    const hd_lm_opt *o = &m->opt;
    bool windowed = o->kind == HD_LM_ngram || o->kind == HD_LM_maxent || o->kind == HD_LM_ffnn;
    put_text(s, "task", "lm");
    put_text(s, "model", hd_lm_names[o->kind]);
    if (windowed) put_whole(s, "order", (uint64_t)o->order);
    if (o->kind == HD_LM_ngram) put_text(s, "smoothing", hd_smoothing_names[o->smoothing]);
    if (o->kind == HD_LM_maxent) put_whole(s, "features", o->buckets);
    if (!windowed) put_whole(s, "layers", (uint64_t)o->layers), put_whole(s, "context", o->context);
    if (o->kind == HD_LM_gpt) put_whole(s, "heads", (uint64_t)o->heads);
    if (o->kind != HD_LM_ngram && o->kind != HD_LM_maxent) put_whole(s, "width", o->width);
    put_whole(s, m->params ? "parameters" : "ngrams", hd_lm_size(m));
    put_text(s, "tokeniser", hd_tokeniser_name(hd_tokeniser_kind_of(t)));
    put_whole(s, "vocab", hd_tokeniser_size(t));
}

/* Whether the folder holds a language model; then *s says how showing it went. */
static bool put_language_folder(sheet *page, const char *folder, bool tensors, hd_status *s, hd_err *err)
{
    hd_lm_opt opt;
    hd_tokeniser *tokeniser = NULL;
    hd_backend *backend = NULL;
    hd_lm *lm = NULL;
    if (hd_language_describe(folder, &opt, &tokeniser, &(hd_err){0})) return false;
    *s = hd_backend_new(&backend, "null", NULL, err);
    if (!*s) *s = hd_lm_new(&lm, &opt, backend, false, err);
    if (!*s && !lm->params) *s = lm->type->load(lm, folder, err);
    if (!*s) {
        put_language(page, lm, tokeniser);
        put_training(page, folder, "best_bleu");
        if (tensors && lm->params) put_tensors(page, lm->params);
    }
    hd_lm_free(lm);
    hd_backend_free(backend);
    hd_tokeniser_free(tokeniser);
    return true;
}

static void put_labeller(sheet *s, const hd_classifier *m, const hd_tokeniser *t)
{
    const hd_classifier_opt *o = &m->opt;
    const hd_body_opt *b = &o->body;
    char stages[HD_STAGES_TEXT];
    bool tags = hd_labeller_task(o) == HD_TAG;
    put_text(s, "task", tags ? "tag" : o->numbers ? "regress" : "classify");
    put_text(s, "encoder", hd_body_text(b, stages));
    if (!tags) put_text(s, "pool", hd_pool_names[o->pool]);
    put_whole(s, "width", hd_body_width(b));
    if (b->kind == HD_BODY_bert) put_whole(s, "heads", (uint64_t)b->bert.heads);
    if (b->kind == HD_BODY_lm && b->lm.kind == HD_LM_gpt) put_whole(s, "heads", (uint64_t)b->lm.heads);
    if (b->kind == HD_BODY_stages && hd_stages_have(&b->encoder, HD_STAGE_transformer)) {
        put_whole(s, "heads", (uint64_t)b->heads);
        put_whole(s, "inner", b->inner);
        put_text(s, "norm", b->post_norm ? "post" : "pre");
        put_text(s, "activation", hd_unary_name(b->act));
    }
    put_whole(s, "positions", b->positions);
    if (!o->numbers) put_whole(s, "classes", o->classes);
    put_whole(s, "parameters", hd_params_size(m->params));
    put_text(s, "tokeniser", hd_tokeniser_name(hd_tokeniser_kind_of(t)));
    put_whole(s, "vocab", hd_tokeniser_size(t));
}

/* Whether the folder holds a classifier or tagger; then *s says how showing it went. */
static bool put_labeller_folder(sheet *page, const char *folder, bool tensors, hd_status *s, hd_err *err)
{
    hd_classifier_opt opt;
    hd_labeller l;
    hd_backend *backend = NULL;
    if (hd_labeller_describe(&l, &opt, folder, &(hd_err){0})) return false;
    *s = hd_backend_new(&backend, "null", NULL, err);
    if (!*s) *s = hd_classifier_new(&l.model, backend, &opt, false, err);
    if (!*s) {
        put_labeller(page, l.model, l.tokeniser);
        put_training(page, folder, "best_accuracy");
        if (tensors) put_tensors(page, l.model->params);
    }
    hd_labeller_release(&l);
    hd_backend_free(backend);
    return true;
}

static void put_masked(sheet *s, const hd_bert *m, const hd_tokeniser *t)
{
    const hd_bert_opt *o = &m->opt;
    put_text(s, "task", "mlm");
    put_text(s, "model", "bert");
    put_whole(s, "layers", (uint64_t)o->layers);
    put_whole(s, "heads", (uint64_t)o->heads);
    put_whole(s, "width", o->width);
    put_whole(s, "inner", o->inner);
    put_text(s, "activation", hd_unary_name(o->act));
    put_whole(s, "context", o->positions);
    put_switch(s, "predicts_words", !o->headless);
    put_switch(s, "pooler", o->pooler);
    put_whole(s, "parameters", hd_params_size(&m->params));
    put_text(s, "tokeniser", hd_tokeniser_name(hd_tokeniser_kind_of(t)));
    put_whole(s, "vocab", o->vocab);
}

/* Whether the folder holds a masked language model; then *s says how showing it went. */
static bool put_masked_folder(sheet *page, const char *folder, bool tensors, hd_status *s, hd_err *err)
{
    hd_bert_opt opt;
    hd_masked m = {0};
    hd_backend *backend = NULL;
    if (hd_masked_describe(folder, &opt, &m.tokeniser, &(hd_err){0})) return false;
    *s = hd_backend_new(&backend, "null", NULL, err);
    if (!*s) *s = hd_bert_new(&m.model, backend, &opt, false, err);
    if (!*s) {
        put_masked(page, m.model, m.tokeniser);
        put_training(page, folder, "best_loss");
        if (tensors) put_tensors(page, &m.model->params);
    }
    hd_bert_free(m.model);
    hd_backend_free(backend);
    hd_tokeniser_free(m.tokeniser);
    return true;
}

static hd_status put_folder(sheet *page, const char *folder, bool tensors, hd_err *err)
{
    char path[HD_PATH];
    struct stat info;
    hd_encdec_opt opt;
    hd_tokeniser *tokeniser[2] = {NULL, NULL};
    hd_backend *backend = NULL;
    hd_encdec *model = NULL;
    size_t longest = 0;
    hd_status s = HD_OK;
    if (put_language_folder(page, folder, tensors, &s, err)) return s;
    if (put_masked_folder(page, folder, tensors, &s, err)) return s;
    if (put_labeller_folder(page, folder, tensors, &s, err)) return s;
    s = hd_translator_describe(folder, &opt, tokeniser, &longest, err);
    if (!s) s = hd_backend_new(&backend, "null", NULL, err);
    if (!s) s = hd_encdec_new(&model, backend, &opt, false, err);
    if (!s) s = hd_path(path, folder, "model.safetensors", err);
    if (!s) {
        put_model(page, model);
        put_vocabulary(page, tokeniser);
        put_whole(page, "longest_trained", longest);
        if (!stat(path, &info)) put_real(page, "megabytes", (double)info.st_size / 1e6, "");
        put_training(page, folder, "best_bleu");
        if (tensors) put_tensors(page, &model->params);
    }
    hd_encdec_free(model);
    hd_backend_free(backend);
    hd_tokeniser_free_pair(tokeniser);
    return s;
}

int hd_verb_info(const hd_command *c)
{
    const struct info *o = c->options;
    hd_err err = {0};
    sheet page = {.json = o->json};
    hd_status s = HD_OK;
    if (!c->operands.count && (!o->devices || o->tensors)) {
        hd_err_set(&err, HD_EARG, o->tensors ? "MODEL is missing" : "MODEL is missing, or --devices");
        return hd_verb_misused(c->verb, &err);
    }
    if (c->operands.count) s = put_folder(&page, c->operands.word[0], o->tensors, &err);
    if (!s && o->devices) put_devices(&page);
    if (o->json) hd_text_put(&page.out, "}\n");
    if (!s) s = hd_text_status(&page.out, &err);
    if (!s) fwrite(page.out.data, 1, page.out.size, c->out.file);
    hd_text_release(&page.out);
    return s ? hd_command_fail(c, &err) : HD_EXIT_OK;
}
