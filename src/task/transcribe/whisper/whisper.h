/* Transcribing with Whisper: files in windows, each decoded by the published rules; windows of several files
   side by side. What a file gives depends neither on others nor on the number of threads. */
#ifndef HD_TASK_TRANSCRIBE_WHISPER_WHISPER_H
#define HD_TASK_TRANSCRIBE_WHISPER_WHISPER_H

#include "model/encdec/memory.h"
#include "task/transcribe/transcript.h"
#include "task/transcribe/whisper/rules.h"

enum { HD_WHISPER_TEMPERATURES = 16, HD_WHISPER_BATCH = 8, HD_WHISPER_MOST_BATCH = 1024 };

typedef struct hd_whisper_opt {
    const char *language; /* by its code or English name; NULL: of multilingual models it is detected */
    bool translate;       /* to English */
    bool timestamps;      /* segments with times; files that are longer than a window always have them */
    bool words;           /* times of words, from attention */
    const char *prompt;   /* a text that comes before; NULL: none */
    bool forgets;         /* windows do not go on from the text of those before them */
    size_t beam;          /* 0 or 1: the likeliest token */
    /* Tried one after the other while a text is not good enough; above 0 tokens are drawn. None: 0. */
    float temperature[HD_WHISPER_TEMPERATURES];
    size_t temperatures;
    double least_logprob;    /* mean of a token; -INFINITY: any is good enough */
    double most_compression; /* of its tokens by zlib; INFINITY: any */
    double most_no_speech; /* windows less likely to be speech are skipped where least_logprob is missed, too;
                              INFINITY: none */
    uint64_t seed;
    size_t batch; /* files side by side; 0: HD_WHISPER_BATCH, at most HD_WHISPER_MOST_BATCH */
} hd_whisper_opt;

/* As published: temperatures 0, 0.2, ... 1, a mean log-probability of -1, 1.35, 0.6. */
hd_whisper_opt hd_whisper_opt_usual(void);

/* Features of a file, whatever it is. */
typedef struct hd_whisper_source {
    size_t frames;   /* that are sound */
    size_t readable; /* what can be read; more than that where silence follows. Behind it are zeros. */
    /* to [count, bins]: frames first .. first + count-1, all of them readable. */
    hd_status (*read)(void *context, size_t first, size_t count, float *to, hd_err *err);
    void *context;
} hd_whisper_source;

typedef struct hd_whisper {
    const hd_encdec *model;
    const hd_tokenizer *tokenizer;
    hd_whisper_rules rules;
    size_t window, bins; /* frames of a window; numbers of a frame */
    double frame;        /* seconds */
} hd_whisper;

/* The model stays the caller's; folder: where its generation_config.json lies. */
hd_status hd_whisper_open(hd_whisper *out, const hd_encdec *m, const hd_tokenizer *t, const char *folder,
                          hd_err *err);
void hd_whisper_release(hd_whisper *w); /* accepts {0} */

/* Refuses options that the model cannot meet: an unknown language, words without heads that align. */
hd_status hd_whisper_check(const hd_whisper *w, const hd_whisper_opt *opt, hd_err *err);

/* Appends the segments of a file to a transcript that was made ready. */
hd_status hd_whisper_transcribe(hd_transcript *out, const hd_whisper *w, hd_run *r,
                                const hd_whisper_source *from, const hd_whisper_opt *opt, hd_err *err);

/* -- several files -- */

typedef struct hd_whisper_job {
    size_t number; /* of the file, in the order of `next` */
    void *own;     /* the caller's */
    hd_whisper_source from;
    hd_transcript to;
    hd_err why; /* that it could not be read, or not to its end */
} hd_whisper_job;

/* What was heard in a window. */
typedef struct hd_window_text {
    hd_ids ids;    /* without the end token */
    bool finished; /* there was one */
    double logprob, no_speech, compression, temperature;
    bool skip; /* nobody speaks */
} hd_window_text;

/* A window that is done, as its decoder had it. */
typedef struct hd_whisper_window {
    const float *features; /* [window, bins] */
    size_t seek, frames;   /* its first frame in the file; so many are sound */
    size_t first;          /* of its segments in the transcript; they are the last ones */
    const hd_ids *prompt;
    const hd_window_text *heard;
} hd_whisper_window;

typedef struct hd_whisper_desk {
    /* The next file: fills `own` and `from`, or `why`; or sets *none. */
    hd_status (*next)(void *context, hd_whisper_job *job, bool *none, hd_err *err);
    /* Somebody looks at windows: those of a file in order. NULL: nobody does. */
    hd_status (*window)(void *context, const hd_whisper_job *job, const hd_whisper_window *w, hd_err *err);
    /* A file is done, not always in order; the job is released then. After a failure no more are handed in.
     */
    hd_status (*done)(void *context, hd_whisper_job *job, hd_err *err);
    void *context;
} hd_whisper_desk;

/* Whether it is the file's fault: others go on. */
static inline bool hd_whisper_unread(hd_status s)
{
    return s == HD_EFILE || s == HD_EFORMAT || s == HD_ELIMIT;
}

hd_status hd_whisper_transcribe_all(const hd_whisper *w, hd_run *r, const hd_whisper_desk *desk,
                                    const hd_whisper_opt *opt, hd_err *err);

/* -- for the files of this folder -- */

/* A file on its way, and its window. */
typedef struct hd_listening {
    hd_whisper_job job;
    bool timestamps;
    hd_ids before;       /* text of the windows so far, behind that of --prompt */
    size_t prompted;     /* of these, those of the prompt */
    int32_t language;    /* -1: none */
    const char *code;    /* its */
    size_t seek, number; /* of the window: its first frame; how many came before */
    float *features;     /* [window, bins] */
    hd_memory memory;
    hd_ids prompt;
    size_t start; /* place of the start token in it */
    hd_window_text heard;
    bool poor; /* to be heard again */
    double *times;
    size_t times_room;
} hd_listening;

typedef struct hd_hearing_room {
    const hd_whisper *w;
    hd_run *r;
    const hd_whisper_opt *opt;
} hd_hearing_room;

/* Decodes the windows of `count` files side by side, at rising temperatures those that are not good enough.
 */
hd_status hd_whisper_hear(const hd_hearing_room *room, hd_listening *const *l, size_t count, hd_err *err);
/* Sets the likeliest languages of their windows. */
hd_status hd_whisper_detect(const hd_hearing_room *room, hd_listening *const *l, size_t count, hd_err *err);

/* Appends the segments of what was heard in a window that begins at frame `seek` and has `frames` of sound.
   The frames until the next window go to *next. times [ids]: as of hd_whisper_align, or NULL. */
typedef struct hd_window_place {
    size_t seek, frames;
    const double *times;
    const char *language; /* of its words */
} hd_window_place;
hd_status hd_whisper_segments(hd_transcript *to, const hd_whisper *w, const hd_window_text *heard,
                              const hd_window_place *at, size_t *next, hd_err *err);

#endif
