/* Decoders for benchmarks: GPT-2's blocks, or a Llama's, with experts or without. */
#ifndef HD_TASK_BENCH_DECODER_H
#define HD_TASK_BENCH_DECODER_H

#include "model/lm/gpt.h"

typedef struct hd_bench_decoder {
    int layers, heads;
    size_t width, inner, vocab, length;
    int relative; /* distances of relative attention; 0: none */
    bool llama;   /* blocks of a Llama, of `inner` hidden columns */
    int experts;  /* so many in each, of half the hidden columns, of which a token uses two; 0: none */
    bool latent;  /* latent attention, heads of 128 + 64 columns over vectors of 512 */
} hd_bench_decoder;

hd_gpt_opt hd_bench_decoder_opt(const hd_bench_decoder *d);

#endif
