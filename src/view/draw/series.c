/* The series, laid out and drawn. The axis upward begins near the least number, not at 0. A line that others
   lie on is wider than they are. */
#include "view/draw/series.h"

#include <math.h>
#include <string.h>

#include "view/plot.h"
#include "view/draw/markup.h"

static const double margin = HD_PLOT_MARGIN, gap = HD_PLOT_GAP, letters = HD_PLOT_LETTERS,
                    small = HD_PLOT_SMALL, large = HD_PLOT_LARGE;
static const double row_height = 18, width = 640, height = 340, longest_label = 480, mark = 6, thin = 1.2,
                    wide = 2.4, border = 1.6, dash = 6;

enum { MOST_COLUMNS = 400, MOST_ROWS = 100, NUMBERS = 9, LETTERS = 26 };

/* -- axes -- */

/* A number as it stands on an axis; not finite where it has no place there. */
static double placed(double v, bool by_powers)
{
    return by_powers ? log10(v) : v;
}

static double x_at(const hd_series_plot *v, const hd_series *s, size_t k)
{
    return placed(s->x[k], v->log_x);
}

static double y_at(const hd_series_plot *v, const hd_series *s, size_t k)
{
    return placed(s->y[k], v->log_y);
}

static void range_of(const double *n, size_t count, bool by_powers, double *low, double *high)
{
    for (size_t i = 0; n && i < count; i++) {
        double at = placed(n[i], by_powers);
        if (isfinite(at)) *low = fmin(*low, at), *high = fmax(*high, at);
    }
}

/* From one line of an axis by powers to the next: powers of two or four where they are few and can be read as
   whole numbers or short fractions, of ten otherwise. */
static double power_step(double low, double high)
{
    const double range = high - low, double_up = log10(2);
    if (low < -1.35 || high > 3.5 || range > 3) return fmax(1, ceil(range / 8));
    return range < 1.7 ? double_up : 2 * double_up;
}

static void round_out(double *low, double *high, double *step, bool by_powers)
{
    if (*low > *high) *low = 0, *high = 1;
    if (*high - *low < 1e-9 * fmax(1, fabs(*high))) *low -= 0.5, *high += 0.5;
    *step = by_powers ? power_step(*low, *high) : hd_plot_step(*high - *low);
    *low = floor(*low / *step + 1e-9) * *step;
    *high = ceil(*high / *step - 1e-9) * *step;
}

static void find_ranges(hd_series_plot *v)
{
    v->x_low = v->y_low = (double)INFINITY, v->x_high = v->y_high = -(double)INFINITY;
    for (size_t i = 0; i < v->count; i++) {
        const hd_series *s = &v->series[i];
        range_of(s->x, s->count, v->log_x, &v->x_low, &v->x_high);
        range_of(s->y, s->count, v->log_y, &v->y_low, &v->y_high);
        range_of(s->low, s->count, v->log_y, &v->y_low, &v->y_high);
        range_of(s->high, s->count, v->log_y, &v->y_low, &v->y_high);
    }
    if (v->x_low > 0 && !v->log_x) v->x_low = 0;
    round_out(&v->x_low, &v->x_high, &v->x_step, v->log_x);
    round_out(&v->y_low, &v->y_high, &v->y_step, v->log_y);
}

/* What stands at a line of an axis. */
static const char *number_of(double n, double step, bool by_powers, char buf[HD_DECIMAL])
{
    if (by_powers) return hd_decimal(buf, fabs(n) < 4.5 ? "%.6g" : "%.0e", pow(10, n));
    return hd_decimal(buf, fabs(n) < 1e6 ? "%.6g" : "%.3g", fabs(n) < step / 2 ? 0 : n);
}

static int lines_of(double low, double high, double step)
{
    return (int)lround((high - low) / step);
}

/* -- a drawing -- */

static double top_of(const hd_series_plot *v)
{
    return margin + large + gap + (double)v->count * row_height + gap + small + gap;
}

static double x_of(const hd_series_plot *v, double x)
{
    return v->left + (x - v->x_low) / (v->x_high - v->x_low) * width;
}

