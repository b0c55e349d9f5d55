/* Formulas that most models have in common. */
#include "model/formula.h"

#include <stdlib.h>
#include <string.h>

/* X(name, formula): where the model does not matter. "the row above" is the last item before it. */
#define FORMULAS(X)                                                       \
    X("emb", "row of the token in the table")                             \
    X("X", "emb")                                                         \
    X("before", "the state before")                                       \
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

const char *hd_formula_last(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

bool hd_formula_is(const char *name, const char *last)
{
    return !strcmp(hd_formula_last(name), last);
}

bool hd_formula_inside(const char *name, const char *scope)
{
    const char *at = strstr(name, scope);
    size_t n = strlen(scope);
    return at && (at == name || at[-1] == '.') && at[n] == '.';
}

bool hd_formula_of_encoder(const char *name)
{
    return !strncmp(name, "enc.", 4);
}

const char *hd_formula_cell(const hd_stage *s, hd_unary act, const char *name)
{
    bool lstm = s->kind == HD_STAGE_lstm;
    if (hd_formula_is(name, "before")) return lstm ? "the state before: h, then c (none: zeros)" : NULL;
    if (!hd_formula_is(name, "h")) return NULL;
    if (s->kind == HD_STAGE_gru)
        return s->both_ways ? "(1 - z) * n + z * before, both directions side by side"
                            : "(1 - z) * n + z * before";
    if (lstm) return s->both_ways ? "o * tanh(c), both directions side by side" : "o * tanh(c)";
    if (act == HD_sigmoid)
        return s->both_ways ? "sigmoid(x W + before U + b), both directions side by side"
                            : "sigmoid(x W + before U + b)";
    return s->both_ways ? "tanh(x W + before U + b), both directions side by side"
                        : "tanh(x W + before U + b)";
}

const char *hd_formula_embedding(const hd_front *e, const char *name)
{
    if (hd_formula_is(name, "X")) return e->position ? "emb + position" : "emb";
    if (!hd_formula_is(name, "emb")) return NULL;
    return e->scale > 1 ? "sqrt(columns) * row of the token in the table" : "row of the token in the table";
}

const char *hd_formula_stages(const hd_encoder *e, hd_unary act, const char *name)
{
    const char *at = strstr(name, "stage");
    int i = at ? atoi(at + 5) : 0;
    bool recurs = i < e->stages && hd_stage_recurs(&e->stage[i].is);
    const char *state = recurs ? hd_formula_cell(&e->stage[i].is, act, name) : NULL;
    return state ? state : hd_formula_embedding(&e->front, name);
}

const char *hd_formula_block(bool pre, const char *name)
{
    bool cross = hd_formula_inside(name, "cross");
    if (hd_formula_is(name, "Q")) return pre ? "norm W_Q + b" : "x W_Q + b";
    if (hd_formula_is(name, "K"))
        return cross ? "m W_K + b: m are the encoder's rows" : pre ? "norm W_K + b" : "x W_K + b";
    if (hd_formula_is(name, "V"))
        return cross ? "m W_V + b: m are the encoder's rows" : pre ? "norm W_V + b" : "x W_V + b";
    if (hd_formula_is(name, "hidden")) return pre ? "norm W1 + b1" : "x W1 + b1";
    if (hd_formula_is(name, "sum"))
        return pre ? "x + what the sublayers before it gave" : "x + what the sublayer gave";
    return hd_formula_inside(name, "ffn") && hd_unary_find(hd_formula_last(name)) >= 0 ? "act(hidden)" : NULL;
}

const char *hd_formula(const hd_model *m, const char *name)
{
    static const struct {
        const char *name, *formula;
    } all[] = {
#define X(name, formula) {name, formula},
        FORMULAS(X)
#undef X
    };
    const char *special = m->type->formula ? m->type->formula(m->self, name) : NULL;
    for (size_t i = 0; !special && i < sizeof all / sizeof *all; i++)
        if (hd_formula_is(name, all[i].name)) special = all[i].formula;
    return special;
}
