/* Random sounds. */
#include "task/bench/sounds.h"

#include "base/mem.h"
#include "base/rng.h"
#include "data/sound/features.h"

enum { RATE = 16000, VOCAB = 32, START = 1, END = 2, FIRST = 3 };

/* -- models -- */

hd_encdec_opt hd_bench_las(void)
{
    const hd_stage lstm = {.kind = HD_STAGE_lstm, .layers = 1};
    hd_encdec_opt o = {.sounds = true,
                       .sound = {.stack = 1, .positions = 1 << 16},
                       .ctc = 0.3f,
                       .encoder = {.at = {lstm, {.kind = HD_STAGE_pyramid, .layers = 2}}, .count = 2},
                       .decoder = {.at = {lstm}, .count = 1},
                       .stack = {.heads = 4, .width = 128, .inner = 256, .eps = 1e-5f, .dropout = 0.2f},
                       .recurrent = {.query = HD_QUERY_current,
                                     .read = HD_READING_tanh,
                                     .begin = HD_BEGINNING_zeros,
                                     .feed_context = true},
                       .target_vocab = VOCAB,
                       .positions = 256,
                       .output_bias = true};
    o.encoder.at[0].both_ways = true;
    o.sound.features = hd_features_usual(HD_FEATURES_LOG_MEL, RATE);
    return o;
}

hd_encdec_opt hd_bench_speech_ctc(void)
{
    hd_encdec_opt o = hd_bench_las();
    o.decoder.at[0] = (hd_stage){.kind = HD_STAGE_none};
    o.ctc = 1;
    return o;
}

/* -- batches -- */

static hd_status fill(hd_bench_sounds *s, size_t items, size_t frames, size_t bins, hd_err *err)
{
    hd_rng rng = hd_rng_make(1, 0);
    float *value = hd_mem_array(items * frames * bins, sizeof *value);
    int32_t *each = hd_mem_array(items, sizeof *each),
            *id = hd_mem_array(items * HD_BENCH_LETTERS, sizeof *id);
    size_t *begin = hd_mem_array(items + 1, sizeof *begin);
    s->which = hd_mem_array(items, sizeof *s->which);
    s->host = (hd_frames_host){.value = value, .frames = each, .items = items, .bins = bins};
    s->texts = (hd_targets){.count = items, .id = id, .begin = begin};
    if (!value || !each || !id || !begin || !s->which)
        return hd_err_nomem(err, items * frames * bins * sizeof *value);
    for (size_t i = 0; i < items * frames * bins; i++) value[i] = (float)hd_rng_normal(&rng);
    for (size_t i = 0; i < items * HD_BENCH_LETTERS; i++)
        id[i] = FIRST + (int32_t)hd_rng_below(&rng, VOCAB - FIRST);
    for (size_t i = 0; i < items; i++)
        each[i] = (int32_t)frames, s->which[i] = (uint32_t)i, begin[i + 1] = (i + 1) * HD_BENCH_LETTERS;
    return HD_OK;
}

hd_status hd_bench_sounds_make(hd_bench_sounds *out, hd_backend *b, const hd_encdec_opt *o, size_t items,
                               size_t frames, hd_err *err)
{
    *out = (hd_bench_sounds){0};
    hd_status s = hd_encdec_new(&out->model, b, o, true, err);
    if (!s) s = hd_params_draw(&out->model->params, 1, err);
    return s ? s : fill(out, items, frames, (size_t)o->sound.features.mels, err);
}

void hd_bench_sounds_release(hd_bench_sounds *s)
{
    hd_encdec_free(s->model);
    hd_mem_free((float *)s->host.value);
    hd_mem_free((int32_t *)s->host.frames);
    hd_mem_free(s->which);
    hd_targets_release(&s->texts);
    *s = (hd_bench_sounds){0};
}

void hd_bench_sounds_send(hd_run *r, hd_bench_sounds *s)
{
    const hd_targets_ask ask = {.which = s->which,
                                .items = s->host.items,
                                .special = {.start = START, .end = END},
                                .unrolls = hd_encdec_unrolls(s->model),
                                .labels = true};
    hd_targets_send(r, &s->sent.text, &s->texts, &ask);
    hd_frames_send(r, &s->sent.frames, &s->host);
}

hd_tensor *hd_bench_sounds_loss(hd_run *r, const hd_bench_sounds *s, float smoothing)
{
    hd_encoded memory = hd_encdec_encode(r, s->model, &(hd_items){.frames = &s->sent.frames});
    return hd_seq2seq_loss(r, s->model, memory, &s->sent.text, START, smoothing);
}

/* -- features -- */

hd_status hd_bench_features_make(hd_bench_features *out, size_t seconds, hd_err *err)
{
    const hd_features_opt o = hd_features_usual(HD_FEATURES_WHISPER, RATE);
    hd_rng rng = hd_rng_make(1, 0);
    *out = (hd_bench_features){.samples = seconds * RATE};
    out->frames = hd_features_frames(&o, out->samples);
    out->sample = hd_mem_array(out->samples, sizeof *out->sample);
    out->frame = hd_mem_array(out->frames * (size_t)o.mels, sizeof *out->frame);
    if (!out->sample || !out->frame) return hd_err_nomem(err, out->samples * sizeof *out->sample);
    for (size_t i = 0; i < out->samples; i++) out->sample[i] = (float)(hd_rng_unit(&rng) - 0.5);
    return hd_features_new(&out->features, &o, err);
}

void hd_bench_features_release(hd_bench_features *f)
{
    hd_features_free(f->features);
    hd_mem_free(f->sample);
    hd_mem_free(f->frame);
    *f = (hd_bench_features){0};
}

hd_status hd_bench_features_run(hd_bench_features *f, hd_err *err)
{
    return hd_features_make(f->features, f->frame, f->sample, f->samples, err);
}

double hd_bench_features_flops(const hd_bench_features *f)
{
    const double half = hd_features_options(f->features)->window / 2 + 1;
    return (double)f->frames * 2 * 2 * half * half; /* a frame is folded: cosines and sines of one half */
}
