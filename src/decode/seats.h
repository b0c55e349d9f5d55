/* The one decoding loop. Items of a stepper join, take steps and leave while others go on. A seat is one row
   of a step: a hypothesis of a beam, a sample, a text that is scored. In every turn the seats there are take
   a step, then new items join; each time the user is handed the scores, reads what it wants of them and says
   who goes on with which token. What becomes of an item depends neither on the others nor on when it joined.
 */
#ifndef HD_DECODE_SEATS_H
#define HD_DECODE_SEATS_H

#include "model/stepper.h"

typedef struct hd_seats {
    hd_run *r;
    const hd_stepper *stepper;
    size_t joined;           /* items so far */
    int32_t *parent, *token; /* [count]: who goes on in the next step, and with what */
    size_t count, room;
    size_t before; /* seats of the last turn */
} hd_seats;

typedef struct hd_seats_user {
    /* Items that may join now, of `left` that wait. While there are seats it may be none. */
    size_t (*admit)(void *context, size_t left);
    /* Scores of the seats [first, first + count) of this turn, rows 0 to count - 1; `arrived`: they are of
       the items that joined last, one each. Calls hd_seats_go. Failures may stay in the run. */
    hd_status (*take)(void *context, hd_tensor *scores, size_t first, size_t count, bool arrived,
                      hd_err *err);
    void *context;
    /* NULL: items that join have scores at once. Otherwise, where the stepper can and nobody looks, they have
       seats [first, first + count) first, and the user lets each go on with the stepper's `start`. */
    hd_status (*enter)(void *context, size_t first, size_t count, hd_err *err);
} hd_seats_user;

hd_status hd_seats_grow(hd_seats *s, hd_err *err); /* room for one more */
/* Seat `seat` of this turn goes on with a token; several times, or not at all. */
static inline hd_status hd_seats_go(hd_seats *s, size_t seat, int32_t token, hd_err *err)
{
    hd_status st = s->count < s->room ? HD_OK : hd_seats_grow(s, err);
    if (!st) s->parent[s->count] = (int32_t)seat, s->token[s->count++] = token;
    return st;
}

/* One turn. s: r and stepper are set before the first. The run's step memory is used. */
hd_status hd_seats_turn(hd_seats *s, const hd_seats_user *u, hd_err *err);
void hd_seats_release(hd_seats *s);
/* Until nobody goes on and no item waits; releases it. */
hd_status hd_seats_run(hd_seats *s, const hd_seats_user *u, hd_err *err);

#endif
