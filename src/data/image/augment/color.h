/* Changes of color, each as Pillow's ImageEnhance and ImageOps have it, bit for bit. Grey pictures have no
   saturation and no hue. */
#ifndef HD_DATA_IMAGE_AUGMENT_COLOR_H
#define HD_DATA_IMAGE_AUGMENT_COLOR_H

#include "data/image/image.h"

/* Away from black, the mean grey or the picture's own grey, by a factor; 1: unchanged. */
void hd_color_brightness(hd_image *im, float factor);
void hd_color_contrast(hd_image *im, float factor);
void hd_color_saturation(hd_image *im, float factor);
/* Away from the picture smoothed. */
hd_status hd_color_sharpness(hd_image *im, float factor, hd_err *err);
void hd_color_hue(hd_image *im,
                  float turn); /* by this share of the circle, around the grey axis; not Pillow's */

void hd_color_autocontrast(hd_image *im);            /* each channel stretched to 0 .. 255 */
void hd_color_equalize(hd_image *im);                /* each channel with an even histogram */
void hd_color_solarize(hd_image *im, int threshold); /* values from there on are turned around */
void hd_color_posterize(hd_image *im, int bits);     /* that are kept of each value */

#endif
