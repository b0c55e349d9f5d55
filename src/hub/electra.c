/* ELECTRA: a BERT whose token vectors may be narrower than its rows. The generator predicts words; the
   discriminator, which was trained to tell replaced words, is the one that is fine-tuned: its head, which
   nothing here asks, is left out. */
#include "hub/bert.h"

static const hd_renamed head[] = {
    {"cls.predictions.transform.dense.", "generator_predictions.dense."},
    {"cls.predictions.transform.LayerNorm.", "generator_predictions.LayerNorm."},
    {"cls.predictions.decoder.", "generator_lm_head."},
    {"cls.predictions.", "generator_lm_head."},
    {NULL, NULL}};
static const hd_key keys[] = {HD_BERT_KEYS(12, 4, 256, 1024),
                              HD_KEY(WHOLE, "embedding_size", hd_bert_opt, embedding, HD_MOST_SIZE, 128),
                              HD_BERT_VOCAB(30522),
                              HD_BERT_TYPES,
                              {0}};
static const char *const ignored[] = {HD_BERT_IGNORED,
                                      "discriminator_predictions.dense.weight",
                                      "discriminator_predictions.dense.bias",
                                      "discriminator_predictions.dense_prediction.weight",
                                      "discriminator_predictions.dense_prediction.bias",
                                      NULL};
static const hd_bert_form electra = {.title = "Electra",
                                     .pretraining = HD_PRETRAINING_BARE,
                                     .prefix = "electra.",
                                     .keys = keys,
                                     .base = {.pooler_act = HD_gelu, .family = "electra"},
                                     .predicts = "generator_predictions.dense.weight",
                                     .gelu = true,
                                     .head = head,
                                     .labels = hd_roberta_labels,
                                     .native = HD_TOKENIZER_wordpiece};
const hd_family hd_family_electra = {"electra", &hd_bert_family_form, ignored, &electra};
