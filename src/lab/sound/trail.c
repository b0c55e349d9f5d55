/* Attention that follows the sound. */
#include "lab/sound/trail.h"

#include <string.h>

#include "lab/witness.h"

enum { UTTERANCES = 16 };

/* The utterance that the listener has, and the weights of its letters. */
static void follow(hd_trail *t, const hd_listener_lot *b, int32_t frames)
{
    const size_t letters = b->words - 1, rows = t->width;
    double before = 0;
    for (size_t k = 0; k < letters; k++) {
        const double *w = t->weight + k * rows;
        double middle = 0;
        bool named[HD_TRAIL_ROOM];
        for (size_t i = 0; i < rows; i++) {
            const int32_t from = (int32_t)i * frames;
            middle += (double)i * w[i];
            named[i] = from + frames > b->begin[k] && from < b->begin[k + 1];
        }
        const hd_focus f = hd_focus_of(w, named, rows);
        t->mass += f.mass / (double)(UTTERANCES * letters);
        t->chance += f.chance / (double)(UTTERANCES * letters);
        if (k) t->onward += (middle > before) / (double)(UTTERANCES * (letters - 1));
        before = middle;
    }
}

hd_status hd_trail_take(hd_trail *t, hd_listener *l, int layers, hd_err *err)
{
    hd_status s = HD_OK;
    *t = (hd_trail){.halved = true};
    for (uint64_t i = UTTERANCES; !s && i-- > 0;) { /* the first stays */
        const hd_listener_lot *b = l->lot;
        s = hd_listener_gaze(t->weight, HD_TRAIL_ROOM, &t->width, l, i, err);
        if (s) return s;
        const size_t frames = (size_t)b->frames[0], by = (size_t)1 << layers;
        t->words = b->words;
        memcpy(t->letter, b->letter, b->words * sizeof *t->letter);
        t->halved = t->halved && t->width == (frames + by - 1) / by;
        t->frames += (double)frames, t->rows += (double)t->width, t->letters += (double)b->words - 1;
        follow(t, b, (int32_t)by);
    }
    return s;
}
