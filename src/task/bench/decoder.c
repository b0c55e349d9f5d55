/* Decoders for benchmarks. */
#include "task/bench/decoder.h"

static void use_llama(hd_gpt_opt *o, const hd_bench_decoder *d)
{
    o->names = &hd_gpt_names_llama, o->stack.rotary.kind = HD_ROTARY_HALVES;
    o->stack.rms = o->stack.gated = o->stack.unbiased = true;
    o->stack.act = HD_silu, o->stack.inner = d->inner;
    if (d->latent) {
        o->stack.rotary.kind = HD_ROTARY_INTERLEAVED;
        o->stack.latent = (hd_latent_opt){.rank = 512, .plain = 128, .rotated = 64, .value = 128};
    }
    if (d->experts)
        o->stack.experts = (hd_experts_opt){
            .count = d->experts, .used = 2, .inner = d->inner / 2, .normalized = true, .balance = 0.001f};
}

hd_gpt_opt hd_bench_decoder_opt(const hd_bench_decoder *d)
{
    hd_gpt_opt o = {.stack.pre_norm = true,
                    .stack.layers = d->layers,
                    .stack.heads = d->heads,
                    .stack.width = d->width,
                    .vocab = d->vocab,
                    .positions = d->length,
                    .no_positions = d->relative > 0,
                    .stack.relative_span = d->relative,
                    .stack.eps = 1e-5f,
                    .stack.act = HD_gelu};
    if (d->llama) use_llama(&o, d);
    return o;
}
