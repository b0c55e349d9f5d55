/* The log of a run, read back. */
#include "train/log/history.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file/folder.h"
#include "base/json.h"
#include "base/file/lines.h"
#include "base/mem.h"

typedef struct reader {
    hd_lines *lines;
    hd_arena memory;
    double began; /* time of the first line; NaN before it */
    double
        epoch_steps; /* the fewest steps an epoch can have, from the lines read so far; INFINITY: not known */
} reader;

static hd_status reader_open(reader *r, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    *r = (reader){.began = (double)NAN, .epoch_steps = (double)INFINITY};
    hd_arena_init(&r->memory, hd_allocator_host, 0);
    hd_status s = hd_path(path, folder, "train/log.jsonl", err);
    return s ? s : hd_lines_open(&r->lines, path, NULL, err);
}

static void reader_close(reader *r)
{
    hd_lines_close(r->lines);
    hd_arena_release(&r->memory);
}

static double number_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

/* The next line; *out NULL at the end. */
static hd_status reader_next(reader *r, const json_t **out, hd_err *err)
{
    hd_line line, behind;
    json_error_t e;
    *out = NULL;
    hd_arena_reset(&r->memory);
    hd_status s = hd_lines_next(r->lines, &line, err);
    if (s || !line.text) return s;
    json_t *o = hd_json_load(&r->memory, line.text, line.size, &e);
    if (!o && hd_json_missed()) return hd_err_nomem(err, hd_json_missed());
    if (!json_is_object(o) || isnan(number_of(o, "step"))) {
        size_t number = hd_lines_count(r->lines);
        s = hd_lines_next(r->lines, &behind, err);
        return s || !behind.text ? s
                                 : hd_err_set(err, HD_EFORMAT, "%s:%zu: is not a line of a training log",
                                              hd_lines_name(r->lines), number);
    }
    double epoch = number_of(o, "epoch"), step = number_of(o, "step");
    if (isnan(r->began)) r->began = number_of(o, "time");
    if (epoch >= 1) r->epoch_steps = fmin(r->epoch_steps, step / epoch);
    *out = o;
    return HD_OK;
}

static hd_status add(hd_history *h, size_t *room, double x, double y, hd_err *err)
{
    if (h->count == *room) {
        size_t more = *room ? 2 * *room : 256;
        double *xs = hd_mem_grow(h->x, more * sizeof *xs);
        if (xs) h->x = xs;
        double *ys = xs ? hd_mem_grow(h->y, more * sizeof *ys) : NULL;
        if (!ys) return hd_err_nomem(err, more * sizeof *ys);
        h->y = ys, *room = more;
    }
    h->x[h->count] = x, h->y[h->count++] = y;
    return HD_OK;
}

static hd_status to_epochs(hd_history *h, double steps, const char *folder, hd_err *err)
{
    if (h->count && !isfinite(steps))
        return hd_err_set(err, HD_EARG, "%s: its log has less than an epoch: use --over steps or time",
                          folder);
    for (size_t i = 0; i < h->count; i++) h->x[i] /= steps;
    return HD_OK;
}

hd_status hd_history_read(hd_history *out, const char *folder, const char *kind, const char *field,
                          hd_history_axis axis, hd_err *err)
{
    reader r;
    const json_t *line = NULL;
    size_t room = 0;
    *out = (hd_history){0};
    hd_status s = reader_open(&r, folder, err);
    if (!s) s = reader_next(&r, &line, err);
    for (; !s && line; s = reader_next(&r, &line, err)) {
        const char *is = json_string_value(json_object_get(line, "kind"));
        if (!is || strcmp(is, kind) || !json_object_get(line, field)) continue;
        double minutes = (number_of(line, "time") - r.began) / 60, step = number_of(line, "step");
        s = add(out, &room, axis == HD_HISTORY_MINUTES ? minutes : step, number_of(line, field), err);
        if (s) break;
    }
    if (!s && axis == HD_HISTORY_EPOCHS) s = to_epochs(out, r.epoch_steps, folder, err);
    reader_close(&r);
    if (s) hd_history_release(out);
    return s;
}

void hd_history_release(hd_history *h)
{
    hd_mem_free(h->x);
    hd_mem_free(h->y);
    *h = (hd_history){0};
}

void hd_history_smooth(hd_history *h, double weight)
{
    double sum = 0, all = 0;
    for (size_t i = 0; i < h->count; i++) {
        if (!isfinite(h->y[i])) continue;
        sum = weight * sum + (1 - weight) * h->y[i];
        all = weight * all + (1 - weight);
        h->y[i] = sum / all;
    }
}

static bool holds(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ',')) return true;
    return false;
}

const char *hd_history_fields(const char *folder, char *buffer, size_t size)
{
    reader r;
    const json_t *line = NULL;
    buffer[0] = 0;
    if (reader_open(&r, folder, NULL) || reader_next(&r, &line, NULL)) line = NULL;
    while (line) {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)line, key, value)
        {
            size_t used = strlen(buffer);
            if (!json_is_number(value) || !strcmp(key, "step") || !strcmp(key, "time") || holds(buffer, key))
                continue;
            snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", key);
        }
        if (reader_next(&r, &line, NULL)) break;
    }
    reader_close(&r);
    return buffer;
}
