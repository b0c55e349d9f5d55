/* Adapters of peft. What is more than two matrices a layer is refused: nothing may be left out in silence. */
#include "hub/decoder/adapter.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/file/staging.h"
#include "hub/family.h"
#include "task/language/adapter.h"
#include "task/language/chat/form.h"
#include "tensor/safetensors.h"
#include "train/published.h"

#define WEIGHTS "adapter_model.safetensors"

bool hd_adapter_published(const char *folder)
{
    char path[HD_PATH];
    return !hd_path(path, folder, HD_ADAPTER_CONFIG, NULL) && !access(path, F_OK) &&
           !hd_path(path, folder, "config.json", NULL) && access(path, F_OK);
}

hd_status hd_adapter_is(bool *out, const char *folder, hd_err *err)
{
    hd_model_config c;
    hd_model_config_open(&c, folder, err);
    *out = !c.status && hd_model_config_has(&c, "lora_rank");
    hd_model_config_release(&c);
    return c.status;
}

/* -- reading -- */

/* Keys that ask for something else than scale * B A. */
static void refuse_others(hd_model_config *c)
{
    static const char *const switches[] = {"use_dora", "lora_bias", "use_qalora", "trainable_token_indices"},
                             *const filled[] = {"modules_to_save",   "rank_pattern",
                                                "alpha_pattern",     "layer_replication",
                                                "target_parameters", "layers_to_transform"};
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (hd_model_config_has(c, switches[i]) && !json_is_false(json_object_get(c->object, switches[i])))
            hd_model_config_refuse(c, "\"%s\" is set: heed reads plain LoRA alone", switches[i]);
    for (size_t i = 0; i < sizeof filled / sizeof *filled; i++) {
        const json_t *v = json_object_get(c->object, filled[i]);
        if (json_array_size(v) || json_object_size(v) || json_is_integer(v))
            hd_model_config_refuse(c, "\"%s\" is not empty: heed reads plain LoRA alone", filled[i]);
    }
    if (hd_model_config_has(c, "bias") && strcmp(hd_model_config_text(c, "bias"), "none"))
        hd_model_config_refuse(c, "\"bias\" is not \"none\": heed reads plain LoRA alone");
}

static void read_targets(hd_model_config *c, hd_lora_opt *o)
{
    const json_t *v = json_object_get(c->object, "target_modules");
    if (json_is_string(v) && !strcmp(json_string_value(v), "all-linear")) {
        strcpy(o->targets, "all");
        return;
    }
    if (!c->status && !json_array_size(v))
        hd_model_config_refuse(c, "\"target_modules\" is no list of names: others are not read");
    for (size_t i = 0; !c->status && i < json_array_size(v); i++) {
        const char *name = json_string_value(json_array_get(v, i));
        size_t used = strlen(o->targets), size = name ? strlen(name) : 0;
        if (!size || strchr(name, ',') || used + size + 2 > sizeof o->targets)
            hd_model_config_refuse(c, "\"target_modules\" has a name that is none, or is too long");
        else
            snprintf(o->targets + used, sizeof o->targets - used, "%s%s", used ? "," : "", name);
    }
}

static hd_status read_config(hd_lora_opt *o, const char *folder, hd_err *err)
{
    hd_model_config c;
    hd_model_config_read_file(&c, folder, HD_ADAPTER_CONFIG, err);
    *o = (hd_lora_opt){0};
    const char *type = hd_model_config_text(&c, "peft_type");
    if (!c.status && strcmp(type, "LORA"))
        hd_model_config_refuse(&c, "\"peft_type\" is \"%.40s\": heed reads LORA", type);
    if (!c.status) refuse_others(&c);
    o->rank = (int)hd_model_config_whole(&c, "r", 1, HD_LORA_MOST_RANK);
    o->alpha = hd_model_config_real(&c, "lora_alpha", 1e9);
    if (hd_family_switch(&c, "use_rslora", false)) o->alpha *= sqrt((double)o->rank);
    if (hd_model_config_has(&c, "lora_dropout"))
        o->dropout = (float)hd_model_config_real(&c, "lora_dropout", 0.999);
    if (!c.status) read_targets(&c, o);
    hd_model_config_release(&c);
    return c.status;
}

