/* What the options of a run mean to a translator. */
#include "task/translate/options.h"

#include "run/loop.h"
#include "task/translate/recipe.h"

/* Makes the model on a machine that computes nothing: whatever cannot go together is said before any data is
   read. */
static hd_status attempt(const hd_encdec_opt *m, const hd_feeding *feeding, hd_err *err)
{
    hd_backend *nowhere = NULL;
    hd_encdec *model = NULL;
    hd_encdec_opt o = *m;
    o.source_vocab = o.target_vocab = 1;
    hd_status s = hd_backend_new(&nowhere, "null", NULL, err);
    if (!s) s = hd_encdec_new(&model, nowhere, &o, true, err);
    if (!s) s = hd_encdec_feed(model, feeding, err);
    hd_encdec_free(model);
    hd_backend_free(nowhere);
    return s;
}

static hd_encdec_opt model_of(const hd_train_options *o)
{
    return (hd_encdec_opt){.encoder_layers = o->encoder_layers,
                           .decoder_layers = o->decoder_layers,
                           .stack.heads = o->heads,
                           .stack.width = (size_t)o->width,
                           .stack.inner = (size_t)o->inner,
                           .tied = !o->untied,
                           .stack.pre_norm = o->norm == 0,
                           .stack.eps = 1e-5f,
                           .stack.act = hd_train_block_activation(o->activation, HD_relu),
                           .cell = hd_train_cell(o->activation),
                           .stack.dropout = (float)o->dropout,
                           .stack.attention_dropout = (float)o->attention_dropout,
                           .stack.inner_dropout = (float)o->inner_dropout,
                           .source_dropout = (float)o->source_dropout,
                           .learned_positions = o->position_kind == 1,
                           .no_positions = o->position_kind == 2,
                           .stack.unscaled_scores = o->no_scale,
                           .positions = (size_t)o->positions,
                           .sinusoid = {.halves = true},
                           .stack.recompute = o->recompute,
                           .frozen = {o->freeze.text, (size_t)o->freeze.count}};
}

hd_status hd_translate_model(hd_encdec_opt *to, hd_feeding *feeding, const hd_train_options *o, hd_err *err)
{
    *to = model_of(o);
    *feeding = (hd_feeding){(hd_feeding_kind)o->feeding, (float)o->sampling_rate, (float)o->temperature};
    to->recurrent = (hd_recurrent_decoder_opt){.context = (hd_context)o->decoder_context,
                                               .begin = (hd_beginning)o->begin,
                                               .query = (hd_asking)o->query,
                                               .read = (hd_reading)o->read,
                                               .score = (hd_scoring)o->score,
                                               .locality = (hd_locality)o->attention,
                                               .window = o->window,
                                               .heads = o->attention_heads,
                                               .project = o->project,
                                               .skips = o->skips,
                                               .no_feedback = o->no_feedback,
                                               .relu = o->relu};
    hd_status s = hd_translate_stages(&to->encoder, &to->decoder, o, err);
    if (s) return s;
    unsigned parts = hd_translate_parts(o);
    /* a preset's, where another option has taken what they are for */
    to->recurrent.feed_context = o->feed_context && parts & HD_HAS_ATTENTION;
    to->reverse_source = o->reverse_source && parts & HD_HAS_ONE_WAY;
    if (parts & HD_HAS_BLOCKS && o->width % o->heads)
        return hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    return HD_OK;
}

hd_status hd_translate_check(const hd_train_options *o, hd_err *err)
{
    hd_encdec_opt model;
    hd_feeding feeding;
    hd_status s = hd_train_check_files(o, NULL, err);
    if (s) return s;
    if (o->max_length + 1 > o->positions)
        return hd_err_set(err, HD_EARG, "--max-positions %d is too few for --max-length %d and the end",
                          o->positions, o->max_length);
    if (o->batch_tokens < o->max_length + 1)
        return hd_err_set(err, HD_EARG,
                          "--batch-tokens %d is less than a sentence of --max-length %d and its end",
                          o->batch_tokens, o->max_length);
    s = hd_train_check_end(o, err);
    if (!s) s = hd_translate_model(&model, &feeding, o, err);
    return s ? s : attempt(&model, &feeding, err);
}
