/* JSON: Jansson stays the host program's, a tree never needs more than was asked for, broken text is mended.
 */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "check.h"

/* Jansson's allocators as a host program may set them: every block knows its size. */
static size_t held, most;

static void *counted_get(size_t size)
{
    size_t *block = malloc(size + 32);
    block[0] = size;
    held += size + 32; /* malloc's own share */
    if (held > most) most = held;
    return (char *)block + 16;
}

static void counted_put(void *p)
{
    if (!p) return;
    size_t *block = (size_t *)((char *)p - 16);
    held -= block[0] + 32;
    free(block);
}

static void count_blocks(void)
{
    json_set_alloc_funcs(counted_get, counted_put);
    held = most = 0;
}

static void jansson_belongs_to_the_host(void **state)
{
    (void)state;
    json_malloc_t get;
    json_free_t put;
    hd_arena arena;
    hd_text text = {0};
    json_error_t e;
    hd_err err = {0};
    count_blocks();
    json_t *hosts = json_pack("{s:i}", "kept", 1);
    size_t before = held;
    hd_arena_init(&arena, hd_allocator_host, 64);
    assert_non_null(hd_json_load(&arena, "[1,2,3]", 7, &e));
    hd_json_begin();
    json_t *all = json_object();
    hd_json_set(all, "a", hd_json_string("b"));
    assert_int_equal(hd_json_write(&text, all, JSON_COMPACT, &err), HD_OK);
    assert_string_equal(text.data, "{\"a\":\"b\"}");
    hd_text_release(&text);
    hd_arena_release(&arena);
    json_get_alloc_funcs(&get, &put);
    assert_true(get == counted_get && put == counted_put);
    assert_int_equal(held, before);
    json_decref(hosts);
    assert_int_equal(held, 0);
    json_set_alloc_funcs(malloc, free);
}

/* 3,000 times one text between two others. */
static char *repeated(const char *open, const char *one, const char *close)
{
    hd_text t = {0};
    hd_text_put(&t, open);
    for (int i = 0; i < 3000; i++) hd_text_print(&t, "%s%s", i ? "," : "", one);
    hd_text_put(&t, close);
    return t.data;
}

static void a_tree_needs_less_than_was_asked_for(void **state)
{
    (void)state;
    hd_text keys = {0};
    for (int i = 0; i < 3000; i++) hd_text_print(&keys, "%s\"%x\":{}", i ? "," : "{", i);
    hd_text_put(&keys, "}");
    char *texts[] = {repeated("[", "1", "]"),
                     repeated("[", "[]", "]"),
                     repeated("[", "{}", "]"),
                     repeated("[", "{\"\":[0]}", "]"),
                     repeated("[", "\"\"", "]"),
                     repeated("[", "1.5", "]"),
                     repeated("[", "\"\\u00e4\\u00f6\\ud83d\\ude00 long enough\"", "]"),
                     keys.data};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hd_arena arena;
        json_error_t e;
        hd_arena_init(&arena, hd_allocator_host, 64);
        count_blocks();
        size_t used = hd_mem_now().used;
        hd_mem_peak_reset();
        assert_non_null(hd_json_load(&arena, texts[i], strlen(texts[i]), &e));
        size_t asked = hd_mem_now().peak - used;
        if (most >= asked) fail_msg("text %zu: asked for %zu bytes, took %zu", i, asked, most);
        hd_arena_reset(&arena); /* as well as release */
        assert_int_equal(held, 0);
        hd_arena_release(&arena);
        json_set_alloc_funcs(malloc, free);
        hd_mem_free(texts[i]);
    }
}

static void a_parse_without_memory_says_so(void **state)
{
    (void)state;
    hd_arena arena;
    json_error_t e;
    hd_arena_init(&arena, hd_allocator_host, 64);
    for (size_t n = 1; n <= 2; n++) { /* the room, and the note that the tree goes with the arena */
        hd_mem_fail_at(n);
        assert_null(hd_json_load(&arena, "{}", 2, &e));
        hd_mem_fail_at(0);
        assert_true(hd_json_missed() > 0);
    }
    assert_null(hd_json_load(&arena, "{", 1, &e));
    assert_int_equal(hd_json_missed(), 0); /* broken, not out of memory */
    hd_arena_release(&arena);
}

static void *nothing(size_t size)
{
    (void)size;
    return NULL;
}

static void a_tree_without_memory_is_not_written(void **state)
{
    (void)state;
    hd_text text = {0};
    hd_err err = {0};
    hd_json_begin();
    json_t *all = json_object();
    json_set_alloc_funcs(nothing, free);
    hd_json_set(all, "a", hd_json_string("b"));
    json_set_alloc_funcs(malloc, free);
    assert_int_equal(hd_json_write(&text, all, 0, &err), HD_ENOMEM);
    hd_text_release(&text);
}

static void what_json_cannot_hold_is_replaced(void **state)
{
    (void)state;
    hd_text text = {0};
    hd_err err = {0};
    hd_json_begin();
    json_t *list = json_array();
    hd_json_append(list, hd_json_string("\xff"
                                        "a\xe4"));
    hd_json_append(list, hd_json_real(NAN));
    hd_json_append(list, hd_json_real(0.5));
    assert_int_equal(hd_json_write(&text, list, JSON_COMPACT, &err), HD_OK);
    assert_string_equal(text.data, "[\"\xef\xbf\xbd"
                                   "a\xef\xbf\xbd\",null,0.5]");
    hd_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jansson_belongs_to_the_host),
        cmocka_unit_test(a_tree_needs_less_than_was_asked_for),
        cmocka_unit_test(a_parse_without_memory_says_so),
        cmocka_unit_test(a_tree_without_memory_is_not_written),
        cmocka_unit_test(what_json_cannot_hold_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
