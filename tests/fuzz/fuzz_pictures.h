/* Small pictures to begin with, made here: of each kind of PNG and JPEG one, written into the first folder of
   inputs that the target is given. */
#ifndef FUZZ_PICTURES_H
#define FUZZ_PICTURES_H

#include <stdio.h>

#include <jpeglib.h>

#include "data/image/image.h"
#include "fuzz.h"

/* A picture whose pixels follow from their places. */
static hd_image make_picture(int width, int height, int channels)
{
    hd_image im;
    MUST(!hd_image_make(&im, width, height, channels, "seed", NULL));
    for (size_t i = 0; i < hd_image_bytes(&im); i++) im.pixel[i] = (uint8_t)(i * 7 + i / 13 * 29);
    return im;
}

FUZZ_UNUSED static void write_jpeg(FILE *to, int channels, int progressive)
{
    struct jpeg_compress_struct j;
    struct jpeg_error_mgr error;
    hd_image im = make_picture(24, 16, channels == 1 ? 1 : 3);
    uint8_t row[96] = {0};
    JSAMPROW at = row;
    j.err = jpeg_std_error(&error);
    jpeg_create_compress(&j);
    jpeg_stdio_dest(&j, to);
    j.image_width = (unsigned)im.width, j.image_height = (unsigned)im.height;
    j.input_components = channels;
    j.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&j);
    jpeg_set_quality(&j, 50, TRUE);
    if (progressive) jpeg_simple_progression(&j);
    jpeg_start_compress(&j, TRUE);
    for (int y = 0; y < im.height; y++) {
        memcpy(row, im.pixel + (size_t)(y * im.width * im.channels), (size_t)(im.width * im.channels));
        jpeg_write_scanlines(&j, &at, 1);
    }
    jpeg_finish_compress(&j);
    jpeg_destroy_compress(&j);
    hd_image_release(&im);
}

FUZZ_UNUSED static void write_seeds(int count, char **given)
{
    const char *to = first_folder(count, given);
    char file[4200];
    for (int channels = 1; to && channels <= 3; channels += 2) {
        hd_image im = make_picture(9, 7, channels);
        snprintf(file, sizeof file, "%s/seed-png-%d", to, channels);
        MUST(!hd_image_write_png(&im, file, NULL));
        hd_image_release(&im);
    }
    for (int i = 0; to && i < 6; i++) {
        static const int channels[] = {1, 3, 4};
        snprintf(file, sizeof file, "%s/seed-jpeg-%d", to, i);
        FILE *f = fopen(file, "wb");
        MUST(f);
        write_jpeg(f, channels[i % 3], i / 3);
        MUST(!fclose(f));
    }
}

#endif
