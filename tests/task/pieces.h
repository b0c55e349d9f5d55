/* Pieces of random notes, and a small model of chorales with random weights. */
#ifndef PIECES_H
#define PIECES_H

#include "check.h"
#include "data/music/set.h"
#include "task/language/training.h"
#include "task/owned.h"

enum { PIECES = 3 };
static const size_t steps[PIECES] = {5, 40, 17};

CHECK_UNUSED static hd_music_set pieces_of(hd_music kind)
{
    hd_music_set set = {.kind = kind};
    hd_rng rng = hd_rng_make(4, 0);
    size_t room = 0;
    set.begin = NULL;
    assert_int_equal(hd_ids_add(&set.ids, HD_END_ID, NULL), HD_OK);
    for (size_t i = 0; i < PIECES; i++) {
        assert_int_equal(hd_mem_reserve(&set.begin, &room, i + 1, sizeof *set.begin, NULL), HD_OK);
        set.begin[set.pieces++] = set.ids.count;
        for (size_t k = 0; k < 4 * steps[i]; k++)
            assert_int_equal(hd_ids_add(&set.ids, HD_PITCH_ID + 40 + (int32_t)hd_rng_below(&rng, 40), NULL),
                             HD_OK);
        assert_int_equal(hd_ids_add(&set.ids, HD_END_ID, NULL), HD_OK);
    }
    return set;
}

CHECK_UNUSED static hd_stream_text stream_of_pieces(void)
{
    hd_music_set set = pieces_of(HD_MUSIC_CHORALE);
    hd_stream_text text = {0};
    assert_int_equal(hd_stream_text_of_music(&text, &set, NULL), HD_OK);
    return text;
}

CHECK_UNUSED static hd_model_folder *musician(hd_backend *b, size_t context, hd_gpt_position position,
                                              int relative)
{
    hd_err err = {0};
    hd_model_folder *l = hd_mem_zero(sizeof *l);
    hd_lm *lm = NULL;
    if (hd_music_tokenizer(&l->tokenizer[0], HD_MUSIC_CHORALE, &err)) fail_msg("%s", err.text);
    hd_lm_opt o = {
        .stack = {.layers = 2, .heads = 2, .width = 16, .pre_norm = true, .relative_span = relative},
        .kind = HD_LM_gpt,
        .vocab = hd_tokenizer_size(l->tokenizer[0]),
        .start = HD_START_ID,
        .end = HD_END_ID,
        .unk = HD_UNK_ID,
        .order = 1,
        .context = context,
        .position = position,
        .positions = 512,
        .align = hd_music_align(HD_MUSIC_CHORALE),
        .tied = true};
    if (hd_lm_new(&lm, &o, b, false, &err)) fail_msg("%s", err.text);
    hd_model_folder_take(l, HD_TRAIN_LM, hd_lm_model(lm));
    if (hd_params_draw(lm->params, 5, &err)) fail_msg("%s", err.text);
    return l;
}

#endif
