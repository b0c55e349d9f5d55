/* Tokens as rows. */
#include "nn/front.h"

#include "base/mem.h"

static const hd_init TABLE = {HD_INIT_TABLE, 0, 0};

hd_param *hd_positions_make(hd_params *p, const hd_tokens_opt *o)
{
    if (o->position == HD_POSITIONS_NONE) return NULL;
    if (o->position == HD_POSITIONS_SINUSOID) return hd_param_hidden(p, o->positions, o->width, TABLE);
    hd_param *whole =
        hd_param_add(p, o->positions + o->offset, o->width, o->init, "%s.weight", o->position_name);
    return o->offset ? hd_param_view(p, whole, o->offset, o->positions) : whole;
}

static hd_param *make_table(hd_params *p, const hd_tokens_opt *o)
{
    if (o->shared) return o->shared;
    if (o->one_hot) return hd_param_hidden(p, o->vocab, o->vocab, TABLE);
    return hd_param_add(p, o->vocab, o->width, o->init, "%s.weight", o->table_name);
}

static hd_rows token_rows(hd_run *r, const hd_front *f, const hd_items *in)
{
    const hd_seg *seg = in->seg;
    if (!seg || !f->table) return (hd_rows){0};
    hd_tensor *x = hd_embed(r, &f->table->t, in->ids, seg->rows, f->scale);
    hd_probe_offer(r, "emb", x, seg);
    if (f->position) x = hd_gather_add(r, x, &f->position->t, in->pos ? in->pos : seg->pos);
    hd_probe_offer(r, "X", x, seg);
    /* before a norm there is no dropout, but the draw is counted: masks depend on the number of draws */
    x = hd_dropout(r, x, f->norm.gain ? 0 : f->dropout, seg);
    if (f->types) x = hd_gather_add(r, x, &f->types->t, in->type);
    if (!f->norm.gain) return (hd_rows){x, seg};
    hd_rows y = hd_norm_of(r, &f->norm, (hd_rows){x, seg});
    hd_tensor *z = hd_dropout(r, hd_probe_offer(r, "norm", y.t, seg), f->dropout, seg);
    if (f->project.w) z = hd_probe_offer(r, "projected", hd_dense_of(r, &f->project, z, HD_IDENTITY), seg);
    return hd_rows_with(y, z);
}

/* Computed positions, and one-hot token vectors. */
static hd_status fill_tokens(const hd_front *f, hd_params *p, hd_err *err)
{
    hd_param *const all[] = {f->table, f->position};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 2; i++) {
        if (!all[i] || all[i]->init.kind != HD_INIT_TABLE) continue;
        size_t rows = hd_rows_of(&all[i]->t), cols = hd_cols_of(&all[i]->t);
        hd_real *x = hd_mem_array(rows * cols, sizeof *x);
        if (!x) return hd_err_nomem(err, rows * cols * sizeof *x);
        for (size_t k = 0; !i && k < rows; k++) x[k * cols + k] = 1;
        if (i) hd_sinusoid_fill(x, rows, cols, &f->sinusoid);
        s = hd_params_set(p, all[i], x);
        hd_mem_free(x);
    }
    return s;
}

static const hd_front_type tokens = {.rows = token_rows, .fill = fill_tokens};

hd_front hd_tokens_make(hd_params *p, const hd_tokens_opt *o)
{
    hd_front f = {.type = &tokens,
                  .sinusoid = o->sinusoid,
                  .scale = o->scale > 0 ? o->scale : 1,
                  .dropout = o->dropout};
    f.table = make_table(p, o);
    if (f.table) f.table->table = !o->one_hot;
    f.position = o->shared_position ? o->shared_position : hd_positions_make(p, o);
    if (o->types) f.types = hd_param_add(p, o->types, o->width, o->init, "%s.weight", o->types_name);
    if (o->norm) f.norm = hd_norm_make(p, o->width, o->eps, false, HD_AFFINE, o->norm_name);
    if (o->out)
        f.project = hd_dense_make(p, o->width, o->out, &(hd_dense_opt){.init = o->init}, o->project_name);
    return f;
}

hd_rows hd_front_rows(hd_run *r, const hd_front *f, const hd_items *in)
{
    return f->type->rows(r, f, in);
}

hd_status hd_front_fill(const hd_front *f, hd_params *p, hd_err *err)
{
    if (p->backend->dry || !f->type || !f->type->fill) return HD_OK;
    return f->type->fill(f, p, err);
}
