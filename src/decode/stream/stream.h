/* A search that goes on: sentences are handed in while others are being searched, join as seats become free,
   and each is handed back as soon as it is done. What is found for one is what hd_search finds, to the bit,
   whatever else is there.

       hd_stream_new(&s, run, &stepper, &opt, done, context, &err);    (a stepper opened without items)
       hd_stream_add(s, ids, len, tags, n, 1, &err);
       while (hd_stream_count(s)) hd_stream_turn(s, &err);             (and add others at any time)
       hd_stream_free(s);
*/
#ifndef HD_DECODE_STREAM_STREAM_H
#define HD_DECODE_STREAM_STREAM_H

#include "decode/search.h"

typedef struct hd_stream hd_stream;

/* A sentence is done: found holds its guesses as item 0, until the function returns. Must not use the stream.
 */
typedef void hd_stream_done(void *context, void *tag, const hd_found *found);

/* Takes the stepper over unless it fails; it must take further items (`wait`). Options: as of hd_search, with
   seats, but no sampling, no prefixes and no rules; they are copied. */
hd_status hd_stream_new(hd_stream **out, hd_run *r, hd_stepper *stepper, const hd_search_opt *opt,
                        hd_stream_done *done, void *context, hd_err *err);
void hd_stream_free(hd_stream *s); /* what is not done is forgotten; accepts NULL */

/* n sentences, one after the other in ids, each with a tag of the caller's; `best` guesses of each, at most
   the beam. After a failure none of them was added. */
hd_status hd_stream_add(hd_stream *s, const int32_t *ids, const int32_t *len, void *const *tag, size_t n,
                        size_t best, hd_err *err);
/* Forgets those of whom `which` says so; done is not called for them. */
void hd_stream_drop(hd_stream *s, bool (*which)(const void *tag));

size_t hd_stream_count(const hd_stream *s);   /* sentences that are not done */
size_t hd_stream_waiting(const hd_stream *s); /* of these, those without seats */
size_t hd_stream_most(const hd_stream *s);    /* side by side */

/* One step of all that have seats, then others join. After a failure the stream is good for hd_stream_free
   only. */
hd_status hd_stream_turn(hd_stream *s, hd_err *err);

#endif
