/* Checksums in config.json. Easy to get wrong: a user who edits a file by hand must be told the remedy. */
#include "base/file/seal.h"

#include <string.h>
#include <unistd.h>

#include "base/file/checksum.h"
#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/text.h"

static const char CONFIG[] = "config.json", BEGIN[] = ",\n \"" HD_SEAL_KEY "\": {";

/* Bytes of a config before its seal; without one, all but the last brace. 0: it does not end like an
   object. */
static size_t before_seal(const hd_map *m)
{
    size_t begin = strlen(BEGIN), end = m->size;
    for (size_t i = m->size < begin ? 0 : m->size - begin + 1; i-- > 0;)
        if (!memcmp(m->data + i, BEGIN, begin)) return i;
    while (end && strchr(" \n\r\t", m->data[end - 1])) end--;
    return end && m->data[end - 1] == '}' ? end - 1 : 0;
}

static hd_status add_file(hd_text *to, const char *folder, const char *name, hd_err *err)
{
    char path[HD_PATH], sum[HD_CHECKSUM_TEXT];
    hd_map m = {0};
    hd_status s = hd_path(path, folder, name, err);
    if (s || access(path, F_OK)) return s;
    s = hd_map_open(&m, path, err);
    if (!s)
        hd_text_print(to, "\"%s\": \"%s\", ", name, hd_checksum_text(hd_checksum(0, m.data, m.size), sum));
    hd_map_close(&m);
    return s;
}

hd_status hd_seal_folder(const char *folder, const char *const *names, hd_err *err)
{
    char path[HD_PATH], sum[HD_CHECKSUM_TEXT];
    hd_text t = {0};
    hd_map m = {0};
    hd_status s = hd_path(path, folder, CONFIG, err);
    if (!s) s = hd_map_open(&m, path, err);
    size_t size = s ? 0 : before_seal(&m);
    if (!s && !size) s = hd_err_set(err, HD_EFORMAT, "%s: does not end like a JSON object", path);
    if (!s) hd_text_add(&t, (const char *)m.data, size);
    hd_map_close(&m);
    hd_text_put(&t, BEGIN);
    for (; !s && *names; names++) s = add_file(&t, folder, *names, err);
    if (!s) s = hd_text_status(&t, err);
    if (!s) {
        hd_text_print(&t, "\"%s\": \"%s\"}}\n", CONFIG, hd_checksum_text(hd_checksum(0, t.data, size), sum));
        s = hd_text_status(&t, err);
    }
    if (!s) s = hd_save_bytes(path, t.data, t.size, err);
    hd_text_release(&t);
    return s;
}

static hd_status check_file(const char *folder, const char *name, const char *wanted, hd_err *err)
{
    char path[HD_PATH], sum[HD_CHECKSUM_TEXT];
    hd_map m = {0};
    if (strchr(name, '/'))
        return hd_err_set(err, HD_EFORMAT,
                          "%s/%s: \"" HD_SEAL_KEY "\" names '%.60s', which is not a file beside it", folder,
                          CONFIG, name);
    hd_status s = hd_path(path, folder, name, err);
    if (s || access(path, F_OK)) return s;
    s = hd_map_open(&m, path, err);
    if (s) return s;
    size_t size = strcmp(name, CONFIG) ? m.size : before_seal(&m);
    hd_checksum_text(hd_checksum(0, m.data, size), sum);
    hd_map_close(&m);
    if (!strcmp(sum, wanted)) return HD_OK;
    return hd_err_set(
        err, HD_EFORMAT,
        "%s: was changed since heed wrote it (checksum %s, not %.16s): copy the folder again, or, if you "
        "edited the file, remove the line \"" HD_SEAL_KEY "\" and the comma before it from %s/%s",
        path, sum, wanted, folder, CONFIG);
}

hd_status hd_seal_check(const char *folder, const json_t *config, hd_err *err)
{
    json_t *seal = json_object_get(config, HD_SEAL_KEY), *value;
    const char *name;
    hd_status s = HD_OK;
    if (!seal) return HD_OK;
    if (!json_is_object(seal))
        return hd_err_set(err, HD_EFORMAT, "%s/%s: \"" HD_SEAL_KEY "\" is not an object", folder, CONFIG);
    json_object_foreach(seal, name, value)
    {
        if (!s && !json_is_string(value))
            s = hd_err_set(err, HD_EFORMAT, "%s/%s: \"" HD_SEAL_KEY "\" of '%.60s' is not a text", folder,
                           CONFIG, name);
        if (!s) s = check_file(folder, name, json_string_value(value), err);
    }
    return s;
}
