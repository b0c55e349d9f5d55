/* What was heard in a window as segments: a pair of timestamps ends one and begins the next. What follows the
   last pair was cut by the end of the window and is heard again in the next one. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "task/transcribe/whisper/align.h"
#include "task/transcribe/whisper/whisper.h"
#include "text/language.h"

static const double STEP = 0.02; /* seconds of a timestamp */
enum { STRIDE = 2 };             /* frames of a row of the encoder */

typedef struct slice { /* tokens of what was heard */
    size_t begin, end;
    double from, to; /* seconds from the begin of the window */
} slice;

typedef struct cutting {
    hd_transcript *to;
    const hd_whisper *w;
    const hd_window_text *heard;
    const hd_window_place *at;
    double offset; /* seconds of the window */
} cutting;

static bool is_time(const cutting *c, size_t i)
{
    return c->heard->ids.at[i] >= c->w->rules.timestamp;
}

static double time_of(const cutting *c, size_t i)
{
    return STEP * (c->heard->ids.at[i] - c->w->rules.timestamp);
}

/* The tokens that are text, and when they begin and end. */
typedef struct spelled {
    int32_t *ids;
    double *begin, *end;
    size_t count;
} spelled;

static hd_status spell(spelled *out, const cutting *c, const slice *s, hd_arena *memory, hd_err *err)
{
    const double *times = c->at->times;
    size_t n = s->end - s->begin;
    *out = (spelled){.ids = hd_arena_array(memory, n + 1, sizeof *out->ids, err)};
    out->begin = out->ids ? hd_arena_array(memory, 2 * n + 1, sizeof *out->begin, err) : NULL;
    if (!out->begin) return HD_ENOMEM;
    out->end = out->begin + n;
    for (size_t i = s->begin; i < s->end; i++) {
        if (c->heard->ids.at[i] >= c->w->rules.end) continue;
        out->ids[out->count] = c->heard->ids.at[i];
        if (times) out->begin[out->count] = c->offset + (i ? times[i - 1] : 0);
        if (times) out->end[out->count] = c->offset + times[i];
        out->count++;
    }
    return HD_OK;
}

static hd_status copy_tokens(hd_spoken *one, const cutting *c, const slice *s, hd_arena *memory, hd_err *err)
{
    size_t n = s->end - s->begin;
    int32_t *ids = hd_arena_array(memory, n + 1, sizeof *ids, err);
    double *times = ids && c->at->times ? hd_arena_array(memory, n + 1, sizeof *times, err) : NULL;
    if (!ids || (c->at->times && !times)) return HD_ENOMEM;
    memcpy(ids, c->heard->ids.at + s->begin, n * sizeof *ids);
    for (size_t i = 0; times && i < n; i++) times[i] = c->offset + c->at->times[s->begin + i];
    one->ids = ids, one->times = times, one->length = n;
    return HD_OK;
}

static hd_status add(cutting *c, const slice *s, hd_err *err)
{
    hd_arena *memory = &c->to->memory;
    const hd_window_text *h = c->heard;
    hd_spoken one = {.begin = c->offset + s->from,
                     .end = c->offset + s->to,
                     .logprob = h->logprob,
                     .no_speech = h->no_speech,
                     .compression = h->compression,
                     .temperature = h->temperature};
    spelled text;
    hd_text said = {0};
    hd_spoken_word *word = NULL;
    hd_status st = spell(&text, c, s, memory, err);
    if (!st) st = copy_tokens(&one, c, s, memory, err);
    if (!st) st = hd_tokenizer_decode(c->w->tokenizer, text.ids, text.count, &said, err);
    if (!st && !(one.text = hd_arena_copy(memory, said.data ? said.data : "", said.size, err)))
        st = HD_ENOMEM;
    if (!st && c->at->times)
        st = hd_whisper_words(&word, &one.words, c->w->tokenizer,
                              &(hd_word_split){text.ids, text.begin, text.end, text.count,
                                               c->at->language && hd_language_unspaced(c->at->language)},
                              memory, err);
    one.word = word;
    hd_text_release(&said);
    return st ? st : hd_transcript_add(c->to, one, err);
}

/* Where nothing ends a segment all is one. */
static hd_status add_whole(cutting *c, size_t *next, hd_err *err)
{
    const hd_ids *ids = &c->heard->ids;
    slice all = {0, ids->count, 0, STEP * floor((double)c->at->frames * c->w->frame / STEP + 1e-6)};
    for (size_t i = ids->count; i--;)
        if (is_time(c, i)) {
            if (ids->at[i] != c->w->rules.timestamp) all.to = time_of(c, i);
            break;
        }
    *next = c->at->frames;
    return add(c, &all, err);
}

hd_status hd_whisper_segments(hd_transcript *to, const hd_whisper *w, const hd_window_text *heard,
                              const hd_window_place *at, size_t *next, hd_err *err)
{
    cutting c = {to, w, heard, at, (double)at->seek * w->frame};
    size_t n = heard->ids.count, begin = 0, pairs = 0, last = 0;
    bool single = n > 1 && !is_time(&c, n - 2) && is_time(&c, n - 1);
    for (size_t i = 1; i < n; i++)
        if (is_time(&c, i - 1) && is_time(&c, i)) pairs++, last = i;
    if (!pairs) return add_whole(&c, next, err);
    hd_status s = HD_OK;
    for (size_t i = 1; !s && i < n; i++) {
        if (!is_time(&c, i - 1) || !is_time(&c, i)) continue;
        /* the last one keeps both of its timestamps where something may follow it */
        size_t end = i == last && !single ? i + 1 : i;
        s = add(&c, &(slice){begin, end, time_of(&c, begin), time_of(&c, i - 1)}, err);
        begin = end;
    }
    if (!s && single) s = add(&c, &(slice){begin, n, time_of(&c, begin), time_of(&c, n - 1)}, err);
    *next = single ? at->frames : (size_t)(heard->ids.at[last - 1] - w->rules.timestamp) * STRIDE;
    return s;
}
