/* What decoding knows of a model. A stepper is opened on items (sources, prompts) that join in their order,
   some or all at a time, while others go on: a seat is one live hypothesis of an item. Every step gives each
   seat one more token and returns the log-probabilities of the next one. A stepper holds the state of the
   seats (a cache as a rule) and is good for one pass over its items; decode/seats.h drives it. */
#ifndef HD_MODEL_STEPPER_H
#define HD_MODEL_STEPPER_H

#include "op/op.h"

typedef struct hd_stepper {
    size_t vocab;
    size_t items;
    const int32_t
        *source;         /* [items]: lengths of what is translated or continued, for limits relative to it */
    const int32_t *room; /* [items]: most tokens an item can get, or NULL: no limit */

    /* Scores are log-probabilities (none above 0), dense [seats, vocab] in step memory. NULL on failure. The
       caller has called hd_run_begin. */
    /* The next n items join, each with one seat behind those that there are; returns the scores of their
       first tokens. The seats before must be picked and stepped since items joined last. */
    hd_tensor *(*join)(hd_run *r, void *context, size_t n);
    /* NULL, or the same without scores: their seats take the first step, with the token `start`, together
       with the others. False on failure. */
    bool (*enter)(hd_run *r, void *context, size_t n);
    int32_t start;
    /* Gives seat i the token ids[i], for all of them. */
    hd_tensor *(*step)(hd_run *r, void *context, const int32_t *ids, size_t seats);
    /* NULL, or what makes both return logits as they come instead, once it is set before the first of them.
     */
    bool *raw;
    /* NULL, or the most tokens of prompts that a join or step reads, about, once it is set: 0 is all of them.
       What is left of one is read with the next steps of its seat. */
    size_t *piece;
    /* Tokens that a seat has still to read, where there is a `piece`: until then its scores mean nothing, and
       the token it is given is not taken. */
    size_t (*unread)(const void *context, size_t seat);
    /* NULL, or gives the one seat that there is the first of *count tokens at once, as many as it can take
       (their number is then in *count); the scores behind each of them are those that steps would give. */
    hd_tensor *(*read)(hd_run *r, void *context, const int32_t *ids, size_t *count);
    /* NULL, or whether items that begin alike share what was read of the first, also after it has left. */
    bool *share;
    /* Of a seat whose item joined last: tokens that had been read for others; where there is `share`. */
    size_t (*reused)(const void *context, size_t seat);
    /* NULL, or what the columns of the scores that were returned last stand for, row by row: a stepper with a
       shortlist has other tokens for each item, and scores [seats, columns]. */
    const hd_columns *const *(*columns)(void *context);
    /* Seat i becomes what parent[i] was, for n of them: the others leave. */
    hd_status (*pick)(hd_run *r, void *context, const int32_t *parent, size_t n);
    /* Further items wait behind those that do; the ones that joined are forgotten, and numbers of items begin
       anew with the first that waits. NULL: it takes no more. */
    hd_status (*wait)(struct hd_stepper *s, const int32_t *ids, const int32_t *len, size_t n, hd_err *err);
    /* Of the item that waits last: so many of its tokens were given in steps, before it left. It joins as
       what it was then, whatever it had forgotten. NULL: that makes no difference. */
    void (*resume)(void *context, size_t tokens);
    void (*free)(void *context);
    void *context;
} hd_stepper;

void hd_stepper_release(hd_stepper *s); /* accepts {0} */

typedef struct hd_encdec hd_encdec;
typedef struct hd_gpt hd_gpt;

/* Sources item after item, each of at least one token; they are copied, the model is not. `start` is the
   decoder's first input. A source is encoded when it joins; all hypotheses of one share its rows. */
hd_status hd_encdec_stepper(hd_stepper *out, const hd_encdec *m, const int32_t *ids, const int32_t *len,
                            size_t items, int32_t start, hd_err *err);
/* Of a stepper of sources, before the first join: only the tokens that the list has for an item are scored,
   and those of its prefix (prefix_len NULL: there are none), on the CPU. The list must outlive the stepper.
 */
struct hd_shortlist;
hd_status hd_encdec_narrow(hd_stepper *s, const struct hd_shortlist *list, const int32_t *prefix,
                           const int32_t *prefix_len, hd_err *err);
/* The same for pictures as the model reads them, which must outlive the stepper. */
struct hd_image_batch;
hd_status hd_encdec_picture_stepper(hd_stepper *out, const hd_encdec *m,
                                    const struct hd_image_batch *pictures, int32_t start, hd_err *err);
/* The same for sound, as frames that the model reads. */
struct hd_frames_host;
hd_status hd_encdec_sound_stepper(hd_stepper *out, const hd_encdec *m, const struct hd_frames_host *sounds,
                                  int32_t start, hd_err *err);
/* The same for prompts to be continued; one is read whole when it joins. */
hd_status hd_gpt_stepper(hd_stepper *out, const hd_gpt *m, const int32_t *ids, const int32_t *len,
                         size_t items, hd_err *err);

#endif
