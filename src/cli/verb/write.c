/* heed write: text in, handwriting out, as a picture or as strokes. */
#include <math.h>
#include <string.h>

#include "cli/frame/verb.h"
#include "show/sound/monotone.h"
#include "task/write/write.h"
#include "view/plot.h"
#include "view/stroke/lines.h"

enum { TOGETHER = 64, MOST_LINES = 100000 }; /* lines that are written side by side; in all */

/* Pixels that the pen moves on average from point to point. */
static const double stride = 5;

typedef struct write_options {
    hd_usual usual;
    double bias;
    int seed, points;
    const char *out, *prime, *attention, *texts;
    bool monotone;
} write_options;

#define OWNER write_options

static const hd_option options[] = {
    {"out", 'o', "FILE", NULL,
     "the handwriting, by its ending: .svg, .png or .pdf (a picture), or .tsv (strokes, as heed strokes "
     "writes "
     "them)",
     .group = "Output", HD_FILE_INTO(OWNER, out)},
    {"attention", 'a', "FILE", NULL,
     "draw the window over the characters (of a gpt the weights of all its heads), point by point, above "
     "each line: .svg, .png, .pdf or .html",
     .group = "Output", HD_FILE_INTO(OWNER, attention)},
    {"monotone", 0, NULL, NULL,
     "say at how many points the window is no farther back in the text than at the one before",
     .group = "Output", HD_FLAG_INTO(OWNER, monotone)},
    {"texts", 0, "FILE", NULL, "write the lines of this file, in place of TEXT; - for stdin",
     HD_FILE_INTO(OWNER, texts)},
    {"bias", 'b', "X", "0",
     "the larger the tidier: 0 writes as varied as the training data, 1 clearly, 5 "
     "always alike",
     .group = "Sampling", HD_FLOAT_INTO(OWNER, bias, 0, 100)},
    {"prime", 0, "FILE", NULL,
     "go on in the hand of the first line in this file of strokes, which is written before, faintly",
     .group = "Sampling", HD_FILE_INTO(OWNER, prime)},
    {"points", 0, "N", "0",
     "most points of a line; 0: 60 for each character and 100 more, and of a model that reads no text 600",
     .group = "Sampling", HD_INT_INTO(OWNER, points, 0, HD_STROKES_POINTS)},
    {"seed", 0, "N", "1", "random seed", .group = "Sampling", HD_INT_INTO(OWNER, seed, 0, 2147483647)},
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed write model 'attention is all you need' --bias 1 --out line.svg", "a line of handwriting"},
    {"heed write model 'one line' 'and another' --seed 7 --out lines.png",
     "two lines, as another seed has them"},
    {"heed write model hello --out line.svg --attention window.html",
     "and where the model looked in the text, point by point"},
    {"heed write model 'in your hand' --prime mine.tsv --bias 1 --out line.svg",
     "in the hand of a line that is given as strokes"},
    {"heed write model --texts lines.txt --out lines.tsv", "strokes, for programs"},
    {NULL, NULL},
};

typedef struct call {
    hd_command command;
    const write_options *o;
    hd_strokes prime;
    hd_text texts;     /* of --texts, each with a zero byte behind it */
    const char **line; /* what is written */
    hd_handwritten *done;
    size_t lines, room;
} call;

/* -- what is written -- */

static hd_status read_texts(call *c, hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line = {0};
    size_t count = 0;
    hd_status s =
        hd_lines_open(&lines, c->o->texts,
                      &(hd_lines_opt){.longest = HD_STROKES_LETTERS, .utf8 = true, .no_zero = true}, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text) {
        if (++count > MOST_LINES) s = hd_err_set(err, HD_ELIMIT, "%s: more than 100000 lines", c->o->texts);
        if (!s && !line.size)
            s = hd_err_set(err, HD_EFORMAT, "%s:%zu: the line is empty: there is no text to write",
                           c->o->texts, count);
        const char *fault = s ? NULL : hd_strokes_text_fault(line);
        if (fault) s = hd_err_set(err, HD_EFORMAT, "%s:%zu: %s: write a space", c->o->texts, count, fault);
        hd_text_add(&c->texts, line.text, line.size);
        hd_text_add(&c->texts, "", 1);
    }
    hd_lines_close(lines);
    if (!s && !count) s = hd_err_set(err, HD_EFORMAT, "%s: is empty: there is no text to write", c->o->texts);
    if (!s) s = hd_text_status(&c->texts, err);
    if (!s) s = hd_mem_reserve(&c->line, &c->room, count + 1, sizeof *c->line, err);
    const char *at = c->texts.data;
    for (size_t i = 0; !s && i < count; i++, at += strlen(at) + 1) c->line[c->lines++] = at;
    return s;
}

