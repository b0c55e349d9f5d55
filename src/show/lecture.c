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
#define PARAMETER(name, at, kind, engine, rows, cols, formula, weights) \
    {name, HD_LECTURE_##at, HD_LECTURE_##kind, engine, HD_LECTURE_##rows, HD_LECTURE_##cols, formula, weights}
#define TABLE(name, at, engine, weights) \
    PARAMETER(name, at, TABLE, engine, WORDS, CHANNELS, "a row for each word", weights)
#define WEIGHT(name, at, engine, weights) \
    PARAMETER(name, at, WEIGHT, engine, CHANNELS, CHANNELS, "weights", weights)
#define BIAS(name, at, engine, weights) \
    PARAMETER(name, at, BIAS, engine, CHANNELS, CHANNELS, "bias", weights)
#define OF(name, at, kind, engine, rows, cols, formula) \
    PARAMETER(name, at, kind, engine, rows, cols, formula, NULL)
#define STEP(name, at, engine, rows, formula) OF(name, at, STEP, engine, rows, CHANNELS, formula)

/* The four rows of an add & norm. */
#define ADD_NORM(add, norm, at, scope, rows, formula)                             \
    STEP(add, at, scope ".sum", rows, formula),                                   \
    OF(add ".mean", at, MEAN, scope ".mean", rows, CHANNELS, "row mean"),         \
    OF(add ".sd", at, INVERSE_SD, scope ".inverse_sd", rows, CHANNELS, "row SD"), \
    STEP(norm, at, scope ".norm", rows, "(" add " - mean) / SD")

const hd_lecture_matrix hd_lecture_matrices[] = {
    TABLE("enc.embedding_table", EMBED, "model.encoder.embed_tokens.weight", enc_embedding_table),
    STEP("enc.emb", EMBED, "enc.emb", SOURCE, "rows 5, 8, 9 of the table"),
    OF("pe", POSITION, SINUSOIDS, "positions", PLACES, CHANNELS, "sin, cos of pos / 10000^(2i/6)"),
    STEP("enc.X", INPUT, "enc.X", SOURCE, "enc.emb + pe"),

    WEIGHT("enc.W_Q", QUERY, ENC "self_attn.q_proj.weight", enc_w_q),
    STEP("enc.Q", QUERY, "enc.0.self.Q", SOURCE, "X . W_Q"),
    WEIGHT("enc.W_K", QUERY, ENC "self_attn.k_proj.weight", enc_w_k),
    STEP("enc.K", QUERY, "enc.0.self.K", SOURCE, "X . W_K"),
    WEIGHT("enc.W_V", QUERY, ENC "self_attn.v_proj.weight", enc_w_v),
    STEP("enc.V", QUERY, "enc.0.self.V", SOURCE, "X . W_V"),
    OF("enc.scores", WEIGH, STEP, "enc.0.self.scores", SOURCE, SOURCE, "Q . K^T"),
    OF("enc.scaled", WEIGH, STEP, "enc.0.self.scaled", SOURCE, SOURCE, "scores / sqrt(6)"),
    OF("enc.softmax", WEIGH, SHARES, "enc.0.self.softmax", SOURCE, SOURCE, "softmax(scaled)"),
    STEP("enc.attn_out", GATHER, "enc.0.self.attn_out", SOURCE, "softmax . V"),
    WEIGHT("enc.W_O", GATHER, ENC "self_attn.out_proj.weight", enc_w_o),
    STEP("enc.mha_out", GATHER, "enc.0.self.mha_out", SOURCE, "attn_out . W_O"),
    ADD_NORM("enc.add1", "enc.norm1", NORM1, "enc.0.self", SOURCE, "X + mha_out"),
    WEIGHT("enc.W1", HIDDEN, ENC "fc1.weight", enc_w1),
    BIAS("enc.b1", HIDDEN, ENC "fc1.bias", enc_b1),
    STEP("enc.ffn.hidden", HIDDEN, "enc.0.ffn.hidden", SOURCE, "norm1 . W1 + b1"),
    STEP("enc.ffn.relu", HIDDEN, "enc.0.ffn.relu", SOURCE, "max(0, hidden)"),
    WEIGHT("enc.W2", FEED, ENC "fc2.weight", enc_w2),
    BIAS("enc.b2", FEED, ENC "fc2.bias", enc_b2),
    STEP("enc.ffn.out", FEED, "enc.0.ffn.out", SOURCE, "relu . W2 + b2"),
    ADD_NORM("enc.add2", "enc.norm2", NORM2, "enc.0.ffn", SOURCE, "norm1 + ffn.out"),

    TABLE("dec.embedding_table", DEC_INPUT, "model.decoder.embed_tokens.weight", dec_embedding_table),
    STEP("dec.emb", DEC_INPUT, "dec.emb", TARGET, "rows 0, 6, 3 of the table"),
    STEP("dec.X", DEC_INPUT, "dec.X", TARGET, "dec.emb + pe"),
    WEIGHT("dec.self.W_Q", DEC_QUERY, DEC "self_attn.q_proj.weight", dec_self_w_q),
    STEP("dec.self.Q", DEC_QUERY, "dec.0.self.Q", TARGET, "X . W_Q"),
    WEIGHT("dec.self.W_K", DEC_QUERY, DEC "self_attn.k_proj.weight", dec_self_w_k),
    STEP("dec.self.K", DEC_QUERY, "dec.0.self.K", TARGET, "X . W_K"),
    WEIGHT("dec.self.W_V", DEC_QUERY, DEC "self_attn.v_proj.weight", dec_self_w_v),
    STEP("dec.self.V", DEC_QUERY, "dec.0.self.V", TARGET, "X . W_V"),
    OF("dec.self.scores", DEC_WEIGH, STEP, "dec.0.self.scores", TARGET, TARGET, "Q . K^T"),
    OF("dec.self.scaled", DEC_WEIGH, STEP, "dec.0.self.scaled", TARGET, TARGET, "scores / sqrt(6)"),
    OF("dec.self.masked", DEC_MASK, STEP, "dec.0.self.masked", TARGET, TARGET, "scaled, -inf ahead"),
    OF("dec.self.softmax", DEC_MASK, SHARES, "dec.0.self.softmax", TARGET, TARGET, "softmax(masked)"),
    STEP("dec.self.attn_out", DEC_GATHER, "dec.0.self.attn_out", TARGET, "softmax . V"),
    WEIGHT("dec.self.W_O", DEC_GATHER, DEC "self_attn.out_proj.weight", dec_self_w_o),
    STEP("dec.self.mha_out", DEC_GATHER, "dec.0.self.mha_out", TARGET, "attn_out . W_O"),
    ADD_NORM("dec.add1", "dec.norm1", DEC_NORM1, "dec.0.self", TARGET, "X + self.mha_out"),

    WEIGHT("dec.cross.W_Q", CROSS_QUERY, DEC "encoder_attn.q_proj.weight", dec_cross_w_q),
    STEP("dec.cross.Q", CROSS_QUERY, "dec.0.cross.Q", TARGET, "dec.norm1 . W_Q"),
    WEIGHT("dec.cross.W_K", CROSS_QUERY, DEC "encoder_attn.k_proj.weight", dec_cross_w_k),
    STEP("dec.cross.K", CROSS_QUERY, "dec.0.cross.K", SOURCE, "enc.norm2 . W_K"),
    WEIGHT("dec.cross.W_V", CROSS_QUERY, DEC "encoder_attn.v_proj.weight", dec_cross_w_v),
    STEP("dec.cross.V", CROSS_QUERY, "dec.0.cross.V", SOURCE, "enc.norm2 . W_V"),
    OF("dec.cross.scores", CROSS_WEIGH, STEP, "dec.0.cross.scores", TARGET, SOURCE, "Q . K^T"),
    OF("dec.cross.scaled", CROSS_WEIGH, STEP, "dec.0.cross.scaled", TARGET, SOURCE, "scores / sqrt(6)"),
    OF("dec.cross.softmax", CROSS_WEIGH, SHARES, "dec.0.cross.softmax", TARGET, SOURCE, "softmax(scaled)"),
    STEP("dec.cross.attn_out", CROSS_GATHER, "dec.0.cross.attn_out", TARGET, "softmax . V"),
    WEIGHT("dec.cross.W_O", CROSS_GATHER, DEC "encoder_attn.out_proj.weight", dec_cross_w_o),
    STEP("dec.cross.mha_out", CROSS_GATHER, "dec.0.cross.mha_out", TARGET, "attn_out . W_O"),
    ADD_NORM("dec.add2", "dec.norm2", DEC_NORM2, "dec.0.cross", TARGET, "norm1 + cross.mha_out"),
    WEIGHT("dec.W1", DEC_HIDDEN, DEC "fc1.weight", dec_w1),
    BIAS("dec.b1", DEC_HIDDEN, DEC "fc1.bias", dec_b1),
    STEP("dec.ffn.hidden", DEC_HIDDEN, "dec.0.ffn.hidden", TARGET, "norm2 . W1 + b1"),
    STEP("dec.ffn.relu", DEC_HIDDEN, "dec.0.ffn.relu", TARGET, "max(0, hidden)"),
    WEIGHT("dec.W2", DEC_FEED, DEC "fc2.weight", dec_w2),
    BIAS("dec.b2", DEC_FEED, DEC "fc2.bias", dec_b2),
    STEP("dec.ffn.out", DEC_FEED, "dec.0.ffn.out", TARGET, "relu . W2 + b2"),
    ADD_NORM("dec.add3", "dec.norm3", DEC_NORM3, "dec.0.ffn", TARGET, "norm2 + ffn.out"),

    PARAMETER("out.W", OUTPUT, WEIGHT, "lm_head.weight", CHANNELS, WORDS, "weights", out_w),
    PARAMETER("out.b", OUTPUT, BIAS, "final_logits_bias", CHANNELS, WORDS, "bias", out_b),
    OF("logits", OUTPUT, STEP, "logits", TARGET, WORDS, "dec.norm3 . W + b"),
    OF("probs", OUTPUT, SHARES, "probs", TARGET, WORDS, "softmax(logits)"),
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

static hd_status set_weight(hd_encdec *m, const hd_lecture_matrix *x, hd_err *err)
{
    size_t rows = rows_of(x), cols = hd_lecture_length(x->cols);
    hd_param *p = hd_params_find(&m->params, x->engine);
    if (!p || hd_count_of(&p->t) != rows * cols)
        return hd_err_set(err, HD_ESHAPE, "the transformer has no '%s' of %zu x %zu", x->engine, rows, cols);
    hd_real shown[HD_LECTURE_LARGEST], turned[HD_LECTURE_LARGEST];
    for (size_t i = 0; i < rows * cols; i++) shown[i] = (hd_real)x->weight[i];
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
