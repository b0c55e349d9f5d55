/* What plots share: their files, sizes, colors and labels, the lines of an axis. */
#ifndef HD_VIEW_PLOT_H
#define HD_VIEW_PLOT_H

#include "view/draw/drawing.h"
#include "view/draw/label.h"

/* Pixels: around a plot, between its parts; letters of names, of an axis, of the title. */
enum { HD_PLOT_MARGIN = 20, HD_PLOT_GAP = 8, HD_PLOT_LETTERS = 12, HD_PLOT_SMALL = 11, HD_PLOT_LARGE = 15 };

/* Whether a plot can be written to this file: HD_EARG for an ending that is none of .svg, .png and .pdf,
   HD_EMISSING where this build cannot write it, HD_EFILE where the folder cannot be written to. */
hd_status hd_plot_check(const char *path, hd_err *err);
hd_status hd_plot_save(const char *path, hd_drawing *d, hd_err *err);

/* A name in letters of that size, cut to `most`, into buf; returns its width. */
double hd_plot_label(const hd_canvas *c, const char *text, double size, double most, char buf[HD_LABEL]);
void hd_plot_write(const hd_canvas *c, hd_canvas_text t);
/* Paper, and the title at the top. */
void hd_plot_begin(const hd_drawing *d, const hd_canvas *c, const char *title);

/* A round number: the distance of at most eight lines over a range. */
double hd_plot_step(double range);

extern const hd_color hd_plot_paper, hd_plot_ink, hd_plot_faint, hd_plot_grid;
/* Of what is drawn first, second, ...; they come again after the last. */
enum { HD_PLOT_COLORS = 8 };
hd_color hd_plot_color(size_t number);

#endif
