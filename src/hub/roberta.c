/* RoBERTa: a BERT whose positions lie behind the id that fills up, with names of its own for its heads; and
   XLM-R, which is one with the vocabulary of a hundred languages. */
#include "hub/bert.h"

const hd_renamed hd_roberta_head[] = {{"cls.predictions.transform.dense.", "lm_head.dense."},
                                      {"cls.predictions.transform.LayerNorm.", "lm_head.layer_norm."},
                                      {"cls.predictions.", "lm_head."},
                                      {NULL, NULL}};
const hd_renamed hd_roberta_labels[] = {
    {"bert.pooler.dense.", "classifier.dense."}, {"classifier.", "classifier.out_proj."}, {NULL, NULL}};

/* A pooler where labels have a layer of their own. */
static const char *const ignored[] = {HD_BERT_IGNORED, "roberta.pooler.dense.weight",
                                      "roberta.pooler.dense.bias", NULL};

static const hd_key keys[] = {HD_BERT_KEYS(12, 12, 768, 3072), HD_BERT_VOCAB(50265), HD_BERT_TYPES, {0}};
static const hd_bert_form roberta = {.title = "Roberta",
                                     .prefix = "roberta.",
                                     .keys = keys,
                                     .base = {.offset = 2, .family = "roberta"},
                                     .predicts = "lm_head.dense.weight",
                                     .gelu = true,
                                     .head = hd_roberta_head,
                                     .labels = hd_roberta_labels,
                                     .native = HD_TOKENIZER_bpe};
const hd_family hd_family_roberta = {"roberta", &hd_bert_family_form, ignored, &roberta};

static const hd_key xlm_keys[] = {HD_BERT_KEYS(12, 12, 768, 3072), HD_BERT_VOCAB(30522), HD_BERT_TYPES, {0}};
static const hd_bert_form xlm = {.title = "XLMRoberta",
                                 .prefix = "roberta.",
                                 .keys = xlm_keys,
                                 .base = {.offset = 2, .family = "xlm-roberta"},
                                 .predicts = "lm_head.dense.weight",
                                 .gelu = true,
                                 .head = hd_roberta_head,
                                 .labels = hd_roberta_labels,
                                 .native = HD_TOKENIZER_t5};
const hd_family hd_family_xlm_roberta = {"xlm-roberta", &hd_bert_family_form, ignored, &xlm};
