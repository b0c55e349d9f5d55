/* Formats that files of attention have. A format is a line in this list and a file with its functions. */
#ifndef HD_VIEW_ATTENTION_FORMAT_H
#define HD_VIEW_ATTENTION_FORMAT_H

#include "show/attention.h"
#include "view/draw/text_file.h"

/* the ending, what is in the file */
#define HD_ATTENTION_FORMAT_LIST(X)                                       \
    X(json, "all numbers, for programs")                                  \
    X(html, "a page to look around in, with all of it")                   \
    X(svg, "a picture; of several sentences NAME-1.svg, NAME-2.svg, ...") \
    X(png, "the same")                                                    \
    X(pdf, "a page for each sentence")

/* A file being written; what a format's functions work on. */
typedef struct hd_attention_writer {
    hd_text_file out;
    hd_attention_pick pick;
    size_t sentences; /* added before */
    void *state;      /* the format's own */
} hd_attention_writer;

typedef struct hd_attention_format {
    bool single; /* a file holds one sentence: `add` makes all of it, in out.text, and nothing else is called
                  */
    hd_status (*begin)(hd_attention_writer *w, hd_err *err);
    hd_status (*add)(hd_attention_writer *w, const hd_attention_maps *a, hd_err *err);
    hd_status (*end)(hd_attention_writer *w, hd_err *err);
    void (*release)(hd_attention_writer *w); /* of state; NULL where there is none */
    const char *missing; /* why this build cannot write it, or NULL; the functions are NULL then */
} hd_attention_format;

#define X(ending, about) extern const hd_attention_format hd_attention_##ending;
HD_ATTENTION_FORMAT_LIST(X)
#undef X

/* The layers and heads of a part that are to be listed: from .. to - 1, empty where it has no such layer. */
typedef struct hd_attention_range {
    size_t layer, last_layer, head, last_head;
} hd_attention_range;

hd_attention_range hd_attention_range_of(const hd_attention_part *p, const hd_attention_pick *pick);
bool hd_attention_listed(const hd_attention_maps *a, const hd_attention_pick *pick, int kind);

/* "source": ..., "output_tokens": [...]: what JSON and HTML say alike. */
void hd_attention_json_texts(hd_text *to, const hd_attention_maps *a, bool inside_html);

/* ,"picture": {...} where there is one: its file, size, grid and boxes, and with `png` its pixels. */
hd_status hd_attention_json_picture(hd_text *to, const hd_attention_maps *a, bool png, hd_err *err);

/* ,"sound": {...} where there is one: its file, length and times, with `png` its spectrogram, otherwise the
   path of what is picked. */
hd_status hd_attention_json_sound(hd_text *to, const hd_attention_maps *a, const hd_attention_pick *pick,
                                  bool png, hd_err *err);

/* The page (attention_page.html), a zero byte behind it. */
extern const char hd_attention_page[];

#endif
