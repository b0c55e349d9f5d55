/* Layers of attention as Keras prints them on the slides: shapes and numbers of parameters. */
#ifndef HD_LAB_ATTENTION_PRINTED_H
#define HD_LAB_ATTENTION_PRINTED_H

#include "lab/experiment.h"

/* The same layers of the engine in a table, and what is claimed of them. */
hd_status hd_printed_put(hd_paper *to, const hd_lab *lab, hd_err *err);

#endif
