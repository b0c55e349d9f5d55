/* libFuzzer target: any bytes as a GGUF file, then again with an allocation that fails. What is taken must
   lie in the file and be widened without a fault, and is unpacked as heed import does it; nothing may leak.
 */
#include "fuzz.h"
#include "hub/gguf/unpack.h"
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

/* The files of a folder of transformers, and all weights. */
static void unpack(const uint8_t *bytes, size_t size)
{
    hd_gguf_unpacked u = {0};
    hd_err err = {0};
    char file[HD_PATH];
    write_file("file.gguf", bytes, size);
    memcpy(file, path, sizeof file);
    hd_status s = hd_gguf_unpack(&u, file, folder, &err);
    MUST(!s || (err.status == s && err.text[0]));
    for (size_t i = 0; !s && i < hd_safetensors_count(u.weights); i++) {
        const hd_entry *e = hd_safetensors_at(u.weights, i);
        if (!e->count || e->count > 1 << 16) continue;
        float *x = hd_mem_array(e->count, sizeof *x);
        MUST(x);
        if (!hd_safetensors_make(u.weights, e, x, NULL)) sink += x[e->count - 1];
        hd_mem_free(x);
    }
    hd_gguf_unpacked_release(&u);
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
    if (!s && !fail_at) unpack(bytes, size);
    MUST(hd_mem_now().blocks == blocks);
}

int LLVMFuzzerInitialize(int *count, char ***given)
{
    (void)count, (void)given;
    make_folder("");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse(data, size, 0);
    if (size > 24) parse(data, size, 1 + data[size - 1] % 8u);
    return 0;
}
