/* Attention as JSON, sentence after sentence; docs/attention-json.md says what is in it. Written by hand
   rather than as a tree: a long corpus needs no more memory than a short one. */
#include "view/attention/format.h"

#include "view/attention/track.h"
#include "view/draw/markup.h"

enum { EXACT = 9 }; /* digits that give a float back */

bool hd_attention_listed(const hd_attention_maps *a, const hd_attention_pick *pick, int kind)
{
    return a->part[kind].layers && (!pick->kind || pick->kind == kind + 1);
}

hd_attention_range hd_attention_range_of(const hd_attention_part *p, const hd_attention_pick *pick)
{
    hd_attention_range r = {0, p->layers, 0, p->heads};
    if (pick->layer) r.layer = (size_t)pick->layer - 1, r.last_layer = (size_t)pick->layer;
    if (pick->head) r.head = (size_t)pick->head - 1, r.last_head = (size_t)pick->head;
    if (r.last_layer > p->layers || r.last_head > p->heads) r = (hd_attention_range){0};
    return r;
}

static void put_names(hd_text *to, const char *key, const hd_shown_token *t, size_t count, bool inside_html)
{
    hd_text_print(to, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        if (i) hd_text_put(to, ",");
        hd_markup_json(to, hd_shown_plain(&t[i]), inside_html);
    }
    hd_text_put(to, "]");
}

/* Which of them are words that the vocabulary lacks, where there are some. */
static void put_unknown(hd_text *to, const char *key, const hd_shown_token *t, size_t count)
{
    const char *before = "";
    for (size_t i = 0; i < count; i++) {
        if (!t[i].word) continue;
        if (!*before) hd_text_print(to, ",\"%s\":[", key);
        hd_text_print(to, "%s%zu", before, i), before = ",";
    }
    if (*before) hd_text_put(to, "]");
}

/* ,"experts": of each layer that has some, for each token those it uses, and how much. */
static void put_experts(hd_text *to, const hd_attention_maps *a)
{
    const hd_attention_experts *e = &a->experts;
    for (size_t l = 0; l < e->layers; l++) {
        hd_text_print(to, "%s{\"layer\":%zu,\"count\":%zu,\"used\":[", l ? "," : ",\"experts\":[",
                      e->layer[l] + 1, e->count);
        for (size_t i = 0; i < a->targets; i++) {
            const char *between = "";
            hd_text_put(to, i ? ",[" : "[");
            for (size_t k = 0; k < e->count; k++) {
                if (!(e->weight[l][i * e->count + k] > 0)) continue;
                hd_text_print(to, "%s[%zu,", between, k + 1), between = ",";
                hd_markup_number(to, (double)e->weight[l][i * e->count + k], EXACT);
                hd_text_put(to, "]");
            }
            hd_text_put(to, "]");
        }
        hd_text_put(to, "]}");
    }
    if (e->layers) hd_text_put(to, "]");
}

void hd_attention_json_texts(hd_text *to, const hd_attention_maps *a, bool inside_html)
{
    if (a->place.line) hd_text_print(to, "\"line\":%zu,", a->place.line);
    if (a->place.parts > 1) hd_text_print(to, "\"part\":%zu,\"parts\":%zu,", a->place.part, a->place.parts);
    hd_text_put(to, "\"source\":");
    hd_markup_json(to, a->sentence, inside_html);
    hd_text_put(to, ",\"translation\":");
    hd_markup_json(to, a->translation, inside_html);
    hd_text_put(to, ",\"score\":");
    hd_markup_number(to, a->score, EXACT);
    put_names(to, "source_tokens", a->source, a->sources, inside_html);
    put_names(to, "input_tokens", a->input, a->targets, inside_html);
    put_names(to, "output_tokens", a->output, a->targets, inside_html);
    put_unknown(to, "source_unknown", a->source, a->sources);
    put_unknown(to, "input_unknown", a->input, a->targets);
    put_unknown(to, "output_unknown", a->output, a->targets);
    put_experts(to, a);
}

/* ,"png": the picture itself */
static hd_status put_png(hd_text *to, const hd_image *im, hd_err *err)
{
    hd_text bytes = {0};
    hd_status s = hd_image_encode_png(&bytes, im, err);
    if (!s) {
        hd_text_put(to, ",\"png\":\"data:image/png;base64,");
        hd_text_base64(to, bytes.data, bytes.size);
        hd_text_put(to, "\"");
    }
    hd_text_release(&bytes);
    return s;
}

static void put_columns(hd_text *to, const char *key, const size_t *column, size_t count)
{
    hd_text_print(to, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) hd_text_print(to, "%s%zu", i ? "," : "", column[i]);
    hd_text_put(to, "]");
}

