/* Numbers as GGUF files hold them: plain, or in blocks of small integers with a scale each. */
#ifndef HD_TENSOR_QUANTIZED_H
#define HD_TENSOR_QUANTIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(number in the file, NAME, numbers of a block, bytes of a block) */
#define HD_QUANTIZED_LIST(X) \
    X(0, F32, 1, 4)          \
    X(1, F16, 1, 2)          \
    X(2, Q4_0, 32, 18)       \
    X(3, Q4_1, 32, 20)       \
    X(8, Q8_0, 32, 34)       \
    X(12, Q4_K, 256, 144)    \
    X(14, Q6_K, 256, 210)    \
    X(30, BF16, 1, 2)

typedef struct hd_quantized {
    const char *name;
    size_t numbers, bytes; /* of a block */
    void (*widen)(float *to, const uint8_t *from, size_t blocks);
} hd_quantized;

/* NULL: a type that is not known. */
const hd_quantized *hd_quantized_find(uint32_t number);

#endif
