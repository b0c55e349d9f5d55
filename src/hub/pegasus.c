/* Pegasus: a translator that normalizes before each layer, as `heed train` makes them. Published ones
   summarize. */
#include "hub/transformer.h"

static const hd_family_form form = {.name = "Pegasus",
                                    .type = "pegasus",
                                    .architecture = "PegasusForConditionalGeneration",
                                    .pre_norm = true,
                                    .one_table = true,
                                    .vocab = 50265};

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

const hd_family hd_family_pegasus = {.has = has, .import = import, .export = export};
