/* The decoder-only Transformer: GPT-2's names and the common stack with a causal mask. GPT-2 keeps its
 * weights [in, out] and q, k, v side by side in one tensor, which is how heed holds them in memory anyway. */
#include "model/lm/gpt.h"

#include <math.h>

#include "base/mem.h"

enum { BAR = 64 }; /* tokens */

static const hd_init NORMAL = {HD_INIT_NORMAL, 0.02f, 0};

const hd_gpt_names hd_gpt_names_gpt2 = {"transformer.", "wte", "wpe", &hd_stack_gpt2},
                   hd_gpt_names_llama = {"model.", "embed_tokens", "embed_positions", &hd_stack_llama};

#define X(NAME, name, text) #name,
const char *const hd_gpt_position_names[HD_GPT_POSITIONS + 1] = {HD_GPT_POSITION_LIST(X) NULL};
#undef X

static hd_positions position_of(const hd_gpt_opt *o)
{
    if (o->no_positions || o->stack.rotary.kind) return HD_POSITIONS_NONE;
    return o->position == HD_GPT_LEARNED ? HD_POSITIONS_LEARNED : HD_POSITIONS_SINUSOID;
}

hd_status hd_gpt_make(hd_gpt **out, hd_backend *backend, const hd_gpt_opt *opt, hd_err *err)
{
    const hd_stack_opt *o = &opt->stack;
    if (o->heads < 1 || o->layers < 1 || !o->width ||
        (!o->head_width && !o->latent.rank && o->width % (size_t)o->heads) || !opt->vocab || !opt->positions)
        return hd_err_set(
            err, HD_EARG,
            "gpt: %d layers, %d heads, width %zu, vocabulary %zu, %zu positions is not a valid model",
            o->layers, o->heads, o->width, opt->vocab, opt->positions);
    hd_gpt *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->opt = *opt;
    m->opt.frozen = (hd_frozen){0}; /* borrowed for this call */
    hd_stack_opt *k = &m->opt.stack;
    if (!k->inner) k->inner = 4 * k->width;
    const hd_gpt_names *names = opt->names ? opt->names : &hd_gpt_names_gpt2;
    k->causal = true, k->init = NORMAL, k->name = "", k->names = names->blocks;
    hd_status s = hd_stack_check(k, err);
    if (s) return hd_mem_free(m), s;
    const int period = opt->position == HD_GPT_PERIODIC ? BAR : 0;
    /* beside sines, which are not small, token vectors begin as in "Attention Is All You Need" */
    const float root = sqrtf((float)k->width), scale = opt->position == HD_GPT_LEARNED ? 1 : root;
    const hd_init table = opt->position == HD_GPT_LEARNED ? NORMAL : (hd_init){HD_INIT_NORMAL, 1 / root, 0};
    hd_params_init(&m->params, backend);
    m->params.prefix = names->prefix;
    m->front = hd_tokens_make(
        &m->params, &(hd_tokens_opt){.vocab = opt->vocab,
                                     .width = k->width,
                                     .positions = opt->positions,
                                     .position = position_of(opt),
                                     .sinusoid = {.period = period},
                                     .dropout = opt->embedding_dropout,
                                     .scale = opt->embedding_scale > 0 ? opt->embedding_scale : scale,
                                     .init = table,
                                     .table_name = names->table,
                                     .position_name = names->position});
    m->head = opt->untied ? hd_param_add(&m->params, opt->vocab, opt->stack.width, NORMAL, "lm_head.weight")
                          : m->front.table;
    if (!opt->untied) hd_param_alias(&m->params, m->front.table, "lm_head.weight");
    s = hd_stack_make(&m->stack, &m->params, k, err);
    if (!s) s = hd_params_freeze(&m->params, opt->frozen, err);
    if (!s && opt->lora.rank) s = hd_lora_add(&m->params, &opt->lora, err);
    if (s)
        hd_gpt_free(m);
    else
        *out = m;
    return s;
}

hd_status hd_gpt_fill(hd_gpt *m, hd_err *err)
{
    return hd_front_fill(&m->front, &m->params, err);
}

hd_status hd_gpt_new(hd_gpt **out, hd_backend *backend, const hd_gpt_opt *opt, bool training, hd_err *err)
{
    hd_gpt *m = NULL;
    hd_status s = hd_gpt_make(&m, backend, opt, err);
    if (!s) s = hd_params_ready(&m->params, training, err);
    if (!s) s = hd_gpt_fill(m, err);
    if (s)
        hd_gpt_free(m);
    else
        *out = m;
    return s;
}

void hd_gpt_free(hd_gpt *m)
{
    if (!m) return;
    hd_params_release(&m->params);
    hd_stack_release(&m->stack);
    hd_mem_free(m);
}

hd_status hd_gpt_cache(hd_cache **out, const hd_gpt *m, size_t items, hd_err *err)
{
    size_t slots = hd_stack_slots(&m->stack, NULL);
    hd_slot_kind *kinds = hd_mem_array(slots, sizeof *kinds);
    if (!kinds) return hd_err_nomem(err, slots * sizeof *kinds);
    hd_stack_slots(&m->stack, kinds);
    hd_status s = hd_cache_new(out, kinds, slots, items, err);
    hd_mem_free(kinds);
    return s;
}

hd_rows hd_gpt_forward(hd_run *r, const hd_gpt *m, const int32_t *ids, const hd_seg *seg, hd_cache *cache)
{
    const hd_items in = {.seg = seg, .ids = ids, .pos = hd_cache_positions(r, cache, seg)};
    hd_rows x = hd_front_rows(r, &m->front, &in);
    return hd_stack_of(r, &m->stack, x, (hd_rows){0}, hd_cache_slot(cache, 0));
}

hd_rows hd_gpt_rows_at_layer(hd_run *r, const hd_gpt *m, int layers, const hd_items *in)
{
    hd_rows x = hd_front_rows(r, &m->front, in);
    return hd_stack_rows_at_layer(r, &m->stack, layers, x);
}

hd_tensor *hd_gpt_logits(hd_run *r, const hd_gpt *m, hd_rows x)
{
    const float cap = m->opt.logit_cap;
    hd_tensor *y = hd_linear_output(r, x.t, &m->head->t, NULL);
    if (cap > 0) y = hd_scale(r, hd_apply(r, hd_scale(r, y, 1 / cap), HD_tanh), cap);
    return hd_probe_offer(r, "logits", y, x.seg);
}

hd_tensor *hd_gpt_loss(hd_run *r, const hd_gpt *m, hd_rows x, const int32_t *target, const hd_loss_opt *opt)
{
    hd_loss_opt o = *opt;
    o.cap = m->opt.logit_cap;
    return hd_linear_cross_entropy(r, x.t, &m->head->t, NULL, target, &o);
}

double hd_gpt_flops(const hd_gpt *m, size_t sequences, size_t length)
{
    return hd_stack_flops(&m->stack.opt, (double)sequences, (double)length, 0) +
           2 * (double)sequences * (double)length * (double)hd_count_of(&m->head->t);
}
