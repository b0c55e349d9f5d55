/* What the options of a run mean to a masked language model. */
#include "task/masked/options.h"

#include "run/loop.h"

hd_status hd_masked_model(hd_bert_opt *to, const hd_train_options *o, hd_err *err)
{
    *to = (hd_bert_opt){.positions = (size_t)o->context,
                        .stack.layers = o->layers,
                        .stack.heads = o->heads,
                        .stack.width = (size_t)o->width,
                        .stack.inner = (size_t)o->inner,
                        .stack.dropout = (float)o->dropout,
                        .stack.act = hd_train_activation(o->activation)};
    if (o->context && o->context < 3) return hd_err_set(err, HD_EARG, "--context %d: at least 3", o->context);
    return HD_OK;
}

hd_status hd_masked_check(const hd_train_options *o, hd_err *err)
{
    hd_bert_opt model;
    const char *file;
    hd_status s = hd_train_check_files(o, NULL, err);
    if (!s && o->width % o->heads)
        s = hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    if (!s) s = hd_train_check_end(o, err);
    if (!s) s = hd_train_tokenizer(&file, o, err);
    return s ? s : hd_masked_model(&model, o, err);
}
