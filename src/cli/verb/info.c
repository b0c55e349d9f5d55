/* heed info: what a model folder contains, and the devices of this machine. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/file/folder.h"
#include "cli/frame/verb.h"
#include "hub/import.h"
#include "tensor/safetensors.h"
#include "train/checkpoint.h"

struct info {
    bool json, tensors, devices, verify;
};

static const hd_option options[] = {
    {"json", 0, NULL, NULL, "one JSON object", HD_FLAG_INTO(struct info, json)},
    {"tensors", 0, NULL, NULL, "list every tensor with its shape", HD_FLAG_INTO(struct info, tensors)},
    {"verify", 0, NULL, NULL, "read all weights and check their checksum", HD_FLAG_INTO(struct info, verify)},
    {"devices", 0, NULL, NULL, "list the devices for --device, with or without MODEL",
     HD_FLAG_INTO(struct info, devices)},
    {0},
};

static const hd_example examples[] = {
    {"heed info model", "architecture, parameters, vocabulary and how it was trained"},
    {"heed info model --json | jq .parameters", "for programs"},
    {"heed info model --verify", "is every file intact, for example after copying?"},
    {"heed info DeepSeek-V3/config.json", "parameters and cache of a published model, without its weights"},
    {"heed info --devices", "processors and cards, and which of them 'auto' uses"},
    {NULL, NULL},
};

/* -- names with values -- */

/* Shown as aligned lines or as the members of one JSON object. */
typedef struct page {
    hd_text out; /* without the brace that ends an object */
    bool json;
    bool begun;
    hd_details of; /* not written yet */
} page;

static void put_name(page *p, const char *name)
{
    if (p->json) {
        hd_text_put(&p->out, p->begun ? ", " : "{");
        hd_markup_json(&p->out, name, false);
        hd_text_put(&p->out, ": ");
    } else {
        hd_text_print(&p->out, "%-22s", name);
    }
    p->begun = true;
}

static void put_value(hd_text *to, bool json, const hd_detail *f)
{
    char grouped[32];
    switch (f->kind) {
    case HD_DETAIL_text:
        if (json) hd_markup_json(to, f->text, false);
        if (!json) hd_text_put(to, f->text);
        break;
    case HD_DETAIL_whole:
        if (json) hd_text_print(to, "%llu", (unsigned long long)f->whole);
        if (!json) hd_text_put(to, hd_grouped(f->whole, grouped));
        break;
    case HD_DETAIL_real:
        hd_markup_number(to, f->real, json ? 17 : 6);
        if (!json) hd_text_put(to, f->unit);
        break;
    case HD_DETAIL_flag:
        hd_text_put(to, json ? f->flag ? "true" : "false" : f->flag ? "yes" : "no");
        break;
    }
}

static void put_details(page *p)
{
    for (size_t i = 0; i < p->of.count; i++) {
        put_name(p, p->of.at[i].name);
        put_value(&p->out, p->json, &p->of.at[i]);
        if (!p->json) hd_text_put(&p->out, "\n");
    }
    p->of.count = 0;
}

/* -- devices -- */

typedef struct devices {
    page *page;
    char best[32]; /* the first that can be used */
} devices;

static void put_device_json(hd_text *to, const hd_device *d)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "device", d->backend);
    hd_member_flag(to, "usable", !d->why[0]);
    if (d->name[0]) {
        hd_member_count(to, "number", (size_t)d->number);
        hd_member_text(to, d->major ? "name" : "instruction_set", d->name);
        hd_member_count(to, d->major ? "multiprocessors" : "threads", (size_t)d->units);
    }
    if (d->major) hd_text_print(to, ", \"compute_capability\": \"%d.%d\"", d->major, d->minor);
    if (d->kernels[0]) hd_member_text(to, "kernels", d->kernels);
    if (d->memory) hd_member_count(to, "memory", d->memory);
    if (d->left) hd_member_count(to, "memory_free", d->left);
    if (d->driver) hd_text_print(to, ", \"driver\": \"%d.%d\"", d->driver / 1000, d->driver % 1000 / 10);
    if (d->runtime) hd_text_print(to, ", \"runtime\": \"%d.%d\"", d->runtime / 1000, d->runtime % 1000 / 10);
    if (d->why[0]) hd_member_text(to, "why", d->why);
    hd_member_end(to, '}');
}

