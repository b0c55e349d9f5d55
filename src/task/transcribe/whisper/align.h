/* When tokens were spoken, by where some heads of the decoder look while they read them. */
#ifndef HD_TASK_TRANSCRIBE_WHISPER_ALIGN_H
#define HD_TASK_TRANSCRIBE_WHISPER_ALIGN_H

#include "model/encdec/memory.h"
#include "task/transcribe/transcript.h"
#include "task/transcribe/whisper/rules.h"
#include "text/tokenizer.h"

/* The path of least cost through cost [rows, cols] from its first to its last corner: for each row the column
   at which it is entered, in to [rows]. */
hd_status hd_time_warp(int32_t *to, const double *cost, size_t rows, size_t cols, hd_err *err);

/* The median of `width` neighbors, an odd number, of each of n numbers; mirrored at the ends. Numbers that
   are no more than half of the width are left as they are. */
hd_status hd_median_filter(double *x, size_t n, size_t width, hd_err *err);

typedef struct hd_aligning {
    const int32_t *ids; /* the prompt, then what was said */
    size_t prompt, count;
    size_t rows;    /* of the encoder that are sound, not padding */
    double seconds; /* of a row */
} hd_aligning;

/* out [count - prompt]: seconds from the begin of the window at which each token behind the prompt is over;
   the last one, which the decoder need not read, has the time of the one before. */
hd_status hd_whisper_align(double *out, hd_run *r, const hd_encdec *m, const hd_memory *memory,
                           const hd_whisper_rules *rules, const hd_aligning *what, hd_err *err);

/* Tokens put together to words, as Whisper does: at spaces, or for languages without them at every character;
   punctuation belongs to the word beside it. Texts are kept in `memory`. */
typedef struct hd_word_split {
    const int32_t *ids;        /* without timestamps */
    const double *begin, *end; /* of each, seconds */
    size_t count;
    bool unspaced;
} hd_word_split;
hd_status hd_whisper_words(hd_spoken_word **out, size_t *count, const hd_tokenizer *t,
                           const hd_word_split *what, hd_arena *memory, hd_err *err);

#endif
