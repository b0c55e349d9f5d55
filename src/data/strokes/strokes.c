/* Lines of handwriting and their files. Whatever a file holds, a point is finite and near. */
#include "data/strokes/strokes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/rng.h"

#define SPLIT_STREAM 0x7374726f6b650000u

hd_status hd_pen_points_add(hd_pen_points *p, hd_pen_point point, hd_err *err)
{
    hd_status s = hd_mem_reserve(&p->at, &p->room, p->count + 1, sizeof *p->at, err);
    if (!s) p->at[p->count++] = point;
    return s;
}

void hd_pen_points_release(hd_pen_points *p)
{
    hd_mem_free(p->at);
    *p = (hd_pen_points){0};
}

void hd_strokes_release(hd_strokes *s)
{
    hd_pen_points_release(&s->points);
    hd_text_release(&s->texts);
    hd_mem_free(s->first);
    hd_mem_free(s->text);
    *s = (hd_strokes){0};
}

/* -- adding -- */

static uint64_t mixed(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *b = bytes;
    for (size_t i = 0; i < size; i++) hash = (hash ^ b[i]) * 0x100000001b3u;
    return hash;
}

static void add_hash(hd_strokes *s, hd_line text, const hd_pen_point *p, size_t count)
{
    s->hash = mixed(s->hash ^ count, text.text, text.size);
    for (size_t i = 0; i < count; i++) {
        s->hash = mixed(s->hash + p[i].lift, &p[i].x, sizeof p[i].x);
        s->hash = mixed(s->hash, &p[i].y, sizeof p[i].y);
    }
}

/* The points of the line are there already, behind those of the others. */
static hd_status end_line(hd_strokes *s, hd_line text, hd_err *err)
{
    hd_status st = hd_mem_reserve(&s->first, &s->room[0], s->count + 2, sizeof *s->first, err);
    if (!st) st = hd_mem_reserve(&s->text, &s->room[1], s->count + 1, sizeof *s->text, err);
    if (st) return st;
    if (!s->count) s->first[0] = 0;
    s->text[s->count] = s->texts.size;
    hd_text_add(&s->texts, text.text, text.size);
    hd_text_add(&s->texts, "", 1);
    st = hd_text_status(&s->texts, err);
    if (st) return st;
    add_hash(s, text, s->points.at + s->first[s->count], s->points.count - s->first[s->count]);
    s->first[++s->count] = s->points.count;
    return HD_OK;
}

hd_status hd_strokes_add(hd_strokes *to, hd_line text, const hd_pen_point *point, size_t count, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < count; i++) s = hd_pen_points_add(&to->points, point[i], err);
    return s ? s : end_line(to, text, err);
}

/* -- files -- */

hd_status hd_strokes_place(char to[HD_PATH], const char *path, const char *name, bool *there, hd_err *err)
{
    struct stat info;
    bool folder = !stat(path, &info) && S_ISDIR(info.st_mode);
    if (folder) {
        hd_status s = hd_path(to, path, name, err);
        if (s) return s;
    } else if (snprintf(to, HD_PATH, "%s", path) >= HD_PATH) {
        return hd_err_set(err, HD_EARG, "%.80s...: the path is too long", path);
    }
    if (there) *there = folder && !stat(to, &info);
    return HD_OK;
}

typedef struct place {
    const char *path;
    size_t line;
} place;

static hd_status bad(const place *w, const char *why, hd_err *err)
{
    return hd_err_set(err, HD_EFORMAT, "%s:%zu: %s: a line is TEXT<tab>x,y x,y ...;x,y ...", w->path, w->line,
                      why);
}

/* The number before `end` that begins at *at, and goes there. */
static bool number(const char **at, const char *end, float *value)
{
    const char *from = *at;
    double x = 0;
    while (*at < end && !strchr(", ;", **at)) ++*at;
    if (!hd_real_of(from, (size_t)(*at - from), &x) || !(fabs(x) <= HD_STROKES_FARTHEST)) return false;
    *value = (float)x;
    return true;
}

