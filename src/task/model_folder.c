/* Model folders: found by their task, opened, saved, removed. */
#include "task/model_folder.h"

#include <string.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/mem.h"
#include "data/labels/examples.h"
#include "model/lm/ngram.h"
#include "nn/weight/form.h"
#include "task/language/adapter.h"
#include "task/masked/masked.h"
#include "train/checkpoint.h"
#include "train/published.h"

#define LABELS "labels.txt"

#define X(NAME, name, text, reduction) #name,
const char *const hd_pooling_names[HD_POOLINGS + 1] = {HD_POOLING_LIST(X) NULL};
#undef X

const hd_task_folder hd_task_folders[] = {
#define X(NAME, name, about, what, verb, line, start, end, best, functions)                             \
    {HD_TRAIN_##NAME,       #name, what, verb, HD_LINE_##line, start, end, best, hd_##functions##_read, \
     hd_##functions##_write},
    HD_TASK_LIST(X)
#undef X
};

const hd_task_folder *hd_task_folder_find(const char *name)
{
    for (size_t i = 0; i < HD_TRAIN_TASKS; i++)
        if (!strcmp(hd_task_folders[i].name, name)) return &hd_task_folders[i];
    return NULL;
}

hd_status hd_task_folder_peek(const hd_task_folder **out, const char *folder, hd_err *err)
{
    hd_model_config c;
    hd_err why = {0};
    hd_model_config_read_file(&c, folder, "config.json", &why);
    const char *task = c.status ? NULL : json_string_value(json_object_get(c.object, "task"));
    *out = task ? hd_task_folder_find(task) : NULL;
    hd_model_config_release(&c);
    return c.status == HD_ENOMEM ? hd_err_set(err, HD_ENOMEM, "%s", why.text) : HD_OK;
}

/* -- opening -- */

static void refuse(hd_model_config *c, const hd_task_folder *is)
{
    hd_model_config_refuse(c, "\"task\" is \"%s\": this is %s, which `heed %s` reads", is->name, is->what,
                           is->verb);
}

/* All but weights. */
static hd_status begin(hd_model_folder *f, const char *folder, const char *task, hd_backend *backend,
                       hd_err *err)
{
    hd_model_config c;
    hd_model_config_open(&c, folder, err);
    const char *name = hd_model_config_text(&c, "task");
    const hd_task_folder *is = hd_task_folder_find(name), *wanted = task ? hd_task_folder_find(task) : is;
    if (!is) hd_model_config_refuse(&c, "\"task\" is \"%.40s\", not \"%s\"", name, task ? task : "translate");
    if (is && strcmp(is->verb, wanted->verb)) refuse(&c, is);
    f->task = is;
    if (!c.status) is->read(f, &c, folder, backend);
    hd_model_config_release(&c);
    return c.status;
}

static hd_status load(hd_model_folder *f, const char *folder, hd_weights which, hd_err *err)
{
    const hd_model *m = &f->model;
    if (f->base) return hd_adapter_load(f, folder, which, err);
    if (!m->params) return m->type->lm.load(m->self, folder, err);
    return which & HD_WEIGHTS_LAST ? hd_checkpoint_weights(folder, m->params, err)
                                   : hd_published_load(m->params, folder, err);
}

hd_status hd_model_folder_open(hd_model_folder *out, const char *folder, const char *task,
                               hd_backend *backend, hd_weights which, hd_err *err)
{
    *out = (hd_model_folder){0};
    hd_status s = begin(out, folder, task, backend, err);
    hd_params *params = s ? NULL : out->model.params;
    const hd_use use = !s && out->model.type->decode ? HD_DECODING : HD_PREDICTING;
    if (params && hd_model_mark(&out->model) && which == HD_WEIGHTS_BEST && !out->base) params->stays = use;
    if (!s) s = load(out, folder, which, err);
    if (!s) s = hd_model_prepare(&out->model, use, err);
    if (!s && params) hd_params_drop(params, which & HD_WEIGHTS_WHOLE);
    if (s) hd_model_folder_release(out);
    return s;
}

hd_status hd_model_folder_describe(hd_model_folder *out, const char *folder, const char *task, hd_err *err)
{
    *out = (hd_model_folder){0};
    hd_status s = hd_backend_new(&out->described, "null", NULL, err);
    if (!s) s = begin(out, folder, task, out->described, err);
    if (s) hd_model_folder_release(out);
    return s;
}

hd_status hd_model_folder_read_labels(hd_model_folder *f, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_lines *lines = NULL;
    hd_line line;
    hd_status s = hd_path(path, folder, LABELS, err);
    if (!s) s = hd_lines_open(&lines, path, &(hd_lines_opt){.utf8 = true, .no_zero = true}, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text) {
        size_t number = hd_lines_count(lines);
        bool bad = !line.size || number > HD_MOST_LABELS;
        if (!bad) s = hd_vocab_add(&f->labels, line.text, line.size, err);
        if (!s && (bad || f->labels.count < number))
            s = hd_err_set(err, HD_EFORMAT, "%s:%zu: the label is empty, there already or one too many", path,
                           number);
    }
    hd_lines_close(lines);
    return s;
}

void hd_model_folder_take(hd_model_folder *f, hd_train_task task, hd_model model)
{
    const hd_task_folder *is = &hd_task_folders[task];
    hd_model_sizes z = model.type->sizes(model.self);
    f->task = is, f->model = model, f->pictures = z.image, f->sounds = z.sound;
    if (!f->tokenizer[1]) f->tokenizer[1] = f->tokenizer[0];
    if (!f->longest) f->longest = z.positions;
    bool lines = !z.bare && !z.image && !z.sound && f->tokenizer[0];
    f->start = is->start && lines && hd_tokenizer_special(f->tokenizer[0]).start >= 0;
    f->end = is->end && lines;
    f->drops_start = is->start && !is->end;
}

void hd_model_folder_release(hd_model_folder *f)
{
    hd_model_free(&f->model);
    hd_tokenizer_free_pair(f->tokenizer);
    hd_vocab_release(&f->labels);
    hd_mem_free(f->base);
    hd_backend_free(f->described);
    *f = (hd_model_folder){0};
}

void hd_model_folder_keep_tokenizers(hd_model_folder *f)
{
    const hd_model_folder kept = {.tokenizer = {f->tokenizer[0], f->tokenizer[1]}};
    f->tokenizer[0] = f->tokenizer[1] = NULL;
    hd_model_folder_release(f);
    *f = kept;
}

/* -- saving -- */

static hd_status tokenizer_path(char to[HD_PATH], const char *folder, bool shared, int side,
                                hd_tokenizer_kind kind, hd_err *err)
{
    hd_tokenizer_place place = shared ? HD_OF_BOTH : side ? HD_OF_TARGET : HD_OF_SOURCE;
    return hd_path(to, folder, hd_tokenizer_file(kind, place), err);
}

hd_status hd_model_folder_save_tokenizers(hd_tokenizer *const tokenizer[2], const char *folder, hd_err *err)
{
    char path[HD_PATH];
    bool shared = tokenizer[0] == tokenizer[1];
    hd_status s = HD_OK;
    for (int side = 0; !s && side < (shared ? 1 : 2); side++) {
        if (!tokenizer[side]) continue;
        s = tokenizer_path(path, folder, shared, side, hd_tokenizer_kind_of(tokenizer[side]), err);
        if (!s) s = hd_tokenizer_save(tokenizer[side], path, err);
    }
    return s;
}

static hd_status save_text(const char *folder, const char *name, hd_text *t, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_text_status(t, err);
    if (!s) s = hd_path(path, folder, name, err);
    if (!s) s = hd_save_bytes(path, t->data, t->size, err);
    hd_text_release(t);
    return s;
}

static hd_status save_labels(const hd_vocab *labels, const char *folder, hd_err *err)
{
    hd_text t = {0};
    if (!labels->count) return HD_OK;
    for (size_t i = 0; i < labels->count; i++)
        hd_text_put(&t, hd_vocab_piece(labels, (int32_t)i)), hd_text_put(&t, "\n");
    return save_text(folder, LABELS, &t, err);
}

hd_status hd_model_folder_save(const hd_model_folder *f, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_text config = {0};
    hd_status s = hd_path(path, folder, HD_PUBLISHED_KEPT, err);
    if (!s) s = hd_folder_remove(path, err); /* of an earlier run */
    if (!s) s = hd_model_folder_save_tokenizers(f->tokenizer, folder, err);
    if (!s) s = save_labels(&f->labels, folder, err);
    if (s) return s;
    hd_text_print(&config, "{\"format\": 1,\n \"task\": \"%s\"", f->task->name);
    f->task->write(&config, f);
    hd_text_put(&config, "}\n");
    s = save_text(folder, "config.json", &config, err);
    return s ? s : hd_model_config_seal(folder, err);
}

hd_status hd_model_folder_publish(const hd_model_folder *f, const char *folder, hd_err *err)
{
    const hd_model *m = &f->model;
    if (m->params) return hd_published_save(m->params, folder, err);
    hd_status s = m->type->lm.save(m->self, folder, err);
    return s ? s : hd_model_config_seal(folder, err); /* counts have no place for a checksum of their own */
}

hd_status hd_model_folder_write(const hd_model_folder *f, const char *folder, hd_err *err)
{
    hd_status s = hd_model_folder_save(f, folder, err);
    return s ? s : hd_model_folder_publish(f, folder, err);
}

hd_status hd_model_folder_remove(const char *folder, hd_err *err)
{
    static const char *const fixed[] = {"config.json", "model.safetensors",         LABELS,
                                        HD_NGRAM_FILE, "adapter_model.safetensors", HD_ADAPTER_CONFIG};
    char path[HD_PATH];
    hd_status s = hd_checkpoint_remove(folder, err);
    for (size_t i = 0; !s && i < sizeof fixed / sizeof *fixed; i++) {
        s = hd_path(path, folder, fixed[i], err);
        if (!s) s = hd_folder_remove(path, err);
    }
    for (int i = 0; !s && i < 4 * HD_TOKENIZERS; i++) {
        s = tokenizer_path(path, folder, i & 1, i >> 1 & 1, (hd_tokenizer_kind)(i >> 2), err);
        if (!s) s = hd_folder_remove(path, err);
    }
    return s;
}

/* -- lines -- */

hd_status hd_line_pieces(hd_line_kind kind, bool framed, const hd_tokenizer *t, hd_line line, hd_pieces *out,
                         hd_err *err)
{
    hd_status s = HD_OK;
    bool first = true;
    if (kind != HD_LINE_words) return hd_tokenizer_encode(t, line.text, line.size, out, err);
    for (size_t at = 0, size; !s && at < line.size; at += size + 1) {
        size_t from = out->count;
        for (size = 0; at + size < line.size && !strchr(" \t\r", line.text[at + size]);) size++;
        if (!size) continue;
        s = hd_token_pieces(t, (hd_line){line.text + at, size}, framed && !first, out, err);
        if (!s) hd_pieces_move(out, from, at);
        first = false;
    }
    return s;
}

static hd_status encode_words(const hd_model_folder *f, hd_line line, hd_ids *out, hd_err *err)
{
    hd_pieces p = {0};
    hd_status s = hd_line_pieces(HD_LINE_words, f->end, f->tokenizer[0], line, &p, err);
    if (!s) s = hd_ids_add_pieces(out, &p, err);
    hd_pieces_release(&p);
    return s;
}

hd_status hd_model_folder_encode(const hd_model_folder *f, hd_line line, hd_ids *out, hd_err *err)
{
    hd_special special = hd_tokenizer_special(f->tokenizer[0]);
    if (f->task->line == HD_LINE_masks) return hd_masked_encode(f->tokenizer[0], line, out, err);
    hd_status s = hd_ids_reserve(out, 1, err);
    if (!s && f->start) out->at[out->count++] = special.start;
    if (!s && f->task->line == HD_LINE_words)
        s = encode_words(f, line, out, err);
    else if (!s)
        s = hd_tokenizer_encode_ids(f->tokenizer[0], line.text, line.size, out, err);
    if (!s) s = hd_ids_reserve(out, 1, err);
    if (!s && f->end) out->at[out->count++] = special.end;
    return s;
}
