/* What the options of a run mean to a language model. */
#include "task/language/options.h"

#include "run/loop.h"

hd_lm_opt hd_language_model(const hd_train_options *o)
{
    return (hd_lm_opt){.kind = (hd_lm_kind)o->model,
                       .context = (size_t)o->context,
                       .order = o->order,
                       .smoothing = (hd_smoothing)o->smoothing,
                       .k = o->add_k,
                       .buckets = (size_t)o->features,
                       .stack.layers = o->layers,
                       .stack.heads = o->heads,
                       .stack.width = (size_t)o->width,
                       .stack.inner = (size_t)o->inner,
                       .stack.dropout = (float)o->dropout,
                       .embedding_dropout = (float)o->dropout,
                       .stack.attention_dropout = (float)o->dropout,
                       .stack.pre_norm = o->norm != 1,
                       /* a hidden layer of another width needs an output table of its own */
                       .tied = !o->untied && (o->model != HD_LM_ffnn || o->inner == o->width),
                       .stack.act = hd_train_activation(o->activation)};
}

hd_status hd_language_check(const hd_train_options *o, hd_err *err)
{
    hd_lm_kind kind = (hd_lm_kind)o->model;
    const char *file;
    hd_status s = hd_train_check_files(o, NULL, err);
    if (!s) s = hd_train_tokenizer(&file, o, err);
    if (s) return s;
    if (kind == HD_LM_ngram && o->order > HD_NGRAM_MOST)
        return hd_err_set(err, HD_EARG, "--order %d: an ngram has at most %d", o->order, HD_NGRAM_MOST);
    if ((kind == HD_LM_ffnn || kind == HD_LM_maxent) && o->order < 2)
        return hd_err_set(err, HD_EARG, "--order 1: a %s looks at one token at least: --order 2",
                          hd_lm_names[kind]);
    if (kind == HD_LM_ngram) return HD_OK;
    if (kind == HD_LM_gpt && o->width % o->heads)
        return hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    hd_unary act = hd_train_activation(o->activation);
    if (kind == HD_LM_rnn && act != HD_tanh && act != HD_sigmoid)
        return hd_err_set(err, HD_EARG, "--activation of a rnn is tanh or sigmoid");
    return hd_train_check_end(o, err);
}
