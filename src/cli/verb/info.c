/* heed info: what a model folder contains, and the devices of this machine. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/file/folder.h"
#include "cli/frame/table.h"
#include "cli/frame/verb.h"
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
    {"heed info --devices", "processors and cards, and which of them 'auto' uses"},
    {NULL, NULL},
};

/* -- devices -- */

typedef struct devices {
    hd_fields *page;
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
        hd_fields_name(all->page, name);
        put_device_text(&all->page->out, d);
    }
}

static void put_devices(hd_fields *s)
{
    devices all = {.page = s};
    if (s->json) hd_fields_name(s, "devices"), hd_text_put(&s->out, "[");
    hd_backend_list(put_device, &all);
    if (s->json) hd_text_put(&s->out, "]");
    hd_fields_text(s, "auto", all.best);
}

/* -- a model -- */

static void put_details(hd_fields *s, const hd_details *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const hd_detail *f = &all->at[i];
        if (f->kind == HD_DETAIL_text) hd_fields_text(s, f->name, f->text);
        if (f->kind == HD_DETAIL_whole) hd_fields_whole(s, f->name, f->whole);
        if (f->kind == HD_DETAIL_real) hd_fields_real(s, f->name, f->real, f->unit);
        if (f->kind == HD_DETAIL_flag) hd_fields_switch(s, f->name, f->flag);
    }
}

/* What is known of a model of two sides alone. */
static hd_status put_sides(hd_fields *s, const hd_model_folder *f, const char *folder, hd_err *err)
{
    static const char *const kind[] = {"source_tokenizer", "target_tokenizer"}, *const size[] = {
                                                                                    "source_vocab",
                                                                                    "target_vocab"};
    char path[HD_PATH];
    struct stat info;
    for (int side = 0; side < 2; side++) {
        hd_fields_text(s, kind[side], hd_tokenizer_name(hd_tokenizer_kind_of(f->tokenizer[side])));
        hd_fields_whole(s, size[side], hd_tokenizer_size(f->tokenizer[side]));
    }
    hd_fields_switch(s, "shared_tokenizer", f->tokenizer[0] == f->tokenizer[1]);
    hd_fields_whole(s, "longest_trained", f->trained);
    hd_status st = hd_path(path, folder, "model.safetensors", err);
    if (!st && !stat(path, &info)) hd_fields_real(s, "megabytes", (double)info.st_size / 1e6, "");
    return st;
}

static hd_status put_training(hd_fields *s, const hd_model_folder *f, const char *folder, hd_err *err)
{
    hd_progress p;
    hd_err why = {0};
    hd_fields_switch(s, "resumable", hd_checkpoint_exists(folder));
    if (!hd_checkpoint_exists(folder)) return HD_OK;
    if (hd_checkpoint_load(folder, &p, NULL, &why)) {
        if (why.status == HD_ENOMEM) return hd_err_set(err, HD_ENOMEM, "%s", why.text);
        hd_fields_text(s, "training", why.text);
        return HD_OK;
    }
    hd_fields_whole(s, "steps", p.step);
    hd_fields_whole(s, "epochs", p.epoch);
    hd_fields_whole(s, "target_tokens", p.tokens);
    hd_fields_whole(s, "skipped_updates", p.skipped);
    hd_fields_real(s, "training_tflop", p.flops / 1e12, "");
    if (isnan(p.best)) return HD_OK;
    bool by_loss = p.best <= -p.best_loss && p.best >= -p.best_loss; /* what the best was chosen by */
    hd_fields_real(s, by_loss ? "best_loss" : f->task->best, fabs(p.best), "");
    hd_fields_whole(s, "best_step", p.best_step);
    return HD_OK;
}

static void put_tensors(hd_fields *s, const hd_params *params)
{
    if (s->json) hd_fields_name(s, "tensors"), hd_text_put(&s->out, "{");
    for (size_t i = 0; i < params->count; i++) {
        const hd_param *p = params->list[i];
        if (!p->name || p->alias) continue;
        size_t rows = p->t.shape[0], cols = p->t.rank == 2 ? p->t.shape[1] : 0;
        if (s->json) {
            hd_member_key(&s->out, p->name);
            hd_text_print(&s->out, cols ? "[%zu, %zu]" : "[%zu]", rows, cols);
        } else {
            hd_text_print(&s->out, cols ? "%-60s %zu x %zu\n" : "%-60s %zu\n", p->name, rows, cols);
        }
    }
    if (s->json) hd_text_put(&s->out, "}");
}

static hd_status put_folder(hd_fields *s, const hd_model_folder *f, const char *folder, bool tensors,
                            hd_err *err)
{
    const hd_model *m = &f->model;
    hd_details details = {0};
    hd_status st = HD_OK;
    m->type->describe(m->self, &details);
    if (m->params) hd_details_whole(&details, "parameters", hd_params_size(m->params));
    if (m->type->decode)
        hd_details_real(&details, "gflop_per_translation", m->type->flops(m->self, 1, 25, 25) / 1e9,
                        " (25 tokens to 25)");
    hd_fields_text(s, "task", f->task->name);
    put_details(s, &details);
    if (m->type->decode) {
        st = put_sides(s, f, folder, err);
    } else {
        hd_fields_text(s, "tokenizer", hd_tokenizer_name(hd_tokenizer_kind_of(f->tokenizer[0])));
        hd_fields_whole(s, "vocab",
                        m->type->fill ? m->type->sizes(m->self).vocab : hd_tokenizer_size(f->tokenizer[0]));
    }
    if (!st) st = put_training(s, f, folder, err);
    if (!st && tensors && m->params) put_tensors(s, m->params);
    return st;
}

/* Without loading weights. */
static hd_status put_model(hd_fields *page, const char *folder, bool tensors, hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_describe(&f, folder, NULL, err);
    if (!s && !f.model.params) s = f.model.type->lm.load(f.model.self, folder, err);
    if (!s) s = put_folder(page, &f, folder, tensors, err);
    hd_model_folder_release(&f);
    return s;
}

/* -- weights -- */

/* The small files are checked whenever a model is opened. Counts of n-grams are among them. */
static hd_status verify(hd_fields *page, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    bool known = true;
    hd_status s = hd_path(path, folder, "model.safetensors", err);
    if (!s && !access(path, F_OK)) {
        s = hd_safetensors_open(&file, path, err);
        if (!s) s = hd_safetensors_verify(file, &known, err);
        hd_safetensors_free(file);
    }
    if (!s)
        hd_fields_text(page, "verified", known ? "yes" : "no: the weights were written without a checksum");
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
    hd_fields page = {.json = o->json};
    hd_status s = c->operands.count ? put_model(&page, c->operands.word[0], o->tensors, err) : HD_OK;
    if (!s && o->verify) s = verify(&page, c->operands.word[0], err);
    if (!s && o->devices) put_devices(&page);
    if (o->json) hd_text_put(&page.out, "}\n");
    return hd_command_put_page(c, &page.out, s, err);
}

const hd_usage hd_verb_info = {
    .operands = "[MODEL]",
    .most = 1,
    .about =
        "Shows what the folder MODEL contains, without loading its weights: architecture, number of "
        "parameters, vocabularies, the work per translation, and the state of its training.\n"
        "The small files of a model are checked whenever it is opened, by checksums in config.json; with "
        "--verify also the weights. An error names the damaged file, and the exit status is 1.\n"
        "--devices lists the processor and the CUDA cards of this machine, and why one cannot be used.",
    .options = options,
    .size = sizeof(struct info),
    .examples = examples,
    .check = check,
    .run = run,
};