static void put_device_text(hd_text *to, const hd_device *d)
{
    const double gib = 1 << 30;
    if (d->why[0]) hd_text_print(to, "not usable: %s%s", d->why, d->name[0] ? "; " : "");
    hd_text_put(to, d->name);
    if (d->units) hd_text_print(to, ", %d %s", d->units, d->major ? "multiprocessors" : "threads");
    if (d->major) hd_text_print(to, ", compute capability %d.%d", d->major, d->minor);
    if (d->kernels[0]) hd_text_print(to, ", kernels %s", d->kernels);
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
        put_device_json(&all->page->out, d);
    } else {
        put_name(all->page, name);
        put_device_text(&all->page->out, d);
    }
}

static void put_devices(page *p)
{
    devices all = {.page = p};
    put_details(p);
    if (p->json) put_name(p, "devices"), hd_text_put(&p->out, "[");
    hd_backend_list(put_device, &all);
    if (p->json) hd_text_put(&p->out, "]");
    hd_details_text(&p->of, "auto", all.best);
}

/* -- a model -- */

/* What is known of a model of two sides alone. */
static hd_status put_sides(page *p, const hd_model_folder *f, const char *folder, hd_err *err)
{
    static const char *const kind[] = {"source_tokenizer", "target_tokenizer"}, *const size[] = {
                                                                                    "source_vocab",
                                                                                    "target_vocab"};
    char path[HD_PATH];
    struct stat info;
    for (int side = 0; side < 2; side++) {
        hd_details_text(&p->of, kind[side], hd_tokenizer_name(hd_tokenizer_kind_of(f->tokenizer[side])));
        hd_details_whole(&p->of, size[side], hd_tokenizer_size(f->tokenizer[side]));
    }
    hd_details_flag(&p->of, "shared_tokenizer", f->tokenizer[0] == f->tokenizer[1]);
    hd_details_whole(&p->of, "longest_trained", f->trained);
    hd_status st = hd_path(path, folder, "model.safetensors", err);
    if (!st && !stat(path, &info)) hd_details_real(&p->of, "megabytes", (double)info.st_size / 1e6, "");
    return st;
}

static hd_status put_training(page *p, const hd_model_folder *f, const char *folder, hd_err *err)
{
    hd_progress now;
    hd_err why = {0};
    hd_details_flag(&p->of, "resumable", hd_checkpoint_exists(folder));
    if (!hd_checkpoint_exists(folder)) return HD_OK;
    if (hd_checkpoint_load(folder, &now, NULL, &why)) {
        if (why.status == HD_ENOMEM) return hd_err_set(err, HD_ENOMEM, "%s", why.text);
        hd_details_text(&p->of, "training", why.text);
        return HD_OK;
    }
    hd_details_whole(&p->of, "steps", now.step);
    hd_details_whole(&p->of, "epochs", now.epoch);
    hd_details_whole(&p->of, "target_tokens", now.tokens);
    hd_details_whole(&p->of, "skipped_updates", now.skipped);
    hd_details_real(&p->of, "training_tflop", now.flops / 1e12, "");
    if (isnan(now.best)) return HD_OK;
    bool by_loss = now.best <= -now.best_loss && now.best >= -now.best_loss; /* what the best was chosen by */
    hd_details_real(&p->of, by_loss ? "best_loss" : f->task->best, by_loss ? now.best_loss : fabs(now.best),
                    "");
    hd_details_whole(&p->of, "best_step", now.best_step);
    return HD_OK;
}

static void put_tensors(page *p, const hd_params *params)
{
    if (p->json) put_name(p, "tensors"), hd_text_put(&p->out, "{");
    for (size_t i = 0; i < params->count; i++) {
        const hd_param *one = params->list[i];
        if (!one->name || one->alias) continue;
        size_t rows = one->t.shape[0], cols = one->t.rank == 2 ? one->t.shape[1] : 0;
        if (p->json) {
            hd_member_key(&p->out, one->name);
            hd_text_print(&p->out, cols ? "[%zu, %zu]" : "[%zu]", rows, cols);
        } else {
            hd_text_print(&p->out, cols ? "%-60s %zu x %zu\n" : "%-60s %zu\n", one->name, rows, cols);
        }
    }
    if (p->json) hd_text_put(&p->out, "}");
}

