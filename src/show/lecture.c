/* The lecture's example on the engine's Transformer. Easy to get wrong: the slides write x W with W [in,
   out], the engine keeps [out, in]. */
#include "show/lecture.h"

#include <string.h>

#include "show/lecture_weights.h"

const char *const hd_lecture_words[] = {"<SOS>", "<EOS>", "<PAD>", "am",  "fine",    "how",
                                        "i",     "about", "are",   "you", "yourself"};

const hd_lecture_pair hd_lecture_pairs[] = {{{5, 8, 9}, {6, 3, 4}}, {{6, 3, 4}, {5, 7, 10}}};

const hd_lecture_heading hd_lecture_headings[] = {
#define X(id, part, title, text) {part, title, text},
    HD_LECTURE_SECTION_LIST(X)
#undef X
};

#define ENC "model.encoder.layers.0."
#define DEC "model.decoder.layers.0."

/* clang-format off */
#define ROW(name, at, kind, engine, rows, cols, formula) \
    {name, HD_LECTURE_##at, HD_LECTURE_##kind, engine, HD_LECTURE_##rows, HD_LECTURE_##cols, formula}
#define TABLE(name, at, engine) ROW(name, at, TABLE, engine, WORDS, CHANNELS, "a row for each word")
#define WEIGHT(name, at, engine) ROW(name, at, WEIGHT, engine, CHANNELS, CHANNELS, "weights")
#define BIAS(name, at, engine) ROW(name, at, BIAS, engine, CHANNELS, CHANNELS, "bias")
#define STEP(name, at, engine, rows, formula) ROW(name, at, STEP, engine, rows, CHANNELS, formula)

/* The rows of an attention layer in its three sections, around the masking that only the decoder has. They
   are called after `name`, the parameters after `layer`, what is offered after `scope`; from rows to keys. */
#define QUERY_KEY_VALUE(name, at, scope, layer, rows, keys, query, key) \
    WEIGHT(name "W_Q", at, layer "q_proj.weight"),                      \
    STEP(name "Q", at, scope "Q", rows, query " . W_Q"),                \
    WEIGHT(name "W_K", at, layer "k_proj.weight"),                      \
    STEP(name "K", at, scope "K", keys, key " . W_K"),                  \
    WEIGHT(name "W_V", at, layer "v_proj.weight"),                      \
    STEP(name "V", at, scope "V", keys, key " . W_V")
#define SCORES(name, at, scope, rows, keys)                             \
    ROW(name "scores", at, STEP, scope "scores", rows, keys, "Q . K^T"), \
    ROW(name "scaled", at, STEP, scope "scaled", rows, keys, "scores / sqrt(6)")
#define SHARES(name, at, scope, rows, keys, of) \
    ROW(name "softmax", at, SHARES, scope "softmax", rows, keys, "softmax(" of ")")
#define GATHER(name, at, scope, layer, rows)                     \
    STEP(name "attn_out", at, scope "attn_out", rows, "softmax . V"), \
    WEIGHT(name "W_O", at, layer "out_proj.weight"),             \
    STEP(name "mha_out", at, scope "mha_out", rows, "attn_out . W_O")

#define ADD_NORM(add, norm, at, scope, rows, formula)                              \
    STEP(add, at, scope ".sum", rows, formula),                                    \
    ROW(add ".mean", at, MEAN, scope ".mean", rows, CHANNELS, "row mean"),         \
    ROW(add ".sd", at, INVERSE_SD, scope ".inverse_sd", rows, CHANNELS, "row SD"), \
    STEP(norm, at, scope ".norm", rows, "(" add " - mean) / SD")

#define FEED_FORWARD(name, hidden, out, layer, rows, input)                               \
    WEIGHT(name ".W1", hidden, layer "fc1.weight"),                                       \
    BIAS(name ".b1", hidden, layer "fc1.bias"),                                           \
    STEP(name ".ffn.hidden", hidden, name ".0.ffn.hidden", rows, input " . W1 + b1"),     \
    STEP(name ".ffn.relu", hidden, name ".0.ffn.relu", rows, "max(0, hidden)"),           \
    WEIGHT(name ".W2", out, layer "fc2.weight"),                                          \
    BIAS(name ".b2", out, layer "fc2.bias"),                                              \
    STEP(name ".ffn.out", out, name ".0.ffn.out", rows, "relu . W2 + b2")

const hd_lecture_matrix hd_lecture_matrices[] = {
    TABLE("enc.embedding_table", EMBED, "model.encoder.embed_tokens.weight"),
    STEP("enc.emb", EMBED, "enc.emb", SOURCE, "rows 5, 8, 9 of the table"),
    ROW("pe", POSITION, SINUSOIDS, "positions", PLACES, CHANNELS, "sin, cos of pos / 10000^(2i/6)"),
    STEP("enc.X", INPUT, "enc.X", SOURCE, "enc.emb + pe"),
    QUERY_KEY_VALUE("enc.", QUERY, "enc.0.self.", ENC "self_attn.", SOURCE, SOURCE, "X", "X"),
    SCORES("enc.", WEIGH, "enc.0.self.", SOURCE, SOURCE),
    SHARES("enc.", WEIGH, "enc.0.self.", SOURCE, SOURCE, "scaled"),
    GATHER("enc.", GATHER, "enc.0.self.", ENC "self_attn.", SOURCE),
    ADD_NORM("enc.add1", "enc.norm1", NORM1, "enc.0.self", SOURCE, "X + mha_out"),
    FEED_FORWARD("enc", HIDDEN, FEED, ENC, SOURCE, "norm1"),
    ADD_NORM("enc.add2", "enc.norm2", NORM2, "enc.0.ffn", SOURCE, "norm1 + ffn.out"),

    TABLE("dec.embedding_table", DEC_INPUT, "model.decoder.embed_tokens.weight"),
    STEP("dec.emb", DEC_INPUT, "dec.emb", TARGET, "rows 0, 6, 3 of the table"),
    STEP("dec.X", DEC_INPUT, "dec.X", TARGET, "dec.emb + pe"),
    QUERY_KEY_VALUE("dec.self.", DEC_QUERY, "dec.0.self.", DEC "self_attn.", TARGET, TARGET, "X", "X"),
    SCORES("dec.self.", DEC_WEIGH, "dec.0.self.", TARGET, TARGET),
    ROW("dec.self.masked", DEC_MASK, STEP, "dec.0.self.masked", TARGET, TARGET, "scaled, -inf ahead"),
    SHARES("dec.self.", DEC_MASK, "dec.0.self.", TARGET, TARGET, "masked"),
    GATHER("dec.self.", DEC_GATHER, "dec.0.self.", DEC "self_attn.", TARGET),
    ADD_NORM("dec.add1", "dec.norm1", DEC_NORM1, "dec.0.self", TARGET, "X + self.mha_out"),
    QUERY_KEY_VALUE("dec.cross.", CROSS_QUERY, "dec.0.cross.", DEC "encoder_attn.", TARGET, SOURCE,
                    "dec.norm1", "enc.norm2"),
    SCORES("dec.cross.", CROSS_WEIGH, "dec.0.cross.", TARGET, SOURCE),
    SHARES("dec.cross.", CROSS_WEIGH, "dec.0.cross.", TARGET, SOURCE, "scaled"),
    GATHER("dec.cross.", CROSS_GATHER, "dec.0.cross.", DEC "encoder_attn.", TARGET),
    ADD_NORM("dec.add2", "dec.norm2", DEC_NORM2, "dec.0.cross", TARGET, "norm1 + cross.mha_out"),
    FEED_FORWARD("dec", DEC_HIDDEN, DEC_FEED, DEC, TARGET, "norm2"),
    ADD_NORM("dec.add3", "dec.norm3", DEC_NORM3, "dec.0.ffn", TARGET, "norm2 + ffn.out"),

    ROW("out.W", OUTPUT, WEIGHT, "lm_head.weight", CHANNELS, WORDS, "weights"),
    ROW("out.b", OUTPUT, BIAS, "final_logits_bias", CHANNELS, WORDS, "bias"),
    ROW("logits", OUTPUT, STEP, "logits", TARGET, WORDS, "dec.norm3 . W + b"),
    ROW("probs", OUTPUT, SHARES, "probs", TARGET, WORDS, "softmax(logits)"),
    {0},
};
/* clang-format on */

size_t hd_lecture_length(hd_lecture_axis a)
{
    return a == HD_LECTURE_CHANNELS ? HD_LECTURE_WIDTH
           : a == HD_LECTURE_WORDS  ? HD_LECTURE_VOCAB
                                    : HD_LECTURE_LENGTH;
}

/* Copies a [rows, cols] to b [cols, rows]. */
static void turn(hd_real *b, const hd_real *a, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) b[j * rows + i] = a[i * cols + j];
}

