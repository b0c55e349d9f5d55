/* libFuzzer target: any bytes as a request to the server. The first byte says how it is written (JSON, form,
   multipart, query) and whether memory runs out; up to a line feed there is the type's boundary or the query,
   behind it the body. What is read is an object within limits, all of it UTF-8. */
#include "serve/parse/params.h"
#include "serve/parse/percent.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file/lines.h"
#include "base/mem.h"

#define MUST(x)                                        \
    do {                                               \
        if (!(x)) {                                    \
            fprintf(stderr, "%d: %s\n", __LINE__, #x); \
            abort();                                   \
        }                                              \
    } while (0)

enum { MEMORY = 1 << 26, HEAD = 4096 };

static void check_strings(json_t *root)
{
    const char *name;
    json_t *value;
    MUST(json_object_size(root) <= HD_PARAMS_MOST);
    json_object_foreach(root, name, value)
    {
        size_t size = json_string_length(value);
        const char *text = hd_params_text(root, name);
        MUST(strlen(name) <= HD_PARAMS_NAME && text);
        MUST(strlen(text) == size && hd_utf8_good(text, size) == size);
    }
}

static void read_numbers(json_t *root)
{
    const char *name;
    json_t *value;
    long number;
    json_object_foreach(root, name, value) if (hd_params_whole(root, name, -7, 9, 3, &number))
        MUST(number >= -7 && number <= 9);
}

static void read_escapes(const char *text, size_t size)
{
    hd_text to = {0};
    if (hd_percent_decode(&to, text, size, true)) {
        MUST(to.size <= size);
        for (size_t i = 0, raw = 0; i < to.size; i++) {
            raw += !!memchr(text, 0, size);
            MUST(to.data[i] || raw);
        }
    }
    hd_text_release(&to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {"application/json",
                                        "application/x-www-form-urlencoded",
                                        "multipart/form-data; boundary=%s",
                                        NULL,
                                        "application/%s+json",
                                        "multipart/form-data;%s"};
    if (size < 1) return 0;
    const char *text = (const char *)data + 1, *line = memchr(text, '\n', size - 1);
    size_t head = line ? (size_t)(line - text) : 0;
    char type[2 * HEAD], first[HEAD];
    if (head >= sizeof first) return 0;
    memcpy(first, text, head);
    first[head] = 0;
    const char *form = types[(data[0] & 0x7) % 6];
    if (form)
        snprintf(type, sizeof type, "%.*s%s%s", (int)strcspn(form, "%"), form, strchr(form, '%') ? first : "",
                 strstr(form, "%s") ? strstr(form, "%s") + 2 : "");
    size_t blocks = hd_mem_now().blocks;
    size_t from = line ? head + 1 : 0, left = size - 1 - from;
    char *body = malloc(left + 1); /* of its own, so that a byte beyond is noticed */
    MUST(body);
    memcpy(body, text + from, left);
    body[left] = 0;
    hd_arena arena;
    hd_err err = {0};
    json_t *root = NULL;
    hd_arena_init(&arena, hd_allocator_host, 4096);
    hd_mem_fail_at(data[0] & 0x80 ? 1 + (data[0] >> 3 & 0xF) : 0);
    hd_status s = hd_params_read(&root, &arena, form ? type : NULL, first, body, left, &err);
    hd_mem_fail_at(0);
    MUST(!s || (err.status == s && err.text[0]));
    MUST(s == HD_OK || s == HD_EFORMAT || s == HD_ELIMIT || s == HD_ENOMEM);
    if (!s && (!form || !strstr(form, "json"))) check_strings(root);
    MUST(s || json_is_object(root));
    if (!s) read_numbers(root);
    read_escapes(body, left);
    hd_arena_release(&arena);
    free(body);
    MUST(hd_mem_now().blocks == blocks);
    return 0;
}
