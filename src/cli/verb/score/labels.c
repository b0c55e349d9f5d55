/* heed score --task classify: the labels of files against the true ones. A line of answers is FILE, a label
   and its probability, and further labels with theirs, the most likely first. */
#include <stdlib.h>
#include <string.h>

#include "cli/verb/score/score.h"
#include "metric/confusion.h"
#include "text/vocab.h"
#include "view/confusion.h"
#include "view/plot.h"

typedef struct labels {
    hd_vocab files, labels;
    int32_t *truth; /* [files] */
    size_t room;
    hd_confusion confusion;
    size_t most; /* labels of a line */
    bool *seen;  /* [files] */
} labels;

static void labels_release(labels *l)
{
    hd_vocab_release(&l->files);
    hd_vocab_release(&l->labels);
    hd_confusion_release(&l->confusion);
    hd_mem_free(l->truth);
    hd_mem_free(l->seen);
}

/* Cuts the next column off; text NULL: there is none. */
static hd_line column(hd_line *line)
{
    hd_line first = *line;
    if (!line->text) return first;
    const char *tab = memchr(line->text, '\t', line->size);
    if (!tab) return line->text = NULL, first;
    first.size = (size_t)(tab - first.text);
    *line = (hd_line){tab + 1, line->size - first.size - 1};
    return first;
}

static hd_status read_truth(labels *l, const char *path, hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line;
    hd_status s = hd_lines_open(&lines, path, &hd_lines_text, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text) {
        size_t number = hd_lines_count(lines);
        hd_line file = column(&line), label = column(&line);
        if (!file.size || !label.text || !label.size) {
            s = hd_err_set(err, HD_EFORMAT, "%s:%zu: not FILE<tab>LABEL", path, number);
            break;
        }
        size_t files = l->files.count;
        s = hd_vocab_add(&l->files, file.text, file.size, err);
        if (!s && l->files.count == files)
            s = hd_err_set(err, HD_EFORMAT, "%s:%zu: '%.*s' is there twice", path, number, (int)file.size,
                           file.text);
        if (!s) s = hd_vocab_add(&l->labels, label.text, label.size, err);
        if (!s) s = hd_mem_reserve(&l->truth, &l->room, l->files.count, sizeof *l->truth, err);
        if (!s) l->truth[files] = hd_vocab_find(&l->labels, label.text, label.size);
    }
    if (!s && !l->files.count) s = hd_err_set(err, HD_EFORMAT, "%s has no labels", path);
    hd_lines_close(lines);
    return s;
}

/* The file of this name, or of this name without its folders; -1: there is none. */
static int32_t find_file(const labels *l, hd_line name)
{
    int32_t k = hd_vocab_find(&l->files, name.text, name.size);
    size_t at = name.size;
    while (k < 0 && at && name.text[at - 1] != '/') at--;
    return k < 0 && at ? hd_vocab_find(&l->files, name.text + at, name.size - at) : k;
}

static hd_status judge_line(labels *l, hd_line line, const char *path, size_t number, hd_err *err)
{
    hd_line file = column(&line);
    int32_t k = find_file(l, file), guess = -1;
    size_t labels_of = 0;
    if (k < 0)
        return hd_err_set(err, HD_EFORMAT, "%s:%zu: --ref has no label of '%.*s'", path, number,
                          (int)file.size, file.text);
    if (l->seen[k])
        return hd_err_set(err, HD_EFORMAT, "%s:%zu: '%.*s' is there twice", path, number, (int)file.size,
                          file.text);
    l->seen[k] = true;
    for (hd_line label = column(&line); label.text; label = column(&line)) {
        int32_t is = hd_vocab_find(&l->labels, label.text, label.size);
        if (!labels_of++) guess = is;
        if (labels_of <= HD_CONFUSION_NEAR) l->confusion.near += is == l->truth[k];
        column(&line); /* its probability */
    }
    if (!labels_of) return hd_err_set(err, HD_EFORMAT, "%s:%zu: no label", path, number);
    if (labels_of > l->most) l->most = labels_of;
    /* what is never true is a class of its own, behind the others */
    return hd_confusion_add(&l->confusion, (size_t)l->truth[k], guess < 0 ? l->labels.count : (size_t)guess,
                            err);
}

static hd_status judge_file(labels *l, hd_score_call *j, hd_err *err)
{
    const char *path = j->path[0];
    hd_lines *lines = NULL;
    hd_line line;
    l->seen = hd_mem_array(l->files.count, sizeof *l->seen);
    hd_status s = l->seen ? hd_confusion_init(&l->confusion, l->labels.count + 1, err)
                          : hd_err_nomem(err, l->files.count);
    if (!s) s = hd_lines_open(&lines, path, &hd_lines_text, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text)
        s = judge_line(l, line, hd_lines_name(lines), hd_lines_count(lines), err);
    hd_lines_close(lines);
    if (!s && !l->confusion.count) s = hd_err_set(err, HD_EFORMAT, "%s has no labels", path);
    if (!s && l->confusion.count < l->files.count)
        hd_log_say(&j->command.log, HD_WARN, "%s has labels of %zu of the %zu files of --ref", path,
                   l->confusion.count, l->files.count);
    return s;
}

/* The class of what is never true is shown only where something was taken for it. */
static hd_status show(hd_score_call *j, labels *l, hd_err *err)
{
    const hd_terminal *t = &j->command.out;
    size_t classes = l->labels.count;
    hd_text out = {0};
    hd_text_pen pen = {.to = &out, .width = t->width, .color = t->color, .utf8 = true};
    const char **label = hd_mem_array(classes + 1, sizeof *label);
    if (!label) return hd_err_nomem(err, classes * sizeof *label);
    for (size_t i = 0; i < classes; i++) label[i] = hd_vocab_piece(&l->labels, (int32_t)i);
    label[classes] = "(other)";
    if (l->most < HD_CONFUSION_NEAR) l->confusion.near = 0;
    if (!l->confusion.guesses[classes]) l->confusion.classes = classes;
    hd_confusion_view v = {.of = &l->confusion, .label = label, .title = "Confusion matrix"};
    hd_status s = j->o->json ? hd_confusion_json(&out, &v, err) : hd_confusion_text(&pen, &v, err);
    s = hd_command_put_page(&j->command, &out, s, err);
    if (!s && j->o->plot) s = hd_confusion_save(j->o->plot, &v, err);
    l->confusion.classes = classes + 1;
    hd_mem_free(label);
    return s;
}

hd_status hd_score_labels(hd_score_call *j, hd_err *err)
{
    labels l = {0};
    hd_status s = j->o->plot ? hd_plot_check(j->o->plot, err) : HD_OK;
    for (int i = 0; !s && i < j->o->ref.count; i++) s = read_truth(&l, j->o->ref.text[i], err);
    if (!s) s = judge_file(&l, j, err);
    if (!s) s = show(j, &l, err);
    labels_release(&l);
    return s;
}
