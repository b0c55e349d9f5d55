/* What a probe's names mean: "dec.0.cross.softmax" is the softmax of the cross-attention of the decoder's
   first layer. Formulas are of rows times matrices, x W, and depend on the model as little as they can. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/exhibit_parts.h"

/* X(name, formula): where the model does not matter. "the row above" is the last item before it. */
#define FORMULAS(X)                                                       \
    X("scores", "Q K^T")                                                  \
    X("scaled", "scores / sqrt(columns of a head)")                       \
    X("masked", "the scores above, -inf where it must not look")          \
    X("softmax", "exp(s) / sum of exp(s): s are the scores above")        \
    X("attn_out", "softmax V")                                            \
    X("mha_out", "attn_out W_O + b")                                      \
    X("out", "act(hidden) W2 + b2")                                       \
    X("norm", "(sum - mean) / sqrt(variance + eps) * gain + bias")        \
    X("r", "sigmoid(x W_r + before U_r + b): how much n hears of before") \
    X("z", "sigmoid(x W_z + before U_z + b): how much of before stays")   \
    X("n", "tanh(x W_n + b + r * hidden_n): what may be new")             \
    X("hidden_n", "before U_n + b")                                       \
    X("i", "sigmoid(x W_i + before U_i + b): how much of g comes in")     \
    X("f", "sigmoid(x W_f + before U_f + b): how much of c stays")        \
    X("g", "tanh(x W_g + before U_g + b): what may be new")               \
    X("o", "sigmoid(x W_o + before U_o + b): how much of c is told")      \
    X("c", "f * c before + i * g")                                        \
    X("query", "the state that asks")                                     \
    X("logits", "y W + b: y is the row above")                            \
    X("probs", "exp(logit) / sum of exp(logit)")

static const char *last_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static bool is(const char *name, const char *last)
{
    return !strcmp(last_name(name), last);
}

static bool inside(const char *name, const char *scope)
{
    const char *at = strstr(name, scope);
    size_t n = strlen(scope);
    return at && (at == name || at[-1] == '.') && at[n] == '.';
}

static bool of_encoder(const char *name)
{
    return !strncmp(name, "enc.", 4);
}

/* Whether it is of a decoder's recurrent stage. */
static bool of_cells(const hd_exhibited *of, const char *name)
{
    return of->encdec && hd_encdec_recurs(of->encdec) && !strncmp(name, "dec.0.", 6);
}

/* The encoder of stages, of an encoder-decoder or of a classifier; NULL: it has none. */
static const hd_encoder *encoder_of(const hd_exhibited *of)
{
    if (of->encdec) return &of->encdec->encoder;
    const hd_classifier *c = of->classifier;
    return c && c->opt.body.kind == HD_BODY_stages ? &c->body.encoder : NULL;
}

/* What the cells of its rnn stages are made with. */
static hd_unary cell_of(const hd_exhibited *of)
{
    hd_unary act = of->lm           ? of->lm->opt.stack.act
                   : of->encdec     ? of->encdec->opt.cell
                   : of->classifier ? of->classifier->opt.body.cell
                                    : HD_IDENTITY;
    return act == HD_IDENTITY ? HD_tanh : act;
}

/* The recurrent stage that a name is of; NULL: none. `own` is for language models. */
static const hd_stage *stage_of(const hd_exhibited *of, const char *name, hd_stage *own)
{
    if (of->lm) {
        hd_lm_kind k = of->lm->opt.kind;
        own->kind = k == HD_LM_rnn    ? HD_STAGE_rnn
                    : k == HD_LM_gru  ? HD_STAGE_gru
                    : k == HD_LM_lstm ? HD_STAGE_lstm
                                      : HD_STAGE_none;
        return hd_stage_recurs(own) ? own : NULL;
    }
    if (!of_encoder(name)) return of_cells(of, name) ? &of->encdec->opt.decoder.at[0] : NULL;
    const char *at = strstr(name, "stage");
    const hd_encoder *e = encoder_of(of);
    int i = at ? atoi(at + 5) : 0;
    return e && i < e->stages && hd_stage_recurs(&e->stage[i].is) ? &e->stage[i].is : NULL;
}

/* -- formulas -- */

static const char *state_formula(const hd_exhibited *of, const char *name)
{
    hd_stage own = {0};
    const hd_stage *s = stage_of(of, name, &own);
    if (!s) return "act(X W + b)"; /* the hidden layer of a window */
    if (s->kind == HD_STAGE_gru)
        return s->both_ways ? "(1 - z) * n + z * before, both directions side by side"
                            : "(1 - z) * n + z * before";
    if (s->kind == HD_STAGE_lstm)
        return s->both_ways ? "o * tanh(c), both directions side by side" : "o * tanh(c)";
    if (cell_of(of) == HD_sigmoid)
        return s->both_ways ? "sigmoid(x W + before U + b), both directions side by side"
                            : "sigmoid(x W + before U + b)";
    return s->both_ways ? "tanh(x W + before U + b), both directions side by side"
                        : "tanh(x W + before U + b)";
}

