/* Positions: sinusoids in the layouts in use; learned ones of a grid, for grids of another size. */
#ifndef HD_NN_POSITION_H
#define HD_NN_POSITION_H

#include "op/op.h"

typedef struct hd_sinusoid {
    bool halves; /* all sines, then all cosines (Marian, fairseq); otherwise sine and cosine in turn (the
                    paper) */
    double base; /* 0: 10000 */
    int first;   /* index of the first frequency: 0 in the paper, 1 in one of the lectures */
    int offset;  /* position of row 0 */
    int period;  /* 0, or after how many positions all comes again: frequencies are multiples of it, and
                    columns  behind the highest of them are 0 */
} hd_sinusoid;

/* out [rows, cols]: frequencies base^(-2i/cols), computed in double. */
void hd_sinusoid_fill(hd_real *out, size_t rows, size_t cols, const hd_sinusoid *s);

/* out [cols, cols], cols even: the matrix M with p(t + by) = M p(t) for all t. Rows of positions are
   shifted by the product with its transpose. */
void hd_sinusoid_shift(hd_real *out, size_t cols, double by, const hd_sinusoid *s);

/* Learned positions of the cells of a grid, for another grid. */
typedef struct hd_position_grid {
    size_t lead; /* rows of the table before those of cells (a class token): kept as they are */
    size_t from_height, from_width; /* cells of the table, row by row */
    size_t to_height, to_width;     /* cells that are asked for */
} hd_position_grid;

/* Whether a table of so many rows has `lead` rows and then a square of cells: *from gets its side. */
bool hd_position_square(size_t rows, size_t lead, size_t *from);

/* out [lead + to_height * to_width, lead + from_height * from_width]: the weights of the table's rows in each
   new row, by cubic interpolation without antialiasing (a = -0.75, edges repeated), as torch's `bicubic`. */
void hd_position_weights(hd_real *out, const hd_position_grid *g);

/* The table [lead + from_height * from_width, C] resized; the table itself if the size is the same. Sends the
   weights: not for a step that is captured, which resizes the table before it trains. */
hd_tensor *hd_positions_resized(hd_run *r, hd_tensor *table, const hd_position_grid *g);

#endif
