/* heed's own interface: what a model makes of a text, in numbers (docs/page.md). */
#include <math.h>

#include "model/heads.h"
#include "serve/api/inspect.h"

enum { EXACT = 9 }; /* digits that give a float back */

static void write_error(hd_text *to, int status, const char *text)
{
    hd_protocol_openai.write_error(to, status, text);
}

/* -- what can be asked -- */

static void put_layers(hd_text *to, const hd_model_folder *f)
{
    hd_heads heads;
    hd_err none = {0};
    hd_member_begin(to, "layers", '[');
    if (!hd_heads_init(&heads, &f->model, &none)) {
        for (size_t i = 0; i < heads.layers; i++) {
            hd_member_begin(to, NULL, '{');
            hd_member_text(to, "name", heads.layer[i].scope);
            hd_member_text(to, "kind", hd_attention_name((hd_attention_kind)heads.layer[i].kind));
            hd_member_count(to, "heads", heads.layer[i].heads);
            hd_member_end(to, '}');
        }
        hd_heads_release(&heads);
    }
    hd_member_end(to, ']');
}

static void put_model(hd_text *to, const hd_served *m)
{
    const hd_model_folder *f = hd_engine_model(m->engine);
    const hd_engine_opt *o = hd_engine_options(m->engine);
    const hd_backend *b = hd_engine_backend(m->engine);
    const hd_model_sizes n = f->model.type->sizes(f->model.self);
    char title[128];
    hd_inspection_kind kind;
    hd_err none = {0};
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "name", m->name);
    hd_member_text(to, "kind", hd_inspection_kind_of(&kind, f, &none) ? NULL : hd_inspection_names[kind]);
    hd_member_text(to, "title", f->model.type->title(f->model.self, title, sizeof title));
    hd_member_text(to, "source", *m->source ? m->source : NULL);
    hd_member_text(to, "target", *m->target ? m->target : NULL);
    if (f->model.params) hd_member_count(to, "parameters", hd_params_size(f->model.params));
    hd_member_count(to, "vocabulary", n.target_vocab ? n.target_vocab : n.vocab);
    if (n.positions < INT32_MAX) hd_member_count(to, "positions", n.positions);
    hd_member_text(to, "device", b->detail);
    hd_member_text(to, "precision", hd_precision_names[hd_precision_of(b)]);
    hd_member_count(to, "beam", o->translate.search.beam);
    put_layers(to, f);
    hd_member_end(to, '}');
}

static void list(hd_call *c)
{
    const hd_models *m = &c->desk->models;
    hd_text out = {0};
    hd_member_begin(&out, NULL, '{');
    hd_member_begin(&out, "limits", '{');
    hd_member_count(&out, "bytes", HD_INSPECT_BYTES);
    hd_member_count(&out, "tokens", HD_INSPECT_TOKENS);
    hd_member_count(&out, "beam", HD_INSPECT_BEAM);
    hd_member_count(&out, "top", HD_INSPECT_TOP);
    hd_member_count(&out, "written", HD_INSPECT_WRITTEN);
    hd_member_end(&out, '}');
    hd_member_begin(&out, "models", '[');
    for (size_t i = 0; i < m->count; i++) put_model(&out, &m->at[i]);
    hd_text_put(&out, "]}");
    hd_call_answer(c, &out);
}

/* -- an answer -- */

static void put_name(hd_text *to, const hd_shown_token *t)
{
    hd_member_count(to, "id", (size_t)t->id);
    hd_member_text(to, "token", hd_shown_plain(t));
    if (t->word) hd_member_flag(to, "unknown", true);
}

static void put_choices(hd_text *to, const char *key, const hd_inspect_choice *top, size_t count)
{
    hd_member_begin(to, key, '[');
    for (size_t i = 0; i < count; i++) {
        hd_member_begin(to, NULL, '{');
        put_name(to, &top[i].token);
        hd_member_number(to, "p", exp(top[i].logp), EXACT);
        hd_member_end(to, '}');
    }
    hd_member_end(to, ']');
}

static void put_tokens(hd_text *to, const char *key, const hd_inspect_token *t, size_t count,
                       const char *text)
{
    hd_member_begin(to, key, '[');
    for (size_t i = 0; i < count; i++) {
        hd_member_begin(to, NULL, '{');
        put_name(to, &t[i].token);
        hd_member_bytes(to, "text", text + t[i].begin, t[i].end - t[i].begin);
        hd_member_count(to, "begin", t[i].begin);
        hd_member_count(to, "end", t[i].end);
        if (t[i].given) hd_member_flag(to, "given", true);
        if (t[i].rank) {
            hd_member_number(to, "p", exp(t[i].logp), EXACT);
            hd_member_number(to, "logp", t[i].logp, EXACT);
            hd_member_count(to, "rank", t[i].rank);
        }
        if (t[i].tops) put_choices(to, "top", t[i].top, t[i].tops);
        hd_member_end(to, '}');
    }
    hd_member_end(to, ']');
}

