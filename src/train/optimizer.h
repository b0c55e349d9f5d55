/* Optimizers over a model's flat buffers: one pass per parameter group. Gradients come in as sums; the
   division by the step's weight, the clipping and the update are that one pass. */
#ifndef HD_TRAIN_OPTIMIZER_H
#define HD_TRAIN_OPTIMIZER_H

#include "nn/param.h"
#include "op/run.h"
#include "train/muon.h"

typedef enum hd_optimizer_kind { HD_OPT_SGD, HD_OPT_ADAM, HD_OPT_ADAMW, HD_OPT_MUON } hd_optimizer_kind;

typedef struct hd_optimizer_opt {
    hd_optimizer_kind kind;
    float momentum; /* SGD; 0: none */
    bool nesterov;
    float beta1, beta2, eps; /* Adam; eps 0: 1e-9, and with betas of 0 0.9 and 0.98, as in the paper */
    hd_muon_opt muon;        /* Muon: of matrices; its decay is the one below */
    float decay; /* weight decay: added to the gradient, or decoupled for AdamW and Muon; only parameters that
                    decay */
    float clip;  /* largest global norm of the gradient; 0: none */
    float average; /* decay of the moving average of the weights; 0: none */
} hd_optimizer_opt;

/* What a run carries from update to update beside weights and moments: files of its own in the folder of a
   checkpoint. Functions NULL: nothing. */
typedef struct hd_beside {
    hd_status (*save)(void *context, const char *folder, hd_err *err);
    hd_status (*load)(void *context, const char *folder, hd_err *err);
    void *context;
} hd_beside;

typedef struct hd_optimizer {
    hd_optimizer_opt opt;
    hd_params *params;
    uint64_t serial;                /* of captured updates */
    hd_muon muon;                   /* {0}: another kind */
    hd_real *first, *second, *mean; /* moments and moving average, flat like the trainable values; NULL where
                                       not needed. `second` leaves Muon's matrices out */
    hd_real *kept;                  /* of running statistics, to put them back; NULL: there are none */
    hd_real *spare;   /* of the average, to swap through: a swap back must not fail for lack of memory */
    double *squares;  /* of the gradient, backend memory */
    uint32_t *done;   /* done so far, skipped ones not counted; backend memory */
    hd_beside beside; /* set after hd_optimizer_init by who has such */
    bool summed; /* the gradients are those of all processes already: the next update does not add them */
} hd_optimizer;

/* The moving average starts from the values of now: draw or load them before. */
hd_status hd_optimizer_init(hd_optimizer *o, hd_params *params, const hd_optimizer_opt *opt, hd_err *err);
void hd_optimizer_release(hd_optimizer *o);

/* Updates done so far, skipped ones not counted: the t of Adam. Reading waits for the device. */
uint32_t hd_optimizer_updates(const hd_optimizer *o);
void hd_optimizer_resume(hd_optimizer *o, uint32_t updates);

/* The second moments as files have them, from or to the host: flat like the trainable values, zeros for what
   has none. */
void hd_optimizer_get_second(const hd_optimizer *o, hd_real *to);
void hd_optimizer_put_second(hd_optimizer *o, const hd_real *from);

/* One update with learning rate `rate` from gradients that are sums over `weight` (tokens). Sums over
   processes first, clears the gradients after. *norm gets the global norm, *skipped whether the update was
   left out because it was not finite; both may be NULL, and then the host does not wait for the device. */
hd_status hd_optimizer_step(hd_run *r, hd_optimizer *o, double rate, double weight, double *norm,
                            bool *skipped);
/* Keeps the running statistics of now, or puts the kept ones back: for a step that is to leave no trace. */
void hd_optimizer_keep(hd_optimizer *o, bool back);
/* Its kernels alone: rate and weight are what the step block says, and norm and skip are left in it. */
void hd_optimizer_update(hd_run *r, hd_optimizer *o);

/* Exchanges the values and their moving average, where there is one: to use the averaged model, and again to
 * go on. */
void hd_optimizer_swap(hd_optimizer *o);

#endif
