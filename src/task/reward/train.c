/* Learning from rewards: the model answers prompts, rules reward its texts, and those better than others of
   their prompt become likelier (GRPO). Easy to get wrong: texts are drawn with the weights of now between
   updates, and a checkpoint among several updates of the same texts must hold them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file/folder.h"
#include "base/mem.h"
#include "op/replay.h"
#include "task/language/adapter.h"
#include "task/language/chat/form.h"
#include "task/list.h"
#include "task/reward/training.h"
#include "train/published.h"

#define REFERENCE "train/reference.safetensors" /* below the model's folder */

/* -- the loop's side -- */

static hd_status load(hd_session *s, hd_load *out, hd_err *err)
{
    hd_rewarded *x = s->state;
    uint64_t updates = (uint64_t)s->options->rollout_updates, number = s->numbered.at / updates;
    hd_status st = x->rollout.number == number + 1 ? HD_OK : hd_reward_draw(s, number, err);
    if (st) return st;
    x->first = (size_t)(s->numbered.at % updates) * x->update;
    double rows = 0;
    x->tokens = 0;
    for (size_t i = x->first; i < x->first + x->update; i++)
        x->tokens += (size_t)x->rollout.drawn[i], rows += x->rollout.length[i] - 1;
    *out = (hd_load){.items = x->update,
                     .tokens = x->tokens,
                     .flops = x->lm->type->flops(x->lm, (double)x->update, rows / (double)x->update, 0)};
    return HD_OK;
}

/* What the loss of a drawn token is multiplied by. The trainer divides by the tokens of the update. */
static double weight_of(const hd_rewarded *x, const hd_train_options *o, size_t sample)
{
    double all = (double)x->tokens / (double)x->update;
    if (o->variant == HD_TRAIN_DAPO) return 1;
    return all / (o->variant == HD_TRAIN_GRPO ? (double)x->rollout.drawn[sample] : (double)o->tokens);
}

static void send_rows(hd_run *r, hd_session *s, const hd_window *w, size_t first, size_t items, size_t rows)
{
    hd_rewarded *x = s->state;
    const hd_rollout *o = &x->rollout;
    hd_real *policy = hd_host_take(r, (rows * HD_POLICY_COLUMNS + 1) * sizeof *policy),
            *weight = hd_host_take(r, (rows + 1) * sizeof *weight);
    if (!policy || !weight) return;
    size_t row = 0;
    for (size_t i = 0; i < items; i++)
        for (size_t j = 0; j < w[i].len; j++, row++) {
            hd_real *to = policy + row * HD_POLICY_COLUMNS;
            if (j < w[i].skip) continue;
            to[HD_POLICY_ADVANTAGE] = o->advantage[first + i];
            to[HD_POLICY_BEFORE] = o->before ? o->before[w[i].from + j] : NAN;
            to[HD_POLICY_REFERENCE] = o->reference ? o->reference[w[i].from + j] : 0;
            weight[row] = (hd_real)weight_of(x, s->options, first + i);
        }
    x->policy = hd_from(r, rows, HD_POLICY_COLUMNS, policy);
    x->weight = hd_from(r, rows, 1, weight);
}

static uint64_t send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to)
{
    hd_rewarded *x = s->state;
    const hd_stream_text text = hd_rollout_text(&x->rollout);
    size_t n = to - from, first = x->first + from;
    hd_window *w = hd_host_take(r, (n + 1) * sizeof *w);
    int32_t *key = hd_host_take(r, (n + 1) * sizeof *key);
    (void)part;
    if (!w || !key) return 0;
    for (size_t i = 0; i < n; i++)
        w[i] = hd_rollout_window(&x->rollout, first + i), key[i] = (int32_t)(from + i);
    uint64_t shape = hd_windows_send(r, &x->sent, x->lm, &text, w, key, n);
    if (x->sent.seg) send_rows(r, s, w, first, n, x->sent.seg->rows);
    return shape;
}

static hd_tensor *loss(hd_run *r, hd_session *s, size_t part)
{
    hd_rewarded *x = s->state;
    const hd_train_options *o = s->options;
    (void)part;
    hd_loss_opt opt = {.coef = 1,
                       .weight = x->weight,
                       .policy_rows = x->policy,
                       .policy = {(float)o->clip_low, (float)o->clip_high, (float)o->kl}};
    if (!x->policy || !x->weight) return NULL;
    return x->lm->type->lm.loss(r, x->lm, &x->sent, NULL, &opt);
}

