/* The models of a server. */
#include "serve/engine/models.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/mem.h"
#include "text/language.h"

/* -- names and languages -- */

static bool set_languages(hd_served *to, const char *source, size_t source_size, const char *target,
                          size_t target_size)
{
    if (!source_size || !target_size || source_size >= HD_LANGUAGE_CODE || target_size >= HD_LANGUAGE_CODE)
        return false;
    snprintf(to->source, sizeof to->source, "%.*s", (int)source_size, source);
    snprintf(to->target, sizeof to->target, "%.*s", (int)target_size, target);
    return true;
}

/* The code of a language at the end of a name, behind a '.' or '-': its place; NULL: there is none. */
static const char *code_behind(const char *name, const char *end, char mark)
{
    const char *at = end;
    char code[HD_LANGUAGE_CODE];
    while (at > name && at[-1] != mark) at--;
    if (at == name || at == end || end - at >= HD_LANGUAGE_CODE) return NULL;
    snprintf(code, sizeof code, "%.*s", (int)(end - at), at);
    const char *known = hd_language_code(code);
    return known && !strcasecmp(known, code) ? at : NULL;
}

/* opus-mt-en-de */
static void languages_of_name(hd_served *to)
{
    const char *end = to->name + strlen(to->name), *target = code_behind(to->name, end, '-');
    const char *source = target ? code_behind(to->name, target - 1, '-') : NULL;
    if (source) set_languages(to, source, (size_t)(target - 1 - source), target, (size_t)(end - target));
}

/* The end of a name of a file without what says how it is packed. */
static const char *plain_end(const char *name, const char *end)
{
    static const char *const packed[] = {".gz", ".xz", ".zst", ".txt"};
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        size_t size = strlen(packed[i]);
        if ((size_t)(end - name) > size && !strncmp(end - size, packed[i], size)) return end - size;
    }
    return end;
}

/* The files it was trained with: "train: [c/train.en, c/train.de]" in training.yml. */
static hd_status languages_of_training(hd_served *to, hd_err *err)
{
    enum { MOST = 1 << 20 };
    char path[HD_PATH];
    uint8_t *bytes = NULL;
    size_t size = 0;
    hd_status s = hd_path(path, to->folder, "training.yml", err);
    if (s) return s;
    hd_err none = {0};
    if (hd_file_read(&bytes, &size, path, MOST, &none)) return HD_OK;
    const char *text = (const char *)bytes, *end = text + size, *source = NULL;
    size_t source_size = 0;
    const char *line = size > 7 && !memcmp(text, "train: ", 7) ? text : memmem(text, size, "\ntrain: ", 8);
    if (line) line = memchr(line, ':', (size_t)(end - line)) + 1;
    for (int side = 0; line && side < 2; side++) {
        while (line < end && strchr(" [\"',", *line)) line++;
        const char *stop = line;
        while (stop < end && !strchr("\"',] \n", *stop)) stop++;
        const char *last = plain_end(line, stop), *code = code_behind(line, last, '.');
        if (!code) break;
        if (side) set_languages(to, source, source_size, code, (size_t)(last - code));
        source = code, source_size = (size_t)(last - code);
        line = stop;
    }
    hd_mem_free(bytes);
    return HD_OK;
}

hd_status hd_served_read(hd_served *to, const char *operand, const char *languages, hd_err *err)
{
    const char *sign = strchr(operand, '='), *slash = strchr(operand, '/');
    bool named = sign && sign > operand && (!slash || sign < slash);
    *to = (hd_served){.folder = named ? sign + 1 : operand};
    const char *from = named ? operand : to->folder, *end = named ? sign : from + strlen(from);
    while (!named && end > from + 1 && end[-1] == '/') end--;
    for (const char *at = end; !named && at > from; at--)
        if (at[-1] == '/' && at < end) {
            from = at;
            break;
        }
    if ((size_t)(end - from) >= sizeof to->name)
        return hd_err_set(err, HD_EARG, "%s: a name has at most %d bytes", operand, HD_MODEL_NAME - 1);
    snprintf(to->name, sizeof to->name, "%.*s", (int)(end - from), from);
    if (languages) {
        const char *colon = strchr(languages, ':');
        if (!colon ||
            !set_languages(to, languages, (size_t)(colon - languages), colon + 1, strlen(colon + 1)))
            return hd_err_set(err, HD_EARG, "--languages '%s': expected SOURCE:TARGET, as en:de", languages);
        return HD_OK;
    }
    hd_status s = languages_of_training(to, err);
    if (!s && !*to->source) languages_of_name(to);
    return s;
}

