/* All experiments as a folder of pages: one each, and an index in the order of the lectures. */
#ifndef HD_LAB_SITE_H
#define HD_LAB_SITE_H

#include "lab/experiment.h"

/* Runs them all. done, which may be NULL, is told of each paper when its page is written. */
typedef struct hd_site_opt {
    const char *folder;
    void (*begun)(void *context, const hd_experiment *x);
    void (*done)(void *context, const hd_paper *r);
    void *context;
} hd_site_opt;

hd_status hd_site_write(const hd_lab *lab, const hd_site_opt *o, hd_err *err);

#endif
