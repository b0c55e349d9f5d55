/* MPNet: a RoBERTa with the pieces of BERT, without token types, whose attention has a number for the
   distance of key and query, too, which all layers share. Sentence models are its use. */
#include "hub/bert.h"

static const hd_renamed blocks[] = {
    {".attention.self.query.", ".attention.attn.q."},
    {".attention.self.key.", ".attention.attn.k."},
    {".attention.self.value.", ".attention.attn.v."},
    {".attention.output.dense.", ".attention.attn.o."},
    {".attention.output.LayerNorm.", ".attention.LayerNorm."},
    {"encoder.layer.0.attention.relative_attention_bias.", "encoder.relative_attention_bias."},
    {NULL, NULL}};
static const hd_key keys[] = {
    HD_BERT_KEYS(12, 12, 768, 3072),
    HD_KEY(WHOLE, "relative_attention_num_buckets", hd_bert_opt, stack.relative.buckets, HD_MOST_SIZE, 32),
    HD_BERT_VOCAB(30527),
    {0}};
static const char *const ignored[] = {HD_BERT_IGNORED, "mpnet.pooler.dense.weight", "mpnet.pooler.dense.bias",
                                      NULL};
static const hd_bert_form mpnet = {.title = "MPNet",
                                   .prefix = "mpnet.",
                                   .keys = keys,
                                   .base = {.stack.relative = {.buckets = 32, .reach = 128},
                                            .offset = 2,
                                            .no_types = true,
                                            .family = "mpnet"},
                                   .predicts = "lm_head.dense.weight",
                                   .gelu = true,
                                   .head = hd_roberta_head,
                                   .labels = hd_roberta_labels,
                                   .blocks = blocks,
                                   .native = HD_TOKENIZER_wordpiece};
const hd_family hd_family_mpnet = {"mpnet", &hd_bert_family_form, ignored, &mpnet};
