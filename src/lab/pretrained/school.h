/* A small language model that has read sums, many of them with a mistake, and then learns from rewards which
   of its own answers are right (GRPO). */
#ifndef HD_LAB_PRETRAINED_SCHOOL_H
#define HD_LAB_PRETRAINED_SCHOOL_H

#include "data/sums/sums.h"
#include "lab/language/pupil.h"
#include "task/reward/rollout.h"

enum {
    HD_SCHOOL_LINES = 1500,
    HD_SCHOOL_EACH = 8,
    HD_SCHOOL_JUDGED = 16
};                          /* read; answers of a group; of a vote */
#define HD_SCHOOL_NOISE 0.5 /* share of answers that are wrong in what is read */

typedef struct hd_school {
    hd_sums sums;
    hd_prompts prompts;
    hd_text lessons;
    size_t at; /* a feed's place in them */
    hd_pupil pupil;
    hd_model_folder folder; /* of the pupil's model and the tokenizer */
    hd_rewards *rewards;
    hd_author author;
    double mean, deviation; /* of advantages: the largest mean, and the farthest from 1 */
} hd_school;

/* Reads the lines. Lives where it was opened; the caller closes it whatever happens. */
hd_status hd_school_open(hd_school *c, const hd_lab *lab, uint64_t seed, hd_err *err);
void hd_school_close(hd_school *c);

/* One update: groups of answers to some of the sums, their rewards, and what is learned from those. number:
   of the update, which other draws than others have. */
hd_status hd_school_turn(hd_school *c, uint64_t number, hd_err *err);
/* Shares of single answers that are right, and of votes over several. */
hd_status hd_school_judge(double *pass, double *vote, hd_school *c, hd_err *err);

#endif
