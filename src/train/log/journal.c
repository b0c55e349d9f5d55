/* The log of a training run and its events. Easy to get wrong: a line is there whole or not at all, for the
   next run reads it; what half a write leaves is cut off. */
#include "train/log/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/json.h"
#include "base/file/lines.h"
#include "base/mem.h"
#include "base/text.h"
#include "train/log/events.h"

enum { PARSE_ROOM = 4096, LONGEST_TAG = 256 };

struct hd_journal {
    char path[HD_PATH];
    int file;
    off_t size; /* bytes in the file, whole lines */
    bool torn;  /* half a line is at its end and could not be cut off */
    hd_events *events;
};

static hd_status file_error(const char *path, const char *what, hd_err *err)
{
    return hd_err_set(err, HD_EFILE, "%s: %s: %s", path, what, strerror(errno));
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- a line ---- */

static void put_text(hd_text *t, const char *text)
{
    hd_text_put(t, "\"");
    for (size_t left = strlen(text), good; left; text += good, left -= good) {
        good = hd_utf8_good(text, left);
        for (size_t i = 0; i < good; i++) {
            if ((unsigned char)text[i] < 0x20)
                hd_text_print(t, "\\u%04x", (unsigned)text[i]);
            else
                hd_text_print(t, text[i] == '"' || text[i] == '\\' ? "\\%c" : "%c", text[i]);
        }
        if (good == left) break;
        hd_text_put(t, "\\ufffd"); /* JSON is UTF-8, whatever a file name is */
        good++;
    }
    hd_text_put(t, "\"");
}

static void put_digits(hd_text *t, char *digits)
{
    char *comma = strchr(digits, ','); /* the program around us may have set a locale */
    if (comma) *comma = '.';
    hd_text_put(t, digits);
}

/* 15 digits where they are enough, as they mostly are for numbers people chose; 17 always are. A real one
   looks like one, or readers would take 3 for an integer and -0 for 0. */
static void put_real(hd_text *t, double value)
{
    char digits[40];
    if (!isfinite(value)) {
        hd_text_put(t, "null");
        return;
    }
    snprintf(digits, sizeof digits, "%.15g", value);
    if (strtod(digits, NULL) != value) snprintf(digits, sizeof digits, "%.17g", value);
    put_digits(t, digits);
    if (!strpbrk(digits, ".e")) hd_text_put(t, ".0");
}

static void put_field(hd_text *t, const hd_field *f)
{
    hd_text_put(t, ",");
    put_text(t, f->name);
    hd_text_put(t, ":");
    if (f->kind == HD_FIELD_REAL)
        put_real(t, f->real);
    else if (f->kind == HD_FIELD_WHOLE)
        hd_text_print(t, "%" PRId64, f->whole);
    else if (f->text)
        put_text(t, f->text);
    else
        hd_text_put(t, "null");
}

static void put_line(hd_text *t, const hd_report_line *line, double time)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.3f", time);
    hd_text_print(t, "{\"step\":%" PRIu64 ",\"kind\":", line->step);
    put_text(t, line->kind);
    hd_text_put(t, ",\"time\":");
    put_digits(t, digits);
    for (size_t i = 0; i < line->count; i++) put_field(t, &line->fields[i]);
    hd_text_put(t, "}\n");
}

static hd_status write_line(hd_journal *j, const hd_text *line, hd_err *err)
{
    ssize_t n;
    do n = write(j->file, line->data, line->size);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)line->size) {
        j->size += n;
        j->torn = false;
        return HD_OK;
    }
    if (n >= 0) errno = ENOSPC; /* it took a part and gives no reason */
    hd_status s = file_error(j->path, "cannot write", err);
    if (n > 0 && ftruncate(j->file, j->size)) {
        j->torn = true;
        j->size += n;
    }
    return s;
}

static hd_status add_line(hd_journal *j, const hd_report_line *line, double time, hd_err *err)
{
    hd_text text = {0};
    if (j->torn) hd_text_put(&text, "\n");
    put_line(&text, line, time);
    hd_status s = hd_text_status(&text, err);
    if (!s) s = write_line(j, &text, err);
    hd_text_release(&text);
    return s;
}

