/* Lines that a verb answers. */
#include "cli/frame/input.h"

#include <string.h>

#include "base/mem.h"
#include "cli/frame/verb.h"
#include "view/draw/json_members.h"

/* -- files -- */

hd_words hd_input_files(const hd_command *c, int skip)
{
    static char standard[] = "-";
    static char *const none[] = {standard};
    if (c->operands.count <= skip) return (hd_words){(char **)none, 1};
    return (hd_words){c->operands.word + skip, c->operands.count - skip};
}

bool hd_input_await(const hd_command *c, const char *path, const char *what)
{
    bool live =
        !strcmp(path, "-") && hd_terminal_of(stdin).is_terminal && c->err.is_terminal && !c->common.quiet;
    if (live) hd_log_say(&c->log, HD_INFO, "type %s, Ctrl-D to end", what);
    return live;
}

static hd_status open_next(hd_input *in, hd_err *err)
{
    const hd_command *c = in->command;
    const char *path = in->files.word[0];
    const hd_lines_opt opt = {
        .utf8 = in->check != HD_INPUT_BYTES, .no_zero = in->check == HD_INPUT_TEXT, .goes_on = true};
    hd_lines_close(in->lines);
    in->lines = NULL;
    in->file = strcmp(path, "-") ? path : "standard input";
    in->files.word++, in->files.count--;
    in->live = hd_input_await(c, path, in->what);
    if (in->live) fputs("> ", c->err.file), fflush(c->err.file); /* opening reads the first bytes */
    return hd_lines_open(&in->lines, path, &opt, err);
}

hd_status hd_input_open(hd_command *c, const char *what, const char *done, hd_input_check check, hd_err *err)
{
    const hd_words files = hd_input_files(c, 1);
    int standard = 0;
    c->in = (hd_input){.command = c, .files = files, .what = what, .done = done, .check = check};
    hd_arena_init(&c->in.memory, hd_allocator_host, 1 << 16);
    for (int i = 0; i < files.count; i++) standard += !strcmp(files.word[i], "-");
    if (standard > 1) return hd_err_set(err, HD_EARG, "standard input can be read only once");
    return open_next(&c->in, err);
}

void hd_input_close(hd_command *c)
{
    hd_input *in = &c->in;
    hd_err err = {0};
    if (!in->command) return;
    if (!c->exit && hd_command_put(c, "", 0, true, &err)) c->exit = hd_command_fail(c, &err);
    if (!c->exit && in->bad) {
        hd_log_say(&c->log, HD_ERROR, "%zu of %zu lines could not be %s", in->bad, in->count, in->done);
        c->exit = HD_EXIT_FAILURE;
    }
    hd_lines_close(in->lines);
    hd_arena_release(&in->memory);
    hd_mem_free(in->chunk);
    *in = (hd_input){0};
}

/* -- lines -- */

hd_status hd_input_next(hd_input *in, hd_input_line *line, hd_err *err)
{
    FILE *f = in->command->err.file;
    bool waits = in->live && hd_lines_count(in->lines) && !hd_lines_ready(in->lines);
    if (waits) fputs("> ", f), fflush(f);
    *line = (hd_input_line){.file = in->file};
    hd_status s = hd_lines_next(in->lines, &line->text, err);
    while (!s && !line->text.text && in->files.count) {
        s = open_next(in, err);
        if (!s) s = hd_lines_next(in->lines, &line->text, err);
    }
    if (s || !line->text.text) return s;
    const hd_err *refused = hd_lines_refused(in->lines);
    line->why = refused ? refused->text : NULL;
    line->file = in->file;
    line->at = hd_lines_count(in->lines);
    line->number = ++in->count;
    return HD_OK;
}

/* -- many at once -- */

const char *hd_input_copy(hd_input *in, hd_line text, hd_err *err)
{
    return hd_arena_copy(&in->memory, text.text, text.size, err);
}

static void move_part(hd_line *part, hd_line from, const char *to)
{
    if (part->text >= from.text && part->text <= from.text + from.size)
        part->text = to + (part->text - from.text);
}

