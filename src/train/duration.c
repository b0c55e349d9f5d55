/* The time a run took, as a file. */
#include "train/duration.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/json.h"

#define FILE_NAME "train/time.json"

enum { MOST_BYTES = 4096 };

hd_status hd_duration_save(const char *folder, const hd_duration *d, hd_err *err)
{
    char path[HD_PATH], seconds[40] = "null", line[128];
    if (d->seconds >= 0 && d->seconds < 1e12) { /* in whole parts: a locale cannot change the point */
        long long thousandths = llround(d->seconds * 1000);
        snprintf(seconds, sizeof seconds, "%lld.%03d", thousandths / 1000, (int)(thousandths % 1000));
    }
    snprintf(line, sizeof line, "{\"seconds\": %s, \"finished\": %s}\n", seconds,
             d->finished ? "true" : "false");
    hd_status s = hd_path(path, folder, "train", err);
    if (!s) s = hd_folder_make(path, NULL, err);
    if (!s) s = hd_path(path, folder, FILE_NAME, err);
    return s ? s : hd_save_bytes(path, line, strlen(line), err);
}

hd_duration hd_duration_load(const char *folder)
{
    hd_duration d = {.seconds = NAN};
    char path[HD_PATH];
    hd_arena arena;
    json_t *object = NULL;
    hd_arena_init(&arena, hd_allocator_host, 0);
    hd_status s = hd_path(path, folder, FILE_NAME, NULL);
    if (!s) s = hd_json_read(&object, &arena, path, MOST_BYTES, NULL);
    const json_t *seconds = s ? NULL : json_object_get(object, "seconds");
    if (json_is_number(seconds) && json_number_value(seconds) >= 0) d.seconds = json_number_value(seconds);
    d.finished = !s && json_is_true(json_object_get(object, "finished"));
    hd_arena_release(&arena);
    return d;
}
