/* Mixture of experts: several feed-forward layers, of which a router picks a few for each row. Easy to get
   wrong: loads are counted once a training step, also where blocks are computed again. */
#ifndef HD_NN_BLOCK_EXPERTS_H
#define HD_NN_BLOCK_EXPERTS_H

#include "nn/layer.h"

typedef struct hd_experts_opt {
    int count;    /* 0: none */
    int used;     /* of a row */
    int shared;   /* that every row uses, beside them */
    size_t inner; /* hidden columns of one */
    hd_router router;
    int groups, groups_used; /* experts by groups, of which a row uses some; 0: one group */
    float scaling;           /* of the weights; 0: 1 */
    bool normalized;         /* weights of a row add up to 1 */
    int first;               /* layers before it are dense */
    int every;               /* every so many layers has experts; 0: each */
    float balance;           /* coefficient of the balance loss; 0: none */
    bool by_item;            /* that loss is of each item and layer (DeepSeek), not of all rows and layers */
    bool bias;               /* added to scores for the choice alone, and moved by loads */
    float bias_rate;         /* by so much an update */
} hd_experts_opt;

extern const char *const hd_router_names[HD_ROUTERS + 1]; /* ends with NULL */

/* What its tensors are called behind the name of the layer. */
typedef struct hd_expert_names {
    const char *router, *bias, *experts; /* the number of an expert comes behind the last */
    const char *in, *gate, *out;         /* of an expert: act(in x) * (gate x), then out */
    const char *shared;
} hd_expert_names;

typedef struct hd_experts {
    hd_experts_opt opt;
    hd_unary act;
    int layers; /* of the model that have experts: the balance loss is their mean */
    hd_param *router, *bias, *load, *was;
    hd_param *in, *out; /* [E * 2 * inner, C], [E * C, inner]: all experts, one below the other */
    const hd_tensor **part_in, **part_out; /* [E]: of each */
    hd_param **part;                       /* [2 * E]: the same, to be prepared */
    hd_ffn shared;                         /* shared.in.w NULL: none */
} hd_experts;

/* Whether sizes fit each other. */
hd_status hd_experts_check(const hd_experts_opt *o, hd_err *err);
/* Whether this layer of a model has experts in place of a feed-forward layer; how many of `layers` have. */
bool hd_experts_at(const hd_experts_opt *o, int layer);
int hd_experts_layers(const hd_experts_opt *o, int layers);

/* NULL on failure, which is in p->err. layer: its name, before those of its tensors. */
hd_experts *hd_experts_make(hd_params *p, const hd_experts_opt *o, size_t width, hd_unary act, hd_init init,
                            int layers, const hd_expert_names *names, const char *layer);
void hd_experts_free(hd_experts *e); /* accepts NULL */

/* load: of the step, shared by all layers (hd_experts_load), or NULL. */
hd_rows hd_experts_of(hd_run *r, const hd_experts *e, hd_rows x, int32_t *load);
/* Zeros for a balance loss over all layers; NULL where there is none. */
int32_t *hd_experts_load(hd_run *r, const hd_experts_opt *o);

/* Multiply-adds times two of one row's products. */
double hd_experts_flops(const hd_experts_opt *o, size_t width);

#endif
