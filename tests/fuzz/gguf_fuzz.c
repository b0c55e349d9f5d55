/* libFuzzer target: any bytes as a GGUF file, then again with an allocation that fails. What is taken must
   lie in the file and be widened without a fault; nothing may leak. */
#include "fuzz.h"
#include "tensor/gguf.h"

static volatile float sink; /* keeps the reads from being removed */

static void read_value(const hd_gguf_value *v)
{
    int64_t whole;
    double real;
    bool flag;
    hd_line text = {0};
    if (hd_gguf_whole(v, &whole)) sink += (float)whole;
    if (hd_gguf_real(v, &real)) sink += (float)real;
    if (hd_gguf_switch(v, &flag)) sink += (float)flag;
    if (hd_gguf_text(v, &text))
        for (size_t i = 0; i < text.size; i++) sink += (float)text.text[i];
}

static void check(const hd_gguf *g)
{
    static const char *const keys[] = {"a", "general.architecture", "tokenizer.ggml.tokens",
                                       "general.alignment"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const hd_gguf_value *v = hd_gguf_find(g, keys[i]);
        hd_gguf_value rest = {0}, item;
        read_value(v);
        if (v) rest = *v;
        while (hd_gguf_next(&rest, &item)) read_value(&item);
    }
    for (size_t i = 0; i < hd_gguf_count(g); i++) {
        const hd_gguf_tensor *t = hd_gguf_at(g, i);
        MUST(hd_gguf_tensor_of(g, t->name) == t);
        if (t->count > 1 << 16) continue;
        float *x = hd_mem_array(t->count, sizeof *x);
        MUST(x);
        hd_gguf_widen(t, x);
        sink += x[t->count - 1];
        hd_mem_free(x);
    }
}

static void parse(const uint8_t *bytes, size_t size, size_t fail_at)
{
    hd_gguf *g = NULL;
    hd_err err = {0};
    size_t blocks = hd_mem_now().blocks;
    hd_mem_fail_at(fail_at);
    hd_status s = hd_gguf_parse(&g, bytes, size, "fuzz", &err);
    hd_mem_fail_at(0);
    MUST(!g == (s != HD_OK));
    MUST(!s || (err.status == s && err.text[0]));
    MUST(s == HD_OK || s == HD_EFORMAT || (fail_at && s == HD_ENOMEM));
    if (g) check(g);
    hd_gguf_free(g);
    MUST(hd_mem_now().blocks == blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse(data, size, 0);
    if (size > 24) parse(data, size, 1 + data[size - 1] % 8u);
    return 0;
}
