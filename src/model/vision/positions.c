/* Positions of a model to begin with, for pictures of another size. */
#include "base/mem.h"
#include "model/vision/image_encoder.h"

static hd_position_grid grid_of(const hd_image_encoder *e, const hd_image_encoder_opt *from)
{
    int now[2], then[2];
    e->type->grid(&e->opt, e->opt.height, e->opt.width, now);
    e->type->grid(from, from->height, from->width, then);
    return (hd_position_grid){.lead = (size_t)hd_image_encoder_lead(from),
                              .from_height = (size_t)then[0],
                              .from_width = (size_t)then[1],
                              .to_height = (size_t)now[0],
                              .to_width = (size_t)now[1]};
}

void hd_image_encoder_fit(hd_image_encoder_opt *o)
{
    const hd_image_prepare *p = &o->prepare;
    int height = p->crop_height ? p->crop_height
                 : p->resize    ? p->height
                                : 0,
        width = p->crop_width ? p->crop_width
                : p->resize   ? p->width
                              : 0;
    if (!height || !width) return;
    o->height = o->patch ? height / o->patch * o->patch : height;
    o->width = o->patch ? width / o->patch * o->patch : width;
}

hd_param *hd_image_encoder_resized(const hd_image_encoder *e, const hd_image_encoder_opt *from)
{
    if (!e->position || from->kind != e->opt.kind) return NULL;
    const hd_position_grid g = grid_of(e, from);
    return g.from_height == g.to_height && g.from_width == g.to_width ? NULL : e->position;
}

/* to [rows, width] = weights [rows, from] times table [from, width]; few of the weights are not 0. */
static void multiply(hd_real *to, const hd_real *weights, const hd_real *table, size_t rows, size_t from,
                     size_t width)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < width; c++) {
            double sum = 0;
            for (size_t k = 0; k < from; k++)
                if (weights[i * from + k] != 0)
                    sum += (double)weights[i * from + k] * (double)table[k * width + c];
            to[i * width + c] = (hd_real)sum;
        }
}

hd_status hd_image_encoder_load_positions(const hd_image_encoder *e, hd_params *p,
                                          const hd_image_encoder_opt *from, const hd_safetensors *file,
                                          hd_err *err)
{
    const hd_position_grid g = grid_of(e, from);
    size_t before = g.lead + g.from_height * g.from_width, rows = hd_rows_of(&e->position->t),
           width = e->opt.stack.width, weights = 0, all = 0;
    if (!hd_size_mul(rows, before, &weights) || !hd_size_mul(rows + before, width, &all) ||
        weights > SIZE_MAX - all)
        return hd_err_set(err, HD_ELIMIT, "positions of %zu rows are too many to be resized", rows);
    hd_real *x = hd_mem_array(weights + all, sizeof *x), *table = x + weights, *out = table + before * width;
    if (!x) return hd_err_nomem(err, (weights + all) * sizeof *x);
    hd_tensor whole = hd_shaped(table, HD_REAL, 3, (const size_t[]){1, before, width});
    hd_status s = hd_safetensors_load(file, e->position->name, &whole, err);
    if (!s) hd_position_weights(x, &g);
    if (!s) multiply(out, x, table, rows, before, width);
    if (!s) s = hd_params_set(p, e->position, out);
    hd_mem_free(x);
    return s;
}
