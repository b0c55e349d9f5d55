/* libFuzzer target: any bytes as a chat template, rendered for a conversation with small limits. Every byte
   of the output has a mark, and no byte that a template got from a message may lose its own. */
#include "text/template/template.h"

#include "fuzz.h"

enum { MEMORY = 1 << 26 };

/* Contents are of letters that no template of ours makes: U+2603 in messages, so marks can be checked. */
static const char variables[] = "{\"messages\": [{\"role\": \"system\", \"content\": \"\xe2\x98\x83 be\"}, "
                                "{\"role\": \"user\", \"content\": "
                                "\" \xe2\x98\x83\\nU1 \"}, {\"role\": \"assistant\", \"content\": "
                                "\"A\xe2\x98\x83\", \"tool_calls\": [{\"name\": "
                                "\"f\", \"arguments\": {\"x\": 1.5}}]}], \"tools\": null, \"bos_token\": "
                                "\"<s>\", \"eos_token\": \"</s>\", "
                                "\"add_generation_prompt\": true, \"n\": 3}";

static void render(const hd_template *t, const json_t *given, size_t fail_at)
{
    hd_marked m = {0};
    hd_err err = {0};
    hd_template_opt opt = {.steps = 20000, .bytes = 1 << 16, .memory = 1 << 22, .now = 1000000000};
    hd_mem_fail_at(fail_at);
    hd_status s = hd_template_render(t, given, &opt, &m, &err);
    hd_mem_fail_at(0);
    MUST(!s || (err.status == s && err.text[0]));
    MUST(s == HD_OK || s == HD_EARG || s == HD_ELIMIT || s == HD_ENOMEM);
    MUST(m.text.size == m.mark.size || s == HD_ENOMEM);
    for (size_t i = 0; !s && i < m.mark.size; i++) MUST((uint8_t)m.mark.data[i] <= HD_MARK_ANSWER);
    hd_marked_release(&m);
}

/* A template without the snowman shows it only where it came from a message. */
static void check_marks(const hd_template *t, const json_t *given)
{
    hd_marked m = {0};
    hd_template_opt opt = {.steps = 20000, .bytes = 1 << 16, .memory = 1 << 22, .now = 1000000000};
    if (!hd_template_render(t, given, &opt, &m, NULL))
        for (size_t i = 0; i + 2 < m.text.size; i++)
            if (!memcmp(m.text.data + i, "\xe2\x98\x83", 3))
                MUST(m.mark.data[i] && m.mark.data[i + 1] && m.mark.data[i + 2]);
    hd_marked_release(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static hd_arena arena;
    static json_t *given;
    if (!given) {
        hd_arena_init(&arena, hd_allocator_host, 0);
        given = hd_json_load(&arena, variables, sizeof variables - 1, NULL);
        MUST(given);
    }
    if (size < 1) return 0;
    size_t blocks = hd_mem_now().blocks, fail_at = data[0] & 0x80 ? 1 + (data[0] & 0x1F) : 0;
    hd_template *t = NULL;
    hd_err err = {0};
    hd_mem_limit(hd_mem_now().used + MEMORY);
    hd_status s = hd_template_new(&t, (const char *)data + 1, size - 1, "fuzz", &err);
    MUST(!s || (err.status == s && err.text[0] && !t));
    MUST(s == HD_OK || s == HD_EFORMAT || s == HD_ELIMIT || s == HD_ENOMEM);
    if (t) {
        render(t, given, fail_at);
        bool own = memmem(data, size, "\xe2\x98\x83", 3) || memmem(data, size, "2603", 4) ||
                   memchr(data, '\\', size);
        if (!own && !fail_at) check_marks(t, given);
        hd_template_free(t);
    }
    hd_mem_limit(0);
    MUST(hd_mem_now().blocks == blocks);
    return 0;
}
