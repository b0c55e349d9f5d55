/* WAV files for tests: a header of any kind and samples that are known. */
#ifndef SOUNDS_H
#define SOUNDS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct made_wav {
    uint8_t *bytes;
    size_t size, data; /* where the samples begin */
} made_wav;

typedef struct wav_kind {
    int format, bits, channels, rate, extensible;
} wav_kind;

static inline void put_number(made_wav *w, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) w->bytes[w->size++] = (uint8_t)(value >> 8 * i);
}

static inline void put_name(made_wav *w, const char *name)
{
    memcpy(w->bytes + w->size, name, 4);
    w->size += 4;
}

/* A sample of -1 .. 1 as the kind has it, rounded to its whole numbers. */
static inline void put_sample(made_wav *w, const wav_kind *k, double value)
{
    if (k->format == 3 && k->bits == 32) {
        float v = (float)value;
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        put_number(w, bits, 4);
    } else if (k->format == 3) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        put_number(w, bits, 8);
    } else if (k->bits == 8) {
        put_number(w, (uint64_t)(int64_t)(value * 128 + 128), 1);
    } else {
        put_number(w, (uint64_t)(int64_t)(value * (double)(1ull << (k->bits - 1))), k->bits / 8);
    }
}

/* value [frames, channels]; the caller frees the bytes. */
static inline made_wav make_wav(const wav_kind *k, const double *value, size_t frames)
{
    const size_t block = (size_t)(k->channels * k->bits / 8), data = frames * block;
    made_wav w = {.bytes = malloc(128 + frames * (size_t)k->channels * 8)};
    put_name(&w, "RIFF"), put_number(&w, 4 + 8 + (k->extensible ? 40 : 16) + 8 + data, 4);
    put_name(&w, "WAVE");
    put_name(&w, "fmt "), put_number(&w, k->extensible ? 40 : 16, 4);
    put_number(&w, k->extensible ? 0xFFFE : (uint64_t)k->format, 2), put_number(&w, (uint64_t)k->channels, 2);
    put_number(&w, (uint64_t)k->rate, 4), put_number(&w, (uint64_t)k->rate * block, 4);
    put_number(&w, block, 2), put_number(&w, (uint64_t)k->bits, 2);
    if (k->extensible) {
        put_number(&w, 22, 2), put_number(&w, (uint64_t)k->bits, 2), put_number(&w, 0, 4);
        put_number(&w, (uint64_t)k->format, 4);
        put_number(&w, 0x00100000, 4), put_number(&w, 0xaa000080, 4), put_number(&w, 0x719b3800, 4);
    }
    put_name(&w, "data"), put_number(&w, data, 4);
    w.data = w.size;
    for (size_t i = 0; i < frames * (size_t)k->channels; i++) put_sample(&w, k, value[i]);
    return w;
}

static inline void set_number(made_wav *w, size_t at, uint64_t value, int bytes)
{
    const size_t size = w->size;
    w->size = at;
    put_number(w, value, bytes);
    w->size = size;
}

/* Numbers of -1 .. 1 that look like noise, the same everywhere. */
static inline void fill_noise(float *to, size_t count)
{
    uint32_t s = 12345;
    for (size_t i = 0; i < count; i++) {
        s = (s * 1103515245u + 12345u) & 0x7fffffff;
        to[i] = (float)((double)s / (1 << 30) - 1);
    }
}

#endif
