/* An album: pictures of drawn shapes, a page at a time, and what is on them. */
#ifndef HD_LAB_PICTURE_ALBUM_H
#define HD_LAB_PICTURE_ALBUM_H

#include "data/shapes/scene.h"
#include "lab/experiment.h"
#include "model/vision/image_encoder.h"
#include "nn/pixels.h"

enum { HD_ALBUM_PICTURES = 32 }; /* of a page */

typedef struct hd_album {
    uint64_t seed;
    int side, most;                        /* pixels; objects of a picture */
    bool (*wanted)(const hd_scene *scene); /* others are not in it; NULL: all are */
    hd_scene scene[HD_ALBUM_PICTURES];
    hd_image image[HD_ALBUM_PICTURES];
} hd_album;

/* Draws the page of that number, a function of it and the seed. The caller closes the album whatever happens.
 */
hd_status hd_album_turn(hd_album *a, uint64_t page, hd_err *err);
void hd_album_close(hd_album *a); /* accepts {0} */

/* Pictures of the page in a step that was begun, so many from one on; NULL after a failure. */
const hd_pixels *hd_album_send(hd_run *r, const hd_album *a, size_t from, size_t count,
                               const hd_image_prepare *p);

/* How different a pixel is from the background, 0 to 1, of all pixels of a picture, for a figure. */
void hd_album_shades(double *to, const hd_album *a, size_t picture);
/* That figure. */
void hd_album_put(hd_paper *to, const char *title, const double *shades, size_t side);

/* A page cut into patches by the engine and put together again. */
typedef struct hd_album_cut {
    int side, patch;         /* pixels */
    size_t patches, numbers; /* of a picture; of a patch */
    double lost;             /* how far what was put together is from the pictures, the most */
} hd_album_cut;

/* side and patch are set by the caller. */
hd_status hd_album_put_back(hd_album_cut *c, hd_run *r, uint64_t seed, hd_err *err);

#endif
