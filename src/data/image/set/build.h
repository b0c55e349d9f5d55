/* A set of pictures on its way from a file. Pictures are met in any order and more than once; boxes and
   captions are put behind their pictures in the end. */
#ifndef HD_DATA_IMAGE_SET_BUILD_H
#define HD_DATA_IMAGE_SET_BUILD_H

#include "data/image/set.h"
#include "data/set.h"

/* Pixels in memory; the sets that a split makes share them. */
typedef struct hd_image_block {
    size_t users, count;
    int width, height, channels;
    uint8_t *pixel;
} hd_image_block;

enum { HD_SET_WHERE = 256 };

typedef struct hd_set_builder {
    hd_image_set *set;
    hd_vocab *labels; /* NULL: there are none */
    bool fixed;       /* no label may be added */
    bool skip;
    bool boxed;         /* there are boxes, be it none at all */
    const char *path;   /* what is read, for messages */
    const char *remedy; /* for a file that is not there; NULL: none */
    hd_lines *lines;    /* which line of it; NULL: not known */
    hd_vocab left_out;
    hd_err why; /* of the first picture that was left out */
    size_t marked;
    size_t *box_owner, boxes, box_room, box_owner_room;
    size_t *caption_owner, *caption_end, captions, caption_room, caption_end_room, text_used, text_room;
    size_t size_room, label_room, mark_room;
} hd_set_builder;

/* "path:line" of what is read; `to` is returned. */
const char *hd_set_where(const hd_set_builder *b, char to[HD_SET_WHERE]);
hd_status hd_set_refuse(const hd_set_builder *b, hd_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Pictures are below the folder; NULL: below that which holds `path`. */
hd_status hd_set_begin(hd_set_builder *b, hd_image_set *out, const char *folder, hd_err *err);

/* The number of a picture, which is opened if it is new; -1: it is left out. */
hd_status hd_set_picture(hd_set_builder *b, hd_line name, int32_t *number, hd_err *err);
/* The number of a label, which is added if it may be. */
hd_status hd_set_label(hd_set_builder *b, hd_line label, int32_t *number, hd_err *err);
/* Says the label of a picture. */
void hd_set_mark(hd_set_builder *b, int32_t picture, int32_t label);
/* Cuts the box at the border. One that lies outside is invalid, one without an area is left out. */
hd_status hd_set_box(hd_set_builder *b, int32_t picture, const double corner[4], int32_t label, hd_err *err);
hd_status hd_set_caption(hd_set_builder *b, int32_t picture, hd_line text, hd_err *err);

/* Numbers the labels alphabetically, puts boxes and captions in order; s is how reading ended. After a
   failure everything is released. Closes the lines. */
hd_status hd_set_end(hd_set_builder *b, hd_status s, hd_err *err);

/* Sets the hash from all the rest. */
void hd_set_hash(hd_image_set *s);

/* What may be wrong where pictures are not there. */
#define HD_SET_IMAGES_REMEDY "is --images the folder of the pictures?"

#endif