static double y_of(const hd_series_plot *v, double y)
{
    return top_of(v) + height - (y - v->y_low) / (v->y_high - v->y_low) * height;
}

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    hd_series_plot *v = d->context;
    char label[HD_LABEL], number[HD_DECIMAL];
    double numbers = 0, names = c->width(c->context, v->title, large, true);
    find_ranges(v);
    for (int i = 0; i <= lines_of(v->y_low, v->y_high, v->y_step); i++) {
        const char *n = number_of(v->y_low + i * v->y_step, v->y_step, v->log_y, number);
        numbers = fmax(numbers, c->width(c->context, n, small, false));
    }
    for (size_t i = 0; i < v->count; i++)
        names = fmax(names, 4 * gap + hd_plot_label(c, v->series[i].name, letters, longest_label, label));
    v->left = margin + numbers + gap;
    d->width = ceil(fmax(v->left + width + 2 * margin, names + 2 * margin));
    d->height = ceil(top_of(v) + height + gap + small + gap + small + margin);
}

/* -- lines -- */

/* Whether two lines are the same to the eye for a quarter of their way or more. */
static bool coincide(const hd_series_plot *v, const hd_series *a, const hd_series *b)
{
    bool before = false;
    size_t parts = 0;
    if (a->strong != b->strong || a->color == b->color) return false;
    for (size_t k = 0; k < a->count && k < b->count; k++) {
        double dx = x_of(v, x_at(v, a, k)) - x_of(v, x_at(v, b, k)),
               dy = y_of(v, y_at(v, a, k)) - y_of(v, y_at(v, b, k));
        bool here = fabs(dx) < 1 && fabs(dy) < wide;
        parts += here && before;
        before = here;
    }
    return parts && 4 * parts >= a->count;
}

/* What draws a series: wider by what lies on it, so that all are seen; in dashes and with crosses where an
   earlier one has its color. */
typedef struct hand {
    const hd_canvas *c;
    double wide, mark;
    hd_color color;
    bool again;   /* the color */
    double along; /* how far it has come */
} hand;

static hand hand_of(const hd_series_plot *v, const hd_canvas *c, size_t i)
{
    const hd_series *s = &v->series[i];
    double above = 0;
    for (size_t k = i + 1; k < v->count; k++) above += coincide(v, s, &v->series[k]);
    return (hand){.c = c,
                  .wide = (s->strong ? wide : thin) + above * border,
                  .mark = mark + above * border,
                  .color = hd_plot_color(s->color),
                  .again = s->color >= HD_PLOT_COLORS};
}

static void draw_to(hand *h, double x, double y, double to_x, double to_y)
{
    const double length = hypot(to_x - x, to_y - y), end = h->along + length;
    if (!h->again || length <= 0) {
        h->c->line(h->c->context, &(hd_canvas_line){x, y, to_x, to_y, h->wide, h->color});
        return;
    }
    const double dx = (to_x - x) / length, dy = (to_y - y) / length;
    for (double at = floor(h->along / (2 * dash)) * 2 * dash; at < end; at += 2 * dash) {
        double from = fmax(at, h->along) - h->along, to = fmin(at + dash, end) - h->along;
        if (to > from)
            h->c->line(h->c->context, &(hd_canvas_line){x + dx * from, y + dy * from, x + dx * to,
                                                        y + dy * to, h->wide, h->color});
    }
    h->along = end;
}

static void draw_mark(const hand *h, double x, double y, const char *tip)
{
    const double r = h->mark / 2;
    if (!h->again) {
        h->c->rect(h->c->context, &(hd_canvas_rect){x - r, y - r, h->mark, h->mark, h->color, tip});
        return;
    }
    h->c->line(h->c->context, &(hd_canvas_line){x - r, y - r, x + r, y + r, wide, h->color});
    h->c->line(h->c->context, &(hd_canvas_line){x - r, y + r, x + r, y - r, wide, h->color});
}

static void draw_legend(const hd_series_plot *v, const hd_canvas *c)
{
    for (size_t i = 0; i < v->count; i++) {
        const hd_series *s = &v->series[i];
        char label[HD_LABEL];
        double y = margin + large + gap + ((double)i + 0.5) * row_height;
        hd_plot_label(c, s->name, letters, longest_label, label);
        hand h = hand_of(v, c, i);
        if (s->count == 1)
            draw_mark(&h, margin + 1.5 * gap, y, NULL);
        else
            draw_to(&h, margin, y, margin + 3 * gap, y);
        hd_plot_write(c, (hd_canvas_text){.x = margin + 4 * gap,
                                          .y = y + letters * 0.36,
                                          .size = letters,
                                          .color = hd_plot_ink,
                                          .text = label,
                                          .tip = c->tips ? s->name : NULL});
    }
}

