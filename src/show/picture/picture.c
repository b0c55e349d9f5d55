/* A picture as a model saw it. */
#include "show/picture/picture.h"

#include <math.h>

/* The same preparation with more pixels: as many as fit into what is shown, and not more than there are. */
static hd_image_prepare enlarged(const hd_image_prepare *p, const hd_image *in)
{
    hd_image_prepare q = *p;
    int most = p->crop_height > p->crop_width ? p->crop_height : p->crop_width, height = in->height,
        width = in->width;
    if (hd_image_prepared_size(&height, &width,
                               &(hd_image_prepare){.resize = p->resize,
                                                   .height = p->height,
                                                   .width = p->width,
                                                   .shortest = p->shortest,
                                                   .longest = p->longest},
                               in->height, in->width, NULL))
        return q;
    double by =
        fmin((double)HD_PICTURE_SIDE / most, fmax((double)in->height / height, (double)in->width / width));
    if (!p->resize || by <= 1) return q;
    int *const side[] = {&q.height, &q.width, &q.shortest, &q.longest, &q.crop_height, &q.crop_width};
    for (size_t i = 0; i < sizeof side / sizeof *side; i++) *side[i] = (int)lround(*side[i] * by);
    return q;
}

/* At most so large, with its shape. */
static hd_status shrunk(hd_image *out, const hd_image *in, hd_err *err)
{
    double longer = in->width > in->height ? in->width : in->height, by = fmin(1, HD_PICTURE_SIDE / longer);
    int width = (int)fmax(1, round(in->width * by)), height = (int)fmax(1, round(in->height * by));
    return hd_image_resize(out, in, width, height, HD_FILTER_BILINEAR, err);
}

hd_status hd_picture_seen(hd_image *out, const hd_image *in, const hd_image_prepare *p, hd_err *err)
{
    hd_image seen = {0};
    hd_image_prepare q = p->crop_height || p->crop_width ? enlarged(p, in) : *p;
    hd_status s =
        p->crop_height || p->crop_width ? hd_image_prepared(&seen, in, &q, err) : shrunk(&seen, in, err);
    if (!s) s = hd_image_channels(&seen, 3, err);
    if (s) hd_image_release(&seen);
    *out = seen;
    return s;
}
