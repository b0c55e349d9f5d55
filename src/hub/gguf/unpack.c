/* A GGUF file made into a folder. */
#include "hub/gguf/unpack.h"

#include <stdio.h>
#include <string.h>

bool hd_gguf_is(const char *path)
{
    char magic[4] = "";
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    size_t got = fread(magic, 1, sizeof magic, f);
    fclose(f);
    return got == sizeof magic && !memcmp(magic, "GGUF", sizeof magic);
}

hd_status hd_gguf_unpack(hd_gguf_unpacked *out, const char *path, const char *folder, hd_err *err)
{
    hd_status s = hd_gguf_open(&out->file, path, err);
    if (s) return s;
    hd_gguf_model m = {.file = out->file, .folder = folder};
    s = hd_gguf_put_config(&m, err);
    if (!s) s = hd_gguf_put_tokenizer(&m, err);
    return s ? s : hd_gguf_weights(out, &m, err);
}

void hd_gguf_unpacked_release(hd_gguf_unpacked *u)
{
    hd_safetensors_free(u->weights);
    hd_gguf_sources_free(u->sources);
    hd_gguf_free(u->file);
    *u = (hd_gguf_unpacked){0};
}