static void draw_axes(const hd_series_plot *v, const hd_canvas *c)
{
    char number[HD_DECIMAL];
    double top = top_of(v), bottom = top + height;
    for (int i = 0; i <= lines_of(v->y_low, v->y_high, v->y_step); i++) {
        double n = v->y_low + i * v->y_step, y = y_of(v, n);
        c->rect(c->context, &(hd_canvas_rect){v->left, y, width, 1, hd_plot_grid, NULL});
        hd_plot_write(c, (hd_canvas_text){.x = v->left - gap,
                                          .y = y + small * 0.36,
                                          .size = small,
                                          .anchor = HD_ANCHOR_END,
                                          .color = hd_plot_faint,
                                          .text = number_of(n, v->y_step, v->log_y, number)});
    }
    for (int i = 0; i <= lines_of(v->x_low, v->x_high, v->x_step); i++) {
        double n = v->x_low + i * v->x_step, x = x_of(v, n);
        c->rect(c->context, &(hd_canvas_rect){x, top, 1, height, hd_plot_grid, NULL});
        hd_plot_write(c, (hd_canvas_text){.x = x,
                                          .y = bottom + gap + small * 0.8,
                                          .size = small,
                                          .anchor = HD_ANCHOR_MIDDLE,
                                          .color = hd_plot_faint,
                                          .text = number_of(n, v->x_step, v->log_x, number)});
    }
    hd_canvas_text name = {.x = v->left, .size = small, .color = hd_plot_faint, .text = v->upward};
    name.y = top - gap;
    hd_plot_write(c, name);
    name.y = bottom + gap + small + gap + small * 0.8, name.text = v->across;
    hd_plot_write(c, name);
}

static void draw_spread(const hd_series_plot *v, const hd_canvas *c, const hd_series *s, size_t k, double x)
{
    double low = placed(s->low[k], v->log_y), high = placed(s->high[k], v->log_y);
    if (!isfinite(high)) return;
    if (!isfinite(low)) low = v->y_low; /* it reaches beyond the axis */
    c->line(c->context, &(hd_canvas_line){x, y_of(v, low), x, y_of(v, high), thin, hd_plot_color(s->color)});
}

static void draw_series(const hd_series_plot *v, const hd_canvas *c, size_t i)
{
    const hd_series *s = &v->series[i];
    hand h = hand_of(v, c, i);
    char tip[HD_DECIMAL];
    bool joined = false;
    double before_x = 0, before_y = 0;
    for (size_t k = 0; k < s->count; k++) {
        if (!isfinite(x_at(v, s, k)) || !isfinite(y_at(v, s, k))) {
            joined = false;
            continue;
        }
        double x = x_of(v, x_at(v, s, k)), y = y_of(v, y_at(v, s, k));
        if (joined) draw_to(&h, before_x, before_y, x, y);
        joined = true, before_x = x, before_y = y;
        if (s->low) draw_spread(v, c, s, k, x);
        if (s->strong || s->count == 1)
            draw_mark(&h, x, y, c->tips ? hd_decimal(tip, "%.6g", s->y[k]) : NULL);
    }
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_series_plot *v = d->context;
    (void)err;
    hd_plot_begin(d, c, v->title);
    draw_legend(v, c);
    draw_axes(v, c);
    for (int strong = 0; strong < 2; strong++)
        for (size_t i = 0; i < v->count; i++)
            if (v->series[i].strong == strong) draw_series(v, c, i);
    return HD_OK;
}

hd_drawing hd_series_drawing(hd_series_plot *v)
{
    return (hd_drawing){.lay_out = lay_out, .draw = draw, .context = v, .title = v->title};
}

/* -- text -- */

static char letter_of(const hd_series *s)
{
    return (char)((s->strong ? 'A' : 'a') + (int)(s->color % LETTERS));
}

