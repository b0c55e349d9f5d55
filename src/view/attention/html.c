/* Attention as one page that needs nothing else: attention_page.html with the sentences in it, each a block
   of JSON that the page parses when it is looked at. Weights are floats without their last byte, which leaves
   16 bits (more than four digits), so that each is four characters of base64. */
#include "view/attention/format.h"

#include <string.h>

#include "view/draw/markup.h"

static const char place[] = "<!-- sentences -->"; /* where they go in the page */

static hd_status begin(hd_attention_writer *w, hd_err *err)
{
    const char *here = strstr(hd_attention_page, place);
    if (!here) return hd_err_set(err, HD_EFORMAT, "attention_page.html has no place for sentences");
    hd_text_add(&w->out.text, hd_attention_page, (size_t)(here - hd_attention_page));
    return hd_text_file_status(&w->out, err);
}

static void put_weight(hd_text *to, float v)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits = (bits + 0x7F + (bits >> 8 & 1)) >> 8; /* to the nearest, and to even between two */
    hd_text_add(
        to,
        (const char[]){digit[bits >> 18], digit[bits >> 12 & 63], digit[bits >> 6 & 63], digit[bits & 63]},
        4);
}

/* What the mask hides is left out: row i of the decoder has i + 1 columns. */
static void put_weights(hd_text_file *out, const float *weight, const hd_attention_part *p, bool masked)
{
    for (size_t i = 0; i < p->rows; i++) {
        for (size_t j = 0; j < (masked ? i + 1 : p->cols); j++)
            put_weight(&out->text, weight[i * p->cols + j]);
        hd_text_file_settle(out);
    }
}

static void put_part(hd_text_file *out, const hd_attention_part *p, const hd_attention_pick *pick,
                     bool masked)
{
    hd_attention_range r = hd_attention_range_of(p, pick);
    hd_text_print(
        &out->text,
        "{\"rows\":%zu,\"cols\":%zu,\"masked\":%s,\"layer\":%zu,\"layers\":%zu,\"head\":%zu,\"heads\":"
        "%zu,\"weights\":\"",
        p->rows, p->cols, masked ? "true" : "false", r.layer + 1, r.last_layer - r.layer, r.head + 1,
        r.last_head - r.head);
    for (size_t l = r.layer; l < r.last_layer; l++)
        for (size_t h = r.head; h < r.last_head; h++) put_weights(out, hd_attention_at(p, l, h), p, masked);
    hd_text_put(&out->text, "\"}");
}

static void put_title(hd_text *to, const hd_attention_maps *a)
{
    if (a->sentence) {
        hd_markup_xml(to, a->sentence);
        return;
    }
    for (size_t i = 0; i < a->sources; i++) {
        if (i) hd_text_put(to, " ");
        hd_markup_xml(to, hd_shown_plain(&a->source[i]));
    }
}

static hd_status add(hd_attention_writer *w, const hd_attention_maps *a, hd_err *err)
{
    hd_text *to = &w->out.text;
    const char *between = "";
    hd_text_put(to, "<script type=\"application/json\" class=\"sentence\"");
    if (a->place.parts > 1)
        hd_text_print(to, " data-place=\"%zu, part %zu of %zu\"", a->place.line, a->place.part,
                      a->place.parts);
    else if (a->place.line)
        hd_text_print(to, " data-place=\"%zu\"", a->place.line);
    hd_text_put(to, " data-title=\"");
    put_title(to, a);
    hd_text_put(to, "\">{");
    hd_attention_json_texts(to, a, true);
    hd_status s = hd_attention_json_picture(to, a, true, err);
    if (!s) s = hd_attention_json_sound(to, a, &w->pick, true, err);
    if (s) return s;
    hd_text_put(to, ",\"attention\":{");
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) {
        if (!hd_attention_listed(a, &w->pick, k)) continue;
        hd_text_print(to, "%s\"%s\":", between, hd_attention_name((hd_attention_kind)k)), between = ",";
        put_part(&w->out, &a->part[k], &w->pick, a->part[k].masked);
    }
    hd_text_put(to, "}}</script>\n");
    return hd_text_file_status(&w->out, err);
}

static hd_status end(hd_attention_writer *w, hd_err *err)
{
    hd_text_put(&w->out.text, strstr(hd_attention_page, place) + strlen(place));
    return hd_text_file_status(&w->out, err);
}

const hd_attention_format hd_attention_html = {.begin = begin, .add = add, .end = end};
