/* heed train --task classify, regress and tag: what each kind of encoder has where options are not given,
   what they mean, and a run. */
#include <stdio.h>
#include <string.h>

#include "cli/train/loop.h"
#include "cli/train/memory.h"
#include "cli/train/sitting.h"
#include "cli/train/tasks.h"
#include "cli/train/tuning.h"
#include "cli/train/useless.h"
#include "task/label/train.h"
#include "task/label/pretrained.h"

/* -- what is not given -- */

typedef struct setting {
    const char *name, *recurrent,
        *blocks; /* of an encoder that ends in cells, and of one that ends in blocks */
} setting;

/* Measured on names (docs/classification.md). */
static const setting settings[] = {
    {"layers", "1", "2"},         {"width", "128", "128"},          {"inner", "1", "256"},
    {"heads", "1", "4"},          {"activation", "gelu", "gelu"},   {"dropout", "0.3", "0.2"},
    {"lr", "0.002", "0.001"},     {"warmup", "100", "200"},         {"schedule", "cosine", "cosine"},
    {"floor", "0.01", "0.01"},    {"weight-decay", "0.05", "0.05"}, {"beta2", "0.99", "0.99"},
    {"adam-eps", "1e-8", "1e-8"}, {"label-smoothing", "0", "0"},    {"batch", "32", "32"},
    {"max-length", "512", "512"}, {"epochs", "20", "20"},           {NULL, NULL, NULL},
};

/* The stages of --encoder, or the one of --model. */
static hd_status stages_of(hd_stages *out, const hd_train_options *o, hd_err *err)
{
    static const hd_stage_kind kinds[] = {[HD_LM_rnn] = HD_STAGE_rnn,
                                          [HD_LM_gru] = HD_STAGE_gru,
                                          [HD_LM_lstm] = HD_STAGE_lstm,
                                          [HD_TRAIN_MODEL_TRANSFORMER] = HD_STAGE_transformer};
    if (o->encoder) return hd_stages_read(out, o->encoder, err);
    if (o->model < HD_LM_rnn || o->model == HD_LM_gpt)
        return hd_err_set(err, HD_EARG,
                          "--model %s is for --task lm: labels come from rnn, gru, lstm or transformer, or "
                          "from --encoder",
                          hd_lm_names[o->model]);
    *out = (hd_stages){.at = {{.kind = kinds[o->model]}}, .count = 1};
    return HD_OK;
}

/* Shapes of Transformer blocks, where there are none. */
static hd_status refuse_useless(const hd_option_set sets[2], const hd_stages *stages, hd_err *err)
{
    static const struct {
        const char *name, *without;
    } of_blocks[] = {{"heads", "1"}, {"inner", "1"}, {"norm", NULL}};
    char text[HD_STAGES_TEXT], model[HD_STAGES_TEXT + 16];
    hd_status s = HD_OK;
    snprintf(model, sizeof model, "an encoder of %s", hd_stages_text(stages, text));
    for (size_t i = 0; !s && i < sizeof of_blocks / sizeof *of_blocks; i++)
        s = hd_train_useless(sets, of_blocks[i].name, of_blocks[i].without, "a transformer", model, err);
    return s;
}

hd_status hd_train_label_preset(const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    hd_stages stages;
    if (o->from) return hd_train_tuning_preset(sets, err);
    if (o->scratch || o->lm_loss > 0)
        return hd_err_set(err, HD_EARG, "--%s is for --from, which is not given",
                          o->scratch ? "scratch" : "lm-loss");
    bool limited = hd_train_given(sets, "epochs") || hd_train_given(sets, "steps");
    if (!hd_train_given(sets, "model")) o->model = HD_LM_gru;
    hd_status s = stages_of(&stages, o, err);
    bool recurs = !s && hd_stage_recurs(&stages.at[stages.count - 1]);
    bool blocks = !s && hd_stages_have(&stages, HD_STAGE_transformer);
    for (const setting *x = settings; !s && x->name; x++) {
        hd_option_place at = hd_option_find(sets, x->name, strlen(x->name));
        if (*at.given || (limited && !strcmp(x->name, "epochs"))) continue;
        bool of_blocks = !strcmp(x->name, "heads") || !strcmp(x->name, "inner");
        bool cells = of_blocks ? !blocks : recurs;
        s = hd_option_read(at.option, at.field, cells ? x->recurrent : x->blocks, err);
    }
    if (!s && !blocks) s = refuse_useless(sets, &stages, err);
    if (!hd_train_given(sets, "valid-fraction") && !o->valid.count) o->valid_fraction = 0.1;
    if (o->task == HD_TRAIN_TAG && !hd_train_given(sets, "unit")) o->unit = HD_TRAIN_WORD;
    if (o->unit != HD_TRAIN_SUBWORD && !hd_train_given(sets, "vocab")) o->vocab = HD_TRAIN_ALL_PIECES;
    return s;
}

