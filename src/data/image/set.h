/* Pictures to learn from or to judge by, with labels, boxes or captions: what files say, checked when they
   are opened. Pixels stay in their files (of IDX in memory) and are decoded when a picture is asked for. */
#ifndef HD_DATA_IMAGE_SET_H
#define HD_DATA_IMAGE_SET_H

#include "base/file/lines.h"
#include "data/image/image.h"
#include "text/vocab.h"

typedef struct hd_box {
    int32_t label;
    float x, y, width, height; /* upper left corner and size, in pixels of the picture as decoded */
} hd_box;

typedef struct hd_image_set {
    size_t count;
    int channels;          /* most of any picture as decoded: 1 or 3 */
    int32_t *size;         /* [count, 2] height and width as decoded */
    int32_t *label;        /* [count]; NULL: there are none */
    size_t *first_box;     /* [count + 1] in box; NULL: there are no boxes */
    hd_box *box;           /* inside their pictures, none empty */
    size_t *first_caption; /* [count + 1] in caption; NULL: there are none */
    hd_line *caption;      /* each followed by a zero byte */
    uint64_t hash;         /* tells changed data from the same: names, sizes, labels, boxes, captions */
    size_t skipped;        /* pictures and boxes left out because they are invalid */
    hd_vocab name;         /* [count] below root, or the number in an IDX file */
    uint64_t *mark;        /* [count] hash of name and size of the file, or of the pixels */
    char *root;            /* the folder of the pictures, or the IDX file */
    char *text;            /* of the captions */
    struct hd_image_block *block; /* pixels of an IDX file; NULL: they are in files */
    uint32_t *place;              /* [count] in the block */
} hd_image_set;

void hd_image_set_release(hd_image_set *s); /* accepts {0} */

/* Labels: a list that is empty gets those that are found, in alphabetical order; of one that is not, a label
   that it does not have is an error. With `skip`, pictures that cannot be read are left out and counted,
   otherwise the first is an error; their headers are what is looked at. Each fails where nothing is left. */

/* A subfolder a class, with pictures in it and below. Names that begin with a dot do not count; a file that
   is no picture is invalid. */
hd_status hd_image_set_folder(hd_image_set *out, hd_vocab *labels, const char *folder, bool skip,
                              hd_err *err);

/* A file a line, relative to the folder of pictures (NULL: that of the list), and behind a tab its label; or
   no labels at all. */
hd_status hd_image_set_list(hd_image_set *out, hd_vocab *labels, const char *path, const char *images,
                            bool skip, hd_err *err);

/* Bytes as of MNIST, [n, height, width] grey or [n, height, width, 3], plain or compressed; labels [n], a
   number each, or NULL. An empty list gets the numbers from 0 to the largest as names, in this order. */
hd_status hd_image_set_idx(hd_image_set *out, hd_vocab *labels, const char *images, const char *label_file,
                           hd_err *err);
/* Whether the file begins as an IDX file does, after unpacking. A file that cannot be read is none. */
bool hd_is_idx(const char *path);

/* CSV with columns image, label, xmin, ymin, xmax, ymax (a picture without an object: the last five empty)
   and maybe split, or COCO JSON, by content. `images` is the folder of the pictures, NULL: that of the file.
   `split` selects rows by the column of this name; NULL: all rows. Boxes are cut at the border of their
   picture; those without any area and of crowds are left out. */
hd_status hd_image_set_boxes(hd_image_set *out, hd_vocab *labels, const char *path, const char *images,
                             const char *split, bool skip, hd_err *err);
/* Whether it is CSV with such a column in which a row says so. */
hd_status hd_image_set_has_split(bool *has, const char *path, const char *split, hd_err *err);

/* Lines of a name, maybe # and a number, a tab and a caption; or CSV with columns image, caption. `names` is
   a file of a name a line: only these; NULL: all. */
hd_status hd_image_set_captions(hd_image_set *out, const char *path, const char *images, const char *names,
                                bool skip, hd_err *err);

/* Decodes it. Threads may do so at the same time. */
hd_status hd_image_set_picture(const hd_image_set *s, size_t i, hd_image *out, hd_err *err);
/* The same at 1/2, 1/4 or 1/8 of the size where that leaves `side` pixels (hd_image_decode_scaled): boxes are
   those of the whole picture. ask: which part of it; NULL: all. */
hd_status hd_image_set_picture_scaled(const hd_image_set *s, size_t i, int side, const hd_image_ask *ask,
                                      hd_image *out, hd_err *err);

static inline const char *hd_image_set_name(const hd_image_set *s, size_t i)
{
    return hd_vocab_piece(&s->name, (int32_t)i);
}

/* Moves a share of the pictures to out, of each label the same. Which ones depends on the seed and the
   pictures, not on their order. At least one on either side; HD_EARG where there are too few. */
hd_status hd_image_set_split(hd_image_set *s, double fraction, uint64_t seed, hd_image_set *out, hd_err *err);

#endif
