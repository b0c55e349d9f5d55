/* Small encoder-decoders over frames of sound, and frames for them: items of 1, of odd and of even length. */
#ifndef SOUND_TOY_H
#define SOUND_TOY_H

#include "check.h"
#include "model/encdec/encdec.h"
#include "nn/frames.h"

enum { ST_BINS = 5, ST_ITEMS = 4, ST_V = 11, ST_START = 1, ST_END = 2, ST_LONGEST = 7, ST_FRAMES = 64 };

static const int32_t st_frames[ST_ITEMS] = {13, 1, 8, 19};

static const struct {
    const char *name, *encoder, *decoder;
    int stack;
    hd_recurrent_decoder_opt r;
} st_kinds[] = {
    {"listen, attend and spell",
     "bi-lstm:1+pyramid:2",
     "lstm:2",
     1,
     {.query = HD_QUERY_current, .read = HD_READING_tanh, .feed_context = true}},
    {"pyramid from the first layer on",
     "pyramid:3",
     "gru:1",
     1,
     {.begin = HD_BEGINNING_map, .read = HD_READING_deep}},
    {"cells over pairs of frames",
     "gru:1",
     "lstm:1",
     2,
     {.begin = HD_BEGINNING_maps, .read = HD_READING_tanh}},
    {"transformer", "transformer:2", "transformer:2", 4, {0}},
    {"pyramid under blocks", "pyramid:1+transformer:1", "transformer:1", 1, {0}},
    {"whisper", "transformer:2", "transformer:2", 1, {0}}, /* convolutions, and all else as it has it */
};

static bool st_grid; /* whether the model that was made last reads grids */

CHECK_UNUSED static hd_encdec *st_model(hd_backend *b, size_t k, size_t width, double spread)
{
    hd_err err = {0};
    hd_encdec *m = NULL;
    hd_encdec_opt o = {
        .sounds = true,
        .sound = {.features =
                      {.kind = HD_FEATURES_LOG_MEL, .rate = 8000, .window = 200, .hop = 80, .mels = ST_BINS},
                  .stack = st_kinds[k].stack,
                  .positions = ST_FRAMES},
        .stack = {.heads = 2, .width = width, .inner = 12, .eps = 1e-5f, .act = HD_gelu, .pre_norm = true},
        .target_vocab = ST_V,
        .positions = 16,
        .sinusoid = {.halves = true},
        .output_bias = true,
        .recurrent = st_kinds[k].r};
    if (!strcmp(st_kinds[k].name, "whisper")) {
        hd_encdec_opt whisper = hd_encdec_opt_whisper();
        whisper.sound.features = o.sound.features, whisper.sound.positions = o.sound.positions;
        whisper.stack.heads = o.stack.heads, whisper.stack.width = width, whisper.stack.inner = o.stack.inner;
        whisper.stack.act = o.stack.act, whisper.target_vocab = o.target_vocab,
        whisper.positions = o.positions;
        o = whisper;
    }
    st_grid = hd_sound_encoder_grid(&o.sound);
    if (hd_stages_read(&o.encoder, st_kinds[k].encoder, &err) ||
        hd_stages_read(&o.decoder, st_kinds[k].decoder, &err) || hd_encdec_new(&m, b, &o, true, &err) ||
        hd_params_draw(&m->params, 3, &err))
        fail_msg("%s: %s", st_kinds[k].name, err.text);
    for (size_t i = 0; spread != 1 && i < m->params.trainable; i++) m->params.value[i] *= (hd_real)spread;
    return m;
}

static float st_value[ST_ITEMS * ST_FRAMES * ST_BINS];

/* Items first .. first+items-1, the same whatever batch they are in. */
CHECK_UNUSED static hd_frames_host st_sounds(size_t first, size_t items)
{
    size_t from = 0;
    for (size_t i = 0; i < COUNT_OF(st_value); i++)
        st_value[i] = (float)sin(0.37 * (double)i + 0.011 * (double)(i * i % 97));
    for (size_t i = 0; i < first; i++) from += (size_t)st_frames[i] * ST_BINS;
    return (hd_frames_host){.value = st_value + from,
                            .frames = st_frames + first,
                            .items = items,
                            .bins = ST_BINS,
                            .grid = st_grid};
}

typedef struct st_batch {
    hd_frames frames;
    hd_seg *seg;
    const int32_t *input, *output;
    uint64_t shape;
} st_batch;

/* A step as the task sends it, filled up to its bounds. */
CHECK_UNUSED static st_batch st_send(hd_run *r, const hd_encdec *m)
{
    int32_t input[ST_ITEMS * ST_LONGEST], output[ST_ITEMS * ST_LONGEST], len[ST_ITEMS];
    size_t rows = 0;
    for (size_t i = 0; i < ST_ITEMS; i++) {
        len[i] = 3 + (int32_t)(i * 5 % (ST_LONGEST - 2));
        for (int32_t k = 0; k < len[i]; k++, rows++) {
            input[rows] = k ? output[rows - 1] : ST_START;
            output[rows] = k + 1 < len[i] ? 3 + (int32_t)((i * 7 + (size_t)k * 11) % (ST_V - 3)) : ST_END;
        }
    }
    const hd_frames_host host = st_sounds(0, ST_ITEMS);
    hd_bounds bounds = hd_bounds_now(r, len, ST_ITEMS);
    st_batch b = {.seg = hd_seg_within(r, len, ST_ITEMS, NULL, bounds)};
    if (b.seg && hd_encdec_unrolls(m)) b.seg->steps = hd_unroll(r, b.seg);
    b.input = hd_ids_within(r, input, rows, bounds.rows);
    b.output = hd_ids_within(r, output, rows, bounds.rows);
    b.shape = hd_frames_send(r, &b.frames, &host);
    return b;
}

CHECK_UNUSED static hd_tensor *st_loss(hd_run *r, const hd_encdec *m, const st_batch *b)
{
    hd_encoded memory = hd_encdec_encode(r, m, &(hd_items){.frames = &b->frames});
    hd_rows x = hd_encdec_decode(r, m, b->input, b->seg, memory, NULL);
    return hd_encdec_loss(r, m, x, b->output, &(hd_loss_opt){.coef = 1});
}

#endif
