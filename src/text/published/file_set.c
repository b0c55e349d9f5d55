/* Files kept in memory in their original form. */
#include "text/published/file_set.h"

#include <string.h>
#include <unistd.h>

#include "base/file/file.h"

void hd_file_set_release(hd_file_set *f)
{
    for (int i = 0; i < f->count; i++) hd_text_release(&f->at[i].bytes);
    *f = (hd_file_set){0};
}

bool hd_is_called(const char *path, const char *ending)
{
    size_t size = strlen(path), end = strlen(ending);
    return size >= end && !strcmp(path + size - end, ending);
}

hd_status hd_beside(char to[HD_PATH], const char *path, const char *name, hd_err *err)
{
    static const char *const side[] = {"source.", "target."};
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t kept = (size_t)(base - path);
    for (int i = 0; i < 2; i++)
        if (!strncmp(base, side[i], strlen(side[i])) && strcmp(base + strlen(side[i]), "spm"))
            kept += strlen(side[i]);
    if (kept + strlen(name) >= HD_PATH)
        return hd_err_set(err, HD_ELIMIT, "%.80s...: the path is too long", path);
    memcpy(to, path, kept);
    strcpy(to + kept, name);
    return HD_OK;
}

hd_status hd_file_set_find(char to[HD_PATH], const char *path, const char *name, const char *instead,
                           hd_err *err)
{
    hd_status s = hd_beside(to, path, instead, err);
    if (s || (hd_is_called(path, name) && access(path, F_OK) && !access(to, F_OK))) return s;
    if (strlen(path) >= HD_PATH) return hd_err_set(err, HD_ELIMIT, "%.80s...: the path is too long", path);
    strcpy(to, path);
    return HD_OK;
}

static hd_status check_utf8(hd_line text, const char *path, hd_err *err)
{
    size_t good = hd_utf8_good(text.text, text.size), line = 1;
    if (good == text.size) return HD_OK;
    for (size_t i = 0; i < good; i++) line += text.text[i] == '\n';
    return hd_err_set(err, HD_EFORMAT, "%s:%zu: not UTF-8: convert the file", path, line);
}

hd_status hd_file_set_read(hd_file_set *f, const char *path, const char *name, bool utf8, hd_line *out,
                           hd_err *err)
{
    hd_map map = {0};
    hd_status s = hd_map_open(&map, path, err);
    if (s) return s;
    hd_text *bytes = &f->at[f->count].bytes;
    f->at[f->count++].name = name;
    if (map.size > HD_FILE_SET_BYTES)
        s = hd_err_set(err, HD_ELIMIT, "%s: %zu bytes are too many for a file of a tokenizer", path,
                       map.size);
    else {
        hd_text_add(bytes, (const char *)map.data, map.size);
        s = hd_text_status(bytes, err);
    }
    hd_map_close(&map);
    if (s) return s;
    *out = (hd_line){bytes->data, bytes->size};
    return utf8 ? check_utf8(*out, path, err) : HD_OK;
}

hd_status hd_file_set_read_beside(hd_file_set *f, const char *path, const char *name, hd_line *out,
                                  hd_err *err)
{
    char beside[HD_PATH];
    hd_status s = hd_beside(beside, path, name, err);
    *out = (hd_line){0};
    if (s || access(beside, F_OK)) return s;
    return hd_file_set_read(f, beside, name, true, out, err);
}

static bool has(const hd_file_set *f, const char *name)
{
    for (int i = 0; i < f->count; i++)
        if (!strcmp(f->at[i].name, name)) return true;
    return false;
}

hd_status hd_file_set_save(const hd_file_set *f, const char *path, const char *const *others, hd_err *err)
{
    char to[HD_PATH];
    hd_status s = HD_OK;
    for (int i = 0; !s && i < f->count; i++) {
        s = hd_beside(to, path, f->at[i].name, err);
        if (!s) s = hd_save_bytes(to, f->at[i].bytes.data, f->at[i].bytes.size, err);
    }
    for (; !s && *others; others++) {
        if (has(f, *others)) continue;
        s = hd_beside(to, path, *others, err);
        if (!s) s = hd_folder_remove(to, err);
    }
    return s;
}

bool hd_take_line(hd_line *text, hd_line *line)
{
    if (!text->size) return false;
    const char *end = memchr(text->text, '\n', text->size);
    size_t size = end ? (size_t)(end - text->text) : text->size, whole = size + (end != NULL);
    *line = (hd_line){text->text, size};
    if (end && size && line->text[size - 1] == '\r') line->size--;
    text->text += whole, text->size -= whole;
    return true;
}

hd_status hd_file_json(json_t **out, hd_arena *arena, hd_line text, const char *path, hd_err *err)
{
    json_error_t e;
    *out = hd_json_load_config(arena, text.text, text.size, &e);
    if (*out) return HD_OK;
    return hd_json_missed() ? hd_err_nomem(err, hd_json_missed())
                            : hd_err_set(err, HD_EFORMAT, "%s:%d: %s", path, e.line, e.text);
}
