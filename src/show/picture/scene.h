/* Attention over a picture or over sound: what collecting it needs beside what a text needs. */
#ifndef HD_SHOW_PICTURE_SCENE_H
#define HD_SHOW_PICTURE_SCENE_H

#include "show/attention.h"

/* Maps of parts that have no sizes yet, and the picture. */
hd_status hd_attention_scene_begin(hd_attention_maps *a, const hd_model *m, const hd_attention_ask *q,
                                   const size_t layers[HD_ATTENTION_KINDS],
                                   const size_t heads[HD_ATTENTION_KINDS], hd_err *err);
/* The cells of the keys; false: they have no grid, or another one than before. */
bool hd_attention_scene_grid(hd_attention_maps *a, hd_run *r, const hd_seg *keys);
/* The times of sound, one cell each; false: other ones than before. */
bool hd_attention_scene_times(hd_attention_maps *a, hd_run *r, size_t times);
/* When all parts have weights: names, boxes, and only the rows that are asked for. */
hd_status hd_attention_scene_names(hd_attention_maps *a, const hd_attention_ask *q, hd_err *err);

#endif
