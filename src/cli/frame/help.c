/* The verb help, and the help page of every verb: two columns, wrapped at the width of the terminal. */
#include <string.h>

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

static void show_options(const hd_terminal *to, const hd_verb *v)
{
    hd_page_tables tables = hd_page_options(v);
    char form[80], help[512];
    int widest = 0;
    for (int t = 0; t < 2; t++)
        for (const hd_option *o = tables.table[t]; o->name; o++)
            if (!o->hidden && !o->gone) widest = wider(widest, strlen(form_of(o, form, sizeof form)));
    const char *group = "";
    for (int t = 0; t < 2; t++)
        for (const hd_option *o = tables.table[t]; o->name; o++) {
            if (o->hidden || o->gone) continue;
            if (strcmp(group, hd_page_group(o))) heading(to, group = hd_page_group(o));
            row(to, form_of(o, form, sizeof form), hd_option_help(o, help, sizeof help),
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

void hd_page_help(const hd_terminal *to, const hd_verb *v)
{
    const char *operands = v->usage->operands;
    hd_title title;
    fprintf(to->file, "%sUsage:%s %s [OPTION]...%s%s\n\n", hd_terminal_bold(to), hd_terminal_plain(to),
            hd_verb_title(v, ' ', &title), operands ? " " : "", operands ? operands : "");
    wrap(to, v->usage->about, 0, 0);
    if (v == &hd_program) show_verbs(to);
    show_options(to, v);
    show_examples(to, v->usage->examples);
}

const hd_usage hd_verb_help_usage = {
    .operands = "[VERB]",
    .most = 1,
    .about = "Shows what a verb does and every option it takes; without VERB, the list of verbs.",
    .options = hd_no_options,
};

int hd_verb_help(const hd_command *c)
{
    hd_err err = {0};
    const hd_verb *v = c->operands.count ? hd_verb_find(c->operands.word[0], &err) : &hd_program;
    if (!v) return hd_verb_misused(&hd_program, &err);
    hd_page_help(&c->out, v);
    return HD_EXIT_OK;
}
