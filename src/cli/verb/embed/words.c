/* Words of `heed embed`. */
#include "cli/verb/embed/words.h"

#include <string.h>

#include "show/embed.h"
#include "view/plot.h"
#include "view/draw/json_members.h"
#include "view/draw/markup.h"
#include "view/similarity.h"

static hd_status read_terms(hd_terms *out, const hd_embed_words *w, hd_err *err)
{
    if (!w->nearest) return hd_terms_read(out, w->analogy, err);
    *out = (hd_terms){.at = {{.word = {w->nearest, strlen(w->nearest)}}}, .count = 1};
    return HD_OK;
}

hd_status hd_embed_words_check(const hd_command *c, const hd_embed_words *w, int layer, hd_err *err)
{
    const hd_usual *usual = c->options;
    const char *name = w->similar ? "similar" : w->nearest ? "nearest" : w->analogy ? "analogy" : NULL;
    const char *word = w->similar ? w->similar : w->nearest;
    hd_terms terms;
    hd_err why = {0};
    if (!!w->similar + !!w->nearest + !!w->analogy > 1)
        return hd_err_set(err, HD_EARG, "--similar, --nearest and --analogy exclude each other");
    if (word && !word[strspn(word, " \t")])
        return hd_err_set(err, HD_EARG, "--%s: there is no word in it", name);
    if (name && (hd_command_given(c, "pool") || hd_command_given(c, "normalize")))
        return hd_err_set(err, HD_EARG, "--%s writes no vectors: --pool and --normalize are not for it",
                          name);
    if (usual->plot && !w->similar) return hd_err_set(err, HD_EARG, "--plot is a picture of --similar");
    if (hd_command_given(c, "top") && !w->nearest && !w->analogy)
        return hd_err_set(err, HD_EARG, "--top is for --nearest and --analogy");
    if (!w->nearest && !w->analogy) return HD_OK;
    if (c->operands.count > 1)
        return hd_err_set(err, HD_EARG, "--%s reads no lines: leave out %s", name, c->operands.word[1]);
    if (hd_command_given(c, "layer") && layer)
        return hd_err_set(err, HD_EARG, "--%s is asked of the token vectors, which are layer 0", name);
    if (read_terms(&terms, w, &why)) return hd_err_set(err, HD_EARG, "--%s: %s", name, why.text);
    return HD_OK;
}

/* -- neighbors -- */

static hd_status put_neighbors(hd_text *to, const hd_embed_words *w, const hd_neighbors *n,
                               const hd_tokenizer *t, hd_err *err)
{
    hd_status s = HD_OK;
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, w->nearest ? "nearest" : "analogy", w->nearest ? w->nearest : w->analogy);
    hd_member_begin(to, "neighbors", '[');
    for (size_t i = 0; !s && i < n->count; i++) {
        hd_text text = {0};
        s = hd_tokenizer_decode(t, &n->at[i].id, 1, &text, err);
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "token", hd_tokenizer_piece(t, n->at[i].id));
        hd_member_text(to, "text", text.data ? text.data : "");
        hd_member_number(to, "cosine", n->at[i].cosine, 9);
        hd_member_end(to, '}');
        hd_text_release(&text);
    }
    hd_text_put(to, "]}\n");
    return s;
}

hd_status hd_embed_neighbors(const hd_command *c, const hd_embed_words *w, hd_err *err)
{
    const bool json = ((const hd_usual *)c->options)->json;
    const hd_tokenizer *t = c->model.tokenizer[0];
    hd_neighbors n = {0};
    hd_terms terms;
    hd_text out = {0};
    hd_status s = read_terms(&terms, w, err);
    if (!s) s = hd_neighbors_find(&n, &c->model, &terms, (size_t)w->top, err);
    if (!s && json) s = put_neighbors(&out, w, &n, t, err);
    for (size_t i = 0; !s && !json && i < n.count; i++) {
        char number[HD_DECIMAL];
        hd_text_print(&out, "%s  %s\n", hd_decimal(number, "%.4f", n.at[i].cosine),
                      hd_tokenizer_piece(t, n.at[i].id));
    }
    hd_neighbors_release(&n);
    return hd_command_put_page(c, &out, s, err);
}

/* -- one word in several sentences -- */

hd_status hd_embed_similar(const hd_command *c, const hd_embed_words *w, const hd_similar *found, int layer,
                           hd_err *err)
{
    const hd_usual *o = c->options;
    char title[128];
    hd_text out = {0};
    hd_text_pen pen = {.to = &out, .width = c->out.width, .color = c->out.color, .utf8 = true};
    hd_similarity_view v = {.of = found, .layer = layer, .title = title};
    if (!found->count) return hd_err_set(err, HD_EARG, "no line has the word '%.64s'", w->similar);
    snprintf(title, sizeof title, "Cosines of \"%.64s\", layer %d", w->similar, layer);
    title[hd_utf8_good(title, strlen(title))] = 0; /* a long word may have been cut inside a letter */
    if (o->json)
        hd_similarity_json(&out, &v);
    else
        hd_similarity_text(&pen, &v);
    hd_status s = hd_command_put_text(c, &out, true, err);
    return !s && o->plot ? hd_similarity_save(o->plot, &v, err) : s;
}
