/* libFuzzer target: any bytes as a file of torch.save; then again with an allocation that fails. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/safetensors.h"

#define MUST(condition) \
    if (!(condition)) __builtin_trap()

static volatile unsigned sink; /* keeps the reads from being removed */

/* What hd_torch_open promises. Entries may share bytes, so that a file can ask for much: not all is read. */
static void check(const hd_safetensors *s, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < hd_safetensors_count(s); i++) {
        const hd_entry *e = hd_safetensors_at(s, i);
        MUST(hd_safetensors_find(s, e->name) == e);
        MUST(!i || strcmp(e[-1].name, e->name) < 0);
        MUST(e->data >= bytes && e->bytes <= size && (size_t)(e->data - bytes) <= size - e->bytes);
        MUST(!e->known || e->bytes == e->count * hd_dtype_bytes(e->dtype));
        if (e->bytes) sink += e->data[0] + e->data[e->bytes - 1];
        size_t count = 1;
        for (int k = 0; k < e->rank; k++) count *= e->shape[k];
        MUST(count == e->count);
    }
}

static void parse(const uint8_t *bytes, size_t size, size_t fail_at)
{
    hd_safetensors *s = NULL;
    hd_err err = {0};
    size_t blocks = hd_mem_now().blocks;
    hd_mem_fail_at(fail_at);
    hd_status status = hd_torch_parse(&s, bytes, size, "fuzz", &err);
    hd_mem_fail_at(0);
    MUST(!s == (status != HD_OK));
    MUST(!status || (err.status == status && err.text[0]));
    MUST(status == HD_OK || status == HD_EFORMAT || status == HD_ELIMIT || (fail_at && status == HD_ENOMEM));
    if (s) check(s, bytes, size);
    hd_safetensors_free(s);
    MUST(hd_mem_now().blocks == blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    parse(input, size, 0);
    if (size) parse(input, size, 1 + input[size / 2] % 12u);
    return 0;
}
