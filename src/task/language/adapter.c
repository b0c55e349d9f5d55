/* Folders of adapters. Easy to get wrong: the base may have been trained on since, and nothing but its
   checksum tells. */
#include "task/language/adapter.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "train/checkpoint.h"
#include "train/published.h"

#define BASE     "base_model_name_or_path"
#define LORA_END ".lora_A.weight"

/* -- the base -- */

hd_status hd_adapter_checksum(char to[16], const char *base, hd_err *err)
{
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    hd_status s = hd_path(path, base, "model.safetensors", err);
    if (!s) s = hd_safetensors_open(&file, path, err);
    const char *sum = s ? NULL : hd_safetensors_meta(file, HD_CHECKSUM_KEY);
    if (!s) snprintf(to, 16, "%s", sum ? sum : "");
    hd_safetensors_free(file);
    return s;
}

hd_status hd_adapter_options(hd_lora_opt *out, const hd_train_options *o, const char *base, hd_err *err)
{
    *out = (hd_lora_opt){.rank = o->lora,
                         .alpha = o->lora_alpha > 0 ? o->lora_alpha : 2.0 * o->lora,
                         .dropout = (float)o->lora_dropout};
    if (!o->lora) return *out = (hd_lora_opt){0}, HD_OK;
    if (strlen(o->lora_targets) >= sizeof out->targets)
        return hd_err_set(err, HD_ELIMIT, "--lora-targets is longer than %zu bytes", sizeof out->targets - 1);
    memcpy(out->targets, o->lora_targets, strlen(o->lora_targets) + 1);
    return hd_adapter_checksum(out->base, base, err);
}

hd_status hd_adapter_base(char **out, const char *folder, hd_err *err)
{
    hd_model_config c;
    char path[HD_PATH];
    hd_model_config_read_file(&c, folder, HD_ADAPTER_CONFIG, err);
    if (!c.status && !c.object)
        c.status =
            hd_err_set(err, HD_EFILE, "%s: missing: it names the model that the adapter belongs to", c.path);
    const char *base = hd_model_config_text(&c, BASE);
    if (!c.status && !*base) hd_model_config_refuse(&c, "\"%s\" is empty", BASE);
    bool here = !c.status && (*base == '/' || !access(base, F_OK));
    if (!c.status && !here && (c.status = hd_path(path, folder, base, err)) == HD_OK && !access(path, F_OK))
        base = path; /* beside the adapter */
    if (!c.status) *out = hd_mem_text(base);
    if (!c.status && !*out) c.status = hd_err_nomem(err, strlen(base));
    hd_model_config_release(&c);
    return c.status;
}

static hd_status check_base(const hd_lm *m, const char *base, const char *folder, hd_err *err)
{
    char path[HD_PATH], sum[16] = "";
    hd_status s = hd_path(path, base, "model.safetensors", err);
    if (!s && access(path, F_OK))
        return hd_err_set(err, HD_EFILE,
                          "%s: an adapter of the model %s, which is missing: put it back, or write where it "
                          "is into \"%s\" of %s/%s",
                          folder, base, BASE, folder, HD_ADAPTER_CONFIG);
    if (!s) s = hd_adapter_checksum(sum, base, err);
    if (!s && *sum && *m->opt.lora.base && strcmp(sum, m->opt.lora.base))
        s = hd_err_set(err, HD_EFORMAT,
                       "%s: not the weights that the adapter %s was made with (checksum %s, not %s): name "
                       "the folder that has them in \"%s\" of %s/%s",
                       path, folder, sum, m->opt.lora.base, BASE, folder, HD_ADAPTER_CONFIG);
    return s;
}

hd_status hd_adapter_load_base(const hd_lm *m, const char *base, const char *folder, hd_err *err)
{
    hd_status s = check_base(m, base, folder, err);
    m->params->files = HD_FILES_BASE;
    if (!s) s = hd_published_load(m->params, base, err);
    m->params->files = HD_FILES_ADAPTER;
    return s;
}

hd_status hd_adapter_load(hd_model_folder *f, const char *folder, hd_weights which, hd_err *err)
{
    hd_lm *m = hd_model_folder_lm(f);
    hd_status s = hd_adapter_load_base(m, f->base, folder, err);
    if (!s)
        s = which & HD_WEIGHTS_LAST ? hd_checkpoint_weights(folder, m->params, err)
                                    : hd_published_load(m->params, folder, err);
    if (!s) s = hd_lora_merge(m->params, err);
    if (s) return s;
    m->opt.lora = (hd_lora_opt){0};
    hd_mem_free(f->base);
    f->base = NULL;
    return HD_OK;
}

/* -- adapter_config.json -- */

/* The last parts of the names of the layers, each once. */
static json_t *targets_of(const hd_lm *m)
{
    json_t *list = json_array();
    const char *given = m->opt.lora.targets;
    for (const char *at = given; strcmp(given, "all") && *at;) {
        size_t length = strcspn(at, ",");
        hd_json_append(list, json_stringn(at, length));
        at += length + (at[length] == ',');
    }
    for (size_t i = 0; !strcmp(given, "all") && i < m->params->count; i++) {
        const hd_param *one = m->params->list[i];
        size_t size = one->adapter ? strlen(one->name) : 0, end = strlen(LORA_END), from, k;
        if (size <= end || strcmp(one->name + size - end, LORA_END)) continue;
        for (from = size - end; from && one->name[from - 1] != '.';) from--;
        json_t *name = json_stringn(one->name + from, size - end - from);
        for (k = 0; k < json_array_size(list) && !json_equal(json_array_get(list, k), name);) k++;
        if (k == json_array_size(list)) hd_json_append(list, json_incref(name));
        json_decref(name);
    }
    return list;
}

hd_status hd_adapter_save(const hd_lm *m, const char *base, const char *folder, hd_err *err)
{
    const hd_lora_opt *o = &m->opt.lora;
    hd_json_begin();
    json_t *config = json_object();
    hd_json_set(config, "peft_type", json_string("LORA"));
    hd_json_set(config, "task_type", json_string("CAUSAL_LM"));
    hd_json_set(config, BASE, hd_json_string(base));
    hd_json_set(config, "r", json_integer(o->rank));
    hd_json_set(config, "lora_alpha", hd_json_real(o->alpha));
    hd_json_set(config, "lora_dropout", hd_json_real((double)o->dropout));
    hd_json_set(config, "target_modules", targets_of(m));
    hd_json_set(config, "fan_in_fan_out", json_boolean(m->opt.kind == HD_LM_gpt));
    hd_json_set(config, "bias", json_string("none"));
    hd_json_set(config, "inference_mode", json_true());
    return hd_json_save(config, JSON_INDENT(1) | JSON_REAL_PRECISION(9), folder, HD_ADAPTER_CONFIG, err);
}
