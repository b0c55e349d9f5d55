/* Texts of speech in ids. */
#include "task/transcribe/speech.h"

#include "text/character.h"

/* One space between words, none around them, and small letters. */
static void put_plain(hd_text *to, hd_line text, bool cased)
{
    size_t used, begin = to->size;
    bool space = false;
    for (size_t at = 0; at < text.size; at += used) {
        int32_t point;
        used = hd_character(text.text + at, text.size - at, &point);
        if (hd_is_space(point)) {
            space = to->size > begin;
            continue;
        }
        if (space) hd_text_add(to, " ", 1);
        space = false;
        if (cased)
            hd_text_add(to, text.text + at, used);
        else
            hd_text_add_lower(to, text.text + at, used);
    }
}

static void put_spaced(hd_text *to, hd_line text, bool cased)
{
    size_t begin = to->size;
    hd_text_put(to, " ");
    put_plain(to, text, cased);
    if (to->size == begin + 1) to->size = begin; /* nothing is said */
}

static hd_status take_texts(hd_speech *s, hd_err *err)
{
    return hd_targets_take(&s->texts, s->set.text, s->set.count, s->form != HD_SPEECH_LOWER,
                           s->form == HD_SPEECH_SPACED ? put_spaced : put_plain, err);
}

hd_status hd_speech_open(hd_speech *out, const char *path, bool skip, hd_speech_form form, hd_err *err)
{
    hd_speech s = {.form = form};
    hd_status st = hd_sound_set_open(&s.set, path, skip, err);
    if (!st && !s.set.text)
        st = hd_err_set(err, HD_EFORMAT, "%s: no texts: a line is a file, a tab and what is said", path);
    if (!st) st = take_texts(&s, err);
    if (st)
        hd_speech_release(&s);
    else
        *out = s;
    return st;
}

hd_status hd_speech_split(hd_speech *s, double fraction, uint64_t seed, hd_speech *out, hd_err *err)
{
    hd_speech held = {.form = s->form};
    hd_status st = hd_sound_set_split(&s->set, fraction, seed, &held.set, err);
    if (!st) st = take_texts(&held, err);
    if (!st) st = take_texts(s, err);
    if (st)
        hd_speech_release(&held);
    else
        *out = held;
    return st;
}

void hd_speech_release(hd_speech *s)
{
    hd_sound_set_release(&s->set);
    hd_targets_release(&s->texts);
    *s = (hd_speech){0};
}

hd_status hd_speech_encode(hd_speech *s, const hd_tokenizer *t, size_t longest, hd_err *err)
{
    hd_targets_cut cut;
    hd_status st = hd_targets_encode(&s->texts, t, longest, &cut, err);
    if (st || !cut.count) return st;
    return hd_err_set(err, HD_EARG, "%s: its text has %zu tokens, more than --max-length %zu",
                      hd_sound_set_name(&s->set, cut.first), cut.tokens, longest);
}

hd_status hd_speech_measure(hd_speech *s, const hd_features_opt *o, size_t most, hd_err *err)
{
    s->frames = 0, s->seconds = 0;
    for (size_t i = 0; i < s->set.count; i++) {
        size_t samples = hd_sound_set_samples(&s->set, i, o->rate), n = hd_features_frames(o, samples);
        if (o->chunk > 0 && (double)samples > o->chunk * o->rate)
            return hd_err_set(err, HD_EARG, "%s: %.1f s long, the model learns from at most %g s",
                              hd_sound_set_name(&s->set, i), (double)samples / o->rate, o->chunk);
        if (!n)
            return hd_err_set(err, HD_EARG, "%s: shorter than a frame of %d samples",
                              hd_sound_set_name(&s->set, i), o->window);
        if (n > most)
            return hd_err_set(err, HD_EARG, "%s: %zu frames, more than --max-frames %zu",
                              hd_sound_set_name(&s->set, i), n, most);
        s->frames += n, s->seconds += (double)samples / o->rate;
    }
    return HD_OK;
}
