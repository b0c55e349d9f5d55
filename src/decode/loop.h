/* What all searches do with seats: after a step of all live hypotheses of all sentences, each sentence goes
   on by itself. A search method says what it reads of the log-probabilities and how a sentence advances; the
   loop does prefixes, limits, and lets sentences that are done leave the batch and others join. */
#ifndef HD_DECODE_LOOP_H
#define HD_DECODE_LOOP_H

#include <math.h>

#include "decode/search.h"
#include "decode/seats.h"

typedef struct hd_link { /* one token of a hypothesis; they form a tree */
    int32_t before;      /* link of the token before; -1: none */
    int32_t token;
    hd_real logp;
} hd_link;

typedef struct hd_live {
    int32_t link;   /* of its last token */
    int32_t row;    /* seat of the hypothesis it continues */
    int32_t sample; /* its number, for draws */
    double sum;     /* of its log-probabilities */
} hd_live;

typedef struct hd_lives {
    hd_live *at;
    size_t count, room;
} hd_lives;

typedef struct hd_end { /* a hypothesis that goes on no more */
    int32_t link, sample;
    size_t length;
    double sum, score;
    bool finished;
} hd_end;

typedef struct hd_loop_item {
    size_t index;   /* in the stepper */
    size_t length;  /* of all its hypotheses with the token of this step */
    size_t limit;   /* most tokens */
    double longest; /* divisor of the score at the limit */
    const int32_t *prefix;
    size_t prefix_len;
    size_t first, count; /* its live hypotheses: rows of the scores */
    size_t best, keep;   /* guesses wanted, and ends held */
    size_t finished;     /* hypotheses that came to their end token so far */
    hd_end *kept;        /* room for `keep`, best first (samples: by number) */
    size_t kept_count;
} hd_loop_item;

typedef struct hd_loop {
    hd_run *r;
    const hd_stepper *stepper;
    const hd_search_opt *opt;
    hd_seats seats;
    bool raw;      /* the stepper gives logits */
    bool unscored; /* of which log-probabilities are not even wanted */
    bool *banned;  /* [vocab] */
    size_t bans;

    /* of the sentence that advances */
    size_t length;
    double divisor, next; /* of scores at this length and at one token more */
    double bonus;         /* of scores at this length */
    bool early;           /* min_length is not reached: the end token is banned, too */

    /* of the scores at hand: those of a step, or of the sentences that joined */
    hd_lives live;
    size_t *order, active;            /* the sentences */
    size_t seat;                      /* of the first row */
    const hd_columns *const *columns; /* of the rows; NULL: a column is a token */

    hd_lives coming;        /* seats of the next step, sentence after sentence */
    size_t *queue, queued;  /* sentences in the batch */
    const size_t *arriving; /* [items of the stepper]: their sentences; NULL: they have the same numbers */
    void (*ended)(struct hd_loop *l, hd_loop_item *q); /* a sentence has left the batch; may be NULL */
    size_t done;                                       /* sentences that have left it */
    hd_link *link;
    size_t links, link_room;
    hd_loop_item *sentence; /* [items] */
    hd_end *ends;

    /* what the method read in this step: `wide` numbers for each row, or one for each draw; host step memory
     */
    int32_t *ids;
    hd_real *logp;
    size_t wide, drawn; /* drawn: used so far */
} hd_loop;

typedef struct hd_method {
    /* Reads of logp [rows, vocab], which are logits if the method ranks and the loop is raw, what `advance`
       needs, for all sentences at once. Failures stay in the run. */
    void (*look)(hd_loop *l, hd_tensor *logp);
    /* Continues or ends each live hypothesis of q. Not called while a prefix is forced. */
    void (*advance)(hd_loop *l, hd_loop_item *q);
    bool ranks; /* it reads the likeliest tokens and nothing else, so logits will do */
} hd_method;

#define X(NAME, name, text) extern const hd_method hd_method_##name;
HD_SEARCH_LIST(X)
#undef X

static inline bool hd_loop_forced(const hd_loop_item *q)
{
    return q->length <= q->prefix_len;
}

