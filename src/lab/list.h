/* The experiments, in the order of the lectures: X(name). Each is one file that defines the hd_experiment
   hd_experiment_NAME (see experiment.h). */
#ifndef HD_LAB_LIST_H
#define HD_LAB_LIST_H

#define HD_EXPERIMENT_LIST(X) \
    X(ngram)                  \
    X(ladder)                 \
    X(forgetting)             \
    X(parallel)               \
    X(window)                 \
    X(reversal)               \
    X(scores)                 \
    X(scale)                  \
    X(apple)                  \
    X(order)                  \
    X(heads)                  \
    X(mask)                   \
    X(table2)                 \
    X(sampling)               \
    X(positions)              \
    X(latent)                 \
    X(experts)                \
    X(rewards)                \
    X(vectors)                \
    X(patches)                \
    X(queries)                \
    X(bottleneck)             \
    X(block)                  \
    X(relative)               \
    X(vanishing)              \
    X(dilution)               \
    X(start)                  \
    X(alignment)              \
    X(local)                  \
    X(caption)                \
    X(listen)                 \
    X(search)                 \
    X(siblings)               \
    X(forcing)                \
    X(gumbel)                 \
    X(fill)                   \
    X(pretraining)            \
    X(glue)

#endif
