/* Encoder-decoders, written as the papers read. */
#include "model/encdec/encdec.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"

#define USUAL                                                                                \
    .side = {"encoder", "decoder"}, .table = "embed_tokens", .positions = "embed_positions", \
    .fit = "decoder.fit", .output = "lm_head"

const hd_encdec_names hd_encdec_marian = {"model.", &hd_stack_marian, &hd_stack_marian, USUAL},
                      hd_encdec_t5 = {"", &hd_stack_t5_encoder, &hd_stack_t5_decoder, USUAL},
                      /* VisionEncoderDecoder with a GPT-2 */
    hd_encdec_vision = {.prefix = "",
                        .encoder = &hd_stack_gpt2,
                        .decoder = &hd_stack_gpt2,
                        .side = {"encoder", "decoder.transformer"},
                        .table = "wte",
                        .positions = "decoder.transformer.wpe",
                        .fit = "enc_to_dec_proj",
                        .output = "decoder.lm_head"},
                      hd_encdec_whisper = {.prefix = "model.",
                                           .encoder = &hd_stack_marian,
                                           .decoder = &hd_stack_marian,
                                           .side = {"encoder", "decoder"},
                                           .table = "embed_tokens",
                                           .positions = "decoder.embed_positions",
                                           .fit = "decoder.fit",
                                           .output = "proj_out"};

hd_encdec_opt hd_encdec_opt_t5(void)
{
    return (hd_encdec_opt){.tied = true,
                           .unscaled = true,
                           .stack.pre_norm = true,
                           .stack.unbiased = true,
                           .stack.rms = true,
                           .stack.unscaled_scores = true,
                           .names = &hd_encdec_t5};
}

hd_encdec_opt hd_encdec_opt_whisper(void)
{
    return (hd_encdec_opt){.sounds = true,
                           .sound.kind = HD_SOUND_conv,
                           .tied = true,
                           .unscaled = true,
                           .learned_positions = true,
                           .stack.pre_norm = true,
                           .stack.unbiased_keys = true,
                           .stack.eps = 1e-5f,
                           .names = &hd_encdec_whisper};
}

/* Whether a side begins with blocks, which need positions and scaled embeddings. */
static bool attends_first(const hd_stages *s)
{
    return s->at[0].kind == HD_STAGE_transformer;
}

/* -- making -- */

/* What both sides have in common, with the tables that they share. */
static hd_tokens_opt common_front(hd_params *p, const hd_encdec_opt *o)
{
    char name[64];
    hd_tokens_opt t = {
        .width = o->stack.width,
        .positions = o->positions,
        .sinusoid = o->sinusoid,
        .dropout = o->stack.dropout,
        .init = {HD_INIT_NORMAL, o->unscaled ? 1 : (float)(1 / sqrt((double)o->stack.width)), 0}};
    if (o->tied && hd_encdec_reads_tokens(o))
        t.shared =
            hd_param_add(p, o->source_vocab, o->stack.width, t.init, "%sshared.weight", o->names->prefix);
    snprintf(name, sizeof name, "%s%s", o->names->prefix, o->names->positions);
    t.position_name = name;
    if (((attends_first(&o->encoder) && !o->sounds) || attends_first(&o->decoder)) &&
        !o->stack.relative.buckets && !o->no_positions)
        t.position = o->learned_positions ? HD_POSITIONS_LEARNED : HD_POSITIONS_SINUSOID;
    t.shared_position = hd_positions_make(p, &t);
    t.position = HD_POSITIONS_NONE, t.position_name = NULL;
    return t;
}

static hd_front make_front(hd_params *p, const hd_encdec_opt *o, hd_tokens_opt t, bool target)
{
    const hd_stages *side = target ? &o->decoder : &o->encoder;
    char name[64];
    snprintf(name, sizeof name, "%s%s.%s", o->names->prefix, o->names->side[target], o->names->table);
    t.vocab = target ? o->target_vocab : o->source_vocab, t.table_name = name;
    if (!attends_first(side)) t.shared_position = NULL;
    if (attends_first(side) && !o->stack.plain && !o->unscaled) t.scale = (float)sqrt((double)o->stack.width);
    return hd_tokens_make(p, &t);
}

