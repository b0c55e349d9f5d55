/* The hypotheses that a search looks at, seen through the hook of its rules, which changes nothing. Easy to
   get wrong: a hypothesis is known by its tokens alone, so its parent is found by spelling them. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "show/live/inspection_parts.h"

typedef struct node {
    int32_t parent, token;
    double logp, sum;
    hd_inspect_state state;
    bool kept;
    int32_t place; /* among those that are kept */
} node;

typedef struct step {
    node *at;
    size_t count, room;
} step;

struct hd_beams {
    hd_inspecting of;
    hd_search_opt opt;
    size_t forced, wide; /* tokens before the first step; candidates of a hypothesis */
    step *step;
    size_t steps, room;
    size_t vocab;
    hd_err err;
};

/* The hypothesis of these tokens in the step that ends with the last of them; -1: it was not seen. */
static int32_t find(const hd_beams *b, const int32_t *token, size_t count)
{
    size_t last = count - b->forced - 1;
    for (size_t i = 0; last < b->steps && i < b->step[last].count; i++) {
        int32_t at = (int32_t)i;
        size_t n = last + 1;
        while (n && at >= 0 && b->step[n - 1].at[at].token == token[b->forced + n - 1])
            at = b->step[--n].at[at].parent;
        if (!n) return (int32_t)i;
    }
    return -1;
}

static bool may_be(const hd_beams *b, int32_t token)
{
    for (size_t i = 0; i < b->opt.banned_count; i++)
        if (b->opt.banned[i] == token) return false;
    return true;
}

static void add(hd_beams *b, step *to, int32_t parent, double sum, const hd_real *logp)
{
    size_t first = to->count;
    if (hd_mem_reserve(&to->at, &to->room, first + b->wide, sizeof *to->at, &b->err)) return;
    for (size_t i = 0; i < b->vocab; i++) {
        double v = (double)logp[i];
        size_t n = to->count - first;
        if (!(v > -INFINITY) || (n == b->wide && v <= to->at[to->count - 1].logp) || !may_be(b, (int32_t)i))
            continue;
        size_t at = n < b->wide ? to->count++ : to->count - 1;
        for (; at > first && to->at[at - 1].logp < v; at--) to->at[at] = to->at[at - 1];
        to->at[at] = (node){.parent = parent, .token = (int32_t)i, .logp = v, .sum = sum + v};
    }
}

static void look(void *context, size_t item, const int32_t *token, size_t count, hd_real *logp)
{
    hd_beams *b = context;
    size_t at = count - b->forced, now = b->steps;
    (void)item;
    if (b->of.ask->over && b->of.ask->over(b->of.ask->context)) { /* nothing follows: the search ends */
        for (size_t i = 0; i < b->vocab; i++) logp[i] = -INFINITY;
        return;
    }
    if (b->err.status || hd_mem_reserve(&b->step, &b->room, at + 1, sizeof *b->step, &b->err)) return;
    for (; now <= at; now++) b->step[now] = (step){0};
    if (b->steps <= at) b->steps = at + 1;
    int32_t parent = at ? find(b, token, count) : -1;
    if (at && parent < 0) return; /* not among the likeliest of its parent: a draw */
    if (at) b->step[at - 1].at[parent].state = HD_INSPECT_LIVE;
    add(b, &b->step[at], parent, at ? b->step[at - 1].at[parent].sum : 0, logp);
}

hd_status hd_beams_begin(hd_beams **out, const hd_inspecting *g, hd_search_opt *opt, hd_err *err)
{
    hd_beams *b = hd_mem_zero(sizeof *b);
    if (!b) return hd_err_nomem(err, sizeof *b);
    const hd_model_sizes n = g->folder->model.type->sizes(g->folder->model.self);
    b->of = *g, b->opt = *opt;
    b->vocab = n.target_vocab;
    b->forced = opt->prefix_len ? (size_t)opt->prefix_len[0] : 0;
    b->wide = opt->kind == HD_SEARCH_BEAM ? opt->beam + 1 : 4;
    opt->adjust = (hd_adjust){look, b};
    *out = b;
    return HD_OK;
}

/* -- what is shown of it -- */

/* Marks what was found; its end is no hypothesis that goes on. */
static void mark_found(hd_beams *b, const hd_found *found)
{
    const hd_guess *g = hd_found_at(found, 0);
    for (size_t i = 0; i < hd_found_count(found, 0); i++) {
        if (g[i].length <= b->forced) continue;
        int32_t at = find(b, g[i].ids, g[i].length);
        if (at >= 0) b->step[g[i].length - b->forced - 1].at[at].state = HD_INSPECT_FINISHED;
    }
}

/* All that lived, and of the others the best. */
static size_t choose(hd_beams *b, step *s)
{
    size_t most = 2 * b->wide, kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t better = 0;
        for (size_t j = 0; j < s->count; j++)
            better += s->at[j].sum > s->at[i].sum || (s->at[j].sum == s->at[i].sum && j < i);
        s->at[i].kept = s->at[i].state != HD_INSPECT_PRUNED || better < most;
        kept += s->at[i].kept;
    }
    for (size_t i = 0; i < s->count; i++) {
        int32_t place = 0;
        for (size_t j = 0; j < s->count; j++)
            place +=
                s->at[j].kept && (s->at[j].sum > s->at[i].sum || (s->at[j].sum == s->at[i].sum && j < i));
        s->at[i].place = place;
    }
    return kept;
}

static hd_status show_step(hd_beams *b, size_t number, const hd_tokenizer *t, double before, hd_err *err)
{
    hd_inspection *x = b->of.into;
    step *s = &b->step[number];
    hd_inspect_step *to = &x->step[number];
    to->nodes = choose(b, s);
    to->node = hd_arena_array(&x->memory, to->nodes + 1, sizeof *to->node, err);
    if (!to->node) return HD_ENOMEM;
    for (size_t i = 0; i < s->count; i++) {
        const node *n = &s->at[i];
        if (!n->kept) continue;
        hd_inspect_node *shown = &to->node[n->place];
        *shown = (hd_inspect_node){
            .parent = number && n->parent >= 0 ? b->step[number - 1].at[n->parent].place : -1,
            .logp = n->logp,
            .sum = before + n->sum,
            .score = hd_length_score(&b->opt.length, before + n->sum, b->forced + number + 1),
            .state = n->state};
        hd_status st = hd_shown_tokens(&shown->token, &x->memory, &n->token, 1, t, (hd_line){0}, false, err);
        if (st) return st;
    }
    return HD_OK;
}

hd_status hd_beams_end(hd_beams *b, const hd_found *found, const hd_tokenizer *t, hd_err *err)
{
    hd_inspection *x = b->of.into;
    double before = 0; /* of the forced tokens, which all hypotheses have */
    const hd_guess *best = hd_found_at(found, 0);
    if (b->err.status) return hd_err_set(err, b->err.status, "%s", b->err.text);
    for (size_t i = 0; hd_found_count(found, 0) && i < b->forced && i < best->length; i++)
        before += (double)best->logp[i];
    mark_found(b, found);
    x->step = hd_arena_array(&x->memory, b->steps + 1, sizeof *x->step, err);
    if (!x->step) return HD_ENOMEM;
    x->forced = b->forced;
    hd_status s = HD_OK;
    for (; !s && x->steps < b->steps; x->steps += !s) s = show_step(b, x->steps, t, before, err);
    return s;
}

void hd_beams_free(hd_beams *b)
{
    if (!b) return;
    for (size_t i = 0; i < b->steps; i++) hd_mem_free(b->step[i].at);
    hd_mem_free(b->step);
    hd_mem_free(b);
}
