/* Texts of speech in ids. */
#include "task/transcribe/speech.h"

#include <string.h>

#include "base/mem.h"
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

static hd_status take_texts(hd_speech *s, hd_err *err)
{
    hd_text one = {0};
    hd_status st = HD_OK;
    s->text = hd_arena_array(&s->memory, s->set.count + 1, sizeof *s->text, err);
    if (!s->text) return HD_ENOMEM;
    for (size_t i = 0; !st && i < s->set.count; i++) {
        one.size = 0;
        put_plain(&one, s->set.text[i], s->cased);
        st = hd_text_status(&one, err);
        char *copy = st ? NULL : hd_arena_array(&s->memory, one.size + 1, 1, err);
        if (!st && !copy) st = HD_ENOMEM;
        if (copy && one.size) memcpy(copy, one.data, one.size);
        if (copy) copy[one.size] = 0, s->text[i] = (hd_line){copy, one.size};
    }
    hd_text_release(&one);
    return st;
}

hd_status hd_speech_open(hd_speech *out, const char *path, bool skip, bool cased, hd_err *err)
{
    hd_speech s = {.cased = cased};
    hd_arena_init(&s.memory, hd_allocator_host, 1 << 16);
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
    hd_speech held = {.cased = s->cased};
    hd_arena_init(&held.memory, hd_allocator_host, 1 << 16);
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
    hd_mem_free(s->id);
    hd_mem_free(s->begin);
    if (s->memory.chunks) hd_arena_release(&s->memory);
    *s = (hd_speech){0};
}

static bool next_line(void *context, hd_line *line)
{
    hd_speech_walk *w = context;
    if (w->next == w->of->set.count) return false;
    *line = w->of->text[w->next++];
    return true;
}

hd_feed hd_speech_feed(hd_speech_walk *walk)
{
    walk->next = 0;
    return (hd_feed){next_line, walk};
}

hd_status hd_speech_encode(hd_speech *s, const hd_tokenizer *t, size_t longest, hd_err *err)
{
    hd_ids ids = {0};
    hd_status st = HD_OK;
    size_t count = s->set.count;
    hd_mem_free(s->begin);
    s->begin = hd_mem_array(count + 1, sizeof *s->begin);
    if (!s->begin) return hd_err_nomem(err, count * sizeof *s->begin);
    for (size_t i = 0; !st && i < count; i++) {
        s->begin[i] = ids.count;
        st = hd_tokenizer_encode_ids(t, s->text[i].text, s->text[i].size, &ids, err);
        if (!st && ids.count - s->begin[i] > longest)
            st = hd_err_set(err, HD_EARG, "%s: its text has %zu tokens, more than --max-length %zu",
                            hd_sound_set_name(&s->set, i), ids.count - s->begin[i], longest);
    }
    if (st) return hd_ids_release(&ids), st;
    s->begin[count] = ids.count;
    hd_mem_free(s->id);
    s->id = ids.at;
    return HD_OK;
}

hd_status hd_speech_measure(hd_speech *s, const hd_features_opt *o, size_t most, hd_err *err)
{
    s->frames = s->longest = 0;
    for (size_t i = 0; i < s->set.count; i++) {
        size_t n = hd_features_frames(o, hd_sound_set_samples(&s->set, i, o->rate));
        if (!n)
            return hd_err_set(err, HD_EARG, "%s: shorter than a frame of %d samples",
                              hd_sound_set_name(&s->set, i), o->window);
        if (n > most)
            return hd_err_set(err, HD_EARG, "%s: %zu frames, more than --max-frames %zu",
                              hd_sound_set_name(&s->set, i), n, most);
        s->frames += n;
        if (n > s->longest) s->longest = n;
    }
    return HD_OK;
}
