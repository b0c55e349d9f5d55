/* Lecture 004: the polls, each statement decided by what the engine does. */
#include <stdio.h>

#include "lab/worked/polls.h"
#include "lab/worked/sheet.h"

typedef enum answer { FALSE, TRUE, OPEN } answer; /* OPEN: the lecture leaves it open */

static const char *const words[] = {[FALSE] = "false", [TRUE] = "true", [OPEN] = "open"};

typedef struct statement {
    int poll;
    const char *text;
    answer lecture;
    hd_poll_question *decide;
    const char *measured; /* of the number that decides */
} statement;

static const statement statements[] = {
    {1, "Attention computes a different context at each output step.", TRUE, hd_poll_contexts_differ,
     "contexts of two states of a decoder differ by"},
    {1, "The context is the encoder's state with the highest weight.", FALSE, hd_poll_context_is_a_state,
     "the context is away from that state by"},
    {1, "A weight is a function of the encoder's and the last decoder state.", TRUE, hd_poll_weights_follow,
     "a weight changes with each of the two by"},
    {2, "Full tree search finds the optimal decode.", TRUE, hd_poll_full_search,
     "short of the best product in both examples by"},
    {2, "Beam search finds the optimal decode.", FALSE, hd_poll_beam_search,
     "a beam of 2 is short of the best product by"},
    {2, "Key and value are used to compute the weights.", FALSE, hd_poll_values_weigh,
     "when values change, weights change by"},
    {2, "Each head has keys and values of its own, at each input.", TRUE, hd_poll_keys_per_head,
     "two heads' keys and values of one input differ by"},
    {2, "Each head has a query of its own, at each output.", TRUE, hd_poll_queries_per_head,
     "two heads' queries of one row differ by"},
    {2, "Teacher forcing computes the theoretically correct loss.", OPEN, NULL,
     "called maximum likelihood and \"cheating\"; the answer is lost"},
    {3, "Self-attention over N inputs needs N x N weights for each head.", TRUE, hd_poll_square_weights,
     "weights of 5 inputs and 2 heads:"},
    {3, "Masks are needed in the first layer of the decoder alone.", FALSE, hd_poll_first_mask,
     "with that mask alone an earlier row still moves by"},
    {3, "Recurrent layers cannot be combined with self-attention.", FALSE, hd_poll_no_mixture,
     "numbers of an encoder gru + transformer that are not finite:"},
    {3, "Positional encodings differ in the encoder and the decoder.", FALSE, hd_poll_positions_differ,
     "the two tables differ by"},
    {4, "BERT is essentially the encoder of a Transformer.", TRUE, hd_poll_bert_encodes,
     "its first row moves with the last word by"},
    {4, "GPT is essentially the encoder of a Transformer.", FALSE, hd_poll_gpt_encodes,
     "its first row moves with the last word by"},
    {4, "BERT is essentially the decoder of a Transformer.", FALSE, hd_poll_bert_decodes,
     "its first row moves with the last word by"},
    {4, "GPT is essentially the decoder of a Transformer.", TRUE, hd_poll_gpt_decodes,
     "its first row moves with the last word by"},
};
enum { STATEMENTS = sizeof statements / sizeof *statements, POLLS = 4 };

hd_status hd_worked_polls(hd_sheet *s, hd_err *err)
{
    size_t right[POLLS] = {0}, asked[POLLS] = {0};
    hd_status status = HD_OK;
    char name[16];
    if (!s->only)
        hd_paper_say(s->to,
                     "The polls. Each statement is decided by a measurement; the answers of poll 2 lost "
                     "their marks on the slides and are derived from the lecture.");
    for (size_t i = 0; !status && i < STATEMENTS; i++) {
        const statement *x = &statements[i];
        const size_t poll = (size_t)x->poll - 1;
        bool held = false;
        double number = 0;
        snprintf(name, sizeof name, "poll.%d", x->poll);
        const bool shown = hd_sheet_wants(s, name);
        if (shown && !asked[poll]) {
            char title[16];
            snprintf(title, sizeof title, "Poll %d", x->poll);
            hd_paper_table_of(s->to, title, 3, 3);
            hd_paper_cell(s->to, "lecture"), hd_paper_cell(s->to, "heed"), hd_paper_cell(s->to, "statement");
        }
        if (x->decide) status = x->decide(s->run, &held, &number, err);
        const answer heed = x->decide ? (held ? TRUE : FALSE) : OPEN;
        asked[poll]++, right[poll] += heed == x->lecture;
        if (!shown) continue;
        hd_paper_cell(s->to, "%s", words[x->lecture]), hd_paper_cell(s->to, "%s", words[heed]);
        hd_paper_cell(s->to, "%s", x->text), hd_paper_cell(s->to, " "), hd_paper_cell(s->to, " ");
        if (x->decide)
            hd_paper_cell(s->to, "%s %.3g", x->measured, number);
        else
            hd_paper_cell(s->to, "%s", x->measured);
    }
    for (size_t i = 0; !status && i < POLLS; i++) {
        char text[48];
        snprintf(text, sizeof text, "Poll %zu: the engine answers as the lecture.", i + 1);
        hd_paper_claim(s->to, text, right[i] == asked[i], "%zu of %zu answers are the same.", right[i],
                       asked[i]);
    }
    return status;
}
