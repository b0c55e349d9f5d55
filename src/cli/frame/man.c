/* Manual pages in roff (the man macros), made when heed is built. */
#include <ctype.h>

#include "base/mem.h"
#include "cli/frame/page.h"
#include "heed.h"

/* Text inside a line: a dash stays a dash to copy, a backslash a backslash. */
static void put(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", to);
        else if (*text == '\\')
            fputs("\\e", to);
        else if (*text == '\'')
            fputs("\\(aq", to);
        else if (*text == '\n')
            fputs("\n.PP\n", to);
        else
            fputc(*text, to);
    }
}

/* A line of its own; one that starts with a dot would be a request. */
static void line(FILE *to, const char *text)
{
    fputs(*text == '.' ? "\\&" : "", to);
    put(to, text);
    fputc('\n', to);
}

static void upper(FILE *to, const char *text)
{
    for (; *text; text++) fputc(toupper((unsigned char)*text), to);
}

static void section(FILE *to, const char *title)
{
    fputs(".SH ", to);
    upper(to, title);
    fputc('\n', to);
}

static void write_option(hd_page *p, const hd_option *o)
{
    FILE *to = p->to->file;
    char help[600];
    if (p->heading) section(to, p->heading);
    fputs(".TP\n", to);
    if (o->letter) fprintf(to, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", to);
    put(to, o->name);
    fputs("\\fR", to);
    if (o->argument) fprintf(to, " \\fI%s\\fR", o->argument);
    if (o->most == 2) fprintf(to, " [\\fI%s\\fR]", o->argument);
    if (o->most > 2) fputs("...", to);
    fputc('\n', to);
    line(to, hd_option_help(o, p->fallback, help, sizeof help));
}

static void show_synopsis(FILE *to, const hd_verb *v, const char *title)
{
    section(to, "Synopsis");
    fprintf(to, ".B %s\n[\\fIOPTION\\fR]...%s%s\n", title, v->usage->operands ? " " : "",
            v->usage->operands ? v->usage->operands : "");
}

static void show_verbs(FILE *to)
{
    section(to, "Verbs");
    for (const hd_verb *v = hd_verbs; v->name; v++) {
        fprintf(to, ".TP\n\\fB%s\\fR\n", v->name);
        line(to, v->summary);
    }
}

static void show_examples(FILE *to, const hd_example *e)
{
    if (!e) return;
    section(to, "Examples");
    for (; e->command; e++) {
        fputs(".TP\n.B ", to);
        line(to, e->command);
        line(to, e->help);
    }
}

static void show_rest(FILE *to, const hd_verb *of)
{
    section(to, "Exit status");
    fputs(
        "0 for success, 1 for a failure, 2 for wrong usage, 128 + N for a training that signal N stopped.\n",
        to);
    section(to, "Environment");
    fputs(".TP\n.B NO_COLOR\nIf set and not empty, nothing is colored.\n", to);
    fputs(
        ".TP\n.B HEED_CPU\nInstructions to compute with on the CPU, separated by commas, of those that 'heed "
        "info \\-\\-devices' can name; the fastest without it. Bits are the same for the same "
        "instructions. HEED_ISA is its former name.\n",
        to);
    section(to, "See also");
    if (of != &hd_program) fputs(".BR heed (1)", to);
    for (const hd_verb *v = hd_verbs; v->name; v++)
        if (v != of)
            fprintf(to, "%s.BR heed\\-%s (1)", v == hd_verbs && of == &hd_program ? "" : ",\n", v->name);
    fputc('\n', to);
}

static void write_page(hd_page *p)
{
    FILE *to = p->to->file;
    const hd_verb *v = p->verb;
    hd_title title;
    hd_verb_title(v, '-', &title);
    fputs(".TH ", to);
    upper(to, title.text);
    fprintf(to, " 1 \"\" \"heed %s\" \"heed manual\"\n", heed_version());
    section(to, "Name");
    put(to, title.text);
    fputs(" \\- ", to);
    line(to, v->summary);
    show_synopsis(to, v, hd_verb_title(v, ' ', &title));
    section(to, "Description");
    line(to, v->usage->about);
    if (v == &hd_program) show_verbs(to);
    hd_page_each(p, write_option);
    show_examples(to, v->usage->examples);
    show_rest(to, v);
}

hd_status hd_page_man(const hd_terminal *to, const hd_verb *v, hd_err *err)
{
    hd_page page = {.to = to, .verb = v};
    hd_status s = hd_page_rows(&page, NULL, err);
    if (!s) write_page(&page);
    hd_mem_free(page.rows);
    return s;
}
