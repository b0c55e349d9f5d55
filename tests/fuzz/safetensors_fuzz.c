/* libFuzzer target: any bytes as a safetensors file. Easy to get wrong: nearly no mutated file keeps a right
   header length, so each input is tried as it is and once more with the length put right; then again with an
   allocation that fails. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/safetensors.h"

#define MUST(condition) \
    if (!(condition)) __builtin_trap()

static volatile unsigned sink; /* keeps the reads from being removed */

static void load(const hd_safetensors *s, const hd_entry *e)
{
    if (!e->known || e->rank > HD_RANK || e->count > 4096) return;
    float *numbers = hd_mem_array(e->count, sizeof *numbers);
    MUST(numbers);
    hd_dtype type = hd_dtype_is_float(e->dtype) ? HD_F32 : HD_I32;
    hd_tensor to = hd_shaped(numbers, type, e->rank, e->shape);
    MUST(hd_safetensors_load(s, e->name, &to, NULL) == HD_OK);
    hd_mem_free(numbers);
}

/* What hd_safetensors_open promises. */
static void check(const hd_safetensors *s, const uint8_t *bytes, size_t size)
{
    size_t sum = 0;
    for (size_t i = 0; i < hd_safetensors_count(s); i++) {
        const hd_entry *e = hd_safetensors_at(s, i);
        MUST(hd_safetensors_find(s, e->name) == e);
        MUST(!i || strcmp(e[-1].name, e->name) < 0);
        MUST(e->data >= bytes + 8 && e->bytes <= size && (size_t)(e->data - bytes) <= size - e->bytes);
        MUST(!e->known || e->bytes == e->count * hd_dtype_bytes(e->dtype));
        for (size_t k = 0; k < e->bytes; k++) sink += e->data[k];
        for (int k = 0; k < e->rank; k++) sink += (unsigned)e->shape[k];
        sum += e->bytes;
        load(s, e);
    }
    MUST(sum <= size);
    MUST(!hd_safetensors_at(s, hd_safetensors_count(s)));
    const char *format = hd_safetensors_meta(s, "format");
    if (format) sink += (unsigned)strlen(format);
    MUST(!hd_safetensors_find(s, "__metadata__"));
}

static void parse(const uint8_t *bytes, size_t size, size_t fail_at)
{
    hd_safetensors *s = NULL;
    hd_err err = {0};
    size_t blocks = hd_mem_now().blocks;
    hd_mem_fail_at(fail_at);
    hd_status status = hd_safetensors_parse(&s, bytes, size, "fuzz", &err);
    hd_mem_fail_at(0);
    MUST(!s == (status != HD_OK));
    MUST(!status || (err.status == status && err.text[0]));
    MUST(status == HD_OK || status == HD_EFORMAT || (fail_at && status == HD_ENOMEM));
    if (s) check(s, bytes, size);
    hd_safetensors_free(s);
    MUST(hd_mem_now().blocks == blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    parse(input, size, 0);
    if (size < 9) return 0;
    uint8_t *copy = malloc(size); /* of its own, so that a read past its end is seen */
    if (!copy) return 0;
    memcpy(copy, input, size);
    uint64_t length = size - 8;
    while (length && copy[8 + length - 1] != '}') length--;
    memcpy(copy, &length, 8);
    parse(copy, size, 0);
    parse(copy, size, 1 + input[0] % 8u);
    free(copy);
    return 0;
}