static hd_status read_strokes(hd_strokes *to, const char *at, const char *end, const place *w, hd_err *err)
{
    size_t count = 0;
    hd_status s = HD_OK;
    while (!s) {
        hd_pen_point p = {0};
        if (!number(&at, end, &p.x) || at == end || *at++ != ',' || !number(&at, end, &p.y))
            return bad(w, "a point is not two numbers of at most 10 million", err);
        if (++count > HD_STROKES_POINTS) return bad(w, "it has more than 20000 points", err);
        p.lift = at == end || *at == ';';
        if (at < end && *at != ';' && *at != ' ') return bad(w, "behind a point there is no space", err);
        s = hd_pen_points_add(&to->points, p, err);
        if (at++ == end) break;
    }
    return s;
}

/* Some control characters would begin a compressed file. */
const char *hd_strokes_text_fault(hd_line text)
{
    if (text.size > HD_STROKES_LETTERS) return "the text is longer than 1000 bytes";
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.text[i] < ' ')
            return text.text[i] == '\t' ? "there is a tab in the text"
                                        : "there is a control character in the text";
    return NULL;
}

static hd_status read_line(hd_strokes *to, hd_line line, const place *w, hd_err *err)
{
    const char *tab = memchr(line.text, '\t', line.size);
    if (!tab) return bad(w, "there is no tab", err);
    hd_line text = {line.text, (size_t)(tab - line.text)};
    const char *fault = hd_strokes_text_fault(text);
    if (fault) return bad(w, fault, err);
    hd_status s = read_strokes(to, tab + 1, line.text + line.size, w, err);
    return s ? s : end_line(to, text, err);
}

hd_status hd_strokes_read(hd_strokes *to, const char *path, hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line = {0};
    size_t before = to->count;
    hd_status s = hd_lines_open(&lines, path, &hd_lines_text, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text) {
        const place w = {path, hd_lines_count(lines)};
        s = read_line(to, line, &w, err);
    }
    hd_lines_close(lines);
    if (!s && to->count == before) s = hd_err_set(err, HD_EFORMAT, "%s: there is no handwriting in it", path);
    return s;
}

static void put_number(hd_text *to, double x)
{
    if (x == round(x))
        hd_text_print(to, "%lld", (long long)x);
    else { /* in parts: the locale may write a comma */
        long long hundredths = llround(fabs(x) * 100);
        hd_text_print(to, "%s%lld.%02lld", x < 0 ? "-" : "", hundredths / 100, hundredths % 100);
    }
}

void hd_strokes_put(hd_text *to, const char *text, const hd_pen_point *point, size_t count)
{
    hd_text_put(to, text);
    hd_text_put(to, "\t");
    for (size_t i = 0; i < count; i++) {
        put_number(to, (double)point[i].x);
        hd_text_put(to, ",");
        put_number(to, (double)point[i].y);
        hd_text_put(to, i + 1 == count ? "\n" : point[i].lift ? ";" : " ");
    }
}

/* -- holding back -- */

hd_status hd_strokes_split(hd_strokes *s, double fraction, uint64_t seed, hd_strokes *held, hd_err *err)
{
    hd_strokes kept = {0};
    hd_status st = HD_OK;
    hd_rng rng = hd_rng_make(seed, SPLIT_STREAM);
    for (size_t i = 0; !st && i < s->count; i++) {
        const char *text = hd_strokes_text(s, i);
        hd_strokes *to = i && hd_rng_unit(&rng) < fraction ? held : &kept;
        st = hd_strokes_add(to, (hd_line){text, strlen(text)}, hd_strokes_line(s, i), hd_strokes_points(s, i),
                            err);
    }
    hd_strokes_release(st ? &kept : s);
    if (!st) *s = kept;
    return st;
}
