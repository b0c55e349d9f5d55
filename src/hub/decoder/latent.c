/* Latent attention in published config.json: DeepSeek-V2 and V3. Easy to get wrong: "q_lora_rank": null is
   not the same as none, "head_dim" is that of the rotated columns, and scores have a factor for scaled
   positions at every length. */
#include <math.h>

#include "hub/decoder/decoder.h"
#include "hub/keys.h"

static const hd_key keys[] = {
    HD_KEY(WHOLE, "kv_lora_rank", hd_lm_opt, stack.latent.rank, HD_MOST_SIZE, 512),
    HD_KEY(WHOLE, "qk_nope_head_dim", hd_lm_opt, stack.latent.plain, HD_MOST_SIZE, 128),
    HD_KEY(WHOLE, "qk_rope_head_dim", hd_lm_opt, stack.latent.rotated, HD_MOST_SIZE, 64),
    HD_KEY(WHOLE, "v_head_dim", hd_lm_opt, stack.latent.value, HD_MOST_SIZE, 128),
    {0}};

static const char QUERY_RANK[] = "q_lora_rank", INTERLEAVED[] = "rope_interleave";

/* Of scores, as transformers has it. */
static double scale_of(const hd_stack_opt *k)
{
    const hd_rotary_scaling *s = &k->rotary.scaling;
    const double columns = (double)(k->latent.plain + k->latent.rotated);
    const bool scaled = s->kind != HD_ROTARY_DEFAULT && s->factor > 1 && s->mscale_all > 0;
    const double m = scaled ? 0.1 * s->mscale_all * log(s->factor) + 1 : 1;
    return m * m / sqrt(columns);
}

void hd_decoder_latent_read(hd_model_config *c, const hd_decoder *d, hd_lm_opt *o)
{
    hd_stack_opt *k = &o->stack;
    if (!d->latent) return;
    hd_keys_read(c, keys, 0, o);
    if (!json_is_null(json_object_get(c->object, QUERY_RANK)))
        k->latent.query_rank = (size_t)hd_family_whole(c, QUERY_RANK, 1, HD_MOST_SIZE, 1536);
    if (k->kv_heads != k->heads)
        hd_model_config_refuse(c, "\"num_key_value_heads\" is not \"num_attention_heads\": latent attention "
                                  "has as many");
    if (!k->unbiased) hd_model_config_refuse(c, "\"attention_bias\": heed's latent attention has no biases");
    k->kv_heads = 0, k->head_width = 0;
    k->rotary.kind = d->experts == HD_EXPERTS_DEEPSEEK_V2 || hd_family_switch(c, INTERLEAVED, true)
                         ? HD_ROTARY_INTERLEAVED
                         : HD_ROTARY_HALVES;
    if (k->rotary.scaling.kind) k->query_scale = (float)scale_of(k);
}

void hd_decoder_latent_put(json_t *config, const hd_decoder *d, const hd_lm_opt *o)
{
    const hd_latent_opt *l = &o->stack.latent;
    if (!d->latent) return;
    hd_keys_set(config, keys, o);
    hd_json_set(config, QUERY_RANK, l->query_rank ? json_integer((json_int_t)l->query_rank) : json_null());
    hd_json_set(config, "head_dim", json_integer((json_int_t)l->rotated));
    if (d->experts == HD_EXPERTS_DEEPSEEK_V3)
        hd_json_set(config, INTERLEAVED, json_boolean(o->stack.rotary.kind == HD_ROTARY_INTERLEAVED));
}

const char *hd_decoder_latent_misfit(const hd_decoder *d, const hd_stack_opt *k)
{
    const double columns = (double)(k->latent.plain + k->latent.rotated), scale = scale_of(k),
                 has = k->query_scale > 0 ? (double)k->query_scale : 1 / sqrt(columns);
    if (!k->latent.rank) return d->latent ? "ordinary attention" : NULL;
    if (!d->latent) return "latent attention";
    if (!k->unbiased) return "biases";
    if (!k->rotary.kind) return "no rotary positions";
    if (!k->latent.plain) return "heads all of whose columns are rotated";
    if (fabs(has - scale) > 1e-5 * scale) return "another scale of scores";
    if (d->experts == HD_EXPERTS_DEEPSEEK_V2 && k->rotary.kind != HD_ROTARY_INTERLEAVED)
        return "rotary positions of halves";
    return NULL;
}
