/* What the files of the writer share. */
#ifndef HD_TASK_LANGUAGE_WRITER_PARTS_H
#define HD_TASK_LANGUAGE_WRITER_PARTS_H

#include "decode/history.h"
#include "decode/seats.h"
#include "task/language/draft.h"
#include "task/language/writer.h"

typedef struct hd_asked hd_asked;

typedef struct hd_writer_seat {
    hd_asked *of;
    hd_draft *draft;
    int32_t row;  /* of the scores at hand */
    size_t reads; /* samples from the draft on that go on from what is being read; 0: it is read */
} hd_writer_seat;

typedef struct hd_writer_seats {
    hd_writer_seat *at;
    size_t count, room;
} hd_writer_seats;

struct hd_asked {
    hd_writer_ask ask;
    hd_draft_use use;
    size_t samples; /* of a prompt */
    hd_draft *all;  /* [prompts * samples] */
    size_t fed;     /* prompts that have joined, or are about to */
    size_t left;    /* samples that are not written */
    bool *banned;   /* [vocab]: what is never written */
    hd_history_opt history;
    bool weighs;             /* history matters */
    bool rests;              /* its texts have no seats for now */
    hd_writer_seats resting; /* the seats that they had, which join again */
    hd_asked *next;
};

struct hd_writer {
    hd_run *r;
    const hd_model_folder *model;
    hd_writer_opt opt;
    hd_stepper stepper;
    hd_seats seats;
    hd_writer_seats live;     /* those of the next step, in their order */
    hd_writer_seats arriving; /* first samples of the prompts that wait in the stepper */
    hd_asked *first, **last;
    size_t count;
    hd_text text; /* scratch */
};

/* Tokens of all seats at hand, ask after ask, and their log-probabilities; likeliest ones go to the drafts. A
   failure stays in the run. */
void hd_writer_draw(hd_writer *w, hd_tensor *scores, const hd_writer_seats *now, int32_t *token,
                    hd_real *value);

#endif
