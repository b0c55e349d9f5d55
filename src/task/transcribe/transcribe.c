/* Texts of speech. */
#include "task/transcribe/transcribe.h"

#include "base/mem.h"
#include "model/encdec/encdec.h"
#include "task/transcribe/heard.h"

const hd_features_opt *hd_transcribe_features(const hd_model_folder *f)
{
    return &hd_model_folder_encdec(f)->opt.sound.features;
}

/* -- sounds -- */

static hd_status make_room(hd_transcribe_sounds *s, size_t frames, size_t bins, hd_err *err)
{
    size_t rows = s->rows + frames;
    if (s->batch.items == s->room) {
        size_t room = s->room ? 2 * s->room : 16;
        int32_t *grown = hd_mem_grow(s->frames, room * sizeof *grown);
        if (!grown) return hd_err_nomem(err, room * sizeof *grown);
        s->frames = grown, s->room = room;
    }
    if (rows <= s->row_room) return HD_OK;
    if (rows > INT32_MAX / bins) return hd_err_set(err, HD_ELIMIT, "more sound than fits into a batch");
    size_t room = 2 * s->row_room > rows ? 2 * s->row_room : rows;
    float *grown = hd_mem_grow(s->value, room * bins * sizeof *grown);
    if (!grown) return hd_err_nomem(err, room * bins * sizeof *grown);
    s->value = grown, s->row_room = room;
    return HD_OK;
}

/* Limits are checked before samples are read. */
static hd_status check_length(const hd_model_folder *f, const hd_sound_file *file, size_t frames, hd_err *err)
{
    const hd_features_opt *o = hd_transcribe_features(f);
    size_t most = hd_sound_encoder_frames(&hd_model_folder_encdec(f)->opt.sound);
    double step = (double)o->hop / o->rate;
    if (!frames) return hd_err_set(err, HD_EARG, "%s: shorter than a frame", hd_sound_file_name(file));
    if (frames > most)
        return hd_err_set(err, HD_ELIMIT, "%s: %.1f s long, the model reads at most %.1f s",
                          hd_sound_file_name(file), (double)frames * step, (double)most * step);
    return HD_OK;
}

hd_status hd_transcribe_sounds_read(hd_transcribe_sounds *s, const hd_model_folder *f,
                                    const hd_features *features, const char *path, hd_err *err)
{
    const hd_features_opt *o = hd_features_options(features);
    hd_sound_file *file = NULL;
    float *sample = NULL;
    size_t bins = (size_t)o->mels;
    hd_status st = hd_sound_file_open(&file, path, o->rate, err);
    if (st) return st;
    size_t count = hd_sound_file_count(file), frames = hd_features_frames(o, count);
    st = check_length(f, file, frames, err);
    if (!st) st = make_room(s, frames, bins, err);
    if (!st && !(sample = hd_mem_array(count, sizeof *sample)))
        st = hd_err_nomem(err, count * sizeof *sample);
    if (!st) st = hd_sound_file_read(file, 0, count, sample, err);
    if (!st) st = hd_features_make(features, s->value + s->rows * bins, sample, count, err);
    if (!st) {
        s->frames[s->batch.items] = (int32_t)frames, s->rows += frames;
        s->batch = (hd_frames_host){.value = s->value,
                                    .frames = s->frames,
                                    .items = s->batch.items + 1,
                                    .bins = bins,
                                    .grid = hd_sound_encoder_grid(&hd_model_folder_encdec(f)->opt.sound)};
    }
    hd_mem_free(sample);
    hd_sound_file_close(file);
    return st;
}

void hd_transcribe_sounds_clear(hd_transcribe_sounds *s)
{
    s->batch = (hd_frames_host){0};
    s->rows = 0;
}

void hd_transcribe_sounds_release(hd_transcribe_sounds *s)
{
    hd_mem_free(s->value);
    hd_mem_free(s->frames);
    *s = (hd_transcribe_sounds){0};
}

/* -- texts -- */

/* How much CTC counts. */
static hd_status share_of(double *out, const hd_encdec *m, const hd_transcribe_opt *opt, hd_err *err)
{
    *out = !hd_encdec_decodes(&m->opt) ? 1 : opt->ctc < 0 ? (double)m->opt.ctc : opt->ctc;
    if (*out > 0 && !m->ctc.w)
        return hd_err_set(err, HD_EARG, "the model was trained without CTC: its share has to be 0");
    return HD_OK;
}

static hd_status search(hd_found **out, hd_run *r, hd_hearing *h, const hd_search_opt *o, hd_err *err)
{
    hd_heard heard = {0};
    hd_stepper stepper = {0};
    hd_status s = h->share > 0 ? hd_heard_make(&heard, r, h->model, h->sounds, err) : HD_OK;
    h->heard = h->share > 0 ? &heard : NULL;
    if (!s && h->share >= 1 && !h->lm && o->kind == HD_SEARCH_GREEDY) {
        s = hd_ctc_greedy(out, &heard.said, err);
    } else if (!s) {
        s = hd_heard_stepper(&stepper, h, err);
        if (!s) s = hd_search(out, r, &stepper, o, err);
    }
    hd_stepper_release(&stepper);
    hd_heard_release(&heard);
    return s;
}

static hd_status search_all(hd_found **out, hd_run *r, const hd_model_folder *f, const hd_frames_host *sounds,
                            const hd_transcribe_opt *opt, hd_err *err)
{
    const hd_encdec *m = hd_model_folder_encdec(f);
    int32_t banned[3], *key = hd_mem_array(sounds->items + 1, sizeof *key);
    hd_search_opt o = opt->search;
    hd_hearing h = {.model = f, .sounds = sounds, .lm = opt->lm, .lm_weight = opt->lm_weight};
    if (!key) return hd_err_nomem(err, sounds->items * sizeof *key);
    for (size_t i = 0; i < sounds->items; i++) key[i] = (int32_t)(opt->first + i);
    o.end = hd_tokenizer_special(f->tokenizer[1]).end, o.key = key;
    o.banned = banned, o.banned_count = hd_tokenizer_unwritten(f->tokenizer[1], banned);
    o.seats = opt->batch ? opt->batch : HD_TRANSCRIBE_BATCH;
    o.max_ratio = 0;
    if (!o.max_length || o.max_length > m->opt.positions) o.max_length = m->opt.positions;
    hd_status s = share_of(&h.share, m, opt, err);
    if (!s) s = search(out, r, &h, &o, err);
    hd_mem_free(key);
    return s;
}

hd_status hd_transcribe_of(hd_written_all *out, hd_run *r, const hd_model_folder *f,
                           const hd_frames_host *sounds, const hd_transcribe_opt *opt, hd_err *err)
{
    hd_found *found = NULL;
    hd_status s = sounds->items ? search_all(&found, r, f, sounds, opt, err) : HD_OK;
    if (!s) s = hd_written_make(out, found, sounds->items, f->tokenizer[1], err);
    hd_found_free(found);
    return s;
}
