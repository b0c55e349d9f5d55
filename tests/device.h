/* What the tests of a device above its kernels share: the device, how often it replays, and how numbers are
   compared with the cpu's. HEED_PAIR_DEVICE is the device, "cuda" where it is not set; two more try out the
   tests themselves where there is none: "cpu", which captures nothing, and "replay", a cpu that captures as a
   device does (recorder.h). */
#ifndef DEVICE_H
#define DEVICE_H

#include "check.h"
#include "recorder.h"

CHECK_UNUSED static const char *device_name(void)
{
    const char *name = getenv("HEED_PAIR_DEVICE");
    return name ? name : "cuda";
}

/* Not a device: stands in for one. */
CHECK_UNUSED static bool device_is_cpu(void)
{
    return strcmp(device_name(), "cuda");
}

static hd_status device_open(hd_backend **out, hd_precision p, hd_err *err)
{
    hd_backend_opt opt = {.threads = device_is_cpu() ? 2 : 0, .precision = p};
    hd_status s = hd_backend_new(out, device_is_cpu() ? "cpu" : device_name(), &opt, err);
    if (!s && !strcmp(device_name(), "replay")) recorder_attach(*out);
    return s;
}

/* An instance of its own; the caller's, for hd_backend_free. */
CHECK_UNUSED static hd_backend *device_new(hd_precision p)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    if (device_open(&b, p, &err)) fail_msg("%s", err.text);
    return b;
}

/* Says so and gives true where there is no device: main then returns 77. */
CHECK_UNUSED static bool device_missing(void)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    hd_status s = device_open(&b, HD_PRECISION_F32, &err);
    if (s == HD_EMISSING) printf("skipped: no CUDA device (%s)\n", err.text);
    if (s && s != HD_EMISSING) fprintf(stderr, "%s\n", err.text), exit(1);
    if (!s) printf("on %s%s\n", b->detail, b->capture ? ", capturing" : "");
    hd_backend_free(b);
    return s;
}

/* The precisions a device computes in, ends with AUTO: for (p = device_precisions(); *p; p++). */
CHECK_UNUSED static const hd_precision *device_precisions(void)
{
    static const hd_precision all[] = {HD_PRECISION_F32, HD_PRECISION_BF16, HD_PRECISION_AUTO},
                              one[] = {HD_PRECISION_F32, HD_PRECISION_AUTO};
    return device_is_cpu() ? one : all;
}

/* -- replays: of the backends that were told of, all together -- */

static hd_status (*device_true_replay)(hd_backend *b, void *graph);
static hd_status (*device_true_capture)(hd_backend *b);
static size_t device_launches, device_captures;

static hd_status device_replay(hd_backend *b, void *graph)
{
    device_launches++;
    return device_true_replay(b, graph);
}

static hd_status device_capture(hd_backend *b)
{
    device_captures++;
    return device_true_capture(b);
}

CHECK_UNUSED static void device_count_replays(hd_backend *b)
{
    if (!b->capture) return;
    device_true_replay = b->replay, b->replay = device_replay;
    device_true_capture = b->capture, b->capture = device_capture;
}

/* Since the last time it was asked; what is captured runs once without being one. */
CHECK_UNUSED static size_t device_replays(void)
{
    size_t n = device_launches - device_captures;
    device_launches = device_captures = 0;
    return n;
}

/* -- comparing -- */

CHECK_UNUSED static double norm_of(const hd_real *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* ||a - b||; NaN where one of them has one. */
CHECK_UNUSED static double distance_between(const hd_real *a, const hd_real *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sqrt(sum);
}

CHECK_UNUSED static double cosine_of(const hd_real *a, const hd_real *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum / (norm_of(a, n) * norm_of(b, n));
}

#endif