static size_t rows_of(const hd_lecture_matrix *x)
{
    return x->kind == HD_LECTURE_BIAS ? 1 : hd_lecture_length(x->rows);
}

const float *hd_lecture_weight(const hd_lecture_matrix *x)
{
    const float *at = lecture_weights;
    for (const hd_lecture_matrix *m = hd_lecture_matrices; m != x; m++)
        if (hd_lecture_learned(m)) at += rows_of(m) * hd_lecture_length(m->cols);
    return hd_lecture_learned(x) ? at : NULL;
}

static hd_status set_weight(hd_encdec *m, const hd_lecture_matrix *x, hd_err *err)
{
    size_t rows = rows_of(x), cols = hd_lecture_length(x->cols);
    hd_param *p = hd_params_find(&m->params, x->engine);
    if (!p || hd_count_of(&p->t) != rows * cols)
        return hd_err_set(err, HD_ESHAPE, "the transformer has no '%s' of %zu x %zu", x->engine, rows, cols);
    hd_real shown[HD_LECTURE_LARGEST], turned[HD_LECTURE_LARGEST];
    const float *weight = hd_lecture_weight(x);
    for (size_t i = 0; i < rows * cols; i++) shown[i] = (hd_real)weight[i];
    turn(turned, shown, rows, cols);
    return hd_params_set(&m->params, p, x->kind == HD_LECTURE_WEIGHT ? turned : shown);
}