/* The output layer reads rows of `in` columns. */
static void make_output(hd_encdec *m, size_t in)
{
    const hd_encdec_opt *o = &m->opt;
    hd_params *p = &m->params;
    bool shares = o->tied && !o->own_output;
    m->output = shares ? m->target.table
                       : hd_param_add(p, o->target_vocab, in, (hd_init){HD_INIT_XAVIER, 1, 0}, "%s.weight",
                                      o->names->output);
    if (shares) hd_param_alias(p, m->output, "%s.weight", o->names->output);
    for (int i = 0; o->tied && hd_encdec_reads_tokens(o) && i < 2; i++)
        hd_param_alias(p, m->target.table, "%s%s.%s.weight", o->names->prefix, o->names->side[i],
                       o->names->table);
    if (o->output_bias)
        m->output_bias =
            hd_param_add(p, 1, o->target_vocab, (hd_init){HD_INIT_ZERO, 0, 0}, "final_logits_bias");
    if (m->output_bias) m->output_bias->decay = false, m->output_bias->optional = true;
}

static hd_stack_opt blocks(const hd_encdec_opt *o, bool cross)
{
    hd_stack_opt k = o->stack;
    k.causal = k.cross = cross;
    k.names = cross ? o->names->decoder : o->names->encoder;
    return k;
}

/* Returns the columns of the decoder's rows in *out. */
static hd_status make_decoder(hd_encdec *m, size_t *out, hd_err *err)
{
    const hd_encdec_opt *o = &m->opt;
    hd_params *p = &m->params;
    bool recurs = hd_encdec_recurs(m);
    hd_status s = HD_OK;
    char side[64], name[96];
    snprintf(side, sizeof side, "%s%s", o->names->prefix, o->names->side[1]);
    *out = o->stack.width;
    if (recurs) {
        m->cells = hd_recurrent_decoder_make(
            p, &o->recurrent,
            &(hd_recurrent_decoder_sizes){.stage = o->decoder.at[0],
                                          .cell = o->cell,
                                          .in = o->stack.width,
                                          .width = o->stack.width,
                                          .positions = o->positions,
                                          .length = hd_encdec_length(m),
                                          .dropout = o->stack.dropout,
                                          .attention_dropout = o->stack.attention_dropout,
                                          .encoder = &m->encoder,
                                          .name = side});
        *out = m->cells.out;
    }
    snprintf(name, sizeof name, "%s%s", o->names->prefix, o->names->fit);
    if (o->decoder.count > recurs && hd_encdec_decodes(o) && m->encoder.out != o->stack.width)
        m->fit = hd_dense_make(p, m->encoder.out, o->stack.width,
                               &(hd_dense_opt){.init = {HD_INIT_XAVIER, 1, 0}}, name);
    for (int i = recurs; !s && hd_encdec_decodes(o) && i < o->decoder.count; i++) {
        hd_stack_opt k = blocks(o, true);
        snprintf(name, sizeof name, i ? "%s.%d" : "%s", side, i);
        k.layers = o->decoder.at[i].layers, k.name = name;
        s = hd_stack_make(&m->stack[m->stacks++], p, &k, err);
    }
    return s;
}

/* What turns sources into rows; *in: their columns, 0: the usual. */
static hd_status make_source(hd_encdec *m, hd_front *out, size_t *in, const hd_tokens_opt *tokens,
                             const char *side, hd_err *err)
{
    if (m->opt.pictures) return hd_encdec_picture_source(m, out, in, side, err);
    if (m->opt.sounds) return hd_encdec_sound_source(m, out, in, side, err);
    *out = make_front(&m->params, &m->opt, *tokens, false);
    return HD_OK;
}

