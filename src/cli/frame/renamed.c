/* Options by their earlier names: a rename adds a line here. Where a name had two meanings and one of them
   moved, the line says by its value which: {"context", "context-length", HD_RENAMED_NUMBER, NULL}. */
#include "cli/frame/renamed.h"

#include <stdlib.h>
#include <string.h>

static const hd_renamed renamed[] = {
    {"tokeniser", "tokenizer", NULL, NULL},
    {"tokeniser-model", "tokenizer-model", NULL, NULL},
    {"optimiser", "optimizer", NULL, NULL},
    {"floor", "min-lr-ratio", NULL, NULL},
    {"best", "select-by", NULL, NULL},
    {"broken", "on-invalid", NULL, NULL},
    {"long", "on-long", NULL, NULL},
    {"empty", "on-empty", NULL, NULL},
    {"attention", "attention-span", NULL, NULL},
    {"window", "attention-window", NULL, NULL},
    {"score", "attention-score", NULL, NULL},
    {"query", "attention-query", NULL, NULL},
    {"project", "attention-projections", NULL, NULL},
    {"begin", "decoder-init", NULL, NULL},
    {"read", "readout", NULL, NULL},
    {"feed-context", "input-feeding", NULL, NULL},
    {"skips", "input-skips", NULL, NULL},
    {"relu", "embedding-relu", NULL, NULL},
    {"feeding", "decoder-input", NULL, NULL},
    {"inner", "ffn-size", NULL, NULL},
    {"inner-dropout", "ffn-dropout", NULL, NULL},
    {"vocab", "vocab-size", NULL, NULL},
    {"coverage", "character-coverage", NULL, NULL},
    {"positions", "max-positions", NULL, NULL},
    {"no-scale", "unscaled-attention", NULL, NULL},
    {"accumulate", "micro-batches", NULL, NULL},
    {"batch", "batch-size", NULL, NULL},
    {"features", "hash-buckets", NULL, NULL},
    {"whole-words", "whole-word-masking", NULL, NULL},
    {"valid-sentences", "bleu-sentences", NULL, NULL},
    {"context", "decoder-context", "attention", NULL},
    {"context", "decoder-context", "fixed", NULL},
    {"context", "decoder-context", "everywhere", NULL},
    {"context", "decoder-context", "mean", NULL},
};

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return end != text && !*end;
}

static bool in_tables(const hd_option_set sets[2], const char *name)
{
    return hd_option_find(sets, name, strlen(name)).option;
}

const hd_renamed *hd_renamed_find(const hd_option_set sets[2], const char *before, const char *value)
{
    bool still = in_tables(sets, before);
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        const hd_renamed *row = &renamed[i];
        bool fits = !row->value ? !still
                    : !value    ? !still
                                : !strcmp(row->value, value) ||
                                   (!strcmp(row->value, HD_RENAMED_NUMBER) && is_number(value));
        if (fits && !strcmp(row->before, before) && in_tables(sets, row->name)) return row;
    }
    return NULL;
}
