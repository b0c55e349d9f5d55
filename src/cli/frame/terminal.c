/* Terminal facts and the stderr log. */
#include "cli/frame/verb.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { NARROWEST = 40, UNKNOWN = 80, WIDEST = 100 };

static int width_of(int fd)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    int width = 0;
    if (isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size)) width = size.ws_col;
    if (!width && columns) width = atoi(columns);
    if (width <= 0) return UNKNOWN;
    return width < NARROWEST ? NARROWEST : width > WIDEST ? WIDEST : width;
}

hd_terminal hd_terminal_of(FILE *file)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool is_terminal = isatty(fileno(file));
    bool refused = (no_color && *no_color) || (term && !strcmp(term, "dumb"));
    return (hd_terminal){file, is_terminal, is_terminal && !refused, width_of(fileno(file))};
}

const char *hd_terminal_bold(const hd_terminal *t)
{
    return t->color ? "\033[1m" : "";
}

const char *hd_terminal_plain(const hd_terminal *t)
{
    return t->color ? "\033[0m" : "";
}

/* One call a message: lines of several threads do not mix. */
static void write_log(void *context, hd_level level, const char *text)
{
    const hd_terminal *t = context;
    if (level == HD_INFO)
        fprintf(t->file, "heed: %s\n", text);
    else
        fprintf(t->file, "heed: %s%s%s: %s\n", hd_terminal_bold(t), hd_level_name(level),
                hd_terminal_plain(t), text);
}

hd_log hd_terminal_log(const hd_terminal *err, hd_level most)
{
    return (hd_log){write_log, (void *)err, most};
}

bool hd_terminal_utf8(void)
{
    locale_t l = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (!l) return false;
    bool yes = !strcmp(nl_langinfo_l(CODESET, l), "UTF-8");
    freelocale(l);
    return yes;
}
