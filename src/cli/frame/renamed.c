/* Options by their earlier names: a rename adds a line here. Where a name had two meanings and one of them
   moved, its lines say by their values which. */
#include "cli/frame/renamed.h"

#include <string.h>

static const hd_renamed renamed[] = {
    {"tokeniser", "tokenizer", NULL},
    {"tokeniser-model", "tokenizer-model", NULL},
    {"optimiser", "optimizer", NULL},
    {"floor", "min-lr-ratio", NULL},
    {"best", "select-by", NULL},
    {"broken", "on-invalid", NULL},
    {"long", "on-long", NULL},
    {"empty", "on-empty", NULL},
    {"attention", "attention-span", NULL},
    {"window", "attention-window", NULL},
    {"score", "attention-score", NULL},
    {"query", "attention-query", NULL},
    {"project", "attention-projections", NULL},
    {"begin", "decoder-init", NULL},
    {"read", "readout", NULL},
    {"feed-context", "input-feeding", NULL},
    {"skips", "input-skips", NULL},
    {"relu", "embedding-relu", NULL},
    {"feeding", "decoder-input", NULL},
    {"inner", "ffn-size", NULL},
    {"inner-dropout", "ffn-dropout", NULL},
    {"vocab", "vocab-size", NULL},
    {"coverage", "character-coverage", NULL},
    {"positions", "max-positions", NULL},
    {"no-scale", "unscaled-attention", NULL},
    {"accumulate", "micro-batches", NULL},
    {"batch", "batch-size", NULL},
    {"features", "hash-buckets", NULL},
    {"whole-words", "whole-word-masking", NULL},
    {"valid-sentences", "bleu-sentences", NULL},
    {"context", "decoder-context", "attention"},
    {"context", "decoder-context", "fixed"},
    {"context", "decoder-context", "everywhere"},
    {"context", "decoder-context", "mean"},
};

static bool in_tables(const hd_option_set sets[2], const char *name)
{
    return hd_option_find(sets, name, strlen(name)).option;
}

const hd_renamed *hd_renamed_find(const hd_option_set sets[2], const char *before, const char *value)
{
    bool still = in_tables(sets, before);
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        const hd_renamed *row = &renamed[i];
        bool fits = row->value && value ? !strcmp(row->value, value) : !still;
        if (fits && !strcmp(row->before, before) && in_tables(sets, row->name)) return row;
    }
    return NULL;
}
