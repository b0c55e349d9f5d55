/* The list of experiments, and how one is run. */
#include "lab/experiment.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/system/clock.h"

#define X(name) extern const hd_experiment hd_experiment_##name;
HD_EXPERIMENT_LIST(X)
#undef X

const hd_experiment *const hd_experiments[] = {
#define X(name) &hd_experiment_##name,
    HD_EXPERIMENT_LIST(X)
#undef X
};
const size_t hd_experiment_count = sizeof hd_experiments / sizeof *hd_experiments;

hd_status hd_experiment_run(hd_paper *to, const hd_experiment *x, const hd_lab *lab, hd_err *err)
{
    double begun = hd_seconds();
    char text[96];
    hd_paper_init(to);
    to->name = x->name, to->title = x->title, to->about = x->claim;
    snprintf(text, sizeof text, "lecture %03d, row%s %s", x->lecture, strpbrk(x->rows, ",-") ? "s" : "",
             x->rows);
    to->source = hd_paper_kept(to, text);
    snprintf(text, sizeof text, "heed lab %s", x->name);
    to->command = hd_paper_kept(to, text);
    snprintf(text, sizeof text, "seeds %llu to %llu, %s, on %s", (unsigned long long)lab->seed,
             (unsigned long long)lab->seed + (unsigned long long)lab->seeds - 1,
             lab->full ? "full size" : "small", lab->run->backend->detail);
    to->setting = hd_paper_kept(to, text);
    hd_status s = hd_lab_tell(lab, 0, err);
    if (!s) s = x->run(to, lab, err);
    if (!s) s = hd_paper_status(to, err);
    if (!s) s = hd_lab_tell(lab, 1, err);
    to->seconds = hd_seconds() - begun;
    return s;
}

hd_status hd_lab_tell(const hd_lab *lab, double share, hd_err *err)
{
    if (!lab->tell || lab->tell(lab->context, share)) return HD_OK;
    return hd_err_set(err, HD_ESTOPPED, "stopped");
}

hd_spread hd_spread_of(const double *value, size_t count)
{
    hd_spread s = {0, value[0], value[0]};
    for (size_t i = 0; i < count; i++) {
        s.mean += value[i] / (double)count;
        s.low = fmin(s.low, value[i]), s.high = fmax(s.high, value[i]);
    }
    return s;
}

hd_spread hd_spread_across(const double *first, size_t size, const hd_lab *lab)
{
    double value[HD_LAB_SEEDS] = {0};
    for (int i = 0; i < lab->seeds; i++)
        value[i] = *(const double *)(const void *)((const char *)first + (size_t)i * size);
    return hd_spread_of(value, (size_t)lab->seeds);
}

void hd_spread_line(hd_paper *to, const char *name, const double *x, const hd_spread *y, size_t count)
{
    double part[3][HD_SPREAD_POINTS];
    if (count > HD_SPREAD_POINTS) count = HD_SPREAD_POINTS;
    for (size_t i = 0; i < count; i++) part[0][i] = y[i].mean, part[1][i] = y[i].low, part[2][i] = y[i].high;
    hd_paper_line(to, name,
                  &(hd_series){.x = x, .y = part[0], .low = part[1], .high = part[2], .count = count});
}

void hd_spread_cell(hd_paper *to, const char *format, hd_spread s)
{
    char mean[32], low[32], high[32];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(mean, sizeof mean, format, s.mean);
    snprintf(low, sizeof low, format, s.low);
    snprintf(high, sizeof high, format, s.high);
#pragma GCC diagnostic pop
    if (strcmp(low, high))
        hd_paper_cell(to, "%s (%s to %s)", mean, low, high);
    else
        hd_paper_cell(to, "%s", mean);
}

void hd_spread_percent(hd_paper *to, hd_spread share)
{
    hd_spread_cell(to, "%.0f", (hd_spread){100 * share.mean, 100 * share.low, 100 * share.high});
}
