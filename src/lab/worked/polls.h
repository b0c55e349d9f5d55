/* What the statements of lecture 004's polls are decided by: a number, and whether they hold. */
#ifndef HD_LAB_WORKED_POLLS_H
#define HD_LAB_WORKED_POLLS_H

#include "op/run.h"

typedef hd_status hd_poll_question(hd_run *r, bool *held, double *number, hd_err *err);

hd_poll_question hd_poll_contexts_differ, hd_poll_context_is_a_state, hd_poll_weights_follow;
hd_poll_question hd_poll_full_search, hd_poll_beam_search, hd_poll_values_weigh, hd_poll_keys_per_head,
    hd_poll_queries_per_head;
hd_poll_question hd_poll_square_weights, hd_poll_first_mask, hd_poll_no_mixture, hd_poll_positions_differ;
hd_poll_question hd_poll_bert_encodes, hd_poll_gpt_encodes, hd_poll_bert_decodes, hd_poll_gpt_decodes;

#endif