/* -- what they mean -- */

static hd_status check(const hd_train_options *o, hd_err *err)
{
    bool folder = o->train_dir.count > 0;
    if (!o->train.count && !folder)
        return hd_err_set(err, HD_EARG, "--train%s is missing: what shall be learned from?",
                          o->task == HD_TRAIN_CLASSIFY ? " or --train-dir" : "");
    if (o->train.count && folder)
        return hd_err_set(err, HD_EARG, "--train and --train-dir exclude each other");
    if (o->train.count > 1 || o->valid.count > 1)
        return hd_err_set(err, HD_EARG, "labeled items are in one file: --%s has two",
                          o->train.count > 1 ? "train" : "valid");
    if (o->valid.count && o->valid_fraction > 0)
        return hd_err_set(err, HD_EARG, "--valid and --valid-fraction exclude each other");
    if (o->max_length < 3) return hd_err_set(err, HD_EARG, "--max-length %d: at least 3", o->max_length);
    if (o->pool == 1 + HD_POOL_each)
        return hd_err_set(err, HD_EARG, "--pool each is what --task tag does: a label for every token");
    return hd_train_check_end(o, err);
}

static hd_pool_kind pool_of(const hd_train_options *o, const hd_stages *s)
{
    if (o->task == HD_TRAIN_TAG) return HD_POOL_each;
    if (o->pool) return (hd_pool_kind)(o->pool - 1);
    return hd_stage_recurs(&s->at[s->count - 1]) ? HD_POOL_last : HD_POOL_mean;
}

static hd_status model_of(hd_classifier_opt *to, const hd_train_options *o, hd_err *err)
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
    hd_status s = stages_of(&stages, o, err);
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
    if (o->one_hot && !hd_stage_recurs(&stages.at[0]))
        return hd_err_set(err, HD_EARG, "--one-hot needs an encoder that begins with rnn, gru or lstm");
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

/* Borrows texts of o. */
static hd_status meaning(hd_label_train_opt *to, const hd_train_options *o, int threads, hd_err *err)
{
    hd_classifier_opt model;
    const char *tokenizer = NULL;
    hd_status s = check(o, err);
    if (!s) s = hd_train_tokenizer(&tokenizer, o, err);
    if (!s) s = model_of(&model, o, err);
    if (!s && o->freeze.count && !o->resume) s = attempt(&model, o, err);
    if (s) return s;
    *to = (hd_label_train_opt){
        .task = o->task == HD_TRAIN_TAG       ? HD_TAG
                : o->task == HD_TRAIN_REGRESS ? HD_REGRESS
                                              : HD_CLASSIFY,
        .train = o->train.count ? o->train.text[0] : NULL,
        .folder = o->train_dir.count ? o->train_dir.text[0] : NULL,
        .valid = o->valid.count ? o->valid.text[0] : NULL,
        .valid_fraction = o->valid_fraction,
        .from = o->from,
        .scratch = o->scratch,
        .lm_loss = (float)o->lm_loss,
        .kind = hd_train_unit(o->unit),
        .vocabulary = {.vocab = o->vocab == HD_TRAIN_ALL_PIECES ? 0 : (size_t)o->vocab,
                       .unigram = o->subwords == 1,
                       .coverage = o->coverage,
                       .least = o->unit == HD_TRAIN_WORD ? 2 : 1}, /* <unk> is learned from words seen once */
        .tokenizer = tokenizer,
        .model = model,
        .optimizer = hd_train_optimizer(o),
        .smoothing = (float)o->label_smoothing,
        .batch = (size_t)o->batch,
        .parts = (size_t)o->accumulate,
        .device = o->device,
        .precision = (hd_precision)o->precision,
        .threads = threads,
        .trainer = hd_train_loop(o)};
    return HD_OK;
}

