/* Captions of pictures: pictures in, texts out. What a picture gives depends neither on the others nor on the
   number of threads. */
#ifndef HD_TASK_CAPTION_CAPTION_H
#define HD_TASK_CAPTION_CAPTION_H

#include "data/image/loader.h"
#include "task/model_folder.h"
#include "task/written.h"

typedef struct hd_caption_opt {
    hd_search_opt search; /* end, banned and key are filled in */
    size_t batch;         /* hypotheses searched side by side; 0: HD_CAPTION_BATCH */
    size_t first;         /* number of the first picture, for draws */
} hd_caption_opt;

enum { HD_CAPTION_BATCH = 256, HD_CAPTION_LONGEST = 50 }; /* tokens where nothing is said */

/* The pictures are as the model reads them (hd_caption_pictures). */
hd_status hd_caption_of(hd_written_all *out, hd_run *r, const hd_model_folder *f,
                        const hd_image_batch *pictures, const hd_caption_opt *opt, hd_err *err);

/* -- pictures for it, prepared one behind the other -- */

typedef struct hd_caption_pictures {
    hd_image_batch batch;
    hd_text bytes;
    int32_t *begin, *size;
    size_t room;
} hd_caption_pictures;

/* Appends a picture as it was decoded. */
hd_status hd_caption_pictures_add(hd_caption_pictures *p, const hd_image *im, const hd_image_prepare *how,
                                  hd_err *err);
void hd_caption_pictures_clear(hd_caption_pictures *p);
void hd_caption_pictures_release(hd_caption_pictures *p); /* accepts {0} */

/* How the model reads pictures. */
const hd_image_prepare *hd_caption_prepare(const hd_model_folder *f);

#endif
