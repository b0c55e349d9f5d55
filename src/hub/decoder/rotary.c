/* Reading and writing rotary positions. Easy to get wrong: "rope_scaling" that is not null beats
   "rope_parameters", and a theta inside of either beats the one outside. */
#include "hub/decoder/rotary.h"

#include <math.h>
#include <string.h>

#include "hub/keys.h"

#define MOST_THETA 1e15
#define MOST       1e6

static const char FULL[] = "full_attention", LOCAL[] = "sliding_attention", THETA[] = "rope_theta";

static double real(hd_model_config *c, const char *key, double otherwise, double most)
{
    return hd_model_config_has(c, key) ? hd_model_config_real(c, key, most) : otherwise;
}

/* An object of "rope_scaling" or "rope_parameters". */
static void read_scaling(hd_model_config *c, hd_lm_opt *o)
{
    hd_rotary *r = &o->stack.rotary;
    hd_rotary_scaling *s = &r->scaling;
    const char *key = hd_model_config_has(c, "rope_type") ? "rope_type" : "type";
    r->theta = real(c, THETA, r->theta, MOST_THETA);
    if (!hd_model_config_has(c, key)) return;
    s->kind =
        (hd_rotary_scaling_kind)hd_model_config_name(c, key, hd_rotary_scaling_names, HD_ROTARY_SCALINGS);
    if (s->kind == HD_ROTARY_DEFAULT) return;
    s->factor = real(c, "factor", 1, MOST);
    s->low = real(c, "low_freq_factor", 0, MOST);
    s->high = real(c, "high_freq_factor", 0, MOST);
    s->original =
        (size_t)hd_family_whole(c, "original_max_position_embeddings", 1, 1 << 30, (long long)o->context);
    if (s->kind == HD_ROTARY_DYNAMIC) { /* "max_position_embeddings" are the learned ones */
        s->original = o->context;
        o->context = (size_t)fmax(1, fmin(s->factor * (double)o->context, HD_MOST_SIZE));
    }
    s->beta_fast = real(c, "beta_fast", 0, MOST);
    s->beta_slow = real(c, "beta_slow", 0, MOST);
    s->attention_factor = real(c, "attention_factor", 0, MOST);
    s->mscale = real(c, "mscale", 0, MOST);
    s->mscale_all = real(c, "mscale_all_dim", 0, MOST);
    s->no_rounding = !hd_family_switch(c, "truncate", true);
}

void hd_decoder_rotary_read(hd_model_config *c, hd_lm_opt *o, double theta)
{
    hd_rotary *r = &o->stack.rotary;
    *r = (hd_rotary){.kind = HD_ROTARY_HALVES, .theta = real(c, THETA, theta, MOST_THETA)};
    o->stack.local_theta = real(c, "rope_local_base_freq", 0, MOST_THETA);
    hd_model_config inside = hd_model_config_inside(
        c, hd_model_config_has(c, "rope_scaling") ? "rope_scaling" : "rope_parameters");
    const bool nested = hd_model_config_has(&inside, FULL) || hd_model_config_has(&inside, LOCAL);
    hd_model_config full = nested ? hd_model_config_inside(&inside, FULL) : inside;
    read_scaling(&full, o);
    if (nested) {
        hd_model_config_leave(&inside, &full);
        hd_model_config local = hd_model_config_inside(&inside, LOCAL);
        o->stack.local_theta = real(&local, THETA, o->stack.local_theta, MOST_THETA);
        hd_model_config_leave(&inside, &local);
    } else
        inside = full;
    hd_model_config_leave(c, &inside);
}

/* -- writing -- */

static void put_real(json_t *to, const char *key, double x)
{
    if (x > 0) hd_json_set(to, key, hd_json_real(x));
}

static json_t *scaling_of(const hd_rotary *r)
{
    const hd_rotary_scaling *s = &r->scaling;
    json_t *to = json_pack("{s:s}", "rope_type", hd_rotary_scaling_names[s->kind]);
    if (s->kind == HD_ROTARY_DEFAULT) return to;
    put_real(to, "factor", s->factor);
    if (s->kind == HD_ROTARY_LLAMA3) {
        put_real(to, "low_freq_factor", s->low > 0 ? s->low : 1);
        put_real(to, "high_freq_factor", s->high > 0 ? s->high : 4);
    }
    if (s->original && s->kind != HD_ROTARY_LINEAR && s->kind != HD_ROTARY_DYNAMIC)
        hd_json_set(to, "original_max_position_embeddings", json_integer((json_int_t)s->original));
    put_real(to, "beta_fast", s->beta_fast);
    put_real(to, "beta_slow", s->beta_slow);
    put_real(to, "attention_factor", s->attention_factor);
    put_real(to, "mscale", s->mscale);
    put_real(to, "mscale_all_dim", s->mscale_all);
    if (s->no_rounding) hd_json_set(to, "truncate", json_false());
    return to;
}

void hd_decoder_rotary_put(json_t *config, const hd_lm_opt *o)
{
    const hd_rotary *r = &o->stack.rotary;
    const double theta = r->theta > 0 ? r->theta : 10000;
    json_t *now = scaling_of(r);
    hd_json_set(now, THETA, hd_json_real(theta));
    hd_json_set(config, THETA, hd_json_real(theta));
    if (r->scaling.kind == HD_ROTARY_DYNAMIC)
        hd_json_set(config, "max_position_embeddings", json_integer((json_int_t)r->scaling.original));
    if (!(o->stack.local_theta > 0)) {
        hd_json_set(config, "rope_scaling",
                    r->scaling.kind == HD_ROTARY_DEFAULT ? json_null() : scaling_of(r));
        hd_json_set(config, "rope_parameters", now);
        return;
    }
    json_t *both = json_object();
    hd_json_set(both, FULL, now);
    hd_json_set(both, LOCAL,
                json_pack("{s:s,s:o}", "rope_type", "default", THETA, hd_json_real(o->stack.local_theta)));
    hd_json_set(config, "rope_local_base_freq", hd_json_real(o->stack.local_theta));
    hd_json_set(config, "rope_parameters", both);
}
