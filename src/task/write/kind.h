/* What differs between the models that write: Graves' networks (network.c) and a gpt over bins (tokens.c). A
   kind is a line in HD_WRITE_KIND_LIST and a file that defines hd_write_NAME. */
#ifndef HD_TASK_WRITE_KIND_H
#define HD_TASK_WRITE_KIND_H

#include "model/stroke/pen_gpt.h"
#include "run/options.h"
#include "task/write/training.h"

/* X(name) */
#define HD_WRITE_KIND_LIST(X) \
    X(network)                \
    X(tokens)

typedef union hd_write_sizes {
    hd_handwriting_opt network;
    hd_pen_gpt_opt tokens;
} hd_write_sizes;

/* Lines in backend memory. */
typedef union hd_write_batch {
    hd_handwriting_batch network;
    hd_pen_gpt_batch tokens;
} hd_write_batch;

typedef struct hd_write_kind {
    const char *name; /* --model, and "model" in config.json */
    const hd_model_type *type;

    /* -- its sizes -- */
    void (*sizes)(hd_write_sizes *to, const hd_train_options *o); /* as far as options say */
    /* What the data says, whose texts have so many characters. */
    hd_status (*measure)(hd_write_sizes *to, const hd_strokes *s, size_t vocab, hd_err *err);
    /* Those of a model that a run goes on with, but for the dropout. */
    void (*take)(hd_write_sizes *to, const void *model);
    void (*read)(hd_model_config *c, hd_write_sizes *to);
    void (*write)(hd_text *to, const void *model);
    size_t (*vocab)(const hd_write_sizes *s);
    hd_status (*make)(hd_model *out, hd_backend *b, const hd_write_sizes *s, bool training, hd_err *err);

    /* -- training -- */
    /* Weights to begin with; points: of a character, on average. */
    hd_status (*draw)(void *model, uint64_t seed, double points, hd_err *err);
    /* Whether all lines fit in the model; `of`: which they are, for errors. NULL: any do. */
    hd_status (*fits)(const void *model, const hd_write_lines *l, const char *of, hd_err *err);
    uint64_t (*send)(hd_run *r, hd_write_batch *to, const hd_write_lines *l, const uint32_t *which,
                     size_t count, const void *model);
    hd_tensor *(*loss)(hd_run *r, const void *model, const hd_write_batch *b);
    void (*plan)(const void *model, char *to, size_t size); /* the model in a line */

    /* -- writing -- */
    const hd_pen_scale *(*scale)(const void *model);
    bool (*reads)(const void *model); /* it reads a text */
    hd_status (*lines)(hd_handwritten *out, hd_run *r, const hd_model_folder *f, const char *const *line,
                       size_t lines, const hd_write_opt *opt, hd_err *err); /* as hd_write */
} hd_write_kind;

#define X(name) extern const hd_write_kind hd_write_##name;
HD_WRITE_KIND_LIST(X)
#undef X

const hd_write_kind *hd_write_kind_of(const hd_model *m);
/* By its name; NULL: there is none. */
const hd_write_kind *hd_write_kind_find(const char *name);

/* `lines` of the kinds. */
hd_status hd_write_network_lines(hd_handwritten *out, hd_run *r, const hd_model_folder *f,
                                 const char *const *line, size_t lines, const hd_write_opt *opt, hd_err *err);
hd_status hd_write_tokens_lines(hd_handwritten *out, hd_run *r, const hd_model_folder *f,
                                const char *const *line, size_t lines, const hd_write_opt *opt, hd_err *err);
/* Fills the weights over the text of a line, of which all tokens are given but an end. */
hd_status hd_write_tokens_look(hd_handwritten *to, hd_run *r, const hd_pen_gpt *m, const hd_ids *line,
                               hd_err *err);

/* The text of a line, behind that of the prime, and its characters, which are appended to `ids`. */
hd_status hd_write_text(hd_handwritten *to, hd_ids *ids, const hd_model_folder *f, const char *line,
                        const hd_strokes *prime, hd_err *err);

#endif
