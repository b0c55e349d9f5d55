/* DistilBERT: a BERT of half as many layers without token types and a pooler, with its own names for all. */
#include "hub/bert.h"

static const hd_renamed blocks[] = {{"encoder.layer.", "transformer.layer."},
                                    {".attention.self.query.", ".attention.q_lin."},
                                    {".attention.self.key.", ".attention.k_lin."},
                                    {".attention.self.value.", ".attention.v_lin."},
                                    {".attention.output.dense.", ".attention.out_lin."},
                                    {".attention.output.LayerNorm.", ".sa_layer_norm."},
                                    {".intermediate.dense.", ".ffn.lin1."},
                                    {".output.dense.", ".ffn.lin2."},
                                    {".output.LayerNorm.", ".output_layer_norm."},
                                    {NULL, NULL}},
                        head[] = {{"cls.predictions.transform.dense.", "vocab_transform."},
                                  {"cls.predictions.transform.LayerNorm.", "vocab_layer_norm."},
                                  {"cls.predictions.decoder.", "vocab_projector."},
                                  {"cls.predictions.", "vocab_projector."},
                                  {NULL, NULL}},
                        labels[] = {{"bert.pooler.dense.", "pre_classifier."}, {NULL, NULL}};

static const hd_key keys[] = {
    HD_KEY(WHOLE, "n_layers", hd_bert_opt, stack.layers, HD_MOST_LAYERS, 6),
    HD_KEY(WHOLE, "n_heads", hd_bert_opt, stack.heads, HD_MOST_HEADS, 12),
    HD_KEY(WHOLE, "dim", hd_bert_opt, stack.width, HD_MOST_SIZE, 768),
    HD_KEY(WHOLE, "hidden_dim", hd_bert_opt, stack.inner, 4 * HD_MOST_SIZE, 3072),
    HD_KEY(UNARY, "activation", hd_bert_opt, stack.act, 0, HD_gelu),
    HD_KEY(REAL, "dropout", hd_bert_opt, stack.dropout, HD_KEY_DROPOUT, 0.1),
    HD_KEY(REAL, "attention_dropout", hd_bert_opt, stack.attention_dropout, HD_KEY_DROPOUT, 0.1),
    HD_BERT_VOCAB(30522),
    {0}};
static const char *const ignored[] = {HD_BERT_IGNORED, NULL};
static const hd_bert_form distilbert = {
    .title = "DistilBert",
    .prefix = "distilbert.",
    .keys = keys,
    .base = {.stack.eps = 1e-12f, .no_types = true, .pooler_act = HD_relu, .family = "distilbert"},
    .predicts = "vocab_transform.weight",
    .head = head,
    .labels = labels,
    .blocks = blocks,
    .native = HD_TOKENIZER_wordpiece};
const hd_family hd_family_distilbert = {"distilbert", &hd_bert_family_form, ignored, &distilbert};
