/* A part of a set is held back, or left out. Easy to get wrong: which sounds are held back does not depend on
   their order. */
#include <string.h>

#include "base/mem.h"
#include "data/sound/set/build.h"

static hd_status choose(bool *moves, const hd_sound_set *s, double fraction, uint64_t seed, hd_err *err)
{
    size_t moved = (size_t)((double)s->count * fraction + 0.5);
    size_t *order = hd_set_draw(s->mark, NULL, s->count, seed);
    if (!order) return hd_err_nomem(err, s->count * sizeof *order);
    if (moved < 1) moved = 1;
    if (moved > s->count - 1) moved = s->count - 1;
    for (size_t i = 0; i < moved; i++) moves[order[i]] = true;
    hd_mem_free(order);
    return HD_OK;
}

/* Room for the chosen ones. */
static hd_status make(hd_sound_set *to, const hd_sound_set *s, size_t count, size_t bytes, hd_err *err)
{
    *to = (hd_sound_set){.root = hd_mem_text(s->root)};
    to->samples = hd_mem_array(count, sizeof *to->samples);
    to->rate = hd_mem_array(count, sizeof *to->rate);
    to->mark = hd_mem_array(count, sizeof *to->mark);
    to->letters = hd_mem_new(bytes + 1);
    return to->root && to->samples && to->rate && to->mark && to->letters
               ? HD_OK
               : hd_err_nomem(err, count * sizeof *to->mark + bytes);
}

static hd_status copy(hd_sound_set *to, const hd_sound_set *s, const bool *chosen, bool value, hd_err *err)
{
    size_t count = 0, bytes = 0, used = 0;
    for (size_t i = 0; i < s->count; i++)
        if (chosen[i] == value) count++, bytes += s->text ? s->text[i].size + 1 : 0;
    hd_status st = make(to, s, count, bytes, err);
    size_t *begin = hd_mem_array(count, sizeof *begin);
    if (!st && !begin) st = hd_err_nomem(err, count * sizeof *begin);
    for (size_t i = 0; !st && i < s->count; i++) {
        if (chosen[i] != value) continue;
        const char *name = hd_sound_set_name(s, i);
        const size_t n = to->count++;
        to->samples[n] = s->samples[i], to->rate[n] = s->rate[i];
        begin[n] = used;
        if (s->text) memcpy(to->letters + used, s->text[i].text, s->text[i].size + 1);
        used += s->text ? s->text[i].size + 1 : 0;
        st = hd_vocab_add(&to->name, name, strlen(name), err);
    }
    if (!st && s->text) st = hd_sound_set_place(to, begin, err);
    hd_mem_free(begin);
    if (!st) hd_sound_set_hash(to);
    return st;
}

hd_status hd_sound_set_split(hd_sound_set *s, double fraction, uint64_t seed, hd_sound_set *out, hd_err *err)
{
    hd_sound_set kept = {0}, gone = {0};
    if (s->count < 2)
        return hd_err_set(
            err, HD_EARG,
            "there is one sound alone, of which no part can be held back: give --valid a list or a folder");
    bool *moves = hd_mem_array(s->count, sizeof *moves);
    hd_status st = moves ? choose(moves, s, fraction, seed, err) : hd_err_nomem(err, s->count);
    if (!st) st = copy(&kept, s, moves, false, err);
    if (!st) st = copy(&gone, s, moves, true, err);
    hd_mem_free(moves);
    if (st) {
        hd_sound_set_release(&kept);
        hd_sound_set_release(&gone);
        return st;
    }
    kept.skipped = s->skipped;
    hd_sound_set_release(s);
    *s = kept;
    *out = gone;
    return HD_OK;
}

/* Whether a model can take it. */
static hd_status fits(const hd_sound_set *s, size_t i, const hd_features_opt *o, size_t most, hd_err *err)
{
    const size_t samples = hd_sound_set_samples(s, i, o->rate), frames = hd_features_frames(o, samples);
    if (!frames)
        return hd_err_set(err, HD_EFORMAT, "%s: too short: %zu samples at %d Hz have no frame of %d",
                          hd_sound_set_name(s, i), samples, o->rate, o->window);
    if (frames > most)
        return hd_err_set(err, HD_ELIMIT,
                          "%s: too long: %zu frames, at most %zu fit: cut it, or leave out such sounds",
                          hd_sound_set_name(s, i), frames, most);
    return HD_OK;
}

hd_status hd_sound_set_limit(hd_sound_set *s, const hd_features_opt *o, size_t most, bool skip, hd_err *err)
{
    hd_sound_set kept = {0};
    hd_err why = {0};
    size_t left_out = 0;
    hd_status st = HD_OK;
    bool *goes = hd_mem_array(s->count, sizeof *goes);
    if (!goes) return hd_err_nomem(err, s->count);
    for (size_t i = 0; i < s->count; i++) left_out += goes[i] = fits(s, i, o, most, &why) != HD_OK;
    if (left_out && (!skip || left_out == s->count)) st = hd_err_set(err, why.status, "%s", why.text);
    if (!st && left_out) st = copy(&kept, s, goes, false, err);
    hd_mem_free(goes);
    if (!left_out || st) {
        hd_sound_set_release(&kept);
        return st;
    }
    kept.skipped = s->skipped + left_out;
    hd_sound_set_release(s);
    *s = kept;
    return HD_OK;
}