static void report(hd_session *s, hd_figure out[HD_FIGURES])
{
    const hd_rewarded *x = s->state;
    const hd_rollout_figures *f = &x->rollout.figures;
    const hd_figure figures[] = {
        {"reward", "reward", .value = f->reward, .places = 3},
        {"pass@1", "pass@1", .value = f->right, .share = true},
        {"entropy", "entropy", .value = f->entropy, .places = 3},
        {"dead_groups", "dead groups", .value = f->dead, .share = true},
        {"length", "length", .value = f->length, .places = 1},
        {"kl", "KL", .value = f->kl, .places = 3},
    };
    size_t count = sizeof figures / sizeof *figures - !(s->options->kl > 0);
    for (size_t i = 0; i < count; i++) out[i] = figures[i];
}

/* -- checkpoints -- */

static hd_status save_rollout(void *context, const char *folder, hd_err *err)
{
    return hd_rollout_save(&((hd_rewarded *)context)->rollout, folder, err);
}

static hd_status load_rollout(void *context, const char *folder, hd_err *err)
{
    hd_rewarded *x = context;
    return hd_rollout_load(&x->rollout, x->update * x->updates, x->lm, folder, err);
}

/* -- setting up -- */

static void release(hd_session *s)
{
    hd_rewarded *x = s->state;
    hd_rollout_release(&x->rollout);
    hd_prompts_release(&x->train);
    hd_prompts_release(&x->valid);
    hd_rewards_free(x->rewards);
    hd_text_release(&x->stop);
    hd_mem_free(x->order);
    hd_lm_free(x->reference);
    hd_model_folder_release(&x->folder);
    hd_mem_free(x->base);
}

static hd_status read_prompts(hd_session *s, hd_err *err)
{
    hd_rewarded *x = s->state;
    const hd_train_options *o = s->options;
    hd_status st = hd_rewards_new(&x->rewards, &o->reward, o->answer, err);
    bool answered = !st && hd_rewards_compare(x->rewards);
    if (!st) st = hd_prompts_read(&x->train, o->prompts.text[0], answered, err);
    if (!st && o->valid.count) st = hd_prompts_read(&x->valid, o->valid.text[0], answered, err);
    if (!st && !o->valid.count && o->valid_fraction > 0)
        st = hd_prompts_split(&x->train, o->valid_fraction, &x->valid, err);
    if (st) return st;
    x->order = hd_mem_array(x->train.count, sizeof *x->order);
    if (!x->order) return hd_err_nomem(err, x->train.count * sizeof *x->order);
    s->train = x->train.hash, s->valid = x->valid.hash, s->validates = x->valid.count;
    s->batches = x->train.count / (size_t)o->batch_size;
    if (!s->batches) s->batches = 1;
    return HD_OK;
}

/* The model and its reference, without dropout: texts are drawn without it, too. */
static hd_status make_models(hd_session *s, hd_err *err)
{
    hd_rewarded *x = s->state;
    hd_model_folder begun = {0};
    hd_status st = hd_model_folder_describe(&begun, hd_session_folder(s), "lm", err);
    if (st) return st;
    hd_lm_opt m = hd_model_folder_lm(&begun)->opt;
    m.stack.dropout = m.stack.attention_dropout = m.embedding_dropout = 0;
    const hd_train_options *o = s->options;
    if (!o->resume && begun.base)
        st = hd_err_set(err, HD_EARG,
                        "--from %s: an adapter: `heed merge %s MODEL` makes a model of it, to begin with",
                        o->from, o->from);
    if (!st && !o->resume) st = hd_adapter_options(&m.lora, o, o->from, err);
    x->base = begun.base, begun.base = NULL;
    hd_model_folder_keep_tokenizers(&begun);
    x->folder.tokenizer[0] = begun.tokenizer[0], x->folder.tokenizer[1] = begun.tokenizer[1];
    if (!st) st = hd_lm_new(&x->lm, &m, s->backend, true, err);
    if (st) return st;
    m.lora = (hd_lora_opt){0}; /* the reference is the base itself */
    hd_model_folder_take(&x->folder, HD_TRAIN_LM, hd_lm_model(x->lm));
    s->params = x->lm->params;
    return hd_lm_new(&x->reference, &m, s->backend, false, err);
}

/* Texts must fit in what a model that attends can see: it is trained on them as they were drawn. */
static hd_status check_lengths(const hd_rewarded *x, const hd_prompts *p, const hd_train_options *o,
                               hd_err *err)
{
    const hd_lm *m = x->lm;
    hd_ids ids = {0};
    hd_status s = HD_OK;
    for (size_t i = 0; !s && m->type->attention && i < p->count; i++) {
        hd_line line = hd_prompts_text(p, i);
        ids.count = 0;
        s = hd_tokenizer_encode_ids(x->folder.tokenizer[0], line.text, line.size, &ids, err);
        if (!s && ids.count + 1 + (size_t)o->tokens > m->opt.context + 1)
            s = hd_err_set(err, HD_EARG,
                           "--tokens %d: prompt %zu has %zu tokens, and the model sees %zu: give fewer "
                           "--tokens or shorter prompts",
                           o->tokens, i + 1, ids.count, m->opt.context);
    }
    hd_ids_release(&ids);
    return s;
}

