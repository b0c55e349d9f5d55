/* Scores as people read them. */
#include "metric/figure.h"

void hd_figure_put(hd_text *to, const hd_figure *f, const char *before)
{
    if (f->share)
        hd_text_print(to, "%s%s %.2f %%", before, f->title, 100 * f->value);
    else
        hd_text_print(to, "%s%s %.*f", before, f->title, f->places ? f->places : 4, f->value);
}
