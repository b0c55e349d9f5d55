/* Reads stroke fonts. A record is 5 columns of a number, 3 of the count of pairs, then the pairs: each two
   characters, of which 'R' is subtracted. The first pair is the edges, " R" lifts the pen. */
#include <stdbool.h>

#include "data/strokes/font.h"

#include "base/file/lines.h"

enum { NUMBER = 5, COUNT = 3, HEAD = NUMBER + COUNT, LONGEST = 4096, MOST_PAIRS = 999 };

typedef struct reading {
    hd_font *font;
    const char *path;
    size_t line, points;
} reading;

static hd_status bad(const reading *r, const char *why, hd_err *err)
{
    return hd_err_set(err, HD_EFORMAT, "%s:%zu: %s: a font has 96 lines of a number, a count and pairs",
                      r->path, r->line, why);
}

/* The number in a field of blanks and digits; -1: it is none. */
static int field(const char *text, int size)
{
    int value = -1;
    for (int i = 0; i < size; i++) {
        if (text[i] >= '0' && text[i] <= '9')
            value = (value < 0 ? 0 : value) * 10 + (text[i] - '0');
        else if (text[i] != ' ' || value >= 0)
            return -1;
    }
    return value;
}

static bool visible(const char *pair)
{
    return pair[0] >= ' ' && pair[0] <= '~' && pair[1] >= ' ' && pair[1] <= '~';
}

static hd_status read_points(reading *r, hd_glyph *g, const char *pair, int pairs, hd_err *err)
{
    bool up = true;
    for (int i = 1; i < pairs; i++) {
        const char *p = pair + 2 * i;
        if (!visible(p)) return bad(r, "a pair is not of visible characters", err);
        if (p[0] == ' ' && p[1] == 'R') {
            up = true;
            continue;
        }
        if (r->points == HD_FONT_POINTS) return bad(r, "there are too many points", err);
        r->font->point[r->points++] = (hd_font_point){(int8_t)(p[0] - 'R'), (int8_t)(p[1] - 'R'), up};
        up = false, g->count++;
    }
    return HD_OK;
}

static hd_status read_glyph(reading *r, hd_line line, hd_err *err)
{
    if (line.size < HEAD + 2) return bad(r, "the line is too short", err);
    int pairs = field(line.text + NUMBER, COUNT);
    if (field(line.text, NUMBER) < 0 || pairs < 1 || pairs > MOST_PAIRS)
        return bad(r, "its number or count is none", err);
    if (line.size < HEAD + 2 * (size_t)pairs) return bad(r, "there are fewer pairs than it says", err);
    for (size_t i = HEAD + 2 * (size_t)pairs; i < line.size; i++)
        if (line.text[i] != ' ') return bad(r, "there are more pairs than it says", err);
    const char *pair = line.text + HEAD;
    if (!visible(pair)) return bad(r, "a pair is not of visible characters", err);
    hd_glyph *g = &r->font->glyph[r->line - 1];
    *g = (hd_glyph){(int8_t)(pair[0] - 'R'), (int8_t)(pair[1] - 'R'), (uint16_t)r->points, 0};
    if (g->left > g->right) return bad(r, "its right edge is left of the left one", err);
    return read_points(r, g, pair, pairs, err);
}

hd_status hd_font_read(hd_font *out, const char *path, hd_err *err)
{
    reading r = {.font = out, .path = path};
    hd_lines *lines = NULL;
    hd_line line = {0};
    *out = (hd_font){0};
    hd_status s = hd_lines_open(&lines, path, &(hd_lines_opt){.longest = LONGEST, .no_zero = true}, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text) {
        r.line = hd_lines_count(lines);
        s = r.line > HD_FONT_GLYPHS ? bad(&r, "there is a line too many", err) : read_glyph(&r, line, err);
    }
    hd_lines_close(lines);
    if (!s && r.line < HD_FONT_GLYPHS) {
        r.line++;
        s = bad(&r, "the file ends early", err);
    }
    return s;
}

const hd_glyph *hd_font_glyph(const hd_font *f, int character)
{
    int i = character - HD_FONT_FIRST;
    return i >= 0 && i < HD_FONT_GLYPHS ? &f->glyph[i] : NULL;
}