/* -- for who drives it -- */

/* Checks options; l: r, stepper and opt are set. */
hd_status hd_loop_open(hd_loop *l, hd_err *err);
void hd_loop_release(hd_loop *l);
/* What sentence q is, item `item` of the stepper, before it joins. q->kept has room for hd_loop_keeps. */
void hd_loop_lay(const hd_loop *l, hd_loop_item *q, size_t item, size_t best);
size_t hd_loop_keeps(const hd_search_opt *o, size_t best);
/* One turn of the seats. */
hd_status hd_loop_turn(hd_loop *l, hd_err *err);
/* The guesses of a sentence into a list with room for them. */
void hd_loop_write(const hd_loop *l, const hd_loop_item *q, hd_found *to);
/* Sentences side by side. */
size_t hd_loop_most(const hd_loop *l);

/* The live hypothesis of a row, as it is handed to hd_loop_go. */
static inline hd_live hd_loop_at(const hd_loop *l, size_t row)
{
    const hd_live *h = &l->live.at[row];
    return (hd_live){h->link, (int32_t)(l->seat + row), h->sample, h->sum};
}

/* The score of a hypothesis that ends with the token of this step. */
static inline double hd_loop_score(const hd_loop *l, double sum)
{
    return sum / l->divisor + l->bonus;
}

/* Keeps an end if it is among the best, finished ones first; of equal ones the earlier. */
void hd_loop_keep(hd_loop *l, hd_loop_item *q, hd_end e);
/* Room for one more link and one more live hypothesis. */
bool hd_loop_grow(hd_loop *l);

/* What follows is done for every row of every step while a card waits: here, where compilers keep a
   hypothesis in registers if it is written number by number. */

static inline void hd_loop_live(hd_loop *l, hd_live h)
{
    if (l->coming.count < l->coming.room || hd_loop_grow(l))
        l->coming.at[l->coming.count++] = (hd_live){h.link, h.row, h.sample, h.sum};
}
/* h with one more token, for methods that decide themselves what becomes of it. */
static inline hd_live hd_loop_add(hd_loop *l, hd_live h, int32_t token, hd_real logp)
{
    if (l->links == l->link_room && !hd_loop_grow(l)) return h;
    l->link[l->links] = (hd_link){.before = h.link, .token = token, .logp = logp};
    return (hd_live){(int32_t)l->links++, h.row, h.sample, h.sum + (double)logp};
}
/* h goes on with a token: it lives in the next step, unless the token or the limit ends it. */
static inline void hd_loop_go(hd_loop *l, hd_loop_item *q, hd_live h, int32_t token, hd_real logp)
{
    bool finished = token == l->opt->end;
    h = hd_loop_add(l, h, token, logp);
    if (!finished && l->length < q->limit) {
        hd_loop_live(l, h);
        return;
    }
    q->finished += finished;
    hd_loop_keep(l, q, (hd_end){h.link, h.sample, l->length, h.sum, hd_loop_score(l, h.sum), finished});
}
/* No token can follow h: it is kept as it is. */
void hd_loop_stuck(hd_loop *l, hd_loop_item *q, hd_live h);

/* Reads the k likeliest tokens of each row into ids and logp. */
void hd_loop_top(hd_loop *l, hd_tensor *logp, size_t k);

/* The token that a column of a row stands for. Columns behind those of the row have no probability. */
static inline int32_t hd_loop_token(const hd_loop *l, size_t row, int32_t column)
{
    if (!l->columns) return column;
    return (size_t)column < l->columns[row]->count ? l->columns[row]->id[column] : 0;
}
/* The column of a token, which the row has. */
int32_t hd_loop_column(const hd_loop *l, size_t row, int32_t token);

/* A token of a row's list may be taken: it is not banned and has a probability. */
static inline bool hd_loop_takes(const hd_loop *l, int32_t token, hd_real logp)
{
    return !l->banned[token] && !(l->early && token == l->opt->end) && logp > -INFINITY;
}

#endif
