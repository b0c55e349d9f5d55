/* Options of encoder-decoders, whatever they read. */
#include "task/seq2seq/seq2seq.h"

#include "run/decoder.h"

hd_status hd_seq2seq_stages(hd_stages *encoder, hd_stages *decoder, const hd_train_options *o, hd_err *err)
{
    hd_status s = hd_decoder_stages(encoder, "encoder", o->encoder, err);
    return s ? s : hd_decoder_stages(decoder, "decoder", o->decoder, err);
}

hd_run_parts hd_seq2seq_parts(const hd_stages *encoder, const hd_stages *decoder, const hd_train_options *o)
{
    hd_run_parts parts = HD_HAS_UPDATES | HD_HAS_NETWORK | hd_decoder_parts(decoder, o);
    hd_stage_kind active = hd_train_names_cell(o->activation) ? HD_STAGE_rnn : HD_STAGE_transformer;
    if (hd_stages_have(encoder, HD_STAGE_transformer) || hd_stages_have(decoder, HD_STAGE_transformer))
        parts |= HD_HAS_BLOCKS;
    if (hd_stages_have(encoder, active) || hd_stages_have(decoder, active)) parts |= HD_HAS_ACTIVATION;
    if (encoder->at[0].kind == HD_STAGE_transformer || decoder->at[0].kind == HD_STAGE_transformer)
        parts |= HD_HAS_POSITIONS;
    return parts;
}

hd_encdec_opt hd_seq2seq_model(const hd_train_options *o)
{
    return (hd_encdec_opt){.encoder_layers = o->encoder_layers,
                           .decoder_layers = o->decoder_layers,
                           .stack = {.heads = o->heads,
                                     .width = (size_t)o->width,
                                     .inner = (size_t)o->ffn_size,
                                     .pre_norm = o->norm == 0,
                                     .eps = 1e-5f,
                                     .act = hd_train_block_activation(o->activation, HD_relu),
                                     .dropout = (float)o->dropout,
                                     .attention_dropout = (float)o->attention_dropout,
                                     .inner_dropout = (float)o->ffn_dropout,
                                     .recompute = o->recompute},
                           .tied = !o->untied,
                           .cell = hd_train_cell(o->activation),
                           .learned_positions = o->position_kind == 1,
                           .no_positions = o->position_kind == 2,
                           .positions = (size_t)o->max_positions,
                           .sinusoid = {.halves = true},
                           .frozen = {o->freeze.text, (size_t)o->freeze.count}};
}

hd_status hd_seq2seq_check_heads(const hd_train_options *o, hd_run_parts parts, hd_err *err)
{
    if (!(parts & HD_HAS_BLOCKS) || o->width % o->heads == 0) return HD_OK;
    return hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
}

hd_status hd_seq2seq_check_length(const hd_train_options *o, hd_err *err)
{
    if (o->max_length + 1 <= o->max_positions) return HD_OK;
    return hd_err_set(err, HD_EARG, "--max-positions %d is too few for --max-length %d and the end",
                      o->max_positions, o->max_length);
}

hd_status hd_seq2seq_attempt(const hd_encdec_opt *m, const hd_feeding *feeding, hd_err *err)
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

void hd_seq2seq_continue(hd_encdec_opt *m, const hd_encdec_opt *now)
{
    m->stack.dropout = now->stack.dropout, m->stack.attention_dropout = now->stack.attention_dropout;
    m->stack.inner_dropout = now->stack.inner_dropout, m->stack.recompute = now->stack.recompute;
    m->source_dropout = now->source_dropout;
    m->image.stack.dropout = now->image.stack.dropout, m->image.stack.drop_path = now->image.stack.drop_path;
    m->recurrent.penalty = now->recurrent.penalty, m->recurrent.order = now->recurrent.order;
    m->frozen = now->frozen;
}

hd_status hd_seq2seq_tokenizer(const hd_session *s, hd_tokenizer **out, hd_encdec_opt *model,
                               const hd_targets *texts, hd_err *err)
{
    hd_targets_walk walk = {texts, 0};
    const char *folder = hd_session_folder(s);
    hd_model_folder old;
    if (!folder) return hd_session_tokenizer(s, out, hd_targets_feed(&walk), err);
    hd_status st = hd_model_folder_describe(&old, folder, hd_train_tasks[s->options->task], err);
    if (st) return st;
    hd_encdec_opt then = hd_model_folder_encdec(&old)->opt;
    hd_seq2seq_continue(&then, model);
    *model = then;
    hd_model_folder_keep_tokenizers(&old);
    *out = old.tokenizer[0];
    return HD_OK;
}
