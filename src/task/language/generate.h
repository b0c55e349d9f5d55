/* Text that a language model continues, token after token, as long as it is asked for: where a model sees
   only so many tokens, what it wrote last becomes its new prompt. The end token is the end of a line, and the
   text goes on behind it; <pad>, <s> and <unk> are never taken.

       hd_generated g = {0};
       hd_generate(&g, run, language, &(hd_line){"To be", 5}, 1, &(hd_generate_opt){.tokens = 200,
                   .temperature = 0.8f, .seed = 1}, &err);
       puts(g.text.data);
       hd_generated_release(&g); */
#ifndef HD_TASK_LANGUAGE_GENERATE_H
#define HD_TASK_LANGUAGE_GENERATE_H

#include <signal.h>

#include "decode/rules.h"
#include "model/lm/talk.h"
#include "task/language/language.h"

typedef struct hd_generate_opt {
    size_t tokens;         /* most of them, ends of lines too */
    float temperature;     /* 1: the model's own probabilities; 0: always the likeliest token */
    size_t top_k;          /* 0: all */
    float top_p;           /* 0: all */
    float min_p;           /* least probability, as a share of the likeliest token's; 0: any */
    size_t no_repeat;      /* no run of so many tokens comes twice, the prompt included; 0: any may */
    const hd_rules *rules; /* which tokens may stand where, with a limit of all tokens; or NULL */
    float repetition;      /* penalty of tokens that are in the prompt or the text already: their logits are
                              divided by it, those below 0 multiplied; 0 or 1: none */
    uint64_t seed;         /* draw t of sample j of a prompt depends on seed, key, j and t alone */
    int32_t key;           /* the first prompt's number; those behind it have the next ones */
    size_t samples;        /* of each prompt; 0: one */
    bool ends;             /* the end token ends a text, as it does a piece of music */
    bool endless;          /* it is never drawn */
    const int32_t *forced; /* [forced_count], or NULL: token t of every text where it is not negative; the
                              others are drawn, but none is an end */
    size_t forced_count;
    const hd_ids *ids;      /* [prompts], or NULL: prompts as tokens, where texts alone do not say them */
    const int32_t *endings; /* [ending_count]: tokens that end a text and are no part of it */
    size_t ending_count;
    hd_talk *talk; /* NULL, or where the one prompt of `ids` goes on: only what is new is read */
    const volatile sig_atomic_t *halt; /* NULL, or what ends all texts once it is not 0 */
    bool scores;                       /* what was drawn is noted, token by token (hd_generated.said) */
    size_t likeliest;                  /* and so many of the likeliest tokens beside each */
    const char *const *stop;           /* a text ends where one of them would stand in it; none is empty */
    size_t stops;

    /* What a text has got more, as soon as it is known not to begin a stop; NULL: nobody asks. which: of
       `out`. A failure ends the generation. */
    hd_status (*tell)(void *context, size_t which, const char *text, size_t size, hd_err *err);
    void *context;
} hd_generate_opt;

typedef struct hd_said { /* a token, by the model as it is */
    int32_t id;
    float logp;
    size_t at; /* of one that was drawn: bytes of text before it */
} hd_said;

typedef struct hd_generated {
    hd_text text; /* behind the prompt, in UTF-8, without the stop; data is NULL where there is none */
    size_t tokens;
    size_t reused; /* tokens of its prompt that had been read for others before */
    double logp;  /* of the tokens, by the model as it is: temperature, bans and penalties do not change it */
    bool stopped; /* by a stop or an ending, not by the number of tokens */
    hd_ids ids;   /* all that was read and written: what stands before the prompt, it, and the tokens */
    hd_said *said; /* with `scores` [tokens, 1 + likeliest]: each token and behind it the likeliest ones */
    size_t said_room;
} hd_generated;

/* Continues all prompts side by side; none changes what becomes of the others. out [prompts * samples],
   prompt after prompt, each {0} or one to be appended to. A prompt begins a line, and has several where it
   holds "\n". The run's step memory is used. */
hd_status hd_generate(hd_generated *out, hd_run *r, const hd_model_folder *f, const hd_line *prompt,
                      size_t prompts, const hd_generate_opt *opt, hd_err *err);
void hd_generated_release(hd_generated *g); /* accepts {0} */

/* Appends a prompt as it is typed: \n, \t and \\ stand for a line end, a tab and a backslash. */
void hd_prompt_unescape(hd_text *to, const char *text, size_t size);

#endif