/* -- files that change -- */

typedef struct stamping {
    const char *folder;
    uint64_t stamp;
} stamping;

static hd_status add_stamp(void *context, const char *name, hd_err *err)
{
    stamping *to = context;
    char path[HD_PATH];
    struct stat f;
    if (hd_path(path, to->folder, name, err) || stat(path, &f) || !S_ISREG(f.st_mode)) return HD_OK;
    const uint64_t of[] = {f.st_ino, (uint64_t)f.st_size, (uint64_t)f.st_mtim.tv_sec,
                           (uint64_t)f.st_mtim.tv_nsec};
    uint64_t sum = 0; /* of the file; files come in any order */
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) sum = (sum ^ of[i]) * 0x9e3779b97f4a7c15u;
    to->stamp += sum ^ sum >> 29;
    return HD_OK;
}

static uint64_t stamp_of(const char *folder)
{
    stamping s = {folder, 0};
    hd_err none = {0};
    hd_folder_each(folder, add_stamp, &s, &none);
    return s.stamp;
}

bool hd_served_changed(const hd_served *s)
{
    return stamp_of(s->folder) != s->stamp;
}

static hd_status check(const hd_served *s, const hd_engine *e, hd_err *err)
{
    bool translates = hd_engine_model(e)->task->id == HD_TRAIN_TRANSLATE;
    if (translates && !*s->source)
        return hd_err_set(err, HD_EARG, "%s: its languages are not known: give --languages SOURCE:TARGET",
                          s->folder);
    return HD_OK;
}

hd_engine *hd_served_reopen(const hd_served *s, uint64_t *stamp, hd_err *err)
{
    hd_engine *e = NULL;
    *stamp = stamp_of(s->folder);
    hd_status st = hd_engine_new(&e, hd_engine_options(s->engine), err);
    if (!st) st = hd_engine_ready(e, err);
    if (!st) st = check(s, e, err);
    if (!st) return e;
    hd_engine_free(e);
    return NULL;
}

/* -- all of them -- */

hd_status hd_models_open(hd_models *m, const hd_engine_opt *opt, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < m->count; i++) {
        hd_engine_opt o = *opt;
        o.name = m->at[i].name, o.folder = m->at[i].folder;
        m->at[i].stamp = stamp_of(o.folder);
        for (size_t j = 0; !s && j < i; j++)
            if (!strcmp(m->at[j].name, o.name))
                s = hd_err_set(err, HD_EARG, "two models are called '%s': give one as NAME=FOLDER", o.name);
        if (!s) s = hd_engine_new(&m->at[i].engine, &o, err);
    }
    for (size_t i = 0; i < m->count; i++) {
        hd_served *one = &m->at[i];
        if (!s && one->engine) s = hd_engine_ready(one->engine, err);
        if (!s) s = check(one, one->engine, err);
    }
    if (s) hd_models_close(m);
    return s;
}

void hd_models_close(hd_models *m)
{
    for (size_t i = 0; i < m->count; i++) hd_engine_free(m->at[i].engine), m->at[i].engine = NULL;
}

const hd_served *hd_models_named(const hd_models *m, const char *name)
{
    for (size_t i = 0; i < m->count; i++)
        if (!strcmp(m->at[i].name, name)) return &m->at[i];
    return NULL;
}

const hd_served *hd_models_pair(const hd_models *m, const char *source, const char *target)
{
    for (size_t i = 0; i < m->count; i++)
        if (!strcasecmp(m->at[i].source, source) && !strcasecmp(m->at[i].target, target)) return &m->at[i];
    return NULL;
}

bool hd_models_speak(const hd_models *m, int side, const char *language)
{
    for (size_t i = 0; i < m->count; i++)
        if (*m->at[i].source && !strcasecmp(side ? m->at[i].target : m->at[i].source, language)) return true;
    return false;
}
