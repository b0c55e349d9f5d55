/* Transcripts and the subtitles they become. Easy to get wrong: an empty line ends a subtitle, and "-->" in a
   text would be read as one. */
#include "task/transcribe/transcript.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

void hd_transcript_init(hd_transcript *t)
{
    *t = (hd_transcript){0};
    hd_arena_init(&t->memory, hd_allocator_host, 1 << 14);
}

void hd_transcript_release(hd_transcript *t)
{
    hd_mem_free(t->segment);
    if (t->memory.chunks) hd_arena_release(&t->memory);
    *t = (hd_transcript){0};
}

hd_status hd_transcript_add(hd_transcript *t, hd_spoken one, hd_err *err)
{
    hd_status s = hd_mem_reserve(&t->segment, &t->room, t->count + 1, sizeof *t->segment, err);
    if (!s) t->segment[t->count++] = one;
    return s;
}

/* -- text -- */

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Without spaces around it; those between words become one. */
static void put_trimmed(hd_text *to, const char *text)
{
    bool any = false, space = false;
    for (; *text; text++) {
        if (is_space(*text)) {
            space = any;
            continue;
        }
        if (space) hd_text_put(to, " ");
        hd_text_add(to, text, 1);
        any = true, space = false;
    }
}

static bool is_empty(const char *text)
{
    while (is_space(*text)) text++;
    return !*text;
}

void hd_transcript_put_text(hd_text *to, const hd_transcript *t)
{
    hd_text all = {0};
    for (size_t i = 0; i < t->count; i++) hd_text_put(&all, t->segment[i].text);
    if (all.missed) to->missed = all.missed;
    if (all.data) put_trimmed(to, all.data);
    hd_text_release(&all);
}

/* -- times -- */

static void put_time(hd_text *to, double seconds, bool hours, char point)
{
    unsigned long long ms = (unsigned long long)llround(fmax(seconds, 0) * 1000), s = ms / 1000;
    if (hours || s >= 3600) hd_text_print(to, "%02llu:", s / 3600);
    hd_text_print(to, "%02llu:%02llu%c%03llu", s / 60 % 60, s % 60, point, ms % 1000);
}

static void put_span(hd_text *to, const hd_spoken *s, bool hours, char point)
{
    put_time(to, s->begin, hours, point);
    hd_text_put(to, " --> ");
    put_time(to, s->end, hours, point);
}

/* A text of a subtitle: what would end it or begin another is changed. */
static void put_subtitle(hd_text *to, const char *text, bool marks)
{
    hd_text one = {0};
    put_trimmed(&one, text);
    if (one.missed) to->missed = one.missed;
    for (const char *c = one.data ? one.data : ""; *c; c++) {
        if (!strncmp(c, "-->", 3))
            hd_text_put(to, "->"), c += 2;
        else if (marks && (*c == '&' || *c == '<'))
            hd_text_put(to, *c == '&' ? "&amp;" : "&lt;");
        else
            hd_text_add(to, c, 1);
    }
    hd_text_release(&one);
}

void hd_transcript_put_srt(hd_text *to, const hd_transcript *t)
{
    size_t number = 0;
    for (size_t i = 0; i < t->count; i++) {
        const hd_spoken *s = &t->segment[i];
        if (is_empty(s->text)) continue;
        hd_text_print(to, "%zu\n", ++number);
        put_span(to, s, true, ',');
        hd_text_put(to, "\n");
        put_subtitle(to, s->text, false);
        hd_text_put(to, "\n\n");
    }
}

void hd_transcript_put_vtt(hd_text *to, const hd_transcript *t)
{
    hd_text_put(to, "WEBVTT\n\n");
    for (size_t i = 0; i < t->count; i++) {
        const hd_spoken *s = &t->segment[i];
        if (is_empty(s->text)) continue;
        put_span(to, s, false, '.');
        hd_text_put(to, "\n");
        put_subtitle(to, s->text, true);
        hd_text_put(to, "\n\n");
    }
}

void hd_transcript_put_timed(hd_text *to, const hd_transcript *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++) {
        const hd_spoken *s = &t->segment[i];
        if (is_empty(s->text)) continue;
        if (name) hd_text_print(to, "%s\t", name);
        hd_text_put(to, "[");
        put_span(to, s, false, '.');
        hd_text_put(to, "] ");
        put_trimmed(to, s->text);
        hd_text_put(to, "\n");
    }
}