/* A TEXT, which may hold anything that a command line can. */
static hd_status check_text(const char *text, hd_err *err)
{
    size_t size = strlen(text);
    size_t good = hd_utf8_good(text, size);
    if (good < size)
        return hd_err_set(err, HD_EARG, "the text is not UTF-8: byte 0x%02x at offset %zu",
                          (unsigned)(uint8_t)text[good], good);
    if (size > HD_STROKES_LETTERS)
        return hd_err_set(err, HD_EARG,
                          "the text '%.20s...' has %zu bytes: at most %d are written as one line", text, size,
                          HD_STROKES_LETTERS);
    const char *fault = hd_strokes_text_fault((hd_line){text, size});
    if (!fault) return HD_OK;
    return hd_err_set(err, HD_EARG, "'%.40s': %s: give each line as a TEXT of its own", text, fault);
}

static hd_status gather(call *c, hd_err *err)
{
    const hd_words *w = &c->command.operands;
    bool reads = hd_write_reads(&c->command.model);
    if (c->o->texts) return read_texts(c, err);
    hd_status s = hd_mem_reserve(&c->line, &c->room, (size_t)w->count + 1, sizeof *c->line, err);
    for (int i = 1; !s && i < w->count; i++) {
        s = check_text(w->word[i], err);
        if (!s) c->line[c->lines++] = w->word[i];
    }
    if (!s && !c->lines && reads) {
        c->command.misused = true;
        return hd_err_set(err, HD_EARG, "no text is given: write it after MODEL, or --texts FILE");
    }
    if (!s && !c->lines) c->line[c->lines++] = "";
    return s;
}

/* Each call gets a seed of its own for the lines that it writes side by side. */
static hd_status write_lines(call *c, hd_err *err)
{
    const write_options *o = c->o;
    hd_command *k = &c->command;
    hd_status s = HD_OK;
    c->done = hd_mem_array(c->lines + 1, sizeof *c->done);
    if (!c->done) return hd_err_nomem(err, (c->lines + 1) * sizeof *c->done);
    for (size_t at = 0; !s && at < c->lines; at += TOGETHER) {
        size_t n = c->lines - at < TOGETHER ? c->lines - at : TOGETHER, longest = 0;
        for (size_t i = 0; i < n; i++)
            if (strlen(c->line[at + i]) > longest) longest = strlen(c->line[at + i]);
        size_t points = longest ? 60 * longest + 100 : 600;
        if (o->points) points = (size_t)o->points;
        hd_write_opt w = {.bias = o->bias,
                          .seed = (uint64_t)o->seed + ((uint64_t)(at / TOGETHER) << 32),
                          .points = points < HD_STROKES_POINTS ? points : HD_STROKES_POINTS,
                          .prime = o->prime ? &c->prime : NULL,
                          .watch = o->attention || o->monotone};
        s = hd_write(c->done + at, &k->machine.run, &k->model, c->line + at, n, &w, err);
    }
    return s;
}

/* -- what becomes of it -- */

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcmp(path + n - k, ending);
}

static hd_status save_strokes(const call *c, const char *path, hd_err *err)
{
    hd_text t = {0};
    for (size_t i = 0; i < c->lines; i++)
        hd_strokes_put(&t, c->line[i], c->done[i].points.at, c->done[i].points.count);
    hd_status s = hd_text_status(&t, err);
    if (!s) s = hd_save_bytes(path, t.data, t.size, err);
    hd_text_release(&t);
    return s;
}

/* The characters of a text, one after the other, in `room`. */
static void split_letters(const hd_handwritten *w, const char **letter, char *room)
{
    const char *at = w->text.data, *end = at ? at + w->text.size : NULL;
    for (size_t u = 0; u < w->letters; u++) {
        size_t n = at < end ? 1 : 0;
        while (at + n < end && ((unsigned char)at[n] & 0xC0) == 0x80) n++;
        letter[u] = room;
        if (n) memcpy(room, at, n);
        room[n] = 0, room += n + 1, at += n;
    }
}

static hd_status save_html(const char *path, hd_drawing *d, hd_err *err)
{
    hd_text_file out = {0};
    hd_text_put(&out.text, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>heed "
                           "write</title></head>\n<body>\n");
    hd_status s = hd_drawing_svg(&out, d, err);
    hd_text_put(&out.text, "</body></html>\n");
    if (!s) s = hd_text_file_status(&out, err);
    if (!s) s = hd_save_bytes(path, out.text.data, out.text.size, err);
    hd_text_release(&out.text);
    return s;
}

