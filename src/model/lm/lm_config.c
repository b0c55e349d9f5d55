/* A language model in config.json. */
#include "model/keys.h"
#include "model/lm/lm.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_SIZE = 1 << 20, MOST_BUCKETS = 1 << 28, MOST_LAYERS = 1000 };

#define KEY(name, kind, field) HD_KEY_OF(hd_lm_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("model", CHOICE, kind), HD_KEY_NAMES(hd_lm_names)},
    {KEY("order", WHOLE, order), .least = 1, .most = 1000},
    {KEY("buckets", WHOLE, buckets), .least = 0, .most = MOST_BUCKETS},
    {KEY("layers", WHOLE, stack.layers), .least = 1, .most = MOST_LAYERS},
    {KEY("heads", WHOLE, stack.heads), .least = 1, .most = 1024},
    {KEY("width", WHOLE, stack.width), .least = 1, .most = MOST_SIZE},
    {KEY("inner", WHOLE, stack.inner), .least = 0, .most = 4 * MOST_SIZE},
    {KEY("context", WHOLE, context), .least = 1, .most = MOST_SIZE},
    {KEY("vocabulary", WHOLE, vocab), .least = 1, .most = 64 * MOST_SIZE},
    {KEY("post_norm", NOT, stack.pre_norm)},
    {KEY("tied", FLAG, tied)},
    {KEY("add_k", REAL, k), .most = 1e9},
    {KEY("dropout", REAL, stack.dropout), .most = 0.999},
    {0},
};
/* Of a gpt. */
static const hd_key late[] = {
    {KEY("embedding_dropout", REAL, embedding_dropout), .most = 0.999, .when = HD_KEY_LATE},
    {KEY("attention_dropout", REAL, stack.attention_dropout), .most = 0.999, .when = HD_KEY_LATE},
    {KEY("eps", REAL, stack.eps), .most = 1, .when = HD_KEY_LATE},
    {KEY("relative", WHOLE, stack.relative_span), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("local_block", WHOLE, stack.local_block), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("no_positions", FLAG, no_positions), .when = HD_KEY_RARE},
    {KEY("position", CHOICE, position), HD_KEY_NAMES(hd_gpt_position_names), .when = HD_KEY_RARE},
    {KEY("positions", WHOLE, positions), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("align", WHOLE, align), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {0},
};
static const hd_key last[] = {
    {KEY("smoothing", CHOICE, smoothing), HD_KEY_NAMES(hd_smoothing_names)},
    {KEY("activation", UNARY, stack.act)},
    {0},
};

void hd_lm_config_write(hd_text *to, const hd_lm_opt *o)
{
    hd_keys_write(to, keys, 0, o);
    if (o->kind == HD_LM_gpt) hd_keys_write(to, late, 0, o);
    hd_keys_write(to, last, 0, o);
}

void hd_lm_config_read(hd_model_config *c, hd_lm_opt *o)
{
    *o = (hd_lm_opt){.stack.eps = 1e-5f};
    hd_keys_read(c, keys, 0, o);
    o->embedding_dropout = o->stack.attention_dropout = o->stack.dropout;
    hd_keys_read(c, late, 0, o);
    hd_keys_read(c, last, 0, o);
    if (o->kind == HD_LM_gpt && o->stack.width % (size_t)o->stack.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o->stack.width,
                               o->stack.heads);
}