/* -- a run -- */

static void say_plan(void *context, const hd_label_plan *p)
{
    const hd_command *c = hd_train_sitting_command(context);
    const hd_classifier_opt *m = &p->model;
    bool tags = hd_labeler_task(m) == HD_TAG;
    char stages[HD_STAGES_TEXT], labels[40] = "numbers", a[32], b[32], d[32];
    if (!m->numbers) snprintf(labels, sizeof labels, "%zu labels", m->classes);
    hd_log_say(&c->log, HD_INFO, "%s, width %zu%s%s, vocabulary %s, %s: %s parameters",
               hd_body_text(&m->body, stages), hd_body_width(&m->body), tags ? "" : ", pool ",
               tags ? "" : hd_pool_names[m->pool], hd_grouped(hd_body_vocab(&m->body), a), labels,
               hd_grouped(p->parameters, b));
    if (p->repeated)
        hd_log_say(&c->log, HD_INFO, "%s items are there before with the same label and are left out",
                   hd_grouped(p->repeated, a));
    hd_log_say(&c->log, HD_INFO, "%s %s to learn from, %s held back; %s batches an epoch",
               hd_grouped(p->items, a), tags ? "sentences" : "items", hd_grouped(p->valid_items, b),
               hd_grouped(p->batches, d));
    hd_log_say(&c->log, HD_DEBUG, "%.3f GFLOP an update; on %s", p->flops / 1e9, p->backend);
}

static void say_held_out(const hd_command *c, const hd_label_result *r)
{
    char a[32];
    hd_text t = {0};
    for (const hd_figure *m = r->figure; m < r->figure + HD_FIGURES && m->name; m++)
        hd_text_print(&t, m->share ? "%s%s %.2f %%" : "%s%s %.4f", t.size ? ", " : "", m->title,
                      m->share ? 100 * m->value : m->value);
    hd_log_say(&c->log, HD_INFO, "held out: %s of %s labels", t.data ? t.data : "", hd_grouped(r->judged, a));
    hd_text_release(&t);
}

static int show_plan(const hd_command *c, const hd_train_options *o, const hd_label_train_opt *t)
{
    hd_label_plan p;
    hd_err err = {0};
    char a[32], b[32], stages[HD_STAGES_TEXT];
    if (hd_label_plan_make(&p, t, &err)) return hd_command_fail(c, &err);
    FILE *f = c->out.file;
    fprintf(f, "encoder            %s\n", hd_body_text(&p.model.body, stages));
    fprintf(f, "parameters         %s\n", hd_grouped(p.parameters, a));
    fprintf(f, "vocabulary         %s\n", hd_grouped(hd_body_vocab(&p.model.body), a));
    if (!p.model.numbers) fprintf(f, "labels             %s\n", hd_grouped(p.model.classes, a));
    fprintf(f, "items              %s", hd_grouped(p.items, a));
    if (p.valid_items) fprintf(f, ", %s held back", hd_grouped(p.valid_items, b));
    fprintf(f, "\nbatches an epoch   %s\n", hd_grouped(p.batches, a));
    hd_train_memory_show(c, o, p.memory);
    fprintf(f, "work               %.3f GFLOP an update, %.4f TFLOP an epoch\n", p.flops / 1e9,
            p.flops * (double)p.batches / 1e12);
    return HD_EXIT_OK;
}

int hd_train_labels(const hd_command *c, const hd_train_options *o)
{
    hd_err err = {0};
    hd_label_train_opt t;
    hd_label_result result;
    hd_train_sitting now;
    if (meaning(&t, o, c->common.threads, &err)) return hd_verb_misused(c->verb, &err);
    t.log = c->log;
    if (o->dry_run) return show_plan(c, o, &t);
    if (hd_train_sitting_begin(&now, c, o, &t.trainer, &err)) return hd_command_fail(c, &err);
    t.open = hd_train_sitting_open, t.began = say_plan;
    hd_status s = hd_label_train(&result, &t, &err);
    hd_train_progress_end(&now.progress);
    if (s) return hd_command_fail(c, &err);
    if (result.judged) say_held_out(c, &result);
    return hd_train_sitting_end(&now, &result.progress, result.ending);
}