static hd_status draw(const call *c, const char *path, bool window, hd_err *err)
{
    const hd_pen_scale *pen = hd_write_scale(&c->command.model);
    hd_drawn_line *line = hd_mem_array(c->lines + 1, sizeof *line);
    size_t letters = 0, bytes = 0;
    for (size_t i = 0; i < c->lines; i++)
        letters += c->done[i].letters, bytes += c->done[i].text.size + c->done[i].letters;
    const char **letter = hd_mem_array(letters + 1, sizeof *letter), **at = letter;
    char *room = hd_mem_new(bytes + 1), *to = room;
    hd_status s = line && letter && room ? HD_OK : hd_err_nomem(err, bytes);
    for (size_t i = 0; !s && i < c->lines; i++) {
        const hd_handwritten *w = &c->done[i];
        split_letters(w, at, to);
        line[i] = (hd_drawn_line){w->points.at, w->points.count, w->primed, w->phi, w->letters, at};
        at += w->letters, to += w->text.size + w->letters;
    }
    hd_drawn_lines v = {.line = line,
                        .lines = c->lines,
                        .scale = stride / hypot((double)pen->deviation[0], (double)pen->deviation[1]),
                        .window = window};
    hd_drawing d = hd_drawn_lines_drawing(&v);
    if (!s) s = ends_in(path, ".html") ? save_html(path, &d, err) : hd_plot_save(path, &d, err);
    hd_mem_free(line);
    hd_mem_free(letter);
    hd_mem_free(room);
    return s;
}

/* How the window of all lines moves. */
static hd_status measure(const call *c, hd_err *err)
{
    size_t in_order = 0, points = 0;
    double span = 0;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < c->lines; i++) {
        const hd_handwritten *w = &c->done[i];
        hd_monotone m = {0};
        s = hd_monotone_of(&m, w->phi, w->seen, w->letters + 1, err);
        if (!s) in_order += m.in_order, points += m.rows, span += m.span;
        hd_monotone_release(&m);
    }
    if (!s)
        hd_log_say(&c->command.log, HD_INFO,
                   "window in order: %.1f %% of %zu points, over %.0f %% of the text",
                   100 * (double)in_order / (double)points, points, 100 * span / (double)c->lines);
    return s;
}

static hd_status run(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const write_options *o = c->o;
    size_t cut = 0;
    hd_status s = o->prime ? hd_strokes_read(&c->prime, o->prime, err) : HD_OK;
    if (!s) s = hd_model_prepare(&command->model.model, HD_DECODING, err);
    if (!s && (o->attention || o->monotone) && !hd_write_reads(&command->model))
        s = hd_err_set(err, HD_EARG, "%s: the model reads no text, and has no window",
                       o->attention ? "--attention" : "--monotone");
    if (!s) s = gather(c, err);
    if (!s) s = write_lines(c, err);
    if (!s && o->out)
        s = ends_in(o->out, ".tsv") ? save_strokes(c, o->out, err) : draw(c, o->out, false, err);
    if (!s && o->attention) s = draw(c, o->attention, true, err);
    if (!s && o->monotone) s = measure(c, err);
    for (size_t i = 0; !s && i < c->lines; i++) cut += c->done[i].cut;
    if (cut)
        hd_log_say(&command->log, HD_WARN,
                   "%zu of %zu lines reached the most points before the end of their "
                   "text (--points allows more)",
                   cut, c->lines);
    return s;
}

static hd_status check(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const write_options *o = c->o = command->options;
    if (!o->out && !o->attention && !o->monotone)
        return hd_err_set(err, HD_EARG, "--out is required: a file for the handwriting, as in line.svg");
    if (o->texts && command->operands.count > 1)
        return hd_err_set(err, HD_EARG, "--texts has the lines: give no TEXT");
    hd_status s = o->out && !ends_in(o->out, ".tsv") ? hd_plot_check(o->out, err) : HD_OK;
    if (!s && o->attention && !ends_in(o->attention, ".html")) s = hd_plot_check(o->attention, err);
    return s;
}

static void release(hd_command *command)
{
    call *c = (call *)command;
    for (size_t i = 0; c->done && i < c->lines; i++) hd_handwritten_release(&c->done[i]);
    hd_mem_free(c->done);
    hd_mem_free((void *)c->line);
    hd_text_release(&c->texts);
    hd_strokes_release(&c->prime);
}

const hd_usage hd_verb_write = {
    .operands = "MODEL [TEXT...]",
    .least = 1,
    .most = 1 + HD_INPUT_FILES_MOST,
    .about =
        "Writes text by hand with the model in the folder MODEL, a line for each TEXT: the points of a pen "
        "are "
        "drawn one after the other, while a window moves along the characters, and a line ends when the "
        "window "
        "has gone past the last of them, or where a gpt says so.\n"
        "A model that reads no text (--window-gaussians 0) writes what looks like writing: give no TEXT.",
    .options = options,
    .size = sizeof(write_options),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .task = "write",
    .call = sizeof(call),
    .check = check,
    .run = run,
    .release = release,
};
