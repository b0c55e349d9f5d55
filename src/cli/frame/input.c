/* Lines that a verb answers. */
#include "cli/frame/input.h"

#include <string.h>

#include "view/draw/markup.h"

bool hd_input_await(const hd_command *c, const char *path, const char *what)
{
    bool live =
        !strcmp(path, "-") && hd_terminal_of(stdin).is_terminal && c->err.is_terminal && !c->common.quiet;
    if (live) hd_log_say(&c->log, HD_INFO, "type %s, Ctrl-D to end", what);
    return live;
}

hd_status hd_input_open(hd_input *in, const hd_command *c, const char *path, const char *what,
                        hd_input_check check, hd_err *err)
{
    *in = (hd_input){.command = c};
    const hd_lines_opt opt = {
        .utf8 = check != HD_INPUT_BYTES, .no_zero = check == HD_INPUT_TEXT, .goes_on = true};
    in->live = hd_input_await(c, path, what);
    if (in->live) fputs("> ", c->err.file), fflush(c->err.file); /* opening reads the first bytes */
    return hd_lines_open(&in->lines, path, &opt, err);
}

hd_status hd_input_next(hd_input *in, hd_line *line, const char **why, hd_err *err)
{
    FILE *f = in->command->err.file;
    bool waits = in->live && hd_lines_count(in->lines) && !hd_lines_ready(in->lines);
    if (waits) fputs("> ", f), fflush(f);
    hd_status s = hd_lines_next(in->lines, line, err);
    const hd_err *refused = hd_lines_refused(in->lines);
    *why = refused ? refused->text : NULL;
    return s;
}

bool hd_input_forgives(hd_err *err, hd_err *why)
{
    if (err->status != HD_EFORMAT && err->status != HD_ELIMIT && err->status != HD_EARG) return false;
    *why = *err;
    *err = (hd_err){0};
    return true;
}

void hd_input_refuse(hd_input *in, size_t number, const char *why, const char *result)
{
    in->bad++;
    hd_log_say(&in->command->log, HD_WARN, "%s:%zu: %s: %s", hd_lines_name(in->lines), number, why, result);
}

void hd_input_stand_in(hd_text *to, bool json, const char *why)
{
    if (json) {
        hd_text_put(to, "{\"error\": ");
        hd_put_json(to, why, false);
        hd_text_put(to, "}");
    }
    hd_text_put(to, "\n");
}

int hd_input_close(hd_input *in, int status, const char *done)
{
    hd_err err = {0};
    if (!status && hd_command_put(in->command, "", 0, true, &err))
        status = hd_command_fail(in->command, &err);
    if (!status && in->bad) {
        hd_log_say(&in->command->log, HD_ERROR, "%zu of %zu lines could not be %s", in->bad,
                   hd_lines_count(in->lines), done);
        status = HD_EXIT_FAILURE;
    }
    hd_lines_close(in->lines);
    in->lines = NULL;
    return status;
}
