/* A language model of a small text, as tests of what is asked of one need it: counted, or with weights as
   they begin. Include after check.h. */
#ifndef SPEAKER_H
#define SPEAKER_H

#include <sys/stat.h>

#include "task/owned.h"

static const char speaker_text[] = "the cat sat on the mat\n"
                                   "the dog sat on the log\n"
                                   "\n"
                                   "a cat and a dog sat on a mat\n"
                                   "the mat, the log and the cat are here\n"
                                   "where is the dog? the dog is on the log\n";

typedef struct speaker_lines {
    const char *at;
} speaker_lines;

CHECK_UNUSED static bool speaker_next(void *context, hd_line *line)
{
    speaker_lines *s = context;
    const char *end = strchr(s->at, '\n');
    if (!end) return false;
    *line = (hd_line){s->at, (size_t)(end - s->at)};
    s->at = end + 1;
    return true;
}

/* Lines of a text and the end token behind each. */
CHECK_UNUSED static hd_ids speaker_ids(const hd_tokenizer *t, const char *text)
{
    hd_ids ids = {0};
    hd_err err = {0};
    speaker_lines lines = {text};
    for (hd_line line; speaker_next(&lines, &line);) {
        assert_int_equal(hd_tokenizer_encode_ids(t, line.text, line.size, &ids, &err), HD_OK);
        assert_int_equal(hd_ids_reserve(&ids, 1, &err), HD_OK);
        ids.at[ids.count++] = hd_tokenizer_special(t).end;
    }
    return ids;
}

/* kind: HD_LM_ngram of order 3, or another with small sizes. */
CHECK_UNUSED static hd_model_folder *speaker_seeing(hd_backend *b, hd_lm_kind kind, hd_tokenizer_kind unit,
                                                    size_t context)
{
    hd_err err = {0};
    hd_model_folder *l = hd_mem_zero(sizeof *l);
    hd_lm *lm = NULL;
    speaker_lines lines = {speaker_text};
    if (hd_tokenizer_train(&l->tokenizer[0], unit, (hd_feed){speaker_next, &lines}, &(hd_tokenizer_opt){0},
                           &err))
        fail_msg("%s", err.text);
    hd_special special = hd_tokenizer_special(l->tokenizer[0]);
    hd_lm_opt opt = {.stack.pre_norm = true,
                     .kind = kind,
                     .vocab = hd_tokenizer_size(l->tokenizer[0]),
                     .start = special.start,
                     .end = special.end,
                     .unk = special.unk,
                     .order = 3,
                     .smoothing = HD_SMOOTHING_KNESER_NEY,
                     .buckets = 64,
                     .stack.layers = 1,
                     .stack.heads = 2,
                     .stack.width = 16,
                     .context = context,
                     .stack.act = HD_tanh};
    if (hd_lm_new(&lm, &opt, b, false, &err)) fail_msg("%s", err.text);
    hd_model_folder_take(l, HD_TRAIN_LM, hd_lm_model(lm));
    if (lm->params) {
        if (hd_params_draw(lm->params, 7, &err)) fail_msg("%s", err.text);
        return l;
    }
    hd_ids ids = speaker_ids(l->tokenizer[0], speaker_text);
    if (lm->type->lm.count(lm, ids.at, ids.count, &err)) fail_msg("%s", err.text);
    hd_ids_release(&ids);
    return l;
}

/* With a context of 8. */
CHECK_UNUSED static hd_model_folder *speaker(hd_backend *b, hd_lm_kind kind, hd_tokenizer_kind unit)
{
    return speaker_seeing(b, kind, unit, 8);
}

CHECK_UNUSED static void speaker_folder_seeing(const char *path, hd_lm_kind kind, hd_tokenizer_kind unit,
                                               size_t context)
{
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_model_folder *l = speaker_seeing(b, kind, unit, context);
    assert_int_equal(mkdir(path, 0777), 0);
    if (hd_model_folder_write(l, path, &err)) fail_msg("%s", err.text);
    folder_free(l);
    hd_backend_free(b);
}

/* With a context of 8. */
CHECK_UNUSED static void speaker_folder(const char *path, hd_lm_kind kind, hd_tokenizer_kind unit)
{
    speaker_folder_seeing(path, kind, unit, 8);
}

#endif
