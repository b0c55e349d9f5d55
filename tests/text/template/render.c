/* For check.py beside it: each line of the standard input is {"template": ..., "variables": {...}}; each line
   of the output {"text": ..., "mark": ...} or {"error": ...}. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/template/template.h"

static json_t *rendered(const json_t *job)
{
    const json_t *source = json_object_get(job, "template");
    hd_template *t = NULL;
    hd_marked m = {0};
    hd_err err = {0};
    hd_status s =
        hd_template_new(&t, json_string_value(source), json_string_length(source), "template", &err);
    if (!s) s = hd_template_render(t, json_object_get(job, "variables"), NULL, &m, &err);
    json_t *out = json_object();
    for (size_t i = 0; i < m.mark.size; i++) m.mark.data[i] = (char)(m.mark.data[i] + '0');
    if (s)
        json_object_set_new(out, "error", hd_json_string(err.text));
    else {
        json_object_set_new(out, "text", json_stringn(m.text.size ? m.text.data : "", m.text.size));
        json_object_set_new(out, "mark", json_stringn(m.mark.size ? m.mark.data : "", m.mark.size));
    }
    hd_marked_release(&m);
    hd_template_free(t);
    return out;
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        json_t *job = json_loads(line, JSON_ALLOW_NUL, NULL);
        json_t *out = job ? rendered(job) : NULL;
        if (!out) return 1;
        json_dumpf(out, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(out);
        json_decref(job);
    }
    free(line);
    return 0;
}
