/* Subtitles as `heed transcribe` writes them. */
#include "cli/verb/transcribe/subtitles.h"

#include <stdlib.h>
#include <string.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/mem.h"

/* The name of a sound's subtitles: its own with another ending. */
static const char *subtitles_of(char to[HD_PATH], const char *path, const hd_speech_choices *o)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    snprintf(to, HD_PATH, "%.*s.%s", dot && dot > base ? (int)(dot - base) : (int)strlen(base), base,
             o->srt ? "srt" : "vtt");
    return to;
}

typedef struct titled {
    char *name; /* of the subtitles */
    const char *path;
} titled;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const titled *)a)->name, ((const titled *)b)->name);
}

/* Two sounds must not write one file. */
static hd_status check_names(const hd_command *c, const hd_speech_choices *o, hd_err *err)
{
    char name[HD_PATH];
    size_t count = (size_t)c->operands.count - 1;
    titled *all = hd_mem_array(count, sizeof *all);
    hd_status s = all ? HD_OK : hd_err_nomem(err, count * sizeof *all);
    for (size_t i = 0; !s && i < count; i++) {
        all[i].path = c->operands.word[1 + i];
        all[i].name = hd_mem_text(subtitles_of(name, all[i].path, o));
        if (!all[i].name) s = hd_err_nomem(err, sizeof name);
    }
    if (!s) qsort(all, count, sizeof *all, by_name);
    for (size_t i = 1; !s && i < count; i++)
        if (!strcmp(all[i - 1].name, all[i].name))
            s = hd_err_set(err, HD_EARG, "%s and %s would both be written to %s: transcribe them one by one",
                           all[i - 1].path, all[i].path, all[i].name);
    for (size_t i = 0; all && i < count; i++) hd_mem_free(all[i].name);
    hd_mem_free(all);
    return s;
}

hd_status hd_speech_subtitles_check(const hd_command *c, const hd_speech_choices *o, hd_err *err)
{
    if (hd_command_given(c, "n-best") || hd_command_given(c, "scores"))
        return hd_err_set(err, HD_EARG,
                          "subtitles have one text and no scores: leave --n-best and --scores out");
    return check_names(c, o, err);
}

hd_status hd_speech_subtitles(hd_text *to, hd_command *c, const hd_speech_choices *o, const char *path,
                              const hd_transcript *t, hd_err *err)
{
    hd_text own = {0}, *page = c->operands.count > 2 ? &own : to;
    char name[HD_PATH], file[HD_PATH];
    (o->srt ? hd_transcript_put_srt : hd_transcript_put_vtt)(page, t);
    if (page == to) return HD_OK;
    hd_status s = hd_text_status(&own, err);
    if (!s) s = hd_path(file, o->out, subtitles_of(name, path, o), err);
    if (!s) s = hd_save_bytes(file, own.data ? own.data : "", own.size, err);
    if (!s) hd_log_say(&c->log, HD_INFO, "wrote %s", file);
    hd_text_release(&own);
    return s;
}
