/* What a request asks a model to do. A job is its owner's memory; from hd_engine_submit until `done` is
   called it belongs to the engine. */
#ifndef HD_SERVE_ENGINE_JOB_H
#define HD_SERVE_ENGINE_JOB_H

#include <stdatomic.h>

#include "task/language/chat/generation.h"
#include "task/translate/translate.h"

/* X(NAME, name, how a job ended) */
#define HD_JOB_END_LIST(X)                          \
    X(DONE, done, "with its results")               \
    X(FAILED, failed, "with an error")              \
    X(CANCELED, canceled, "nobody waited any more") \
    X(LATE, late, "its deadline was over")          \
    X(STOPPED, stopped, "the server was shutting down")

#define X(NAME, name, text) HD_JOB_##NAME,
typedef enum hd_job_end { HD_JOB_END_LIST(X) HD_JOB_ENDS } hd_job_end;
#undef X

/* Which struct a job is; an engine takes those of some kinds. */
typedef enum hd_job_kind {
    HD_JOB_TRANSLATE,
    HD_JOB_EMBED,
    HD_JOB_GENERATE,
    HD_JOB_CLASSIFY,
    HD_JOB_KINDS
} hd_job_kind;

typedef struct hd_job hd_job;

struct hd_job {
    /* asked */
    hd_job_kind kind;
    size_t tokens;             /* about, for admission */
    uint64_t owner;            /* who asks, as a number: among several of them turns are fair */
    double deadline;           /* on the clock of hd_seconds; 0: none */
    const atomic_bool *cancel; /* set by whoever does not wait any more; NULL: nobody does that */
    void (*done)(hd_job *j);   /* in a thread of the engine */
    void *context;
    /* NULL: the job is one for the engine's worker. Otherwise it is done by this, between two turns of the
       others, with a run of its own. It calls hd_job_rests now and then. */
    hd_status (*visit)(hd_job *j, hd_run *r, const hd_model_folder *model, hd_err *err);
    /* answered */
    hd_job_end end;
    hd_err err;
    /* the engine's */
    hd_job *before, *next;
    double submitted, taken; /* when */
    double finish;           /* by which jobs are served: serve/engine/queue.h */
    void *visited;           /* the lane, while it is visited */
};

/* Whether nobody waits for it any more. */
bool hd_job_over(const hd_job *j);
/* The same of a visit, which lets others have a turn where it is time: it must not be in the middle of an
   operation. */
bool hd_job_rests(hd_job *j);

/* Of a translator: lines and what became of each. */
typedef struct hd_translate_job {
    hd_job job; /* first */
    const hd_line *line;
    size_t lines;
    size_t best;           /* translations of each */
    hd_translations found; /* where the job was done; the owner releases them */
} hd_translate_job;

/* Lines as vectors, cut to what the model takes. */
typedef struct hd_embed_job {
    hd_job job; /* first */
    const hd_line *line;
    size_t lines;
    float *vector; /* [lines, width]; the owner frees it, whatever the end */
    size_t width;
    size_t read; /* tokens of all lines */
} hd_embed_job;

/* Texts and pairs of texts for a model that gives labels or numbers, cut to what it takes. */
typedef struct hd_classify_job {
    hd_job job;               /* first */
    const hd_line (*item)[2]; /* [items]; the second without text: it is not a pair */
    size_t items;
    float *answer; /* [items, classes] as hd_labeler_ask tells them; the owner frees it, whatever the end */
    size_t classes;
} hd_classify_job;

enum { HD_GENERATE_SEATS = 64 }; /* texts that are continued side by side, if nothing says otherwise */

/* Texts that a language model continues, or a conversation that it answers. Defaults of `opt` are those of
   the model where `said` does not say otherwise. */
typedef struct hd_generate_job {
    hd_job job; /* first */
    const hd_line *prompt;
    const hd_ids *ids;      /* prompts as tokens instead; or NULL */
    const json_t *messages; /* the one prompt is a conversation; or NULL */
    size_t prompts;
    hd_generate_opt opt; /* without ids and endings; tell is called in the engine's thread */
    hd_generation_said said;
    /* Whether who reads what is told has enough for now: then the texts rest, and others have their seats. In
       the engine's thread, before each turn; NULL: never. */
    bool (*enough)(const hd_job *j);
    hd_generated *out; /* [prompts * samples]; the owner releases them, whatever the end */
} hd_generate_job;

#endif
