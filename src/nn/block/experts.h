/* Mixture of experts: several feed-forward layers, of which a router picks a few for each row. */
#ifndef HD_NN_BLOCK_EXPERTS_H
#define HD_NN_BLOCK_EXPERTS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum hd_router { HD_ROUTER_SOFTMAX, HD_ROUTER_SIGMOID } hd_router;

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
} hd_experts_opt;

#endif
