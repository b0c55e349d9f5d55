/* heed explain: one step of an encoder-decoder Transformer small enough to read, matrix by matrix. */
#include "cli/verb.h"

struct explain {
    bool backward, json;
    int train;  /* steps */
    int digits; /* decimals shown */
    const char *only;
};

static const hd_option options[] = {
    {"backward", 0, NULL, NULL, "add every gradient", HD_FLAG_INTO(struct explain, backward)},
    {"train", 0, "N", "0",
     "train N steps with Adam (rate 0.01) on both sentence pairs and show how it learns",
     HD_INT_INTO(struct explain, train, 0, 100000)},
    {"only", 0, "PATTERN", NULL,
     "show only matrices whose name matches the glob PATTERN, such as 'dec.self.*'",
     HD_TEXT_INTO(struct explain, only)},
    {"digits", 0, "N", "2", "decimals shown, 1 to 9", HD_INT_INTO(struct explain, digits, 1, 9)},
    {"json", 0, NULL, NULL, "write one JSON object instead of text", HD_FLAG_INTO(struct explain, json)},
    {0},
};

static const hd_example examples[] = {
    {"heed explain", "every matrix of the forward pass, from the embeddings to the loss"},
    {"heed explain --backward --only 'dec.cross.*'",
     "the cross-attention of the decoder, with its gradients"},
    {"heed explain --train 200", "watch the loss fall"},
    {NULL, NULL},
};

const hd_usage hd_verb_explain_usage = {
    .about = "Computes one step of a small encoder-decoder Transformer (one layer, one head, six channels) "
             "and shows every matrix on the way with its name, its shape and the formula that made it.\n"
             "The weights are fixed, so the numbers are the same on every machine.",
    .options = options,
    .size = sizeof(struct explain),
    .examples = examples,
};

int hd_verb_explain(const hd_command *c)
{
    const struct explain *o = c->options;
    (void)o;
    hd_err err = {0};
    hd_err_set(&err, HD_EMISSING, "not built yet");
    return hd_command_fail(c, &err);
}
