/* Completion scripts for bash, zsh and fish. What an option's value or a verb's operands are completed with
   follows from the tables: choices, files, or for "[VERB]" the verbs. */
#include <string.h>

#include "cli/frame/page.h"

const char *const hd_shells[] = {"bash", "zsh", "fish", NULL};

static void each_option(FILE *to, const hd_verb *v, hd_page_option *show)
{
    const hd_terminal out = {.file = to};
    hd_page_each(&(hd_page){.to = &out, .verb = v}, show);
}

static void put_verbs(FILE *to)
{
    for (const hd_verb *v = hd_verbs; v->name; v++) fprintf(to, "%s%s", v == hd_verbs ? "" : " ", v->name);
}

static void put_choices(FILE *to, const char *before, const hd_option *o, const char *after)
{
    if (o->type != HD_OPTION_CHOICE) return;
    fputs(before, to);
    for (int i = 0; o->choices[i]; i++) fprintf(to, "%s%s", i ? " " : "", o->choices[i]);
    fputs(after, to);
}

/* Of an option of two files: the second has the option one word further back. */
static bool takes_second_file(const hd_option *o)
{
    return o->type == HD_OPTION_FILE && o->most > 1;
}

/* text inside single quotes, `special` characters behind a backslash; a quote as the shell wants it */
static void put_quoted(FILE *to, const char *text, const char *special, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'') {
            fputs(quote, to);
            continue;
        }
        if (strchr(special, *text)) fputc('\\', to);
        fputc(*text, to);
    }
}

static bool takes_verb(const hd_verb *v)
{
    return v->usage->operands && !strncmp(v->usage->operands, "[VERB", 5);
}

static bool takes_files(const hd_verb *v)
{
    return v->usage->operands && !takes_verb(v);
}

/* ---- bash ---- */

static const char *bash_name(const hd_verb *v)
{
    return v == &hd_program ? "" : v->name;
}

static void bash_word(hd_page *p, const hd_option *o)
{
    fprintf(p->to->file, " --%s", o->name);
    if (o->letter) fprintf(p->to->file, " -%c", o->letter);
}

/* The words before the one that is completed. */
static void bash_case(const hd_page *p, const char *indent, const hd_option *o)
{
    fprintf(p->to->file, "%s'%s --%s'", indent, bash_name(p->verb), o->name);
    if (o->letter) fprintf(p->to->file, " | '%s -%c'", bash_name(p->verb), o->letter);
    fputs(o->type == HD_OPTION_FILE ? ") files=1" : ")", p->to->file);
    put_choices(p->to->file, " words='", o, "'");
    fputs(" ;;\n", p->to->file);
}

static void bash_value(hd_page *p, const hd_option *o)
{
    if (o->type != HD_OPTION_FLAG) bash_case(p, "    ", o);
}

static void bash_second(hd_page *p, const hd_option *o)
{
    if (takes_second_file(o)) bash_case(p, "        ", o);
}

static void bash_verb(FILE *to, const hd_verb *v)
{
    fprintf(to, "        '%s') words='", bash_name(v));
    if (v == &hd_program || takes_verb(v)) put_verbs(to);
    each_option(to, v, bash_word);
    fprintf(to, "'%s ;;\n", v != &hd_program && takes_files(v) ? " files=1" : "");
}

static void bash(FILE *to)
{
    fputs("# bash completion of heed, written by heed itself\n"
          "_heed()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local verb='' words='' files='' i\n"
          "    if [[ $cur == '=' ]]; then cur=''; fi\n"
          "    if [[ $prev == '=' ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        if [[ ${COMP_WORDS[i]} != -* ]]; then verb=${COMP_WORDS[i]}; break; fi\n"
          "    done\n"
          "    case \"$verb $prev\" in\n",
          to);
    each_option(to, &hd_program, bash_value);
    for (const hd_verb *v = hd_verbs; v->name; v++) each_option(to, v, bash_value);
    fputs("    *)\n        case $verb in\n", to);
    bash_verb(to, &hd_program);
    for (const hd_verb *v = hd_verbs; v->name; v++) bash_verb(to, v);
    fputs("        esac\n        case \"$verb ${COMP_WORDS[COMP_CWORD > 1 ? COMP_CWORD - 2 : 0]}\" in\n", to);
    for (const hd_verb *v = hd_verbs; v->name; v++) each_option(to, v, bash_second);
    fputs("        esac ;;\n    esac\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
          "    if [[ $files && $cur != -* ]]; then\n"
          "        compopt -o filenames\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
          "    fi\n}\n"
          "complete -F _heed heed\n",
          to);
}