static hd_status open(hd_session *s, hd_err *err)
{
    hd_rewarded *x = s->state;
    const hd_train_options *o = s->options;
    hd_status st = read_prompts(s, err);
    if (!st) st = make_models(s, err);
    if (!st) st = check_lengths(x, &x->train, o, err);
    if (!st) st = check_lengths(x, &x->valid, o, err);
    if (st) return st;
    if (o->stop) hd_prompt_unescape(&x->stop, o->stop, strlen(o->stop));
    x->author = (hd_author){&s->run, &x->folder, x->rewards, x->stop.data, (size_t)o->tokens};
    x->each = (size_t)o->group_size;
    x->update = (size_t)o->batch_size * x->each;
    x->updates = (size_t)o->rollout_updates;
    snprintf(x->pass_name, sizeof x->pass_name, "pass@%d", o->valid_samples);
    if (o->rollout_updates > 1) s->beside = (hd_beside){save_rollout, load_rollout, x};
    return hd_text_status(&x->stop, err);
}

static hd_status load_reference(hd_session *s, hd_err *err)
{
    hd_rewarded *x = s->state;
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    const char *from = s->options->resume ? x->base : s->options->from;
    if (from) return hd_published_load(x->reference->params, from, err);
    hd_status st = hd_path(path, s->options->out, REFERENCE, err);
    if (!st) st = hd_safetensors_open(&file, path, err);
    if (!st) st = hd_params_load(x->reference->params, file, err);
    hd_safetensors_free(file);
    return st;
}

static hd_status weights(hd_session *s, hd_err *err)
{
    const hd_train_options *o = s->options;
    const hd_rewarded *x = s->state;
    bool adapter = x->lm->opt.lora.rank;
    hd_status st = o->resume || adapter ? hd_params_draw(s->params, (uint64_t)o->seed, err)
                                        : hd_published_load(s->params, o->from, err);
    if (!st && adapter) st = hd_adapter_load_base(x->lm, o->resume ? x->base : o->from, o->out, err);
    return st ? st : load_reference(s, err);
}

/* With the reference: a run that goes on needs no other folder, unless it learns an adapter. */
static hd_status save(hd_session *s, const char *folder, hd_err *err)
{
    const hd_rewarded *x = s->state;
    char path[HD_PATH];
    hd_status st = hd_task_save(s, folder, err);
    if (!st) st = hd_chat_carry(hd_session_folder(s), folder, err);
    if (!st && x->lm->opt.lora.rank) return hd_adapter_save(x->lm, s->options->from, folder, err);
    if (!st) st = hd_path(path, folder, "train", err);
    if (!st) st = hd_folder_make(path, NULL, err);
    if (!st) st = hd_path(path, folder, REFERENCE, err);
    return st ? st : hd_params_save(x->reference->params, path, &(hd_meta)HD_CHECKSUM_META, 1, err);
}

static hd_status plan(hd_session *s, hd_plan *p, hd_err *err)
{
    const hd_rewarded *x = s->state;
    const hd_train_options *o = s->options;
    char a[32];
    (void)err;
    snprintf(p->model, sizeof p->model, "%s, learning from rewards by %s", hd_lm_names[x->lm->opt.kind],
             hd_train_variants[o->variant]);
    hd_plan_add_data(p, "prompts", x->train.count, x->valid.count);
    hd_plan_add(p, "texts of an update", "%s", hd_grouped(x->update, a));
    p->flops = x->lm->type->flops(x->lm, (double)x->update, (double)o->tokens, 0);
    return HD_OK;
}

const hd_task hd_task_reward = {
    .unit = "tokens",
    .judged = "prompts",
    .with = "--prompt TEXT",
    .remedy = "a smaller --batch-size or --group-size, or --micro-batches N",
    .by_figures = true,
    .recipe = &hd_recipe_reward,
    .size = sizeof(hd_rewarded),
    .check = hd_reward_check,
    .open = open,
    .release = release,
    .weights = weights,
    .plan = plan,
    .load = load,
    .send = send,
    .loss = loss,
    .validate = hd_reward_validate,
    .report = report,
    .save = save,
    .publish = hd_task_publish,
};
