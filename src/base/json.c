/* JSON through Jansson with all memory from hd_mem. Easy to get wrong: its parser must never see an
 * allocation fail (hd_json_load). */
#include "base/json.h"

#include <pthread.h>
#include <setjmp.h>

#include "base/file.h"
#include "base/mem.h"

/* Jansson's hooks have no context: what they need is kept per thread. */
static _Thread_local struct {
    size_t missed;   /* bytes of the last block Jansson did not get; 0: it got all */
    hd_arena *arena; /* set while a text is parsed */
    jmp_buf escape;
} json;

static void *json_get(size_t bytes)
{
    void *block = json.arena ? hd_arena_take(json.arena, bytes) : hd_mem_new(bytes);
    if (block) return block;
    json.missed = bytes;
    if (json.arena) longjmp(json.escape, 1);
    return NULL;
}

static void json_put(void *block)
{
    if (!json.arena) hd_mem_free(block);
}

static void json_hook(void)
{
    json_set_alloc_funcs(json_get, json_put);
}

void hd_json_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, json_hook);
    json.missed = 0;
}

size_t hd_json_missed(void)
{
    return json.missed;
}

/* Out of memory, the lexer of Jansson (2.14, and its issue 362 is still open) drops bytes of a token and then
   runs past its end. So a parse takes from an arena, which makes it safe to leave by longjmp: nothing is held
   but the arena's memory. The result lives in the arena and must not be given to json_decref. */
json_t *hd_json_load(hd_arena *arena, const char *text, size_t length, json_error_t *e)
{
    hd_json_begin();
    json_t *volatile root = NULL;
    if (!setjmp(json.escape)) {
        json.arena = arena;
        root = json_loadb(text, length, JSON_REJECT_DUPLICATES, e);
    }
    json.arena = NULL;
    return root;
}

hd_status hd_json_read(json_t **out, hd_arena *arena, const char *path, size_t most, hd_err *err)
{
    hd_map map = {0};
    json_error_t e;
    hd_status s = hd_map_open(&map, path, err);
    if (!s && map.size > most)
        s = hd_err_set(err, HD_EFORMAT, "%s: too large: more than %zu bytes", path, most);
    if (!s) *out = hd_json_load(arena, (const char *)map.data, map.size, &e);
    if (!s && !*out)
        s = hd_json_missed() ? hd_err_nomem(err, hd_json_missed())
                             : hd_err_set(err, HD_EFORMAT, "%s:%d: %s", path, e.line, e.text);
    hd_map_close(&map);
    return s;
}
