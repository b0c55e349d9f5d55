/* Texts that are continued while others come and go: the loop of hd_generate, for as long as one likes. What
   is asked is prompts with options of their own; each of them joins as seats become free, and what becomes of
   one does not depend on the others.

       hd_writer_new(&w, run, folder, &stepper, &(hd_writer_opt){.seats = 64}, &err);
       hd_writer_add(w, &ask, &err);                       (and others at any time)
       while (hd_writer_count(w)) hd_writer_turn(w, &err);
       hd_writer_free(w);
*/
#ifndef HD_TASK_LANGUAGE_WRITER_H
#define HD_TASK_LANGUAGE_WRITER_H

#include "task/language/generate.h"

typedef struct hd_writer hd_writer;

typedef struct hd_writer_ask {
    const hd_line *prompt; /* [prompts]; NULL: those of opt->ids */
    size_t prompts;
    const hd_generate_opt *opt; /* without a talk; lasts until `done` */
    hd_generated *out;          /* [prompts * samples], each {0} or one to be appended to */
    void (*done)(void *tag);    /* all of it is written: the last thing of a turn; may be NULL */
    void *tag;
} hd_writer_ask;

typedef struct hd_writer_opt {
    size_t seats; /* most texts side by side; 0: any number */
    size_t piece; /* tokens of prompts that a turn reads, about, so that long ones do not keep others waiting;
                     0: all */
    bool share;   /* texts that begin alike share what was read */
    bool penalize; /* options may weigh tokens by what a text has said */
} hd_writer_opt;

/* Takes the stepper over unless it fails. It has no items and takes more (`wait`), or one for each prompt
   that is added, in this order. */
hd_status hd_writer_new(hd_writer **out, hd_run *r, const hd_model_folder *f, hd_stepper *stepper,
                        const hd_writer_opt *opt, hd_err *err);
void hd_writer_free(hd_writer *w); /* what is not written is forgotten; accepts NULL */

/* HD_EARG, HD_ELIMIT: an option or a prompt is not as it should be. The prompts are copied. */
hd_status hd_writer_add(hd_writer *w, const hd_writer_ask *ask, hd_err *err);
/* Forgets what was asked with this tag; done is not called. */
void hd_writer_drop(hd_writer *w, const void *tag);
/* What was asked with this tag rests: its texts leave their seats to others, and get new ones some turns
   after it does not rest any more, with what is written read again. They are what they would be without it.
   The stepper must take more items. */
hd_status hd_writer_rest(hd_writer *w, const void *tag, bool rests, hd_err *err);

size_t hd_writer_count(const hd_writer *w);   /* asked, and not written yet */
size_t hd_writer_waiting(const hd_writer *w); /* of these, those with texts that wait for seats */

/* One token more for all that have seats, then others join. After a failure the writer is good for
   hd_writer_free only. */
hd_status hd_writer_turn(hd_writer *w, hd_err *err);

#endif
