/* A pen for lines of text. */
#include "view/draw/text_pen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

static const char *const codes[] = {
    [HD_INK_PLAIN] = "",
    [HD_INK_BOLD] = "\033[1m",
    [HD_INK_DIM] = "\033[2m",
    [HD_INK_GOOD] = "\033[32m",
    [HD_INK_SHADE] = "\033[38;5;252;48;5;235m",
    "\033[38;5;255;48;5;23m",
    "\033[38;5;255;48;5;24m",
    "\033[38;5;255;48;5;31m",
    "\033[38;5;16;48;5;74m",
    "\033[38;5;16;48;5;117m",
};

/* How formulas are written, and how they look in UTF-8. */
static const struct {
    const char *plain, *utf8;
} signs[] = {{" . ", " · "}, {"^T", "ᵀ"}, {"sqrt(6)", "√6"},         {" x ", " × "},
             {"-inf", "-∞"}, {"->", "→"}, {"d loss / d ", "∂loss/∂"}};

int hd_text_pen_columns(const char *s)
{
    int n = 0;
    for (const uint8_t *at = (const uint8_t *)s; *at;) {
        utf8proc_int32_t point;
        utf8proc_ssize_t used = utf8proc_iterate(at, -1, &point);
        n += used > 0 ? utf8proc_charwidth(point) : 1;
        at += used > 0 ? used : 1;
    }
    return n;
}

void hd_text_pen_widen(int *width, const char *s)
{
    int n = hd_text_pen_columns(s);
    if (n > *width) *width = n;
}

static void take_ink(hd_text_pen *p, hd_ink ink)
{
    if (!p->color || ink == p->now) return;
    if (p->now != HD_INK_PLAIN) hd_text_put(p->to, "\033[0m");
    hd_text_put(p->to, codes[ink]);
    p->now = ink;
}

void hd_text_pen_put(hd_text_pen *p, hd_ink ink, const char *s)
{
    if (!*s) return;
    if (p->next > p->at) {
        if (p->now >= HD_INK_SHADE) take_ink(p, HD_INK_PLAIN); /* gaps have no background */
        hd_text_print(p->to, "%*s", p->next - p->at, "");
        p->at = p->next;
    }
    take_ink(p, ink);
    hd_text_put(p->to, s);
    p->at = p->next = p->at + hd_text_pen_columns(s);
}

void hd_text_pen_put_at(hd_text_pen *p, int column, hd_ink ink, const char *s)
{
    p->next = column;
    hd_text_pen_put(p, ink, s);
}

void hd_text_pen_put_to(hd_text_pen *p, int end, hd_ink ink, const char *s)
{
    hd_text_pen_put_at(p, end - hd_text_pen_columns(s), ink, s);
}

void hd_text_pen_end(hd_text_pen *p)
{
    take_ink(p, HD_INK_PLAIN);
    hd_text_put(p->to, "\n");
    p->at = p->next = 0;
}

const char *hd_text_pen_signs(const hd_text_pen *p, const char *s, char *buf, size_t size)
{
    size_t at = 0, known = p->utf8 ? sizeof signs / sizeof *signs : 0;
    while (*s && at + 8 < size) { /* room for the longest sign */
        size_t i = 0;
        while (i < known && strncmp(s, signs[i].plain, strlen(signs[i].plain))) i++;
        if (i < known) {
            at += (size_t)snprintf(buf + at, size - at, "%s", signs[i].utf8);
            s += strlen(signs[i].plain);
        } else {
            buf[at++] = *s++;
        }
    }
    buf[at] = 0;
    return buf;
}

const char *hd_text_pen_number(const hd_text_pen *p, double v, int digits, char *buf, size_t size)
{
    if (isinf(v) && v < 0) return hd_text_pen_signs(p, "-inf", buf, size);
    snprintf(buf, size, "%.*f", digits, v);
    return *buf == '-' && !buf[strspn(buf, "-0.")] ? buf + 1 : buf;
}

void hd_text_pen_words(hd_text_pen *p, hd_ink ink, const char *s)
{
    while (*s) {
        char word[64], buf[80];
        int length = (int)strcspn(s, " ");
        snprintf(word, sizeof word, "%.*s", length, s);
        if (p->at && p->at + 1 + length > p->width) hd_text_pen_end(p);
        hd_text_pen_put_at(p, p->at ? p->at + 1 : 0, ink, hd_text_pen_signs(p, word, buf, sizeof buf));
        s += length;
        s += strspn(s, " ");
    }
}

void hd_text_pen_paragraph(hd_text_pen *p, const char *s)
{
    hd_text_pen_words(p, HD_INK_PLAIN, s);
    hd_text_pen_end(p);
}

void hd_text_pen_heading(hd_text_pen *p, const char *part, const char *title)
{
    const char *dash = p->utf8 ? "─" : "-";
    if (p->to->size) hd_text_pen_end(p);
    for (int i = 0; i < 2; i++) hd_text_pen_put(p, HD_INK_DIM, dash);
    hd_text_pen_words(p, HD_INK_BOLD, part);
    hd_text_pen_words(p, HD_INK_BOLD, title);
    p->next++;
    while (p->next < p->width) hd_text_pen_put(p, HD_INK_DIM, dash);
    hd_text_pen_end(p);
}

/* In eighths of a column where the locale has them. */
void hd_text_pen_bar(hd_text_pen *p, double share, int most)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int n = share > 1 ? most * 8 : share > 0 ? (int)(share * most * 8 + 0.5) : 0;
    for (int i = 0; i < n / 8; i++) hd_text_pen_put(p, HD_INK_PLAIN, p->utf8 ? "█" : "#");
    if (p->utf8) hd_text_pen_put(p, HD_INK_PLAIN, eighths[n % 8]);
}