/* -- weights -- */

static hd_status check_names(const hd_params *p, const hd_safetensors *file, hd_err *err)
{
    for (size_t i = 0; i < hd_safetensors_count(file); i++) {
        const hd_entry *e = hd_safetensors_at(file, i);
        const hd_param *one = hd_params_find(p, e->name);
        if (!one || !one->adapter)
            return hd_err_set(err, HD_EFORMAT,
                              "%s: tensor '%.120s' is of no layer that the targets name in this model",
                              hd_safetensors_file(file), e->name);
    }
    return HD_OK;
}

static hd_status load(hd_params *p, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    hd_status s = hd_path(path, folder, WEIGHTS, err);
    if (!s && access(path, F_OK)) return hd_err_set(err, HD_EFILE, "%s: missing", path);
    if (!s) s = hd_safetensors_open(&file, path, err);
    if (!s) s = check_names(p, file, err);
    if (!s) s = hd_params_load(p, file, err);
    hd_safetensors_free(file);
    return s;
}

static hd_status import(hd_model_folder *f, const hd_lora_opt *o, const char *from, const char *base,
                        const char *to, hd_backend *backend, hd_err *err)
{
    hd_lm *m = NULL;
    hd_lm_opt opt = hd_model_folder_lm(f)->opt;
    char full[PATH_MAX];
    opt.lora = *o;
    hd_status s = hd_adapter_checksum(opt.lora.base, base, err);
    if (!s) s = hd_lm_new(&m, &opt, backend, false, err);
    if (s) return s;
    hd_model_folder_keep_tokenizers(f);
    hd_model_folder_take(f, HD_TRAIN_LM, hd_lm_model(m));
    s = load(m->params, from, err);
    if (!s) s = hd_model_folder_write(f, to, err);
    if (!s) s = hd_adapter_save(m, realpath(base, full) ? full : base, to, err);
    return s ? s : hd_chat_carry(base, to, err);
}

hd_status hd_adapter_import(const char *from, const char *base, const char *to, hd_backend *backend,
                            hd_err *err)
{
    hd_lora_opt o;
    hd_staging made;
    hd_model_folder f = {0};
    hd_status s = read_config(&o, from, err);
    if (!s && !base)
        s = hd_err_set(err, HD_EARG,
                       "%s: an adapter of peft: give --base, the folder of the model that it belongs to",
                       from);
    if (!s) s = hd_model_folder_describe(&f, base, "lm", err);
    if (!s && f.base) s = hd_err_set(err, HD_EARG, "--base %s: an adapter itself: `heed merge` it", base);
    if (!s) s = hd_staging_begin(&made, to, err);
    if (!s) s = hd_staging_end(&made, import(&f, &o, from, base, made.temp, backend, err), err);
    hd_model_folder_release(&f);
    return s;
}

/* -- and back -- */

hd_status hd_adapter_export(const char *from, const char *base, const char *to, hd_backend *backend,
                            hd_err *err)
{
    hd_staging made;
    hd_model_folder f = {0};
    hd_lm *m = NULL;
    hd_status s = hd_model_folder_describe(&f, from, "lm", err);
    if (!s) s = hd_lm_new(&m, &hd_model_folder_lm(&f)->opt, backend, false, err);
    if (!s) s = hd_published_load(m->params, from, err);
    if (!s) s = hd_staging_begin(&made, to, err);
    if (!s) {
        hd_status written = hd_adapter_save(m, base ? base : f.base, made.temp, err);
        if (!written) written = hd_published_save(m->params, made.temp, err);
        s = hd_staging_end(&made, written, err);
    }
    hd_lm_free(m);
    hd_model_folder_release(&f);
    return s;
}