static hd_status make_all(hd_encdec *m, hd_err *err)
{
    const hd_encdec_opt *o = &m->opt;
    char side[64];
    snprintf(side, sizeof side, "%s%s", o->names->prefix, o->names->side[0]);
    hd_encoder_opt e = {.stages = o->encoder,
                        .stack = blocks(o, false),
                        .cell = o->cell,
                        .reverse = o->reverse_source,
                        .reduces = o->sounds,
                        .source_dropout = o->source_dropout,
                        .name = side};
    size_t out = 0;
    hd_front source = {0};
    hd_tokens_opt tokens = common_front(&m->params, o);
    hd_status s = make_source(m, &source, &e.in, &tokens, side, err);
    if (s) return s;
    if (hd_encdec_decodes(o)) m->target = make_front(&m->params, o, tokens, true);
    s = hd_encoder_make(&m->encoder, &m->params, &e, source, err);
    if (!s && o->ctc > 0)
        m->ctc = hd_dense_make(&m->params, m->encoder.out, o->target_vocab,
                               &(hd_dense_opt){.init = {HD_INIT_XAVIER, 1, 0}}, "ctc_head");
    if (s || !hd_encdec_decodes(o)) return s;
    s = make_decoder(m, &out, err);
    if (!s) make_output(m, out);
    return s;
}

static hd_status check_ctc(const hd_encdec_opt *o, hd_err *err)
{
    if (!(o->ctc >= 0 && o->ctc <= 1))
        return hd_err_set(err, HD_EARG, "the share of CTC is %g, not between 0 and 1", (double)o->ctc);
    if (o->ctc > 0 && !o->sounds) return hd_err_set(err, HD_EARG, "CTC is for models that read sound");
    if (!hd_encdec_decodes(o) && !o->sounds)
        return hd_err_set(err, HD_EARG, "a decoder is rnn, gru, lstm or transformer, not none");
    if ((o->ctc >= 1) != !hd_encdec_decodes(o))
        return hd_err_set(err, HD_EARG, "CTC alone has the decoder none, and the share 1");
    return HD_OK;
}

static hd_status check_stages(const hd_encdec_opt *o, hd_err *err)
{
    for (int i = 0; hd_encdec_decodes(o) && i < o->decoder.count; i++)
        if (o->decoder.at[i].kind != HD_STAGE_transformer && (i || !hd_stage_recurs(&o->decoder.at[i])))
            return hd_err_set(err, HD_EARG,
                              "a decoder is rnn, gru, lstm or transformer, or one of the first three "
                              "followed by transformer");
    for (int i = 0; i < o->encoder.count + o->decoder.count; i++) {
        const hd_stage *s = i < o->encoder.count ? &o->encoder.at[i] : &o->decoder.at[i - o->encoder.count];
        if (s->kind != HD_STAGE_none && s->layers < 1)
            return hd_err_set(err, HD_EARG, "an encoder-decoder needs at least 1 layer on each side");
    }
    if (o->reverse_source && !hd_stage_recurs(&o->encoder.at[0]))
        return hd_err_set(err, HD_EARG, "only a recurrent encoder can read a reversed source");
    return HD_OK;
}

static hd_status check(const hd_encdec_opt *o, hd_err *err)
{
    bool attends = hd_stages_have(&o->encoder, HD_STAGE_transformer) ||
                   hd_stages_have(&o->decoder, HD_STAGE_transformer);
    hd_status s = attends ? hd_stack_check(&o->stack, err) : HD_OK;
    if (s) return s;
    if (!o->stack.width || !o->stack.inner || (!o->source_vocab && hd_encdec_reads_tokens(o)) ||
        !o->target_vocab || !o->positions)
        return hd_err_set(
            err, HD_EARG,
            "an encoder-decoder needs width, inner width, vocabularies and positions of at least 1");
    if (o->tied && hd_encdec_reads_tokens(o) && o->source_vocab != o->target_vocab)
        return hd_err_set(err, HD_EARG, "tied embeddings need one vocabulary, not %zu and %zu",
                          o->source_vocab, o->target_vocab);
    s = check_ctc(o, err);
    return s ? s : check_stages(o, err);
}