static const char *const scoring_text[] = {
#define X(name, text) text,
    HD_SCORING_LIST(X)
#undef X
};
static const char *const reading_text[] = {
#define X(name, text) text,
    HD_READING_LIST(X)
#undef X
};
static const char *const context_text[] = {
#define X(name, text) text,
    HD_CONTEXT_LIST(X)
#undef X
};

/* Of a recurrent decoder; NULL: as everywhere. */
static const char *cells_formula(const hd_recurrent_decoder *d, const char *name)
{
    const hd_look *l = &d->look;
    if (is(name, "Q")) return l->q.w ? "query W" : "query";
    if (is(name, "K")) return l->k.w ? "the encoder's rows, mapped" : "the encoder's rows";
    if (is(name, "V")) return l->v.w ? "the encoder's rows, mapped" : "the encoder's rows";
    if (is(name, "scores")) return scoring_text[d->opt.score];
    if (is(name, "scaled")) return "scores, scaled and less far from where it looks";
    if (is(name, "read")) return reading_text[d->opt.read];
    if (is(name, "context"))
        return d->opt.context == HD_CONTEXT_attention ? "sum of softmax * V" : context_text[d->opt.context];
    return NULL;
}

static const char *embedding_formula(const hd_exhibited *of, const char *name)
{
    const hd_encoder *encoder = encoder_of(of);
    const hd_embedding *e = !encoder ? NULL : of_encoder(name) ? &encoder->embedding : &of->encdec->target;
    bool window = of->lm && of->lm->opt.kind == HD_LM_ffnn, gpt = of->lm && of->lm->opt.kind == HD_LM_gpt;
    if (is(name, "emb") && of->classifier && of->classifier->body.letters)
        return "1 in the column of the token, 0 elsewhere";
    if (is(name, "emb"))
        return e && e->scale > 1 ? "sqrt(columns) * row of the token in the table"
                                 : "row of the token in the table";
    if (window) return "rows of the last tokens in the table, the nearest first";
    return gpt || of->bert || (e && e->position) ? "emb + position" : "emb";
}

static bool pre_norm(const hd_exhibited *of)
{
    if (of->lm) return of->lm->opt.stack.pre_norm;
    if (of->encdec) return of->encdec->opt.stack.pre_norm;
    return encoder_of(of) && of->classifier->opt.body.stack.pre_norm;
}

/* Of blocks without biases; NULL: as of the others. */
static const char *unbiased_formula(const hd_encdec_opt *o, const char *name)
{
    bool pre = o->stack.pre_norm, cross = inside(name, "cross");
    if (is(name, "Q")) return pre ? "norm W_Q" : "x W_Q";
    if (is(name, "K")) return cross ? "m W_K: m are the encoder's rows" : pre ? "norm W_K" : "x W_K";
    if (is(name, "V")) return cross ? "m W_V: m are the encoder's rows" : pre ? "norm W_V" : "x W_V";
    if (is(name, "mha_out")) return "attn_out W_O";
    if (is(name, "hidden")) return pre ? "norm W1" : "x W1";
    if (is(name, "gate")) return pre ? "norm W3" : "x W3";
    if (is(name, "out")) return o->stack.gated ? "gated W2" : "act(hidden) W2";
    return NULL;
}

/* Of what blocks have in other kinds, too; NULL: as of most. */
static const char *kind_formula(const hd_encdec_opt *o, const char *name)
{
    const char *special = o->stack.unbiased ? unbiased_formula(o, name) : NULL;
    if (special) return special;
    if (is(name, "gated")) return "act(hidden) * gate";
    if (is(name, "norm") && o->stack.rms) return "sum / root of the mean square * gain, row by row";
    if (is(name, "scaled") && o->stack.relative.buckets && !inside(name, "cross"))
        return "scores + a number for the distance of key and query";
    return NULL;
}

/* Of a block's products; NULL: it is none of them. */
static const char *block_formula(const hd_exhibited *of, const char *name)
{
    const char *special = of->encdec ? kind_formula(&of->encdec->opt, name) : NULL;
    if (special) return special;
    bool pre = pre_norm(of), cross = inside(name, "cross");
    if (is(name, "Q")) return pre ? "norm W_Q + b" : "x W_Q + b";
    if (is(name, "K"))
        return cross ? "m W_K + b: m are the encoder's rows" : pre ? "norm W_K + b" : "x W_K + b";
    if (is(name, "V"))
        return cross ? "m W_V + b: m are the encoder's rows" : pre ? "norm W_V + b" : "x W_V + b";
    if (is(name, "hidden")) return pre ? "norm W1 + b1" : "x W1 + b1";
    if (is(name, "sum")) return pre ? "x + what the sublayers before it gave" : "x + what the sublayer gave";
    return inside(name, "ffn") && hd_unary_find(last_name(name)) >= 0 ? "act(hidden)" : NULL;
}

