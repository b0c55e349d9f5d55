/* The examples of a lecture, in its order. */
#include "lab/worked/worked.h"

#include "lab/worked/sheet.h"

static hd_sheet_example *const first[] = {hd_worked_cell, hd_worked_scores, hd_worked_gru, hd_worked_bahdanau,
                                          NULL},
                               *const last[] = {hd_worked_contexts,  hd_worked_search, hd_worked_gumbel,
                                                hd_worked_positions, hd_worked_polls,  NULL};

/* Slips that no number shows. */
static const char *const slips[] = {
    "Slips of the slides without a number: V is printed as T x d_k beside K; keys and values share the "
    "length of "
    "the source, and values may have columns of their own. The training loop has backward, clip and step "
    "inside "
    "the loop over examples while the loss of the batch still grows: they belong after it, as PyTorch says "
    "at the "
    "second example. DecoderRNN never calls the attention module.",
    "Slips of the slides without a number: the pseudocode puts <sos> at Yout[0] and reads Yout[t-1] from t = "
    "0 on: "
    "<sos> belongs before the first output.",
};

hd_status hd_worked_run(hd_paper *to, hd_run *r, const hd_worked_opt *o, hd_err *err)
{
    hd_sheet s = {.to = to, .run = r, .only = o->only, .digits = o->digits};
    hd_status status = HD_OK;
    to->name = o->lecture ? "lecture 004" : "lecture 000";
    to->title = "Number by number";
    to->source = "golden numbers of the lecture; weights that the slides leave open were drawn with PyTorch";
    to->about =
        o->lecture
            ? "Attention models: the first context, searches, Gumbel noise, positions and the polls."
            : "Recurrent encoder-decoders: a simple cell, the attention scores, the GRU encoder-decoder and "
              "Bahdanau's attention.";
    for (hd_sheet_example *const *x = o->lecture ? last : first; !status && *x; x++) status = (*x)(&s, err);
    if (!status && !s.matches)
        return hd_err_set(err, HD_EARG, "--only: no matrix matches '%s'; --json shows all names", o->only);
    if (!status && !o->only) hd_paper_say(to, "%s", slips[o->lecture ? 1 : 0]);
    return status ? status : hd_paper_status(to, err);
}