static void put_parts(hd_text *to, const hd_inspection *x, hd_line text)
{
    hd_member_count(to, "part", x->part_number);
    hd_member_begin(to, "parts", '[');
    for (size_t i = 0; i < x->parts; i++)
        hd_member_bytes(to, NULL, text.text + x->part[i].begin, x->part[i].end - x->part[i].begin);
    hd_member_end(to, ']');
}

static void put_guesses(hd_text *to, const hd_inspection *x)
{
    hd_member_begin(to, "hypotheses", '[');
    for (size_t i = 0; i < x->guesses; i++) {
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "text", x->guess[i].text);
        hd_member_number(to, "score", x->guess[i].score, EXACT);
        hd_member_number(to, "sum", x->guess[i].sum, EXACT);
        hd_member_flag(to, "finished", x->guess[i].finished);
        hd_member_end(to, '}');
    }
    hd_member_end(to, ']');
}

static void put_beams(hd_text *to, const hd_inspection *x)
{
    static const char *const states[] = {"pruned", "live", "finished"};
    hd_member_count(to, "forced", x->forced);
    hd_member_begin(to, "beams", '[');
    for (size_t i = 0; i < x->steps; i++) {
        hd_member_begin(to, NULL, '[');
        for (size_t k = 0; k < x->step[i].nodes; k++) {
            const hd_inspect_node *n = &x->step[i].node[k];
            hd_member_begin(to, NULL, '{');
            put_name(to, &n->token);
            hd_member_key(to, "parent");
            hd_text_print(to, "%d", n->parent);
            hd_member_number(to, "p", exp(n->logp), EXACT);
            hd_member_number(to, "sum", n->sum, EXACT);
            hd_member_number(to, "score", n->score, EXACT);
            hd_member_text(to, "state", states[n->state]);
            hd_member_end(to, '}');
        }
        hd_member_end(to, ']');
    }
    hd_member_end(to, ']');
}

static void put_alignment(hd_text *to, const hd_inspection *x)
{
    hd_member_begin(to, "alignment", '[');
    for (size_t i = 0; i < x->targets; i++) {
        hd_member_begin(to, NULL, '[');
        for (size_t k = 0; k < x->sources; k++)
            hd_member_number(to, NULL, (double)x->alignment[i * x->sources + k], 4);
        hd_member_end(to, ']');
    }
    hd_member_end(to, ']');
}

static void put_inspection(hd_text *to, const hd_inspect_job *j, const hd_inspection *x)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "model", j->model->name);
    hd_member_text(to, "kind", hd_inspection_names[x->kind]);
    if (x->part) put_parts(to, x, j->ask.text);
    if (x->source) put_tokens(to, "source", x->source, x->sources, x->read);
    if (x->target) {
        hd_member_text(to, "text", x->written);
        hd_member_number(to, "score", x->score, EXACT);
        hd_member_number(to, "sum", x->sum, EXACT);
        put_tokens(to, "target", x->target, x->targets, x->written);
    }
    if (x->kind == HD_INSPECTION_TRANSLATOR) hd_member_flag(to, "finished", x->finished);
    if (x->next) put_choices(to, "next", x->next, x->nexts);
    if (x->guess) put_guesses(to, x);
    if (x->step) put_beams(to, x);
    if (x->alignment) put_alignment(to, x);
    hd_member_end(to, '}');
}

static hd_status visit(hd_job *job, hd_run *r, const hd_model_folder *f, hd_err *err)
{
    hd_inspect_job *j = (hd_inspect_job *)job;
    hd_inspection *x = NULL;
    hd_status s = hd_inspect(&x, r, f, &j->ask, err);
    if (!s) put_inspection(&j->json, j, x);
    hd_inspection_free(x);
    return s ? s : hd_text_status(&j->json, err);
}

static void explain(hd_call *c)
{
    hd_inspect_begin(c, visit, NULL);
}

const hd_protocol hd_protocol_explain = {
    .routes =
        (const hd_endpoint[]){
            {"GET", "/v1/explain", list, NULL, false},
            {"POST", "/v1/explain", explain, hd_inspect_finish, false},
            {"POST", "/v1/attention", hd_api_attention, hd_inspect_finish, false},
            {0},
        },
    .write_error = write_error,
    .no_key = 401,
    .wrong_key = 401,
};
