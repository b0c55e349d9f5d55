/* Building sets of sounds. */
#include "data/sound/set/build.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { WHERE = 256 };

/* "path:line: " of what is read; a folder needs none, the sounds name themselves. */
static const char *where(const hd_sound_builder *b, char to[WHERE])
{
    to[0] = 0;
    if (b->lines) snprintf(to, WHERE, "%.200s:%zu: ", hd_lines_name(b->lines), hd_lines_count(b->lines));
    return to;
}

hd_status hd_sound_set_begin(hd_sound_builder *b, hd_sound_set *out, const char *folder, hd_err *err)
{
    char parent[HD_PATH];
    b->set = out;
    *out = (hd_sound_set){0};
    if (!folder) hd_parent(parent, b->path);
    out->root = hd_mem_text(folder ? folder : parent);
    return out->root ? HD_OK : hd_err_nomem(err, HD_PATH);
}

/* -- sounds -- */

/* Looks at the header. */
static hd_status look(const hd_sound_set *s, const char *name, size_t *samples, int32_t *rate, hd_err *err)
{
    char below[HD_PATH];
    hd_sound_file *f = NULL;
    const char *path;
    hd_status st = hd_set_path(&path, below, s->root, name, err);
    if (!st) st = hd_sound_file_open(&f, path, 0, err);
    if (st) return st;
    *samples = hd_sound_file_count(f);
    *rate = hd_sound_file_rate(f);
    hd_sound_file_close(f);
    return HD_OK;
}

static hd_status append(hd_sound_builder *b, hd_line name, hd_line text, size_t samples, int32_t rate,
                        hd_err *err)
{
    hd_sound_set *set = b->set;
    const size_t n = set->count;
    hd_status s = hd_mem_reserve(&set->samples, &b->samples_room, n + 1, sizeof *set->samples, err);
    if (!s) s = hd_mem_reserve(&set->rate, &b->rate_room, n + 1, sizeof *set->rate, err);
    if (!s) s = hd_mem_reserve(&set->mark, &b->mark_room, n + 1, sizeof *set->mark, err);
    if (!s) s = hd_mem_reserve(&b->begin, &b->begin_room, n + 1, sizeof *b->begin, err);
    if (!s) s = hd_mem_reserve(&set->letters, &b->letters_room, b->used + text.size + 1, 1, err);
    if (!s) s = hd_vocab_add(&set->name, name.text, name.size, err);
    if (s) return s;
    set->samples[n] = samples, set->rate[n] = rate;
    b->begin[n] = b->used;
    if (text.size) memcpy(set->letters + b->used, text.text, text.size);
    b->used += text.size;
    set->letters[b->used++] = 0;
    set->count++;
    return HD_OK;
}

hd_status hd_sound_set_leave_out(hd_sound_builder *b, hd_line name, const hd_err *why, hd_err *err)
{
    char at[WHERE];
    const bool invalid = why->status == HD_EFILE || why->status == HD_EFORMAT || why->status == HD_ELIMIT;
    if (!b->skip || !invalid)
        return hd_err_set(
            err, why->status, "%s%.250s%s", where(b, at), why->text,
            b->lines && why->status == HD_EFILE ? ": names are relative to the folder of the list" : "");
    if (!b->set->skipped++) b->why = *why;
    return hd_vocab_add(&b->left_out, name.text, name.size, err);
}

static bool known(const hd_sound_builder *b, hd_line name)
{
    return hd_vocab_find(&b->set->name, name.text, name.size) >= 0 ||
           hd_vocab_find(&b->left_out, name.text, name.size) >= 0;
}

hd_status hd_sound_set_add(hd_sound_builder *b, hd_line name, hd_line text, hd_err *err)
{
    char path[HD_PATH], at[WHERE];
    hd_err why = {0};
    size_t samples = 0;
    int32_t rate = 0;
    if (!name.size || name.size >= sizeof path)
        return hd_err_set(err, HD_EFORMAT, "%sthe name of the sound has %zu bytes", where(b, at), name.size);
    if (known(b, name))
        return hd_err_set(err, HD_EFORMAT, "%sthe sound %.*s is there before: remove one of the lines",
                          where(b, at), (int)(name.size < 100 ? name.size : 100), name.text);
    memcpy(path, name.text, name.size);
    path[name.size] = 0;
    if (look(b->set, path, &samples, &rate, &why)) return hd_sound_set_leave_out(b, name, &why, err);
    if (text.text && !text.size) {
        hd_err_set(&why, HD_EFORMAT, "%.200s: no text: what is said in it is needed", path);
        return hd_sound_set_leave_out(b, name, &why, err);
    }
    if (b->set->count && b->told != (text.text != NULL))
        return hd_err_set(
            err, HD_EFORMAT,
            "%s%s, unlike on the lines before: each line is a file, a tab and what is said in it",
            where(b, at), text.text ? "there is a text" : "there is no text");
    b->told = text.text != NULL;
    return append(b, name, text, samples, rate, err);
}

/* -- the end -- */

hd_status hd_sound_set_place(hd_sound_set *s, const size_t *begin, hd_err *err)
{
    s->text = hd_mem_array(s->count, sizeof *s->text);
    if (!s->text) return hd_err_nomem(err, s->count * sizeof *s->text);
    for (size_t i = 0; i < s->count; i++)
        s->text[i] = (hd_line){s->letters + begin[i], strlen(s->letters + begin[i])};
    return HD_OK;
}

static hd_status finish(hd_sound_builder *b, hd_err *err)
{
    hd_sound_set *set = b->set;
    if (!set->count && b->why.status)
        return hd_err_set(err, HD_EFORMAT, "%.150s: none of its %zu sounds can be read: %.250s", b->path,
                          set->skipped, b->why.text);
    if (!set->count) return hd_err_set(err, HD_EFORMAT, "%s: there is no sound in it", b->path);
    hd_status s = b->told ? hd_sound_set_place(set, b->begin, err) : HD_OK;
    if (!s) hd_sound_set_hash(set);
    return s;
}

hd_status hd_sound_set_end(hd_sound_builder *b, hd_status s, hd_err *err)
{
    if (!s) s = finish(b, err);
    hd_lines_close(b->lines);
    hd_vocab_release(&b->left_out);
    hd_mem_free(b->begin);
    if (s) hd_sound_set_release(b->set);
    return s;
}
