/* Options of decoders. */
#include "run/decoder.h"

hd_status hd_decoder_stages(hd_stages *to, const char *option, const char *text, hd_err *err)
{
    hd_err why = {0};
    if (!hd_stages_read(to, text ? text : "transformer", &why)) return HD_OK;
    return hd_err_set(err, HD_EARG, "--%s: %s", option, why.text);
}

hd_run_parts hd_decoder_parts(const hd_stages *decoder, const hd_train_options *o)
{
    hd_run_parts parts = HD_HAS_DECODER_CELLS;
    bool words = decoder->count == 1 && !o->no_feedback;
    if (!hd_stages_recur(decoder)) return 0;
    if (o->decoder_context == HD_CONTEXT_attention) {
        parts |= HD_HAS_ATTENTION;
        if (o->attention_span != HD_LOCALITY_GLOBAL) parts |= HD_HAS_LOCAL_ATTENTION;
    }
    if (words) parts |= HD_HAS_PREVIOUS;
    if (words && o->decoder_input != HD_FEEDING_teacher) parts |= HD_HAS_SAMPLES;
    if (words && (o->decoder_input == HD_FEEDING_scheduled || o->decoder_input == HD_FEEDING_gumbel))
        parts |= HD_HAS_SCHEDULED;
    return parts;
}

hd_recurrent_decoder_opt hd_decoder_cells(const hd_train_options *o, hd_run_parts parts)
{
    return (hd_recurrent_decoder_opt){.context = (hd_context)o->decoder_context,
                                      .begin = (hd_beginning)o->decoder_init,
                                      .query = (hd_query)o->attention_query,
                                      .read = (hd_reading)o->readout,
                                      .score = (hd_scoring)o->attention_score,
                                      .locality = (hd_locality)o->attention_span,
                                      .window = o->attention_window,
                                      .heads = o->attention_heads,
                                      .project = o->attention_projections,
                                      .skips = o->input_skips,
                                      .no_feedback = o->no_feedback,
                                      .relu = o->embedding_relu,
                                      .gate = o->attention_gate,
                                      .penalty = (float)o->attention_penalty,
                                      .order = (float)o->attention_order,
                                      /* a preset's, where another option has taken what it is for */
                                      .feed_context = o->input_feeding && parts & HD_HAS_ATTENTION};
}

hd_feeding hd_decoder_feeding(const hd_train_options *o, hd_run_parts parts)
{
    if (!(parts & HD_HAS_PREVIOUS)) return (hd_feeding){0};
    return (hd_feeding){(hd_feeding_kind)o->decoder_input, (float)o->sampling_rate, (float)o->temperature};
}

/* A rate that rises does so in few steps, since a captured step keeps the one it has. */
uint64_t hd_decoder_feed(hd_run *r, hd_encdec *m, const hd_feeding *f, const hd_train_options *o)
{
    enum { RATES = 32 };
    uint64_t before = r->now.number ? r->now.number - 1 : 0, all = (uint64_t)o->sampling_decay;
    uint64_t risen = before < all ? RATES * before / all : RATES;
    hd_feeding now = *f;
    hd_err err = {0};
    now.rate *= (float)risen / RATES;
    if (hd_encdec_feed(m, &now, &err)) hd_fail(r, err.status, "%s", err.text);
    return risen;
}
