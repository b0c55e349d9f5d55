/* Windows of dialogues. Their first token is read and never foreseen: nothing stands before it. */
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "task/language/chat/dialogues.h"

hd_status hd_dialogue_windows_init(hd_dialogue_windows *w, const hd_stream_text *train, size_t length,
                                   hd_err *err)
{
    hd_status s = HD_OK;
    *w = (hd_dialogue_windows){.train = train};
    for (size_t i = 0; !s && i < train->pieces; i++) {
        size_t end = i + 1 < train->pieces ? train->begin[i + 1] : train->count;
        for (size_t at = train->begin[i] + 1; !s && at < end; at += length) {
            size_t len = end - at < length ? end - at : length;
            if (!hd_stream_text_learned(train, at, len)) continue;
            s = hd_mem_reserve(&w->window, &w->room, w->items + 1, sizeof *w->window, err);
            if (!s) w->window[w->items++] = (hd_window){at, len, 0};
        }
    }
    if (!s && !w->items) s = hd_err_set(err, HD_EFORMAT, "there is no answer to learn from in the dialogues");
    if (!s) w->order = hd_mem_array(w->items, sizeof *w->order);
    return s || w->order ? s : hd_err_nomem(err, w->items * sizeof *w->order);
}

void hd_dialogue_windows_release(hd_dialogue_windows *w)
{
    hd_mem_free(w->window);
    hd_mem_free(w->order);
    *w = (hd_dialogue_windows){0};
}

void hd_dialogue_windows_shuffle(hd_dialogue_windows *w, uint64_t seed, uint64_t epoch)
{
    hd_rng rng = hd_rng_make(seed, 0x64690000u + epoch);
    if (w->shuffled == epoch + 1) return;
    for (size_t i = 0; i < w->items; i++) w->order[i] = i;
    for (size_t i = w->items; i > 1; i--) {
        size_t k = hd_rng_below(&rng, (uint32_t)i), other = w->order[k];
        w->order[k] = w->order[i - 1], w->order[i - 1] = other;
    }
    w->shuffled = epoch + 1;
}

size_t hd_dialogue_windows_draw(hd_dialogue_windows *w, hd_window *out, size_t batch, uint64_t at,
                                size_t batches, uint64_t seed)
{
    size_t learned = 0;
    hd_dialogue_windows_shuffle(w, seed, at / batches);
    for (size_t i = 0; i < batch; i++) {
        out[i] = w->window[w->order[((size_t)(at % batches) * batch + i) % w->items]];
        learned += hd_stream_text_learned(w->train, out[i].from, out[i].len);
    }
    return learned;
}
