/* What `heed bench` measures: a row is a line here. Sizes are those that peers are measured with. */
#ifndef HD_TASK_BENCH_ROWS_H
#define HD_TASK_BENCH_ROWS_H

#include "task/bench/pictures.h"
#include "task/bench/sounds.h"

enum { LENGTH = 32 };

typedef enum work {
    TRAIN,
    TRAIN_GPT,
    TRAIN_PICTURES,
    TRAIN_SOUNDS,
    DECODE,
    DECODE_GPT,
    READ,
    VECTORS,
    FEATURES
} work;

typedef struct spec {
    const char *name;
    work work;
    int layers, heads;
    size_t width, inner, vocab, items, length;
    int beam;                            /* 1: greedy */
    bool gpu;                            /* too much for a CPU */
    const char *reads;                   /* READ: the encoder, which reads one sentence */
    hd_classifier_opt (*pictures)(void); /* TRAIN_PICTURES: what learns from them */
    int relative;                        /* distances of relative attention; 0: none */
    hd_encdec_opt (*sounds)(void);       /* TRAIN_SOUNDS: the same of sounds, `length` frames each */
    bool llama;                          /* blocks of a Llama */
    size_t seen;                         /* DECODE_GPT: tokens in the cache that no one read */
    bool latent;                         /* latent attention of DeepSeek-V2-Lite's sizes */
    int experts;                         /* so many, of half the hidden columns, of which a token uses two */
} spec;

/* GPT-2 with sequences of a length, to see what relative attention costs and how its memory grows. */
#define GPT2(title, tokens, distances)                                                             \
    {                                                                                              \
        title, TRAIN_GPT, 12, 12, 768, 3072, 50304, 32, tokens, .gpu = true, .relative = distances \
    }

/* A token at a time behind a long text: what the cache costs. Sizes of DeepSeek-V2-Lite, four layers. */
#define BEHIND(title, tokens, ...)                                                                       \
    {                                                                                                    \
        title, DECODE_GPT, 4, 16, 2048, 5632, 8192, 1, 8, 1, .gpu = true, .llama = true, .seen = tokens, \
                                                             __VA_ARGS__                                 \
    }

static const spec specs[] = {
    {"tiny train", TRAIN, 4, 4, 128, 256, 8000, 100, 20, 0, .gpu = false},
    {"base train", TRAIN, 6, 8, 512, 2048, 32768, 800, LENGTH, 0, .gpu = true},
    {"big train", TRAIN, 6, 16, 1024, 4096, 32768, 800, LENGTH, 0, .gpu = true},
    {"gpt2 train", TRAIN_GPT, 12, 12, 768, 3072, 50304, 64, 1024, 0, .gpu = true},
    {"nano train", TRAIN_GPT, 4, 4, 128, 512, 512, 8, 256, 0, .gpu = false},
    {"nano relative", TRAIN_GPT, 4, 4, 128, 512, 512, 8, 256, 0, .relative = 256},
    {"llama train", TRAIN_GPT, 12, 12, 768, 2048, 50304, 64, 1024, .gpu = true, .llama = true},
    {"moe train", TRAIN_GPT, 12, 12, 768, 2048, 50304, 64, 1024, .gpu = true, .llama = true, .experts = 8},
    {"nano llama", TRAIN_GPT, 4, 4, 128, 384, 512, 8, 256, .llama = true},
    {"nano moe", TRAIN_GPT, 4, 4, 128, 384, 512, 8, 256, .llama = true, .experts = 8},
    GPT2("gpt2 2048", 2048, 0),
    GPT2("gpt2 relative 512", 512, 512),
    GPT2("gpt2 relative 1024", 1024, 1024),
    GPT2("gpt2 relative 2048", 2048, 2048),
    {"vit-b16 train", TRAIN_PICTURES, .items = 256, .length = 1, .gpu = true, .pictures = hd_bench_vit_b16},
    {"vit-lite train", TRAIN_PICTURES, .items = 128, .length = 1, .pictures = hd_bench_vit_lite},
    {"las train", TRAIN_SOUNDS, .items = 8, .length = 400, .sounds = hd_bench_las},
    {"speech-ctc train", TRAIN_SOUNDS, .items = 8, .length = 400, .sounds = hd_bench_speech_ctc},
    {"sound features", FEATURES, .items = 30, .length = 100}, /* seconds, and frames of one */
    {"base greedy 1", DECODE, 6, 8, 512, 2048, 32768, 1, LENGTH, 1, .gpu = false},
    {"base greedy 40", DECODE, 6, 8, 512, 2048, 32768, 40, LENGTH, 1, .gpu = false},
    {"base greedy 64", DECODE, 6, 8, 512, 2048, 32768, 64, LENGTH, 1, .gpu = false},
    {"base greedy 512", DECODE, 6, 8, 512, 2048, 32768, 512, LENGTH, 1, .gpu = true},
    {"base beam4 1", DECODE, 6, 8, 512, 2048, 32768, 1, LENGTH, 4, .gpu = false},
    {"base beam4 40", DECODE, 6, 8, 512, 2048, 32768, 40, LENGTH, 4, .gpu = false},
    {"base beam4 64", DECODE, 6, 8, 512, 2048, 32768, 64, LENGTH, 4, .gpu = true},
    {"gpt2 greedy 1", DECODE_GPT, 12, 12, 768, 3072, 50257, 1, 128, 1, .gpu = false},
    {"gpt2 greedy 8", DECODE_GPT, 12, 12, 768, 3072, 50257, 8, 128, 1, .gpu = false},
    {"gpt2 greedy 64", DECODE_GPT, 12, 12, 768, 3072, 50257, 64, 128, 1, .gpu = true},
    {"llama greedy 1", DECODE_GPT, 12, 12, 768, 2048, 50257, 1, 128, 1, .llama = true},
    {"llama greedy 64", DECODE_GPT, 12, 12, 768, 2048, 50257, 64, 128, 1, .gpu = true, .llama = true},
    {"moe greedy 1", DECODE_GPT, 12, 12, 768, 2048, 50257, 1, 128, 1, .llama = true, .experts = 8},
    {"moe greedy 64", DECODE_GPT, 12, 12, 768, 2048, 50257, 64, 128, 1, .gpu = true, .llama = true,
     .experts = 8},
    BEHIND("ordinary behind 1k", 1024, .latent = false),
    BEHIND("ordinary behind 4k", 4096, .latent = false),
    BEHIND("ordinary behind 16k", 16384, .latent = false),
    BEHIND("latent behind 1k", 1024, .latent = true),
    BEHIND("latent behind 4k", 4096, .latent = true),
    BEHIND("latent behind 16k", 16384, .latent = true),
    {"bert vectors 32", VECTORS, 12, 12, 768, 3072, 30522, 32, LENGTH, 0, .gpu = false},
    /* cells wait for the word before, attention for nothing: how the time of a sentence grows with its words
     */
    {"lstm 32 words", READ, 1, 8, 512, 2048, 8000, 1, 32, 0, .reads = "lstm"},
    {"lstm 512 words", READ, 1, 8, 512, 2048, 8000, 1, 512, 0, .reads = "lstm"},
    {"attention 32 words", READ, 1, 8, 512, 2048, 8000, 1, 32, 0, .reads = "transformer"},
    {"attention 512 words", READ, 1, 8, 512, 2048, 8000, 1, 512, 0, .reads = "transformer"},
};

#endif
