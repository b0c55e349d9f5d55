/* MarianMT: a translator that normalizes behind each layer. */
#include "hub/transformer.h"

static const hd_family_form form = {.name = "MarianMT",
                                    .type = "marian",
                                    .architecture = "MarianMTModel",
                                    .pre_norm = false,
                                    .one_table = false,
                                    .vocab = 58101};

static bool has(hd_model_config *c)
{
    return hd_family_transformer_has(c, &form);
}

static hd_status import(const hd_passage *p, hd_model_config *c, hd_err *err)
{
    return hd_family_transformer_import(p, &form, c, err);
}

static hd_status export(const hd_passage *p, hd_err *err)
{
    return hd_family_transformer_export(p, &form, err);
}

const hd_family hd_family_marian = {.has = has, .import = import, .export = export};