hd_status hd_encdec_new(hd_encdec **out, hd_backend *backend, const hd_encdec_opt *opt, bool training,
                        hd_err *err)
{
    hd_encdec *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->opt = *opt;
    m->opt.frozen = (hd_frozen){0}; /* borrowed for this call */
    if (!m->opt.names) m->opt.names = &hd_encdec_marian;
    if (opt->pictures && !opt->encoder.count)
        m->opt.encoder = (hd_stages){.at = {{.kind = HD_STAGE_none}}, .count = 1};
    else
        m->opt.encoder = hd_stages_resolved(&opt->encoder, opt->encoder_layers);
    m->opt.decoder = hd_stages_resolved(&opt->decoder, opt->decoder_layers);
    hd_params_init(&m->params, backend);
    hd_status s = check(&m->opt, err);
    if (!s) s = make_all(m, err);
    if (!s) s = hd_params_freeze(&m->params, opt->frozen, err);
    if (!s) s = hd_params_ready(&m->params, training, err);
    if (!s) s = hd_front_fill(&m->encoder.front, &m->params, err);
    if (!s) s = hd_front_fill(&m->target, &m->params, err);
    if (!s) s = hd_look_fill(&m->params, &m->cells.look, err);
    if (s)
        hd_encdec_free(m);
    else
        *out = m;
    return s;
}

void hd_encdec_free(hd_encdec *m)
{
    if (!m) return;
    hd_params_release(&m->params);
    hd_encoder_release(&m->encoder);
    hd_image_encoder_release(&m->image);
    for (int i = 0; i < m->stacks; i++) hd_stack_release(&m->stack[i]);
    hd_mem_free(m);
}

/* -- running -- */

bool hd_encdec_unrolls(const hd_encdec *m)
{
    return hd_encdec_recurs(m) && (hd_recurrent_decoder_unrolls(&m->cells) || hd_feeding_own(&m->feeding));
}

hd_status hd_encdec_feed(hd_encdec *m, const hd_feeding *f, hd_err *err)
{
    hd_status s = hd_feeding_check(f, err);
    if (!s && f->kind != HD_FEEDING_teacher && (m->stacks || !hd_encdec_recurs(m)))
        s = hd_err_set(
            err, HD_EARG,
            "feeding: a transformer decoder is trained on all steps at once, with teacher forcing only");
    if (!s && f->kind != HD_FEEDING_teacher && m->opt.recurrent.no_feedback)
        s = hd_err_set(err, HD_EARG, "feeding: a decoder without feedback reads no words");
    if (!s) m->feeding = *f;
    return s;
}

/* Slots: those of the cells, then of the blocks. */
static size_t slots(const hd_encdec *m, hd_slot_kind *kinds)
{
    size_t n = hd_encdec_recurs(m) ? hd_recurrent_decoder_slots(&m->cells, kinds) : 0;
    for (int i = 0; i < m->stacks; i++) n += hd_stack_slots(&m->stack[i], kinds ? kinds + n : NULL);
    return n;
}

hd_status hd_encdec_cache(hd_cache **out, const hd_encdec *m, size_t items, hd_err *err)
{
    size_t n = slots(m, NULL);
    hd_slot_kind *kinds = hd_mem_array(n, sizeof *kinds);
    if (!kinds) return hd_err_nomem(err, n * sizeof *kinds);
    slots(m, kinds);
    hd_status s = hd_cache_new(out, kinds, n, items, err);
    hd_mem_free(kinds);
    return s;
}

