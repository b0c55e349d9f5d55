/* One text while it is written: tokens come one by one, its text and where it ends follow from them. */
#ifndef HD_TASK_LANGUAGE_DRAFT_H
#define HD_TASK_LANGUAGE_DRAFT_H

#include "task/language/generate.h"

typedef struct hd_draft {
    hd_generated *out;
    hd_ids ids;            /* all of it, the prompt too */
    size_t known, shown;   /* ids whose text is written; bytes told */
    size_t before;         /* where the ids begin that were written last: what follows is joined to them */
    bool blank;            /* the prompt ends in a blank that its ids do not have */
    size_t prompt, number; /* which one of those of the options, and which of its samples */
    size_t drawn, most;    /* tokens */
    size_t lead;           /* tokens in front of the prompt that are no part of it */
} hd_draft;

/* What is asked of all samples of some prompts. */
typedef struct hd_draft_use {
    const hd_tokenizer *tokenizer;
    const hd_generate_opt *opt;
    hd_text *scratch;
} hd_draft_use;

/* Appends the tokens of a prompt: every line behind an end token, or what else the tokenizer has in front of
   a text, as lines begin in the text that the model knows. Where ends of lines are text, the whole prompt is
   one. */
hd_status hd_draft_prompt(const hd_tokenizer *t, hd_line prompt, hd_ids *to, hd_err *err);
/* s: out, prompt and number are set. typed: the prompt, where it is a text. */
hd_status hd_draft_begin(hd_draft *s, const hd_draft_use *u, const hd_ids *prompt, hd_line typed,
                         hd_err *err);
/* A token that was drawn. *over: it was the last one. */
hd_status hd_draft_take(hd_draft *s, const hd_draft_use *u, int32_t token, double logp, bool *over,
                        hd_err *err);
/* Whether the token ends a text, and is no part of it. */
bool hd_draft_ends(const hd_generate_opt *o, int32_t token);

#endif
