/* JSON through Jansson. Easy to get wrong: its parser must never see an allocation fail (hd_json_load). */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/file/lines.h"
#include "base/mem.h"

static _Thread_local size_t missed;

void hd_json_begin(void)
{
    missed = 0;
}

size_t hd_json_missed(void)
{
    return missed;
}

/* An upper bound of what Jansson (2.14) allocates for a text: every value and its slot in a list follow a
   comma or an opening bracket, a list starts with eight slots, an object with eight buckets. */
static size_t most_bytes(const char *text, size_t length)
{
    enum { VALUE = 192, LIST = 256, OBJECT = 512, ROOT = 4096 };
    size_t sum = ROOT + 4 * length;
    for (size_t i = 0; i < length; i++)
        sum += text[i] == ',' ? VALUE : text[i] == '[' ? LIST : text[i] == '{' ? OBJECT : 0;
    return sum;
}

static void forget(void *root)
{
    json_decref(root);
}

/* Out of memory, the lexer of Jansson (2.14, and its issue 362 is still open) drops bytes of a token and
   then runs past its end. So memory for the whole tree is allocated first, then freed for the parser to use.
 */
static json_t *load(hd_arena *arena, const char *text, size_t length, size_t flags, json_error_t *e)
{
    hd_json_begin();
    size_t bytes = most_bytes(text, length);
    void *room = hd_mem_new(bytes);
    if (!room) {
        missed = bytes;
        return NULL;
    }
    hd_mem_free(room);
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | flags, e);
    if (!root) {
        if (json_error_code(e) == json_error_out_of_memory) missed = bytes;
        return NULL;
    }
    if (hd_arena_at_end(arena, forget, root)) return root;
    json_decref(root);
    missed = bytes;
    return NULL;
}

json_t *hd_json_load(hd_arena *arena, const char *text, size_t length, json_error_t *e)
{
    return load(arena, text, length, 0, e);
}

/* tokenizer_config.json says "no limit" with a whole number of 31 digits */
json_t *hd_json_load_config(hd_arena *arena, const char *text, size_t length, json_error_t *e)
{
    json_t *root = load(arena, text, length, 0, e);
    if (root || missed || json_error_code(e) != json_error_numeric_overflow) return root;
    return load(arena, text, length, JSON_DECODE_INT_AS_REAL, e);
}

hd_status hd_json_parse(json_t **out, hd_arena *arena, const void *text, size_t size, const char *path,
                        hd_err *err)
{
    json_error_t e;
    *out = hd_json_load_config(arena, text, size, &e);
    if (*out) return HD_OK;
    return hd_json_missed() ? hd_err_nomem(err, hd_json_missed())
                            : hd_err_set(err, HD_EFORMAT, "%s:%d: %s", path, e.line, e.text);
}

hd_status hd_json_read(json_t **out, hd_arena *arena, const char *path, size_t most, hd_err *err)
{
    hd_map map = {0};
    hd_status s = hd_map_open(&map, path, err);
    if (!s && map.size > most)
        s = hd_err_set(err, HD_EFORMAT, "%s: too large: more than %zu bytes", path, most);
    if (!s) s = hd_json_parse(out, arena, map.data, map.size, path, err);
    hd_map_close(&map);
    return s;
}

void hd_json_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) && !missed) missed = 1;
}

void hd_json_join(json_t *object, json_t *members)
{
    if ((!members || json_object_update(object, members)) && !missed) missed = 1;
    json_decref(members);
}

void hd_json_append(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) && !missed) missed = 1;
}

json_t *hd_json_string(const char *text)
{
    size_t size = strlen(text);
    if (hd_utf8_good(text, size) == size) return json_string(text);
    hd_text good = {0};
    while (size) {
        size_t fine = hd_utf8_good(text, size);
        hd_text_add(&good, text, fine);
        if (fine < size) hd_text_put(&good, "\xef\xbf\xbd");
        fine += fine < size;
        text += fine, size -= fine;
    }
    json_t *string = good.missed ? NULL : json_string(good.data);
    hd_text_release(&good);
    return string;
}

json_t *hd_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static int append(const char *bytes, size_t size, void *to)
{
    hd_text_add(to, bytes, size);
    return ((hd_text *)to)->missed ? -1 : 0;
}

hd_status hd_json_write(hd_text *to, json_t *root, size_t flags, hd_err *err)
{
    hd_status s = HD_OK;
    if (!root || missed || json_dump_callback(root, append, to, flags))
        s = hd_err_nomem(err, missed ? missed : to->missed);
    json_decref(root);
    return s;
}

hd_status hd_json_save(json_t *root, size_t flags, const char *folder, const char *name, hd_err *err)
{
    char path[HD_PATH];
    hd_text text = {0};
    hd_status s = hd_json_write(&text, root, flags, err);
    if (!s) hd_text_put(&text, "\n"), s = hd_text_status(&text, err);
    if (!s) s = hd_path(path, folder, name, err);
    if (!s) s = hd_save_bytes(path, text.data, text.size, err);
    hd_text_release(&text);
    return s;
}