static hd_status put_folder(page *p, const hd_model_folder *f, const char *folder, bool tensors, hd_err *err)
{
    const hd_model *m = &f->model;
    hd_status st = HD_OK;
    hd_details_text(&p->of, "task", f->task->name);
    put_details(p);
    m->type->describe(m->self, &p->of);
    if (f->base) hd_details_text(&p->of, "base", f->base);
    if (m->params) hd_details_whole(&p->of, "parameters", hd_params_size(m->params));
    const bool pictures = m->type->sizes(m->self).image, sides = m->type->decode && !pictures;
    if (m->type->decode && pictures)
        hd_details_real(&p->of, "gflop_per_caption", m->type->flops(m->self, 1, 0, 12) / 1e9, " (12 tokens)");
    if (sides)
        hd_details_real(&p->of, "gflop_per_translation", m->type->flops(m->self, 1, 25, 25) / 1e9,
                        " (25 tokens to 25)");
    put_details(p);
    if (sides) {
        st = put_sides(p, f, folder, err);
    } else if (f->tokenizer[0]) {
        hd_details_text(&p->of, "tokenizer", hd_tokenizer_name(hd_tokenizer_kind_of(f->tokenizer[0])));
        hd_details_whole(&p->of, "vocab",
                         m->type->fill ? m->type->sizes(m->self).vocab : hd_tokenizer_size(f->tokenizer[0]));
    }
    if (!st) st = put_training(p, f, folder, err);
    put_details(p);
    if (!st && tensors && m->params) put_tensors(p, m->params);
    return st;
}

/* Without loading weights. */
static hd_status put_model(page *p, const char *folder, bool tensors, hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_describe(&f, folder, NULL, err);
    if (!s && !f.model.params) s = f.model.type->lm.load(f.model.self, folder, err);
    if (!s) s = put_folder(p, &f, folder, tensors, err);
    hd_model_folder_release(&f);
    return s;
}

/* A published model, of which its config.json alone has to be there. */
static hd_status put_published(page *p, const char *path, bool tensors, hd_err *err)
{
    const char *type = NULL;
    hd_model_folder f;
    hd_status s = hd_import_describe(&f, &type, path, err);
    if (s) return s;
    hd_details_text(&p->of, "published", type);
    hd_details_text(&p->of, "task", f.task->name);
    put_details(p);
    f.model.type->describe(f.model.self, &p->of);
    hd_details_whole(&p->of, "parameters", hd_params_size(f.model.params));
    put_details(p);
    if (tensors) put_tensors(p, f.model.params);
    hd_model_folder_release(&f);
    return HD_OK;
}

/* -- weights -- */

/* The small files are checked whenever a model is opened. Counts of n-grams are among them. */
static hd_status verify(page *p, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    bool known = true;
    hd_status s = hd_path(path, folder, "adapter_model.safetensors", err);
    if (!s && access(path, F_OK)) s = hd_path(path, folder, "model.safetensors", err);
    if (!s && !access(path, F_OK)) {
        s = hd_safetensors_open(&file, path, err);
        if (!s) s = hd_safetensors_verify(file, &known, err);
        hd_safetensors_free(file);
    }
    if (!s)
        hd_details_text(&p->of, "verified",
                        known ? "yes" : "no: the weights were written without a checksum");
    return s;
}

static hd_status check(hd_command *c, hd_err *err)
{
    const struct info *o = c->options;
    bool of_model = o->tensors || o->verify;
    if (c->operands.count || (o->devices && !of_model)) return HD_OK;
    return hd_err_set(err, HD_EARG, of_model ? "MODEL is missing" : "MODEL is missing, or --devices");
}

static hd_status run(hd_command *c, hd_err *err)
{
    const struct info *o = c->options;
    page p = {.json = o->json};
    const bool published = c->operands.count && hd_import_is_published(c->operands.word[0]);
    hd_status s = HD_OK;
    if (published && o->verify)
        s = hd_err_set(err, HD_EARG, "--verify checks models of heed, %s is a published one: import it",
                       c->operands.word[0]);
    if (!s && c->operands.count)
        s = (published ? put_published : put_model)(&p, c->operands.word[0], o->tensors, err);
    if (!s && o->verify) s = verify(&p, c->operands.word[0], err);
    if (!s && o->devices) put_devices(&p);
    put_details(&p);
    if (o->json) hd_text_put(&p.out, "}\n");
    return hd_command_put_page(c, &p.out, s, err);
}

const hd_usage hd_verb_info = {
    .operands = "[MODEL]",
    .most = 1,
    .about =
        "Shows what the folder MODEL contains, without loading its weights: architecture, number of "
        "parameters, vocabularies, the work per translation, and the state of its training.\n"
        "MODEL may be a folder of transformers or its config.json alone: what that describes is shown, and "
        "nothing else has to be there.\n"
        "The small files of a model are checked whenever it is opened, by checksums in config.json; with "
        "--verify also the weights. An error names the damaged file, and the exit status is 1.\n"
        "--devices lists the processor and the CUDA cards of this machine, and why one cannot be used.",
    .options = options,
    .size = sizeof(struct info),
    .examples = examples,
    .check = check,
    .run = run,
};
