/* Writes pictures that are as much work to decode as photographs: noise of all scales, drawn from a seed.
   bench_photos files FOLDER FIRST COUNT NAMES: JPEG files of 500 x 375 pixels in ten subfolders, each under
   so many names; bench_photos ready PREFIX COUNT: PREFIX-images and PREFIX-labels, IDX files of 224 x 224
   pixels. bench/pictures calls it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>

#include "base/rng.h"

enum { SIDE = 512, WIDTH = 500, HEIGHT = 375, READY = 224, CHANNELS = 3, CLASSES = 10, QUALITY = 90 };

static int stop(const char *what, const char *name)
{
    fprintf(stderr, "bench_photos: %s %s: %s\n", what, name, strerror(errno));
    return 1;
}

/* Twice the side: new points lie between old ones, plus noise of the new scale. */
static void refine(float *x, size_t side, double amplitude, hd_rng *rng)
{
    static float old[SIDE * SIDE / 4];
    memcpy(old, x, side * side * sizeof *x);
    for (size_t i = 0; i < 2 * side; i++)
        for (size_t j = 0; j < 2 * side; j++) {
            size_t a = i / 2, b = j / 2, c = a + (i & 1) < side ? a + (i & 1) : a,
                   d = b + (j & 1) < side ? b + (j & 1) : b;
            float between =
                (old[a * side + b] + old[a * side + d] + old[c * side + b] + old[c * side + d]) / 4;
            uint32_t draw = hd_rng_u32(rng);
            x[2 * i * side + j] = between + (float)(amplitude * ((double)draw / UINT32_MAX - 0.5));
        }
}

/* [SIDE, SIDE] around 0; amplitudes fall with the scale as in photographs. */
static void draw_plane(float *x, hd_rng *rng)
{
    double amplitude = 110;
    x[0] = (float)(amplitude * (hd_rng_unit(rng) - 0.5));
    for (size_t side = 1; side < SIDE; side *= 2, amplitude *= 0.76) refine(x, side, amplitude, rng);
}

static uint8_t level(float x)
{
    return (uint8_t)fminf(fmaxf(x, 0), 255);
}

/* [SIDE, SIDE, CHANNELS]: channels share most of what they show. */
static void draw(uint8_t *rgb, uint64_t number)
{
    static float plane[CHANNELS][SIDE * SIDE];
    hd_rng rng = hd_rng_make(1, number);
    for (int c = 0; c < CHANNELS; c++) draw_plane(plane[c], &rng);
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++) {
        const float light = 128 + plane[0][i], warm = plane[1][i] / 4, green = plane[2][i] / 4;
        rgb[3 * i] = level(light + warm);
        rgb[3 * i + 1] = level(light + green);
        rgb[3 * i + 2] = level(light - warm);
    }
}

static int write_jpeg(const char *path, uint8_t *rgb)
{
    struct jpeg_error_mgr error;
    struct jpeg_compress_struct j = {.err = jpeg_std_error(&error)}; /* ends the program on an error */
    FILE *f = fopen(path, "wb");
    if (!f) return stop("cannot write", path);
    jpeg_create_compress(&j);
    jpeg_stdio_dest(&j, f);
    j.image_width = WIDTH, j.image_height = HEIGHT;
    j.input_components = CHANNELS, j.in_color_space = JCS_RGB;
    jpeg_set_defaults(&j);
    jpeg_set_quality(&j, QUALITY, TRUE);
    jpeg_start_compress(&j, TRUE);
    while (j.next_scanline < HEIGHT) {
        JSAMPROW row = rgb + (size_t)j.next_scanline * SIDE * CHANNELS;
        jpeg_write_scanlines(&j, &row, 1);
    }
    jpeg_finish_compress(&j);
    jpeg_destroy_compress(&j);
    return fclose(f) ? stop("cannot write", path) : 0;
}

static int write_files(const char *folder, uint64_t first, uint64_t count, int names)
{
    static uint8_t rgb[SIDE * SIDE * CHANNELS];
    char path[4096], name[4096];
    for (int c = 0; c < CLASSES; c++) {
        snprintf(path, sizeof path, "%s/%d", folder, c);
        if (mkdir(path, 0777) && errno != EEXIST) return stop("cannot make", path);
    }
    for (uint64_t i = first; i < first + count; i++) {
        snprintf(path, sizeof path, "%s/%d/%llu.jpg", folder, (int)(i % CLASSES), (unsigned long long)i);
        draw(rgb, i);
        if (write_jpeg(path, rgb)) return 1;
        for (int k = 1; k < names; k++) {
            snprintf(name, sizeof name, "%s/%d/%llu-%d.jpg", folder, (int)(i % CLASSES),
                     (unsigned long long)i, k);
            if (link(path, name)) return stop("cannot link", name);
        }
    }
    return 0;
}

static void put_header(FILE *f, int rank, const uint32_t *dim)
{
    const uint8_t start[4] = {0, 0, 8, (uint8_t)rank};
    fwrite(start, 1, sizeof start, f);
    for (int i = 0; i < rank; i++)
        for (int shift = 24; shift >= 0; shift -= 8) fputc((int)(dim[i] >> shift & 255), f);
}

static int write_ready(const char *prefix, uint32_t count)
{
    static uint8_t rgb[SIDE * SIDE * CHANNELS];
    char images[4096], labels[4096];
    snprintf(images, sizeof images, "%s-images", prefix);
    snprintf(labels, sizeof labels, "%s-labels", prefix);
    FILE *f = fopen(images, "wb"), *g = f ? fopen(labels, "wb") : NULL;
    if (!g) return stop("cannot write", f ? labels : images);
    put_header(f, 4, (const uint32_t[]){count, READY, READY, CHANNELS});
    put_header(g, 1, &count);
    for (uint32_t i = 0; i < count; i++) {
        draw(rgb, i);
        for (size_t row = 0; row < READY; row++) fwrite(rgb + row * SIDE * CHANNELS, CHANNELS, READY, f);
        fputc((int)(i % CLASSES), g);
    }
    return fclose(f) | fclose(g) ? stop("cannot write", prefix) : 0;
}

int main(int argc, char **argv)
{
    if (argc == 6 && !strcmp(argv[1], "files"))
        return write_files(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10), atoi(argv[5]));
    if (argc == 4 && !strcmp(argv[1], "ready"))
        return write_ready(argv[2], (uint32_t)strtoull(argv[3], NULL, 10));
    fprintf(stderr, "usage: bench_photos files FOLDER FIRST COUNT NAMES\n"
                    "       bench_photos ready PREFIX COUNT\n");
    return 2;
}
