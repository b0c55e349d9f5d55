/* Labels of texts and of pairs of texts, as TEI gives them, and texts ranked by how well they fit a query,
   with a model that gives one number for a pair. llama-server and Jina ask for a ranking with other names. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "serve/api/tei.h"
#include "task/label/labeler.h"

typedef struct ranked {
    size_t index;
    double score;
} ranked;

typedef struct prediction {
    hd_classify_job job;
    bool list, raw;
    bool jina, texts; /* of a ranking: as Jina writes it; with the texts */
    size_t top;
} prediction;

static void release(void *own)
{
    hd_mem_free(((prediction *)own)->job.answer);
}

static prediction *new_prediction(hd_call *c)
{
    prediction *p = hd_call_take(c, 1, sizeof *p);
    if (!p) return NULL;
    p->job.job.kind = HD_JOB_CLASSIFY;
    c->own = p, c->release = release;
    return p;
}

static hd_line (*new_items(hd_call *c, prediction *p, size_t count))[2]
{
    hd_line(*item)[2] = hd_call_take(c, count, sizeof *item);
    p->job.item = (const hd_line(*)[2])item, p->job.items = count;
    return item;
}

/* The greatest first, of equal ones the first first; what is no number last. */
static int by_score(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->score > y->score || (isnan(y->score) && !isnan(x->score))) return -1;
    if (x->score < y->score || (isnan(x->score) && !isnan(y->score))) return 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* -- labels -- */

/* A text, or a list of one or two. */
static bool read_item(hd_call *c, prediction *p, const json_t *j, hd_line item[2])
{
    const size_t n = json_is_array(j) ? json_array_size(j) : 1;
    if (!n || n > 2) return hd_call_fail(c, 422, "`inputs` must hold texts, or lists of one or two"), false;
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_is_array(j) ? json_array_get(j, i) : j;
        if (!json_is_string(one)) return hd_call_fail(c, 422, "`inputs` must hold texts"), false;
        if (!json_string_length(one)) return hd_call_fail(c, 400, "`inputs` cannot be empty"), false;
        item[i] = (hd_line){json_string_value(one), json_string_length(one)};
        p->job.job.tokens += item[i].size / 3 + 1;
    }
    return true;
}

/* A text, ["a", "b"] a pair, [["a"], ["a", "b"]] several. */
static bool read_inputs(hd_call *c, prediction *p)
{
    const json_t *inputs = json_object_get(c->params, "inputs");
    p->list = json_is_array(json_array_get(inputs, 0));
    size_t n = p->list ? json_array_size(inputs) : 1;
    if (json_is_array(inputs) && !json_array_size(inputs))
        return hd_call_fail(c, 400, "`inputs` cannot be empty"), false;
    if (n > HD_TEI_INPUTS)
        return hd_call_fail(c, 422, "`inputs` may have %d texts or pairs", HD_TEI_INPUTS), false;
    hd_line(*item)[2] = new_items(c, p, n);
    for (size_t i = 0; item && i < n; i++) {
        const json_t *one = p->list ? json_array_get(inputs, i) : inputs;
        if (p->list && !json_is_array(one))
            return hd_call_fail(c, 422, "`inputs` must be a text, a pair, or a list of lists"), false;
        if (!read_item(c, p, one, item[i])) return false;
    }
    return item;
}

static bool predicts(const hd_served *m)
{
    return hd_engine_takes(m->engine, HD_JOB_CLASSIFY);
}

void hd_tei_predict(hd_call *c)
{
    bool truncate;
    const hd_served *m = hd_tei_model(c, predicts, "labels");
    prediction *p = m ? new_prediction(c) : NULL;
    if (p && hd_tei_flag(c, "raw_scores", false, &p->raw) && hd_tei_flag(c, "truncate", false, &truncate) &&
        read_inputs(c, p))
        hd_call_submit(c, m->engine, &p->job.job);
}

static void put_labels(hd_text *to, const hd_model_folder *f, const prediction *p, const float *answer,
                       ranked *room)
{
    const hd_label_kind *kind = hd_labeler_kind(f);
    for (size_t k = 0; k < p->job.classes; k++) {
        double score = (double)answer[k];
        if (kind->probability && !p->raw) score = kind->probability((hd_real)answer[k]);
        room[k] = (ranked){k, score};
    }
    qsort(room, p->job.classes, sizeof *room, by_score);
    hd_member_begin(to, NULL, '[');
    for (size_t k = 0; k < p->job.classes; k++) {
        hd_member_begin(to, NULL, '{');
        hd_member_number(to, "score", room[k].score, 9);
        hd_member_text(to, "label",
                       kind->probability ? hd_vocab_piece(&f->labels, (int32_t)room[k].index) : "number");
        hd_member_end(to, '}');
    }
    hd_member_end(to, ']');
}

