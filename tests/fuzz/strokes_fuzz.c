/* libFuzzer target: any bytes as a file of strokes or a stroke font. The first byte says which, the last
   whether an allocation fails. Each must be refused with a text or taken; nothing may leak, and what is taken
   can be written and read again. */
#include <math.h>

#include "data/strokes/bins.h"
#include "data/strokes/font.h"
#include "data/strokes/strokes.h"
#include "fuzz.h"

enum { READERS = 2 };

static hd_font font;

static void check_font(const hd_font *f)
{
    size_t points = 0;
    for (int i = 0; i < HD_FONT_GLYPHS; i++) {
        const hd_glyph *g = hd_font_glyph(f, HD_FONT_FIRST + i);
        MUST(g && g->left <= g->right && g->first == points);
        MUST(!g->count || f->point[g->first].up);
        points += g->count;
    }
    MUST(points <= HD_FONT_POINTS);
}

static void check_strokes(const hd_strokes *s)
{
    hd_text t = {0};
    hd_strokes again = {0}, held = {0};
    MUST(s->count && s->first[s->count] == s->points.count);
    for (size_t i = 0; i < s->count; i++) {
        const hd_pen_point *p = hd_strokes_line(s, i);
        size_t n = hd_strokes_points(s, i);
        MUST(n && n <= HD_STROKES_POINTS && p[n - 1].lift);
        for (size_t k = 0; k < n; k++)
            MUST(fabsf(p[k].x) <= HD_STROKES_FARTHEST && fabsf(p[k].y) <= HD_STROKES_FARTHEST);
        hd_strokes_put(&t, hd_strokes_text(s, i), p, n);
    }
    write_file("again.tsv", t.data, t.size);
    MUST(!hd_strokes_read(&again, path, NULL) && again.count == s->count &&
         again.points.count == s->points.count);
    MUST(!hd_strokes_split(&again, 0.5, 1, &held, NULL) && again.count &&
         again.count + held.count == s->count);
    hd_text_release(&t);
    hd_strokes_release(&again);
    hd_strokes_release(&held);
}

/* All offsets have a bin, where the lines can be measured. */
static void check_bins(const hd_strokes *s)
{
    hd_pen_scale scale;
    hd_pen_bins b;
    if (hd_pen_scale_measure(&scale, s, NULL) || hd_pen_bins_measure(&b, &scale, s, NULL)) return;
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 1; k < hd_strokes_points(s, i); k++) {
            int32_t bin = hd_pen_bin_behind(&b, &scale, hd_strokes_line(s, i) + k - 1);
            MUST(bin >= 0 && (size_t)bin < hd_pen_bins_count(&b) && hd_pen_bin_area(&b, bin) > 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_strokes s = {0};
    hd_err err = {0};
    hd_status status;
    size_t blocks = hd_mem_now().blocks;
    if (size < 2) return 0;
    if (!folder[0]) make_folder("");
    bool strokes = reader_of(data[0], READERS) == 0;
    write_file("file", data + 1, size - 2);
    hd_mem_fail_at(data[size - 1] < 32 ? data[size - 1] : 0);
    status = strokes ? hd_strokes_read(&s, path, &err) : hd_font_read(&font, path, &err);
    hd_mem_fail_at(0);
    MUST(!status || (err.status == status && err.text[0]));
    if (!status && strokes) check_strokes(&s), check_bins(&s);
    if (!status && !strokes) check_font(&font);
    hd_strokes_release(&s);
    MUST(hd_mem_now().blocks == blocks);
    return 0;
}