static const char *logits_formula(const hd_exhibited *of)
{
    if (of->classifier) return NULL;
    if (of->bert) return "y E^T + b: y is the row above, E the table of tokens";
    if (of->lm && of->lm->opt.kind == HD_LM_maxent) return "bias + a row of weights for each context";
    if (of->lm && of->lm->opt.kind == HD_LM_gpt) return "y E^T: y is the row above, E the table of tokens";
    if (of->encdec && of->encdec->opt.scaled_output) return "y W / sqrt(columns of y): y is the row above";
    if (of->encdec && !of->encdec->output_bias) return "y W: y is the row above";
    return NULL;
}

/* Of what a BERT has besides its blocks, and of what a classifier makes of rows; NULL: it is none of that. */
static const char *around_formula(const hd_exhibited *of, const char *name)
{
    static const char *const pooled[HD_POOLS] = {[HD_POOL_last] = "the last row",
                                                 [HD_POOL_mean] = "the mean of the rows",
                                                 [HD_POOL_max] = "the largest of each column",
                                                 [HD_POOL_first] = "the first row"};
    bool first = !of->classifier || of->classifier->opt.pool == HD_POOL_first;
    const hd_encoder *e = encoder_of(of);
    bool ends = e && of->classifier->opt.pool == HD_POOL_last && e->stage[e->stages - 1].is.both_ways;
    if (!strcmp(name, "pooled") && ends)
        return "the ends: the last row of one direction, the first of the other";
    if (!strcmp(name, "pooled"))
        return of->bert && first ? "tanh(first row W + b)" : pooled[of->classifier->opt.pool];
    if (!strcmp(name, "enc.sum")) return "X + the vector of the token's type";
    if (!strcmp(name, "head.asked")) return "the last block's rows of the masks";
    return strcmp(name, "head.sum") ? NULL : "act(asked W + b)";
}

static const char *special_formula(const hd_exhibited *of, const char *name)
{
    hd_stage own = {0};
    const hd_stage *stage = stage_of(of, name, &own);
    if (is(name, "h")) return state_formula(of, name);
    if (is(name, "before"))
        return stage && stage->kind == HD_STAGE_lstm ? "the state before: h, then c (none: zeros)"
                                                     : "the state before";
    if (is(name, "emb") || is(name, "X")) return embedding_formula(of, name);
    if (is(name, "logits")) return logits_formula(of);
    if (is(name, "probs") && of->lm && of->lm->opt.kind == HD_LM_ngram) return "what the counts say";
    const char *around = of->bert || of->classifier ? around_formula(of, name) : NULL;
    if (around) return around;
    return of_cells(of, name) ? cells_formula(&of->encdec->cells, name) : block_formula(of, name);
}

const char *hd_exhibit_formula(const hd_exhibited *of, const char *name)
{
    static const struct {
        const char *name, *formula;
    } all[] = {
#define X(name, formula) {name, formula},
        FORMULAS(X)
#undef X
    };
    const char *special = special_formula(of, name);
    for (size_t i = 0; !special && i < sizeof all / sizeof *all; i++)
        if (is(name, all[i].name)) special = all[i].formula;
    return special;
}

/* -- places -- */

/* One scope of a name, for people; "" where it says nothing. */
static const char *place(const hd_exhibited *of, const char *name, const char *scope, char *buf, size_t size)
{
    static const struct {
        const char *scope, *text;
    } known[] = {{"enc", "encoder"},           {"dec", "decoder"},      {"self", "self-attention"},
                 {"cross", "cross-attention"}, {"ffn", "feed-forward"}, {"reverse", "from the end"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(scope, known[i].scope)) return known[i].text;
    bool digits = isdigit((unsigned char)*scope);
    if (digits && of_cells(of, name)) return ""; /* its layers are called layer0, layer1, ... */
    if (!digits && strncmp(scope, "layer", 5) && strncmp(scope, "stage", 5)) return scope;
    snprintf(buf, size, "%.5s %d", digits ? "layer" : scope, atoi(digits ? scope : scope + 5) + 1);
    return buf;
}

const char *hd_exhibit_part(const hd_exhibited *of, const char *name, char *buf, size_t size)
{
    size_t used = 0;
    if (size) *buf = 0;
    for (const char *at = name, *dot; (dot = strchr(at, '.')); at = dot + 1) {
        char scope[32], text[32];
        snprintf(scope, sizeof scope, "%.*s", (int)(dot - at), at);
        const char *says = place(of, name, scope, text, sizeof text);
        int n = !*says ? 0 : snprintf(buf + used, size - used, "%s%s", used ? ", " : "", says);
        if (n < 0 || (size_t)n >= size - used) break;
        used += (size_t)n;
    }
    if (!used) {
        bool input = is(name, "emb") || is(name, "X");
        snprintf(buf, size, input ? "input" : is(name, "h") ? "hidden layer" : "output");
    }
    if (size) *buf = (char)toupper((unsigned char)*buf);
    return buf;
}