/* ---- zsh ---- */

static void zsh_option(hd_page *p, const hd_option *o)
{
    FILE *to = p->to->file;
    bool flag = o->type == HD_OPTION_FLAG;
    fputs(" \\\n            '", to);
    if (o->letter) fprintf(to, "(-%c --%s)'{-%c%s,", o->letter, o->name, o->letter, flag ? "" : "+");
    fprintf(to, "--%s%s%s[", o->name, flag ? "" : "=", o->letter ? "}'" : "");
    put_quoted(to, o->help, "[]\\", "'\\''");
    fputc(']', to);
    if (!flag) fprintf(to, ":%s:", o->argument);
    if (o->type == HD_OPTION_FILE) fputs("_files", to);
    if (takes_second_file(o)) fprintf(to, "::%s:_files", o->argument);
    put_choices(to, "(", o, ")");
    fputc('\'', to);
}

static void zsh(FILE *to)
{
    fputs("#compdef heed\n# zsh completion of heed, written by heed itself\n"
          "_heed()\n{\n"
          "    local curcontext=$curcontext state line\n"
          "    local -a verbs\n"
          "    typeset -A opt_args\n"
          "    verbs=(\n",
          to);
    for (const hd_verb *v = hd_verbs; v->name; v++) {
        fprintf(to, "        '%s:", v->name);
        put_quoted(to, v->summary, ":\\", "'\\''");
        fputs("'\n", to);
    }
    fputs("    )\n    _arguments -C", to);
    each_option(to, &hd_program, zsh_option);
    fputs(" \\\n            '1:verb:->verb' '*::argument:->rest'\n"
          "    case $state in\n    verb) _describe verb verbs ;;\n    rest)\n        case $words[1] in\n",
          to);
    for (const hd_verb *v = hd_verbs; v->name; v++) {
        fprintf(to, "        %s)\n            _arguments", v->name);
        each_option(to, v, zsh_option);
        if (takes_verb(v)) {
            fputs(" '1:verb:(", to);
            put_verbs(to);
            fputs(")'", to);
        } else if (takes_files(v))
            fputs(" '*:file:_files'", to);
        fputs(" ;;\n", to);
    }
    fputs("        esac ;;\n    esac\n}\n\n_heed \"$@\"\n", to);
}

/* ---- fish ---- */

static void fish_start(FILE *to, const hd_verb *v)
{
    if (v == &hd_program)
        fputs("complete -c heed -n __fish_use_subcommand", to);
    else
        fprintf(to, "complete -c heed -n '__fish_seen_subcommand_from %s'", v->name);
}

static void fish_option(hd_page *p, const hd_option *o)
{
    FILE *to = p->to->file;
    fish_start(to, p->verb);
    if (o->letter) fprintf(to, " -s %c", o->letter);
    fprintf(to, " -l %s", o->name);
    if (o->type != HD_OPTION_FLAG) fputs(o->type == HD_OPTION_FILE ? " -r -F" : " -x", to);
    put_choices(to, " -a '", o, "'");
    fputs(" -d '", to);
    put_quoted(to, o->help, "\\", "\\'");
    fputs("'\n", to);
}

static void fish_second(hd_page *p, const hd_option *o)
{
    FILE *to = p->to->file;
    if (!takes_second_file(o)) return;
    fprintf(
        to,
        "complete -c heed -n '__fish_seen_subcommand_from %s; and contains -- (commandline -opc)[-2] --%s",
        p->verb->name, o->name);
    if (o->letter) fprintf(to, " -%c", o->letter);
    fputs("' -F\n", to);
}

static void fish(FILE *to)
{
    fputs("# fish completion of heed, written by heed itself\ncomplete -c heed -f\n", to);
    each_option(to, &hd_program, fish_option);
    for (const hd_verb *v = hd_verbs; v->name; v++) {
        fish_start(to, &hd_program);
        fprintf(to, " -a %s -d '", v->name);
        put_quoted(to, v->summary, "\\", "\\'");
        fputs("'\n", to);
        each_option(to, v, fish_option);
        each_option(to, v, fish_second);
        if (takes_verb(v)) {
            fish_start(to, v);
            fputs(" -a '", to);
            put_verbs(to);
            fputs("'\n", to);
        } else if (takes_files(v)) {
            fish_start(to, v);
            fputs(" -F\n", to);
        }
    }
}

void hd_page_completion(const hd_terminal *to, int shell)
{
    static void (*const write[])(FILE *) = {bash, zsh, fish};
    write[shell](to->file);
}
