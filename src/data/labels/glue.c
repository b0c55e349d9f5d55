/* The sets of GLUE. */
#include "data/labels/glue.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define YES_NO   \
    {            \
        "0", "1" \
    }
#define NAMED(label_name, text_name, text2_name)                     \
    {                                                                \
        .name = {label_name, text_name, text2_name}, .lenient = true \
    }

const hd_glue_set hd_glue_sets[HD_GLUE_SETS] = {
    {"MNLI-m",
     "MNLI",
     "dev_matched.tsv",
     NAMED("gold_label", "sentence1", "sentence2"),
     {"entailment", "neutral", "contradiction"},
     {0},
     "accuracy"},
    {"MNLI-mm",
     "MNLI",
     "dev_mismatched.tsv",
     NAMED("gold_label", "sentence1", "sentence2"),
     {"entailment", "neutral", "contradiction"},
     {0},
     "accuracy"},
    {"QQP",
     "QQP",
     "dev.tsv",
     NAMED("is_duplicate", "question1", "question2"),
     YES_NO,
     {"not_duplicate", "duplicate"},
     "f1"},
    {"QNLI",
     "QNLI",
     "dev.tsv",
     NAMED("label", "question", "sentence"),
     {"entailment", "not_entailment"},
     {0},
     "accuracy"},
    {"SST-2",
     "SST-2",
     "dev.tsv",
     NAMED("label", "sentence", NULL),
     YES_NO,
     {"negative", "positive"},
     "accuracy"},
    {"CoLA",
     "CoLA",
     "dev.tsv",
     {.nameless = true, .at = {1, 3, SIZE_MAX}, .lenient = true},
     YES_NO,
     {"unacceptable", "acceptable"},
     "matthews"},
    {"STS-B", "STS-B", "dev.tsv", NAMED("score", "sentence1", "sentence2"), {0}, {0}, "spearman"},
    {"MRPC",
     "MRPC",
     "dev.tsv",
     NAMED("Quality", "#1 String", "#2 String"),
     YES_NO,
     {"not_equivalent", "equivalent"},
     "f1"},
    {"RTE",
     "RTE",
     "dev.tsv",
     NAMED("label", "sentence1", "sentence2"),
     {"entailment", "not_entailment"},
     {0},
     "accuracy"},
};

size_t hd_glue_labels(const hd_glue_set *set)
{
    size_t n = 0;
    while (n < HD_GLUE_LABELS && set->label[n]) n++;
    return n;
}

bool hd_glue_path(char path[HD_PATH], const hd_glue_set *set, const char *folder)
{
    struct stat info;
    size_t size = strlen(folder), own = strlen(set->folder);
    while (size > 1 && folder[size - 1] == '/') size--;
    int n = snprintf(path, HD_PATH, "%.*s/%s/%s", (int)size, folder, set->folder, set->file);
    if (n > 0 && n < HD_PATH && !stat(path, &info)) return true;
    if (size < own || memcmp(folder + size - own, set->folder, own) ||
        (size > own && folder[size - own - 1] != '/'))
        return false;
    n = snprintf(path, HD_PATH, "%.*s/%s", (int)size, folder, set->file);
    return n > 0 && n < HD_PATH && !stat(path, &info);
}

hd_status hd_glue_read(hd_labeled *out, const hd_glue_set *set, const char *path, hd_err *err)
{
    size_t n = hd_glue_labels(set);
    hd_vocab labels = {0};
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < n; i++) s = hd_vocab_add(&labels, set->label[i], strlen(set->label[i]), err);
    if (!s)
        s = hd_labeled_table_of(out, &labels, path, &set->columns, n ? hd_labeled_name : hd_labeled_number,
                                err);
    hd_vocab_release(&labels);
    return s;
}

int32_t hd_glue_label(const hd_glue_set *set, size_t number, const hd_vocab *labels)
{
    char plain[32];
    snprintf(plain, sizeof plain, "LABEL_%zu", number);
    for (int32_t i = 0; i < (int32_t)labels->count; i++) {
        const char *name = hd_vocab_piece(labels, i);
        if (!strcasecmp(name, set->label[number]) || !strcmp(name, plain)) return i;
        if (set->title[number] && !strcasecmp(name, set->title[number])) return i;
    }
    return -1;
}