hd_status hd_attention_json_sound(hd_text *to, const hd_attention_maps *a, const hd_attention_pick *pick,
                                  bool png, hd_err *err)
{
    const hd_attention_scene *s = &a->scene;
    hd_status status = HD_OK;
    if (!(s->seconds > 0) || !s->image.pixel) return HD_OK;
    hd_text_put(to, ",\"sound\":{\"file\":");
    hd_markup_json(to, s->name, png);
    hd_text_put(to, ",\"seconds\":");
    hd_markup_number(to, s->seconds, EXACT);
    if (s->begin > 0) {
        hd_text_put(to, ",\"begin\":");
        hd_markup_number(to, s->begin, EXACT);
    }
    hd_text_print(to, ",\"times\":%zu", s->width);
    for (size_t i = 0; !pick->layer && !pick->head && i < a->alignings; i++)
        hd_text_print(to, "%s[%d,%d]%s", i ? "," : ",\"alignment_heads\":[", 1 + a->aligned[i].layer,
                      1 + a->aligned[i].head, i + 1 == a->alignings ? "]" : "");
    if (png) {
        status = put_png(to, &s->image, err);
    } else if (hd_attention_tracked(a, pick)) {
        hd_attention_track t;
        status = hd_attention_track_of(&t, a, pick, err);
        if (!status) {
            hd_text_print(to, ",\"in_order\":%zu", t.monotone.in_order);
            put_columns(to, "most", t.monotone.most, t.monotone.rows);
            put_columns(to, "path", t.monotone.path, t.monotone.rows);
            hd_attention_track_release(&t);
        }
    }
    hd_text_put(to, "}");
    return status;
}

hd_status hd_attention_json_picture(hd_text *to, const hd_attention_maps *a, bool png, hd_err *err)
{
    const hd_attention_scene *s = &a->scene;
    if (!s->image.pixel || s->seconds > 0) return HD_OK;
    hd_text_put(to, ",\"picture\":{\"file\":");
    hd_markup_json(to, s->name, png);
    hd_text_print(to, ",\"width\":%d,\"height\":%d,\"grid\":[%zu,%zu],\"lead\":%zu", s->image.width,
                  s->image.height, s->height, s->width, s->lead);
    for (size_t i = 0; s->box && i < 4 * a->targets; i++) {
        hd_text_put(to, !i ? ",\"boxes\":[[" : i % 4 ? "," : "],[");
        hd_markup_number(to, (double)s->box[i], EXACT);
    }
    if (s->box) hd_text_put(to, a->targets ? "]]" : ",\"boxes\":[]");
    hd_status status = png ? put_png(to, &s->image, err) : HD_OK;
    hd_text_put(to, "}");
    return status;
}

static hd_status begin(hd_attention_writer *w, hd_err *err)
{
    const hd_attention_pick *p = &w->pick;
    hd_text *to = &w->out.text;
    hd_text_put(to, "{\"format\":1");
    if (p->kind || p->layer || p->head) {
        const char *between = "";
        hd_text_put(to, ",\"only\":{");
        if (p->kind)
            hd_text_print(to, "\"kind\":\"%s\"", hd_attention_name((hd_attention_kind)(p->kind - 1))),
                between = ",";
        if (p->layer) hd_text_print(to, "%s\"layer\":%d", between, p->layer), between = ",";
        if (p->head) hd_text_print(to, "%s\"head\":%d", between, p->head);
        hd_text_put(to, "}");
    }
    hd_text_put(to, ",\"sentences\":[");
    return hd_text_file_status(&w->out, err);
}

static void put_matrix(hd_text_file *out, const float *weight, size_t rows, size_t cols)
{
    hd_text *to = &out->text;
    for (size_t i = 0; i < rows; i++) {
        hd_text_put(to, i ? ",[" : "[[");
        for (size_t j = 0; j < cols; j++) {
            if (j) hd_text_put(to, ",");
            hd_markup_number(to, (double)weight[i * cols + j], EXACT);
        }
        hd_text_put(to, "]");
        hd_text_file_settle(out);
    }
    hd_text_put(to, "]");
}

static void put_part(hd_text_file *out, const hd_attention_part *p, const hd_attention_pick *pick)
{
    hd_attention_range r = hd_attention_range_of(p, pick);
    hd_text_put(&out->text, "[");
    for (size_t l = r.layer; l < r.last_layer; l++) {
        hd_text_put(&out->text, l > r.layer ? ",[" : "[");
        for (size_t h = r.head; h < r.last_head; h++) {
            if (h > r.head) hd_text_put(&out->text, ",");
            put_matrix(out, hd_attention_at(p, l, h), p->rows, p->cols);
        }
        hd_text_put(&out->text, "]");
    }
    hd_text_put(&out->text, "]");
}

static hd_status add(hd_attention_writer *w, const hd_attention_maps *a, hd_err *err)
{
    hd_text *to = &w->out.text;
    const char *between = "";
    hd_text_put(to, w->sentences ? ",\n{" : "\n{");
    hd_attention_json_texts(to, a, false);
    hd_status s = hd_attention_json_picture(to, a, false, err);
    if (!s) s = hd_attention_json_sound(to, a, &w->pick, false, err);
    if (s) return s;
    hd_text_put(to, ",\"attention\":{");
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) {
        if (!hd_attention_listed(a, &w->pick, k)) continue;
        hd_text_print(to, "%s\"%s\":", between, hd_attention_name((hd_attention_kind)k)), between = ",";
        put_part(&w->out, &a->part[k], &w->pick);
    }
    hd_text_put(to, "}}");
    return hd_text_file_status(&w->out, err);
}

static hd_status end(hd_attention_writer *w, hd_err *err)
{
    hd_text_put(&w->out.text, "\n]}\n");
    return hd_text_file_status(&w->out, err);
}

const hd_attention_format hd_attention_json = {.begin = begin, .add = add, .end = end};