hd_status hd_input_hold(hd_input *in, hd_input_line line, hd_err *err)
{
    hd_status s = hd_mem_reserve(&in->chunk, &in->room, in->held + 1, sizeof *in->chunk, err);
    if (s) return s;
    const hd_line from = line.text;
    line.text.text = hd_input_copy(in, from, err);
    if (line.text.text && line.why) line.why = hd_input_copy(in, (hd_line){line.why, strlen(line.why)}, err);
    if (err->status) return err->status;
    move_part(&line.source, from, line.text.text);
    move_part(&line.target, from, line.text.text);
    in->chunk[in->held++] = line;
    return HD_OK;
}

void hd_input_drop(hd_input *in)
{
    hd_arena_reset(&in->memory);
    in->held = 0;
}

static hd_status read_chunk(hd_input *in, size_t most, bool *ended, hd_err *err)
{
    hd_status s = HD_OK;
    hd_input_drop(in);
    do {
        hd_input_line line;
        s = hd_input_next(in, &line, err);
        *ended = s || !line.text.text;
        if (!*ended) s = hd_input_hold(in, line, err);
    } while (!s && !*ended && in->held < most && hd_lines_ready(in->lines));
    return s;
}

hd_status hd_input_each(hd_command *c, const char *what, const char *done, size_t most,
                        hd_input_answer *answer, hd_err *err)
{
    hd_input *in = &c->in;
    hd_status s = hd_input_open(c, what, done, HD_INPUT_TEXT, err);
    for (bool ended = false; !s && !ended;) {
        s = read_chunk(in, most, &ended, err);
        hd_err later = {0}; /* what was read before a failure is answered first */
        hd_status now = in->held ? answer(c, in->chunk, in->held, s ? &later : err) : HD_OK;
        if (!s) s = now;
    }
    return s;
}

/* -- one by one -- */

static hd_status answer_one(hd_command *c, bool json, hd_input_answer_one *answer, const hd_input_line *line,
                            hd_text *to, hd_err *err)
{
    hd_err later = {0};
    if (line->why) return hd_input_stand_in(&c->in, to, json, line, line->why), HD_OK;
    hd_status s = answer(c, line->text, to, err);
    if (!s || !hd_input_forgives(err, &later)) return s;
    to->size = 0;
    hd_input_stand_in(&c->in, to, json, line, later.text);
    return HD_OK;
}

hd_status hd_input_each_one(hd_command *c, bool json, hd_input_answer_one *answer, hd_err *err)
{
    hd_text out = {0};
    hd_input_line line;
    hd_status s = hd_input_next(&c->in, &line, err);
    while (!s && line.text.text) {
        bool now = !hd_lines_ready(c->in.lines);
        out.size = 0;
        s = answer_one(c, json, answer, &line, &out, err);
        if (!s) s = hd_text_status(&out, err);
        if (!s) s = hd_command_put(c, out.data, out.size, now, err);
        if (!s) s = hd_input_next(&c->in, &line, err);
    }
    hd_text_release(&out);
    return s;
}

/* -- refusing -- */

bool hd_input_forgives(hd_err *err, hd_err *why)
{
    if (err->status != HD_EFORMAT && err->status != HD_ELIMIT && err->status != HD_EARG) return false;
    *why = *err;
    *err = (hd_err){0};
    return true;
}

void hd_input_refuse(hd_input *in, const hd_input_line *line, const char *why, const char *result)
{
    in->bad++;
    hd_log_say(&in->command->log, HD_WARN, "%s:%zu: %s: %s", line->file, line->at, why, result);
}

void hd_input_stand_in(hd_input *in, hd_text *to, bool json, const hd_input_line *line, const char *why)
{
    hd_input_refuse(in, line, why, HD_INPUT_EMPTY);
    if (json) {
        hd_member_begin(to, NULL, '{');
        hd_member_count(to, "line", line->number);
        hd_member_text(to, "error", why);
        hd_member_end(to, '}');
    }
    hd_text_put(to, "\n");
}
