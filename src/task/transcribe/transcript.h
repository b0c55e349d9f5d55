/* What was said in a file and when: segments of text, perhaps with the times of their words. */
#ifndef HD_TASK_TRANSCRIBE_TRANSCRIPT_H
#define HD_TASK_TRANSCRIBE_TRANSCRIPT_H

#include "base/arena.h"
#include "base/text.h"

typedef struct hd_spoken_word {
    const char *text;  /* with the space before it */
    double begin, end; /* seconds */
} hd_spoken_word;

typedef struct hd_spoken {
    const char *text;
    double begin, end;   /* seconds */
    const int32_t *ids;  /* timestamps among them, without the end token */
    const double *times; /* [length] when each was spoken, where words are wanted; else NULL */
    size_t length;
    const hd_spoken_word *word;
    size_t words;
    /* Of the window that it was found in: */
    double logprob;     /* mean of a token */
    double no_speech;   /* probability that nobody speaks; NAN: the model does not say */
    double compression; /* how much smaller the tokens are for zlib */
    double temperature; /* that they were drawn with; 0: the likeliest ones */
} hd_spoken;

typedef struct hd_transcript {
    hd_spoken *segment;
    size_t count, room;
    const char *language; /* its code; NULL: unknown */
    bool detected;        /* nobody said it */
    double seconds;       /* of the file */
    hd_arena memory;      /* of texts, ids and words */
} hd_transcript;

void hd_transcript_init(hd_transcript *t);
void hd_transcript_release(hd_transcript *t); /* accepts {0} */
hd_status hd_transcript_add(hd_transcript *t, hd_spoken one, hd_err *err);

/* All of the text, without spaces around it. */
void hd_transcript_put_text(hd_text *to, const hd_transcript *t);
/* Subtitles: SubRip's .srt, and WebVTT. Segments without text are left out. */
void hd_transcript_put_srt(hd_text *to, const hd_transcript *t);
void hd_transcript_put_vtt(hd_text *to, const hd_transcript *t);
/* "[00:00.000 --> 00:02.000] text" lines, hours where there are some; behind a name and a tab, unless NULL.
 */
void hd_transcript_put_timed(hd_text *to, const hd_transcript *t, const char *name);

#endif
