/* Sets of sounds in memory, and sounds named in a list. */
#include "data/sound/set.h"

#include <string.h>

#include "base/mem.h"
#include "data/sound/set/build.h"

void hd_sound_set_release(hd_sound_set *s)
{
    void *const all[] = {s->text, s->samples, s->rate, s->mark, s->root, s->letters};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hd_mem_free(all[i]);
    hd_vocab_release(&s->name);
    *s = (hd_sound_set){0};
}

void hd_sound_set_hash(hd_sound_set *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const char *name = hd_sound_set_name(s, i);
        uint64_t h = hd_set_hash_bytes(HD_SET_HASH, name, strlen(name) + 1);
        h = hd_set_hash_bytes(h, &s->samples[i], sizeof *s->samples);
        s->mark[i] = hd_set_hash_bytes(h, &s->rate[i], sizeof *s->rate);
    }
    s->hash = hd_set_hash_bytes(HD_SET_HASH, s->mark, s->count * sizeof *s->mark);
    for (size_t i = 0; s->text && i < s->count; i++)
        s->hash = hd_set_hash_bytes(s->hash, s->text[i].text, s->text[i].size + 1);
}

static hd_status read_file(hd_sound *out, hd_sound_file *f, hd_err *err)
{
    const size_t count = hd_sound_file_count(f);
    if (count > HD_SOUND_MOST_SAMPLES)
        return hd_err_set(err, HD_ELIMIT,
                          "%s: %zu samples; a sound in memory has at most %d: cut it into parts first",
                          hd_sound_file_name(f), count, HD_SOUND_MOST_SAMPLES);
    *out = (hd_sound){hd_mem_new(count * sizeof *out->sample), count, hd_sound_file_rate(f)};
    if (!out->sample) return hd_err_nomem(err, count * sizeof *out->sample);
    return hd_sound_file_read(f, 0, count, out->sample, err);
}

hd_status hd_sound_set_sound(const hd_sound_set *s, size_t i, int rate, hd_sound *out, hd_err *err)
{
    char below[HD_PATH];
    const char *path;
    hd_sound_file *f = NULL;
    *out = (hd_sound){0};
    hd_status st = hd_set_path(&path, below, s->root, hd_sound_set_name(s, i), err);
    if (!st) st = hd_sound_file_open(&f, path, rate, err);
    if (!st && hd_sound_file_count(f) != hd_sound_set_samples(s, i, hd_sound_file_rate(f)))
        st =
            hd_err_set(err, HD_EFORMAT, "%s: has another length than before: it was changed meanwhile", path);
    if (!st) st = read_file(out, f, err);
    hd_sound_file_close(f);
    if (st) hd_sound_release(out);
    return st;
}

/* -- lists -- */

static hd_status add_line(hd_sound_builder *b, hd_line line, hd_err *err)
{
    const char *tab = memchr(line.text, '\t', line.size);
    const size_t size = tab ? (size_t)(tab - line.text) : line.size;
    hd_line text = {0};
    if (tab) text = hd_set_trimmed((hd_line){tab + 1, line.size - size - 1});
    return hd_sound_set_add(b, hd_set_trimmed((hd_line){line.text, size}), text, err);
}

hd_status hd_sound_set_list(hd_sound_set *out, const char *path, bool skip, hd_err *err)
{
    hd_sound_builder b = {.skip = skip, .path = path};
    hd_line line;
    hd_status s = hd_sound_set_begin(&b, out, NULL, err);
    if (!s) s = hd_lines_open(&b.lines, path, &hd_lines_text, err);
    while (!s && !(s = hd_lines_next(b.lines, &line, err)) && line.text)
        if (hd_set_trimmed(line).size) s = add_line(&b, line, err);
    return hd_sound_set_end(&b, s, err);
}

hd_status hd_sound_set_open(hd_sound_set *out, const char *path, bool skip, hd_err *err)
{
    return hd_is_folder(path) ? hd_sound_set_folder(out, path, skip, err)
                              : hd_sound_set_list(out, path, skip, err);
}