hd_status hd_lecture_new(hd_encdec **out, hd_backend *backend, float eps, bool training, hd_err *err)
{
    const hd_encdec_opt opt = {.encoder_layers = 1,
                               .decoder_layers = 1,
                               .stack.heads = 1,
                               .stack.width = HD_LECTURE_WIDTH,
                               .stack.inner = HD_LECTURE_WIDTH,
                               .source_vocab = HD_LECTURE_VOCAB,
                               .target_vocab = HD_LECTURE_VOCAB,
                               .stack.plain = true,
                               .output_bias = true,
                               .stack.eps = eps,
                               .stack.act = HD_relu,
                               .positions = HD_LECTURE_POSITIONS};
    hd_encdec *m = NULL;
    hd_status s = hd_encdec_new(&m, backend, &opt, training, err);
    for (const hd_lecture_matrix *x = hd_lecture_matrices; !s && x->name; x++)
        if (hd_lecture_learned(x)) s = set_weight(m, x, err);
    if (s)
        hd_encdec_free(m);
    else
        *out = m;
    return s;
}

hd_status hd_lecture_read(const hd_encdec *m, const hd_lecture_matrix *x, bool gradient, hd_real *to)
{
    hd_real all[HD_LECTURE_POSITIONS * HD_LECTURE_WIDTH];
    size_t rows = rows_of(x), cols = hd_lecture_length(x->cols);
    const hd_param *p =
        x->kind == HD_LECTURE_SINUSOIDS ? m->target.position : hd_params_find(&m->params, x->engine);
    if (!p || hd_count_of(&p->t) > sizeof all / sizeof *all) return HD_EARG;
    hd_status s = hd_params_get(&m->params, p, gradient ? &p->grad : &p->t, all);
    if (s) return s;
    if (x->kind == HD_LECTURE_WEIGHT)
        turn(to, all, cols, rows);
    else
        memcpy(to, all, rows * cols * sizeof *to);
    return HD_OK;
}