void hd_tei_predicted(hd_call *c)
{
    const prediction *p = c->own;
    hd_text out = {0};
    ranked *room = hd_call_take(c, p->job.classes, sizeof *room);
    if (!room) return;
    if (p->list) hd_member_begin(&out, NULL, '[');
    for (size_t i = 0; i < p->job.items; i++)
        put_labels(&out, hd_engine_model(c->engine), p, p->job.answer + i * p->job.classes, room);
    if (p->list) hd_member_end(&out, ']');
    hd_call_answer(c, &out);
}

/* -- rankings -- */

bool hd_tei_reranks(const hd_served *m)
{
    const hd_model_folder *f = hd_engine_model(m->engine);
    return predicts(m) && f->pairs && !hd_labeler_kind(f)->probability &&
           hd_model_folder_classifier(f)->opt.classes == 1;
}

/* Pairs of the query and each text. */
static bool read_texts(hd_call *c, prediction *p)
{
    const json_t *query = json_object_get(c->params, "query"), *texts = json_object_get(c->params, "texts");
    const char *name = texts ? "texts" : "documents";
    if (!texts) texts = json_object_get(c->params, name), p->jina = texts;
    const size_t n = json_array_size(texts);
    if (!json_is_string(query)) return hd_call_fail(c, 422, "`query` must be a text"), false;
    if (!json_is_array(texts)) return hd_call_fail(c, 422, "`texts` must be a list of texts"), false;
    if (!n) return hd_call_fail(c, 400, "`%s` cannot be empty", name), false;
    if (n > HD_TEI_INPUTS) return hd_call_fail(c, 422, "`%s` may have %d texts", name, HD_TEI_INPUTS), false;
    hd_line(*item)[2] = new_items(c, p, n);
    for (size_t i = 0; item && i < n; i++) {
        const json_t *one = json_array_get(texts, i);
        if (!json_is_string(one)) return hd_call_fail(c, 422, "`%s` must hold texts", name), false;
        item[i][0] = (hd_line){json_string_value(query), json_string_length(query)};
        item[i][1] = (hd_line){json_string_value(one), json_string_length(one)};
        p->job.job.tokens += (item[i][0].size + item[i][1].size) / 3 + 1;
    }
    return item;
}

void hd_tei_rerank(hd_call *c)
{
    long top;
    bool truncate;
    const hd_served *m =
        hd_tei_model(c, hd_tei_reranks, "rankings, which gives one number for a pair of texts");
    prediction *p = m ? new_prediction(c) : NULL;
    if (!p || !hd_tei_flag(c, "raw_scores", false, &p->raw) ||
        !hd_tei_flag(c, "truncate", false, &truncate) || !hd_tei_flag(c, "return_text", false, &p->texts) ||
        !read_texts(c, p))
        return;
    if (!hd_params_whole(c->params, "top_n", 1, HD_TEI_INPUTS, HD_TEI_INPUTS, &top)) {
        hd_call_fail(c, 422, "`top_n` must be a number from 1 to %d", HD_TEI_INPUTS);
        return;
    }
    p->top = (size_t)top < p->job.items ? (size_t)top : p->job.items;
    hd_call_submit(c, m->engine, &p->job.job);
}

void hd_tei_reranked(hd_call *c)
{
    const prediction *p = c->own;
    hd_text out = {0};
    ranked *list = hd_call_take(c, p->job.items, sizeof *list);
    if (!list) return;
    for (size_t i = 0; i < p->job.items; i++) {
        double score = (double)p->job.answer[i];
        list[i] = (ranked){i, p->raw || p->jina ? score : 1 / (1 + exp(-score))};
    }
    qsort(list, p->job.items, sizeof *list, by_score);
    if (p->jina) {
        hd_member_begin(&out, NULL, '{');
        hd_member_text(&out, "model", hd_engine_name(c->engine));
        hd_member_text(&out, "object", "list");
    }
    hd_member_begin(&out, p->jina ? "results" : NULL, '[');
    for (size_t i = 0; i < p->top; i++) {
        const hd_line text = p->job.item[list[i].index][1];
        hd_member_begin(&out, NULL, '{');
        hd_member_count(&out, "index", list[i].index);
        hd_member_number(&out, p->jina ? "relevance_score" : "score", list[i].score, 9);
        if (p->texts) hd_member_bytes(&out, "text", text.text, text.size);
        hd_member_end(&out, '}');
    }
    hd_member_end(&out, ']');
    if (p->jina) hd_member_end(&out, '}');
    hd_call_answer(c, &out);
}
