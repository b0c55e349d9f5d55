/* Figures of pieces. */
#include "data/music/figures.h"

void hd_music_figures_init(hd_music_figures *f)
{
    *f = (hd_music_figures){.ranges = hd_music_no_ranges()};
}

static void add_note(hd_music_figures *f, int voice, int pitch, int before)
{
    f->notes++;
    if (pitch < f->ranges.low[voice]) f->ranges.low[voice] = pitch;
    if (pitch > f->ranges.high[voice]) f->ranges.high[voice] = pitch;
    if (before < 0) return;
    f->pairs++;
    f->repeated += pitch == before;
}

static void add_chorale(hd_music_figures *f, const int32_t *ids, size_t count)
{
    int before[HD_VOICES] = {-1, -1, -1, -1}, pitch;
    for (size_t i = 0; i < count && ids[i] != HD_END_ID; i++) {
        int v = (int)(i % HD_VOICES);
        bool note = hd_music_pitch(HD_MUSIC_CHORALE, ids[i], &pitch);
        if (note) add_note(f, v, pitch, before[v]);
        before[v] = note ? pitch : -1;
    }
}

static void add_performance(hd_music_figures *f, const int32_t *ids, size_t count)
{
    int before = -1;
    for (size_t i = 0; i < count && ids[i] != HD_END_ID; i++) {
        if (ids[i] < HD_ON_ID || ids[i] >= HD_SHIFT_ID) continue;
        add_note(f, 0, ids[i] - HD_ON_ID, before);
        before = ids[i] - HD_ON_ID;
    }
}

void hd_music_figures_add(hd_music_figures *f, hd_music kind, const int32_t *ids, size_t count)
{
    (kind == HD_MUSIC_CHORALE ? add_chorale : add_performance)(f, ids, count);
}