static hd_status add_events(hd_journal *j, const hd_report_line *line, double time, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < line->count; i++) {
        const hd_field *f = &line->fields[i];
        char tag[LONGEST_TAG];
        if (f->kind == HD_FIELD_TEXT) continue;
        snprintf(tag, sizeof tag, "%s/%s", line->kind, f->name);
        s = hd_events_add(j->events, tag, line->step, f->kind == HD_FIELD_REAL ? f->real : (double)f->whole,
                          time, err);
    }
    hd_status flushed = hd_events_flush(j->events, err);
    return s ? s : flushed;
}

hd_status hd_journal_add(hd_journal *j, const hd_report_line *line, hd_err *err)
{
    double time = line->time > 0 && isfinite(line->time) ? line->time : seconds_now();
    hd_status s = add_line(j, line, time, err), other = add_events(j, line, time, err);
    return s ? s : other;
}

/* ---- going on ---- */

/* Does the line belong to a step up to `last`? What is no report does not. */
static hd_status is_kept(bool *kept, hd_arena *scratch, const char *line, size_t size, uint64_t last,
                         hd_err *err)
{
    json_error_t why;
    json_t *root = hd_json_load(scratch, line, size, &why), *step = json_object_get(root, "step");
    size_t missed = hd_json_missed();
    *kept =
        json_is_integer(step) && json_integer_value(step) >= 0 && (uint64_t)json_integer_value(step) <= last;
    hd_arena_reset(scratch);
    return !root && missed ? hd_err_nomem(err, missed) : HD_OK;
}

static hd_status copy_lines(hd_save *to, hd_map from, uint64_t last, hd_err *err)
{
    hd_arena scratch;
    hd_arena_init(&scratch, hd_allocator_host, PARSE_ROOM);
    hd_status s = HD_OK;
    const char *at = (const char *)from.data, *end = at + from.size;
    while (!s && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t size = newline ? (size_t)(newline - at) : (size_t)(end - at);
        bool kept;
        s = is_kept(&kept, &scratch, at, size, last, err);
        if (!s && kept) s = hd_save_write(to, at, size, err);
        if (!s && kept) s = hd_save_write(to, "\n", 1, err);
        at += size + (newline != NULL);
    }
    hd_arena_release(&scratch);
    return s;
}

static hd_status cut_back(const char *path, uint64_t last, hd_err *err)
{
    hd_map old = {0};
    hd_save *save = NULL;
    if (access(path, F_OK) && errno == ENOENT) return HD_OK;
    hd_status s = hd_map_open(&old, path, err);
    if (!s) s = hd_save_open(&save, path, err);
    if (!s) s = copy_lines(save, old, last, err);
    if (!s)
        s = hd_save_commit(save, err);
    else
        hd_save_abandon(save);
    hd_map_close(&old);
    return s;
}

static hd_status open_log(hd_journal *j, const char *folder, uint64_t resumed, hd_err *err)
{
    struct stat info;
    hd_status s = hd_path(j->path, folder, "log.jsonl", err);
    if (!s && resumed) s = cut_back(j->path, resumed, err);
    if (s) return s;
    int mode = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (resumed ? 0 : O_TRUNC);
    j->file = open(j->path, mode, 0666);
    if (j->file < 0) return file_error(j->path, "cannot open", err);
    if (fstat(j->file, &info)) return file_error(j->path, "cannot ask for its size", err);
    j->size = info.st_size;
    return HD_OK;
}

hd_status hd_journal_open(hd_journal **out, const char *folder, uint64_t resumed, hd_err *err)
{
    char below[HD_PATH];
    hd_journal *j = hd_mem_zero(sizeof *j);
    if (!j) return hd_err_nomem(err, sizeof *j);
    j->file = -1;
    hd_status s = hd_path(below, folder, "train", err);
    if (!s) s = hd_folder_make(below, NULL, err);
    if (!s) s = open_log(j, below, resumed, err);
    if (!s) s = hd_events_open(&j->events, below, resumed ? resumed + 1 : 0, seconds_now(), err);
    if (s)
        hd_journal_close(j, NULL);
    else
        *out = j;
    return s;
}

hd_status hd_journal_close(hd_journal *j, hd_err *err)
{
    if (!j) return HD_OK;
    hd_status s = HD_OK, other = hd_events_close(j->events, err);
    if (j->file >= 0 && close(j->file)) s = file_error(j->path, "cannot close", err);
    hd_mem_free(j);
    return s ? s : other;
}
