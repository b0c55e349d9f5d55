/* The verb help, and the help page of every verb: two columns, wrapped at the width of the terminal. */
#include <string.h>

#include "base/mem.h"
#include "cli/frame/page.h"

enum { INDENT = 2, GAP = 2, WIDEST_LEFT = 24 };

/* ---- the options of a page ---- */

hd_status hd_page_rows(hd_page *p, const hd_option_set *given, hd_err *err)
{
    size_t rows = hd_option_count(p->verb->usage->options);
    if (!p->verb->usage->show) return HD_OK;
    p->rows = hd_mem_array(rows, sizeof *p->rows);
    return p->rows ? p->verb->usage->show(p->rows, given, err) : hd_err_nomem(err, rows * sizeof *p->rows);
}

void hd_page_each(hd_page *p, hd_page_option *visit)
{
    const hd_option *const tables[] = {p->verb->usage->options, hd_common_options};
    const char *last = "";
    for (int t = 0; t < 1 + (p->verb != &hd_program); t++)
        for (const hd_option *o = tables[t]; o->name; o++) {
            const hd_row_help *row = t || !p->rows ? NULL : &p->rows[o - tables[t]];
            const char *group = o->group ? o->group : "Options";
            if (row ? row->left_out : o->hidden || o->gone) continue;
            p->heading = strcmp(last, group) ? group : NULL;
            p->fallback = row ? row->fallback : o->fallback ? o->fallback : "";
            visit(p, o);
            last = group;
        }
}

/* ---- help ---- */

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

static void show_heading(const hd_terminal *to, const char *text)
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

/* The second column behind a first one that is not too wide. */
static int middle_behind(int middle, const char *left)
{
    int length = (int)strlen(left), next = INDENT + length + GAP;
    return length <= WIDEST_LEFT && next > middle ? next : middle;
}

/* Options without a letter stand under the names of those with one. */
static const char *form_of(const hd_option *o, char *buffer, size_t size)
{
    size_t used = o->letter ? 0 : (size_t)snprintf(buffer, size, "    ");
    hd_option_form(o, buffer + used, size - used);
    return buffer;
}

static void measure(hd_page *p, const hd_option *o)
{
    char form[80];
    p->middle = middle_behind(p->middle, form_of(o, form, sizeof form));
}

static void show_option(hd_page *p, const hd_option *o)
{
    char form[80], help[600];
    if (p->heading) show_heading(p->to, p->heading);
    row(p->to, form_of(o, form, sizeof form), hd_option_help(o, p->fallback, help, sizeof help), p->middle);
}

static void show_verbs(const hd_terminal *to)
{
    int middle = 0;
    for (const hd_verb *v = hd_verbs; v->name; v++) middle = middle_behind(middle, v->name);
    show_heading(to, "Verbs");
    for (const hd_verb *v = hd_verbs; v->name; v++) row(to, v->name, v->summary, middle);
}

static void show_examples(const hd_terminal *to, const hd_example *e)
{
    if (!e) return;
    show_heading(to, "Examples");
    for (; e->command; e++) {
        fprintf(to->file, "%*s%s\n%*s", INDENT, "", e->command, 3 * INDENT, "");
        wrap(to, e->help, 3 * INDENT, 3 * INDENT);
    }
}

hd_status hd_page_help(const hd_terminal *to, const hd_verb *v, const hd_option_set *given, hd_err *err)
{
    const char *operands = v->usage->operands;
    hd_page page = {.to = to, .verb = v};
    hd_title title;
    hd_status s = hd_page_rows(&page, given, err);
    if (!s) {
        fprintf(to->file, "%sUsage:%s %s [OPTION]...%s%s\n\n", hd_terminal_bold(to), hd_terminal_plain(to),
                hd_verb_title(v, ' ', &title), operands ? " " : "", operands ? operands : "");
        wrap(to, v->usage->about, 0, 0);
        if (v == &hd_program) show_verbs(to);
        hd_page_each(&page, measure);
        hd_page_each(&page, show_option);
        show_examples(to, v->usage->examples);
    }
    hd_mem_free(page.rows);
    return s;
}

/* ---- the verb ---- */

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