/* y at x between two points that follow each other; NaN where the series has none there. */
static double at(const hd_series_plot *v, const hd_series *s, double x)
{
    for (size_t k = 0; k < s->count; k++) {
        double here = x_at(v, s, k), y = y_at(v, s, k);
        if (!isfinite(y)) continue;
        if (here >= x && here <= x) return y;
        if (!k || !isfinite(y_at(v, s, k - 1)) || x_at(v, s, k - 1) > x || here < x) continue;
        return y + (y_at(v, s, k - 1) - y) * (here - x) / (here - x_at(v, s, k - 1));
    }
    return (double)NAN;
}

static int row_of(const hd_series_plot *v, double y, int rows)
{
    int row = (int)lround((v->y_high - y) / (v->y_high - v->y_low) * (rows - 1));
    return row < 0 ? 0 : row >= rows ? rows - 1 : row;
}

typedef char grid[MOST_ROWS][MOST_COLUMNS + 1];

/* The series passes through a cell of each column that it has a number in. */
static void mark_series(grid g, const hd_series_plot *v, const hd_series *s, int rows, int columns)
{
    double apart = (v->x_high - v->x_low) / (columns - 1);
    for (int c = 0; c < columns; c++) {
        double x = v->x_low + c * apart, y = at(v, s, x);
        for (size_t k = 0; isnan(y) && k < s->count; k++) /* a point that stands alone */
            if (fabs(x_at(v, s, k) - x) <= apart / 2) y = y_at(v, s, k);
        if (isfinite(y)) g[row_of(v, y, rows)][c] = letter_of(s);
    }
}

static void put_row(hd_text_pen *p, const hd_series_plot *v, char *line, int row, int rows)
{
    char number[HD_DECIMAL];
    double n = v->y_high - (v->y_high - v->y_low) * row / (rows - 1);
    n = v->log_y ? pow(10, n) : fabs(n) < 1e-12 ? 0 : n;
    if (row % 4 == 0 || row == rows - 1)
        hd_text_pen_put_to(p, NUMBERS, HD_INK_DIM, hd_decimal(number, v->log_y ? "%.1e" : "%.4g", n));
    hd_text_pen_put_at(p, NUMBERS + 1, HD_INK_DIM, "|");
    size_t end = strlen(line);
    while (end && line[end - 1] == ' ') end--;
    line[end] = 0;
    if (end) hd_text_pen_put_at(p, NUMBERS + 2, HD_INK_PLAIN, line);
    hd_text_pen_end(p);
}

void hd_series_text(hd_text_pen *p, hd_series_plot *v, int rows)
{
    char number[HD_DECIMAL], name[3] = "? ";
    grid g = {""};
    int columns = p->width - NUMBERS - 2;
    if (columns > MOST_COLUMNS) columns = MOST_COLUMNS;
    if (columns < 10) columns = 10;
    find_ranges(v);
    hd_text_pen_put(p, HD_INK_BOLD, v->title);
    hd_text_pen_end(p);
    for (size_t i = 0; i < v->count; i++) {
        name[0] = letter_of(&v->series[i]);
        hd_text_pen_put(p, HD_INK_BOLD, name);
        hd_text_pen_put(p, HD_INK_PLAIN, v->series[i].name);
        hd_text_pen_end(p);
    }
    if (rows > MOST_ROWS) rows = MOST_ROWS;
    for (int r = 0; r < rows; r++) memset(g[r], ' ', (size_t)columns);
    for (int strong = 0; strong < 2; strong++)
        for (size_t i = 0; i < v->count; i++)
            if (v->series[i].strong == strong) mark_series(g, v, &v->series[i], rows, columns);
    for (int r = 0; r < rows; r++) put_row(p, v, g[r], r, rows);
    hd_text_pen_put_at(p, NUMBERS + 1, HD_INK_DIM, number_of(v->x_low, v->x_step, v->log_x, number));
    hd_text_pen_put_at(p, NUMBERS + 2 + columns / 3, HD_INK_DIM, v->across);
    hd_text_pen_put_to(p, NUMBERS + 2 + columns, HD_INK_DIM,
                       number_of(v->x_high, v->x_step, v->log_x, number));
    hd_text_pen_end(p);
}
