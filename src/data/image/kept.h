/* Decoded pictures of a set: as many as there is room for are decoded once and kept. Which ones makes no
   difference to what is read. */
#ifndef HD_DATA_IMAGE_KEPT_H
#define HD_DATA_IMAGE_KEPT_H

#include "data/image/set.h"

typedef struct hd_kept hd_kept;

/* At most `room` bytes of pictures. side: large ones are decoded smaller (hd_image_set_picture_scaled); 0:
   none is. Borrows the set. */
hd_status hd_kept_new(hd_kept **out, const hd_image_set *set, int side, size_t room, hd_err *err);
void hd_kept_free(hd_kept *k); /* accepts NULL */

/* How many of them will fit. */
size_t hd_kept_most(const hd_kept *k);

/* Picture i, from any thread. *own: it is the caller's to release, else it stays as it is until the end.
   ask: of a picture that is not kept a part will do (*cut: it is that part); NULL: it will not. */
hd_status hd_kept_picture(hd_kept *k, size_t i, const hd_image_ask *ask, hd_image *out, bool *own, bool *cut,
                          hd_err *err);

#endif
