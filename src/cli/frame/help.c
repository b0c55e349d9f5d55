/* The verb help, and the help page of every verb: two columns, wrapped at the width of the terminal. */
#include <string.h>

#include "base/mem.h"
#include "cli/frame/page.h"

enum { INDENT = 2, GAP = 2, WIDEST_LEFT = 24 };

hd_page_tables hd_page_options(const hd_verb *v)
{
    return (hd_page_tables){{v->usage->options, v == &hd_program ? hd_no_options : hd_common_options}};
}

const char *hd_page_group(const hd_option *o)
{
    return o->group ? o->group : "Options";
}

hd_status hd_page_rows(hd_row_help **out, const hd_verb *v, const hd_option_set *given, hd_err *err)
{
    hd_page_tables tables = hd_page_options(v);
    size_t count = hd_option_count(tables.table[0]) + hd_option_count(tables.table[1]);
    hd_row_help *row = *out = hd_mem_array(count, sizeof *row);
    if (!row) return hd_err_nomem(err, count * sizeof *row);
    for (int t = 0; t < 2; t++)
        for (const hd_option *o = tables.table[t]; o->name; o++, row++) {
            row->left_out = o->hidden || o->gone;
            if (o->fallback) snprintf(row->fallback, sizeof row->fallback, "%s", o->fallback);
        }
    return v->usage->show ? v->usage->show(*out, given, err) : HD_OK;
}

/* Writes text from column `at` on, further lines and paragraphs starting at `indent`. Ends the last line. */
static void wrap(const hd_terminal *to, const char *text, int at, int indent)
{
    bool fresh = true; /* nothing on this line yet */
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (!fresh && at + 1 + (int)length > to->width) {
            fprintf(to->file, "\n%*s", indent, "");
            at = indent;
            fresh = true;
        }
        fprintf(to->file, "%s%.*s", fresh ? "" : " ", (int)length, text);
        at += (int)length + !fresh;
        fresh = false;
        text += length;
        if (*text == '\n') {
            fprintf(to->file, "\n\n%*s", indent, "");
            at = indent;
            fresh = true;
        }
        if (*text) text++;
    }
    fputc('\n', to->file);
}

static void heading(const hd_terminal *to, const char *text)
{
    fprintf(to->file, "\n%s%s:%s\n", hd_terminal_bold(to), text, hd_terminal_plain(to));
}

/* One row: left in bold, right from column `middle` on, on the next line when left is too wide. */
static void row(const hd_terminal *to, const char *left, const char *right, int middle)
{
    int at = INDENT + (int)strlen(left);
    fprintf(to->file, "%*s%s%s%s", INDENT, "", hd_terminal_bold(to), left, hd_terminal_plain(to));
    if (at + GAP > middle) {
        fputc('\n', to->file);
        at = 0;
    }
    fprintf(to->file, "%*s", middle - at, "");
    wrap(to, right, middle, middle);
}

static int wider(int widest, size_t length)
{
    return (int)length > widest && length <= WIDEST_LEFT ? (int)length : widest;
}

/* Options without a letter stand under the names of those with one. */
static const char *form_of(const hd_option *o, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s", o->letter ? "" : "    ");
    size_t used = strlen(buffer);
    hd_option_form(o, buffer + used, size - used);
    return buffer;
}

static void show_options(const hd_terminal *to, const hd_verb *v, const hd_row_help *rows)
{
    hd_page_tables tables = hd_page_options(v);
    char form[80], help[600];
    int widest = 0;
    const hd_row_help *r = rows;
    for (int t = 0; t < 2; t++)
        for (const hd_option *o = tables.table[t]; o->name; o++, r++)
            if (!r->left_out) widest = wider(widest, strlen(form_of(o, form, sizeof form)));
    const char *group = "";
    r = rows;
    for (int t = 0; t < 2; t++)
        for (const hd_option *o = tables.table[t]; o->name; o++, r++) {
            if (r->left_out) continue;
            if (strcmp(group, hd_page_group(o))) heading(to, group = hd_page_group(o));
            row(to, form_of(o, form, sizeof form), hd_option_help(o, r->fallback, help, sizeof help),
                INDENT + widest + GAP);
        }
}

static void show_verbs(const hd_terminal *to)
{
    int widest = 0;
    for (const hd_verb *v = hd_verbs; v->name; v++) widest = wider(widest, strlen(v->name));
    heading(to, "Verbs");
    for (const hd_verb *v = hd_verbs; v->name; v++) row(to, v->name, v->summary, INDENT + widest + GAP);
}

static void show_examples(const hd_terminal *to, const hd_example *e)
{
    if (!e) return;
    heading(to, "Examples");
    for (; e->command; e++) {
        fprintf(to->file, "%*s%s\n%*s", INDENT, "", e->command, 3 * INDENT, "");
        wrap(to, e->help, 3 * INDENT, 3 * INDENT);
    }
}

hd_status hd_page_help(const hd_terminal *to, const hd_verb *v, const hd_option_set *given, hd_err *err)
{
    const char *operands = v->usage->operands;
    hd_row_help *rows = NULL;
    hd_title title;
    hd_status s = hd_page_rows(&rows, v, given, err);
    if (s) return hd_mem_free(rows), s;
    fprintf(to->file, "%sUsage:%s %s [OPTION]...%s%s\n\n", hd_terminal_bold(to), hd_terminal_plain(to),
            hd_verb_title(v, ' ', &title), operands ? " " : "", operands ? operands : "");
    wrap(to, v->usage->about, 0, 0);
    if (v == &hd_program) show_verbs(to);
    show_options(to, v, rows);
    show_examples(to, v->usage->examples);
    hd_mem_free(rows);
    return HD_OK;
}

/* Help of a verb is asked of the verb (cli/frame/main.c). */
static hd_status show_program(hd_command *c, hd_err *err)
{
    return hd_page_help(&c->out, &hd_program, NULL, err);
}

const hd_usage hd_verb_help = {
    .operands = "[VERB [OPTION]...]",
    .about =
        "Shows what a verb does and every option it takes; without VERB, the list of verbs. With options, "
        "those of heed train that go with them: 'heed help train --task lm' shows the options of a language "
        "model with their defaults.",
    .options = hd_no_options,
    .run = show_program,
};
