/* Sinusoidal positions: for an odd width the sines have one column more. Learned ones of a grid: resized by a
   product with cubic weights. */
#include "nn/position.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

static double frequency(const hd_sinusoid *s, size_t i, size_t cols)
{
    double base = s->base > 0 ? s->base : 10000;
    if (s->period) return 2 * M_PI * (double)(i + 1) / s->period;
    return pow(base, -2 * ((double)i + s->first) / (double)cols);
}

void hd_sinusoid_fill(hd_real *out, size_t rows, size_t cols, const hd_sinusoid *s)
{
    size_t sines = (cols + 1) / 2;
    for (size_t t = 0; t < rows; t++)
        for (size_t c = 0; c < cols; c++) {
            bool cosine = s->halves ? c >= sines : c % 2;
            size_t i = s->halves ? (cosine ? c - sines : c) : c / 2;
            double angle = ((double)t + s->offset) * frequency(s, i, cols);
            bool idle = s->period && 2 * (i + 1) > (size_t)s->period;
            out[t * cols + c] = (hd_real)(idle ? 0 : cosine ? cos(angle) : sin(angle));
        }
}

void hd_sinusoid_shift(hd_real *out, size_t cols, double by, const hd_sinusoid *s)
{
    memset(out, 0, cols * cols * sizeof *out);
    for (size_t i = 0; i < cols / 2; i++) { /* each pair of a sine and a cosine turns by its own angle */
        size_t sine = s->halves ? i : 2 * i, cosine = s->halves ? cols / 2 + i : 2 * i + 1;
        double angle = by * frequency(s, i, cols);
        out[sine * cols + sine] = out[cosine * cols + cosine] = (hd_real)cos(angle);
        out[sine * cols + cosine] = (hd_real)sin(angle);
        out[cosine * cols + sine] = (hd_real)-sin(angle);
    }
}

bool hd_position_square(size_t rows, size_t lead, size_t *from)
{
    if (rows <= lead) return false;
    size_t side = (size_t)sqrt((double)(rows - lead));
    while (side * side < rows - lead) side++;
    *from = side;
    return side * side == rows - lead;
}

/* The weights of four neighbors at t in [0, 1) behind the second of them. */
static void cubic(double w[4], double t)
{
    const double a = -0.75;
    for (int k = 0; k < 4; k++) {
        double x = fabs(t - (k - 1));
        w[k] = x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : a * (((x - 5) * x + 8) * x - 4);
    }
}

/* Place i of `to`, which take the room of `from`: the four neighbors, held at the edges, and their weights.
 */
static void neighbors(size_t at[4], double w[4], size_t i, size_t from, size_t to)
{
    double s = ((double)i + 0.5) * (double)from / (double)to - 0.5, base = floor(s);
    cubic(w, s - base);
    for (int k = 0; k < 4; k++) {
        double place = fmin(fmax(base - 1 + k, 0), (double)(from - 1));
        at[k] = (size_t)place;
    }
}

void hd_position_weights(hd_real *out, const hd_position_grid *g)
{
    size_t cols = g->lead + g->from_height * g->from_width, ay[4], ax[4];
    double wy[4], wx[4];
    memset(out, 0, (g->lead + g->to_height * g->to_width) * cols * sizeof *out);
    for (size_t i = 0; i < g->lead; i++) out[i * cols + i] = 1;
    out += g->lead * cols;
    for (size_t y = 0; y < g->to_height; y++)
        for (size_t x = 0; x < g->to_width; x++, out += cols) {
            neighbors(ay, wy, y, g->from_height, g->to_height);
            neighbors(ax, wx, x, g->from_width, g->to_width);
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    out[g->lead + ay[i] * g->from_width + ax[j]] += (hd_real)(wy[i] * wx[j]);
        }
}

hd_tensor *hd_positions_resized(hd_run *r, hd_tensor *table, const hd_position_grid *g)
{
    if (!table) return NULL;
    size_t cells, have = g->lead + g->from_height * g->from_width, bytes;
    if (!g->from_height || !g->from_width || !g->to_height || !g->to_width || hd_rows_of(table) != have)
        return hd_fail(r, HD_ESHAPE, "positions: a table of %zu rows is not %zu and a grid of %zu x %zu",
                       hd_rows_of(table), g->lead, g->from_height, g->from_width);
    if (g->to_height == g->from_height && g->to_width == g->from_width) return table;
    if (!hd_size_mul(g->to_height, g->to_width, &cells) || !hd_size_mul(g->lead + cells, have, &bytes) ||
        !hd_size_mul(bytes, sizeof(hd_real), &bytes))
        return hd_fail(r, HD_ELIMIT, "positions: a grid of %zu x %zu is too large", g->to_height,
                       g->to_width);
    hd_real *weights = hd_mem_new(bytes);
    if (!weights) return hd_err_nomem(&r->err, bytes), NULL;
    hd_position_weights(weights, g);
    hd_tensor *matrix = hd_from(r, g->lead + cells, have, weights);
    hd_mem_free(weights);
    return hd_matmul(r, matrix, table);
}
