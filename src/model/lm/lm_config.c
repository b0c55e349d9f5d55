/* A language model in config.json. */
#include "model/lm/lm.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_SIZE = 1 << 20, MOST_BUCKETS = 1 << 28, MOST_LAYERS = 1000 };

/* X(key, field of hd_lm_opt, least, most): whole numbers of config.json */
#define SIZES(X)                              \
    X("order", order, 1, 1000)                \
    X("buckets", buckets, 0, MOST_BUCKETS)    \
    X("layers", stack.layers, 1, MOST_LAYERS) \
    X("heads", stack.heads, 1, 1024)          \
    X("width", stack.width, 1, MOST_SIZE)     \
    X("inner", stack.inner, 0, 4 * MOST_SIZE) \
    X("context", context, 1, MOST_SIZE)       \
    X("vocabulary", vocab, 1, 64 * MOST_SIZE)
/* X(key, field, most) */
#define REALS(X)       \
    X("add_k", k, 1e9) \
    X("dropout", stack.dropout, 0.999)
/* X(key, field, most, what it is where the file lacks it): came later */
#define LATE_REALS(X)                                                        \
    X("embedding_dropout", embedding_dropout, 0.999, o->stack.dropout)       \
    X("attention_dropout", stack.attention_dropout, 0.999, o->stack.dropout) \
    X("eps", stack.eps, 1, 1e-5f)

void hd_lm_config_write(hd_text *to, const hd_lm_opt *o)
{
    hd_text_print(to, ",\n \"model\": \"%s\"", hd_lm_names[o->kind]);
#define X(key, field, least, most) hd_text_print(to, ",\n \"" key "\": %zu", (size_t)o->field);
    SIZES(X)
#undef X
    hd_text_print(to, ",\n \"post_norm\": %s,\n \"tied\": %s", o->stack.pre_norm ? "false" : "true",
                  o->tied ? "true" : "false");
#define X(key, field, most) hd_model_config_put_real(to, key, (double)o->field);
    REALS(X)
#undef X
#define X(key, field, most, otherwise) hd_model_config_put_real(to, key, (double)o->field);
    if (o->kind == HD_LM_gpt) {
        LATE_REALS(X)
    }
#undef X
    hd_text_print(to, ",\n \"smoothing\": \"%s\",\n \"activation\": \"%s\"", hd_smoothing_names[o->smoothing],
                  hd_unary_name(o->stack.act));
}

void hd_lm_config_read(hd_model_config *c, hd_lm_opt *o)
{
    *o = (hd_lm_opt){0};
    o->kind = (hd_lm_kind)hd_model_config_name(c, "model", hd_lm_names, HD_LM_KINDS);
#define X(key, field, least, most) \
    o->field = (__typeof__(o->field))hd_model_config_whole(c, key, least, most);
    SIZES(X)
#undef X
    o->stack.pre_norm = !hd_model_config_switch(c, "post_norm");
    o->tied = hd_model_config_switch(c, "tied");
#define X(key, field, most) o->field = (__typeof__(o->field))hd_model_config_real(c, key, most);
    REALS(X)
#undef X
#define X(key, field, most, otherwise) \
    o->field = hd_model_config_has(c, key) ? (float)hd_model_config_real(c, key, most) : otherwise;
    LATE_REALS(X)
#undef X
    o->smoothing = (hd_smoothing)hd_model_config_name(c, "smoothing", hd_smoothing_names, HD_SMOOTHINGS);
    o->stack.act = hd_model_config_activation(c, "activation");
    if (o->kind == HD_LM_gpt && o->stack.width % (size_t)o->stack.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o->stack.width,
                               o->stack.heads);
}