hd_encoded hd_encdec_encode(hd_run *r, const hd_encdec *m, const hd_items *in)
{
    return hd_encoder_of(r, &m->encoder, in);
}

hd_rows hd_encdec_decode(hd_run *r, const hd_encdec *m, const int32_t *ids, const hd_seg *seg,
                         hd_encoded memory, hd_cache *cache)
{
    if (!hd_encdec_decodes(&m->opt))
        return hd_fail(r, HD_EARG, "the model has no decoder: it is CTC alone"), (hd_rows){0};
    const int32_t *pos = hd_cache_positions(r, cache, seg);
    bool recurs = hd_encdec_recurs(m);
    size_t slot = recurs ? hd_recurrent_decoder_slots(&m->cells, NULL) : 0;
    hd_probe_enter(r, "dec");
    hd_rows x = hd_front_rows(r, &m->target, &(hd_items){.seg = seg, .ids = ids, .pos = pos}),
            rows = memory.rows;
    hd_voice voice = {&m->target, m->output, m->output_bias, m->feeding};
    bool own = r->training && !cache && hd_feeding_own(&m->feeding);
    if (recurs)
        x = hd_recurrent_decoder_of(r, &m->cells, x, &memory, pos, hd_cache_slot(cache, 0),
                                    own ? &voice : NULL);
    if (m->fit.w && rows.t) rows.t = hd_dense_of(r, &m->fit, rows.t, HD_IDENTITY);
    for (int i = 0; i < m->stacks; i++) {
        if (i + recurs) hd_probe_enter(r, "stage%d", i + recurs);
        x = hd_stack_of(r, &m->stack[i], x, rows, hd_cache_slot(cache, slot));
        if (i + recurs) hd_probe_leave(r);
        slot += hd_stack_slots(&m->stack[i], NULL);
    }
    hd_probe_leave(r);
    return x;
}

hd_tensor *hd_encdec_output_rows(hd_run *r, const hd_encdec *m, hd_rows x)
{
    return m->opt.scaled_output ? hd_scale(r, x.t, (float)(1 / sqrt((double)hd_cols_of(&m->output->t))))
                                : x.t;
}

hd_tensor *hd_encdec_logits(hd_run *r, const hd_encdec *m, hd_rows x)
{
    hd_tensor *z = hd_linear_output(r, hd_encdec_output_rows(r, m, x), &m->output->t,
                                    m->output_bias ? &m->output_bias->t : NULL);
    return hd_probe_offer(r, "logits", z, x.seg);
}

hd_tensor *hd_encdec_loss(hd_run *r, const hd_encdec *m, hd_rows x, const int32_t *target,
                          const hd_loss_opt *opt)
{
    return hd_linear_cross_entropy(r, hd_encdec_output_rows(r, m, x), &m->output->t,
                                   m->output_bias ? &m->output_bias->t : NULL, target, opt);
}

double hd_encdec_flops(const hd_encdec *m, double sentences, double source, double target)
{
    double b = sentences, s = m->opt.pictures ? (double)hd_encdec_length(m) : source, t = target, sum = 0;
    if (m->opt.pictures) sum += hd_image_encoder_flops(&m->image, b);
    if (m->opt.sounds) sum += b * hd_sound_encoder_flops(&m->sound, s);
    if (m->opt.sounds) s /= hd_sound_encoder_reduction(&m->opt.sound);
    sum += hd_encoder_flops(&m->encoder, b, s);
    s /= m->encoder.reduction;
    if (m->ctc.w) sum += b * s * 2 * (double)hd_count_of(&m->ctc.w->t);
    if (m->output) sum += b * t * 2 * (double)hd_count_of(&m->output->t);
    if (hd_encdec_recurs(m)) sum += hd_recurrent_decoder_flops(&m->cells, b, s, t);
    for (int i = 0; i < m->stacks; i++) sum += hd_stack_flops(&m->stack[i].opt, b, t, s);
    return sum;
}
