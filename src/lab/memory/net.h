/* A small network that reads a sequence with one layer of any kind, and may answer from its last row: what
   recurrent cells and attention are compared by. */
#ifndef HD_LAB_MEMORY_NET_H
#define HD_LAB_MEMORY_NET_H

#include "lab/course.h"
#include "lab/experiment.h"
#include "nn/layer.h"
#include "nn/recurrent.h"

/* The last four are those that are compared with each other. */
#define HD_NET_LIST(X)                                \
    X(logistic, "rnn (logistic)", HD_RNN, HD_sigmoid) \
    X(relu, "rnn (relu)", HD_RNN, HD_relu)            \
    X(tanh, "rnn (tanh)", HD_RNN, HD_tanh)            \
    X(gru, "gru", HD_GRU, HD_tanh)                    \
    X(lstm, "lstm", HD_LSTM, HD_tanh)                 \
    X(attention, "self-attention", HD_RNN, HD_tanh)

typedef enum hd_net_kind {
#define X(name, title, cell, act) HD_NET_##name,
    HD_NET_LIST(X)
#undef X
        HD_NETS
} hd_net_kind;
enum { HD_NET_FIRST = HD_NET_tanh, HD_NET_COMPARED = HD_NETS - HD_NET_FIRST };
extern const char *const hd_net_names[HD_NETS];

typedef struct hd_net {
    hd_course course;
    hd_params params;
    hd_net_kind kind;
    size_t width;
    hd_param *words;
    hd_recurrent cell;
    hd_mha attention;
    hd_dense out;
} hd_net;

typedef struct hd_net_opt {
    hd_net_kind kind;
    size_t width, words; /* columns; how many words it reads and answers with */
    uint64_t seed;
    double remember; /* added to the bias of the gate that keeps, as gated cells are begun where memory
                        matters */
} hd_net_opt;

/* Lives where it was opened; the caller closes it whatever happens. */
hd_status hd_net_open(hd_net *n, hd_run *run, const hd_net_opt *o, hd_err *err);
void hd_net_close(hd_net *n); /* accepts {0} */

/* Rows of the layer. */
hd_rows hd_net_of(hd_net *n, hd_rows x);
/* Scores [items, words] from the last row of each item of ids. */
hd_tensor *hd_net_answers(hd_net *n, const int32_t *ids, const int32_t *len, size_t items);

/* One update by Adam to answer so. */
hd_status hd_net_learn(hd_net *n, const int32_t *ids, const int32_t *len, const int32_t *target, size_t items,
                       double rate, hd_err *err);
/* How many of these answers are right. */
hd_status hd_net_judge(size_t *right, hd_net *n, const int32_t *ids, const int32_t *len,
                       const int32_t *target, size_t items, hd_err *err);

#endif
