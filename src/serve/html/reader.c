/* Passages of HTML, each a text and its tags. Easy to get wrong: white space belongs to the word behind it,
   so that a tag between both stands before it. */
#include "serve/html/html.h"

#include <string.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "serve/html/entity.h"
#include "serve/html/scanner.h"
#include "text/character.h"

typedef struct reading {
    hd_html *to;
    hd_html_passage now;
    bool begun, letters; /* of the passage: it has something; a letter */
    bool pending;        /* white space is to be written before the next word */
    hd_span space;       /* the last of it */
    size_t followed;     /* tags before this one have white space behind them, or a word */
    size_t pre;          /* elements in which lines are as they are written */
    hd_html_kind *kind;  /* of each tag, while its passage is read */
    size_t kinds_room;
} reading;

/* -- a passage -- */

static void begin_passage(reading *r, size_t at)
{
    if (r->begun) return;
    r->begun = true;
    r->now = (hd_html_passage){.whole = {at, at}, .text = r->to->text.size, .first_tag = r->to->tags};
    r->pending = r->letters = false;
    r->followed = r->to->tags;
}

static size_t text_size(const reading *r)
{
    return r->to->text.size - r->now.text;
}

static void take_space(reading *r, size_t at)
{
    if (!r->begun) return;
    for (; r->followed < r->to->tags; r->followed++) r->to->tag[r->followed].spaced[1] = true;
    if (!r->pending || r->space.end != at) r->space.begin = at;
    r->pending = true, r->space.end = at + 1;
}

static void take_character(reading *r, hd_span at, const char *bytes, size_t size, int32_t point)
{
    begin_passage(r, at.begin);
    if (r->pending && !text_size(r)) r->now.lead = r->space;
    if (r->pending && text_size(r)) hd_text_put(&r->to->text, " ");
    hd_text_add(&r->to->text, bytes, size);
    r->letters = r->letters || hd_is_letter(point);
    r->pending = false;
    r->followed = r->to->tags;
    r->now.whole.end = at.end;
}

static hd_status take_tag(reading *r, hd_span at, hd_html_kind kind, hd_err *err)
{
    hd_html *h = r->to;
    begin_passage(r, at.begin);
    hd_status s = hd_mem_reserve(&h->tag, &h->tags_room, h->tags + 1, sizeof *h->tag, err);
    if (!s) s = hd_mem_reserve(&r->kind, &r->kinds_room, h->tags + 1, sizeof *r->kind, err);
    if (s) return s;
    size_t place = text_size(r);
    r->kind[h->tags] = kind;
    h->tag[h->tags++] = (hd_html_tag){.open = at, .begin = place, .end = place, .spaced = {r->pending}};
    r->now.whole.end = at.end;
    return HD_OK;
}

static hd_span name_of(const reading *r, size_t tag)
{
    hd_span at = r->to->tag[tag].open;
    hd_html_token t;
    size_t from = at.begin;
    return hd_html_scan((hd_line){r->to->bytes.text, at.end}, &from, &t) ? t.name : (hd_span){0};
}

static bool same_name(const reading *r, hd_span a, hd_span b)
{
    const char *text = r->to->bytes.text;
    size_t size = a.end - a.begin;
    char name[32];
    if (size != b.end - b.begin || size >= sizeof name)
        return size == b.end - b.begin && !memcmp(text + a.begin, text + b.begin, size);
    memcpy(name, text + a.begin, size);
    name[size] = 0;
    return hd_html_is_named(r->to->bytes, b, name);
}

/* Puts the two tags of an element together, and those of none where they are. False: too deep. */
static bool pair_tags(reading *r)
{
    hd_html *h = r->to;
    size_t first = r->now.first_tag, n = first, depth = 0;
    struct {
        size_t tag;
        hd_span name;
    } open[HD_HTML_DEPTH];
    for (size_t i = first; i < h->tags; i++) {
        hd_html_tag t = h->tag[i];
        const hd_html_kind kind = r->kind[i];
        const hd_span name = kind == HD_HTML_ALONE ? (hd_span){0} : name_of(r, i);
        size_t d = depth;
        while (kind == HD_HTML_CLOSE && d && !same_name(r, open[d - 1].name, name)) d--;
        if (kind == HD_HTML_CLOSE && d) {
            hd_html_tag *o = &h->tag[open[d - 1].tag];
            o->close = t.open, o->end = t.begin, o->next = n, o->loose = false;
            o->spaced[1] = t.spaced[1];
            depth = d - 1;
            continue;
        }
        if (kind == HD_HTML_OPEN && depth == HD_HTML_DEPTH) return false;
        t.next = n + 1, t.loose = kind != HD_HTML_ALONE;
        if (kind == HD_HTML_OPEN) open[depth].tag = n, open[depth++].name = name;
        h->tag[n++] = t;
    }
    h->tags = n;
    return true;
}

static hd_status end_passage(reading *r, hd_err *err)
{
    hd_html *h = r->to;
    bool begun = r->begun;
    r->begun = false;
    if (!begun) return HD_OK;
    if (r->pending && r->space.end <= r->now.whole.end && text_size(r)) r->now.trail = r->space;
    if (!r->letters || !pair_tags(r)) {
        h->text.size = r->now.text, h->tags = r->now.first_tag;
        return HD_OK;
    }
    r->now.size = text_size(r), r->now.tags = h->tags - r->now.first_tag;
    hd_status s = hd_mem_reserve(&h->passage, &h->passages_room, h->passages + 1, sizeof *h->passage, err);
    if (!s) h->passage[h->passages++] = r->now;
    return s;
}

/* -- tokens -- */

static hd_status take_text(reading *r, hd_span at, hd_err *err)
{
    const char *text = r->to->bytes.text;
    hd_status s = HD_OK;
    for (size_t i = at.begin, size; !s && i < at.end; i += size) {
        uint8_t bytes[4];
        int32_t point = 0;
        size = text[i] == '&' ? hd_entity_read(text + i, at.end - i, &point) : 0;
        if (size && point < 0) {
            s = take_tag(r, (hd_span){i, i + size}, HD_HTML_ALONE, err);
        } else if (size) {
            size_t n = (size_t)utf8proc_encode_char(point, bytes);
            take_character(r, (hd_span){i, i + size}, (const char *)bytes, n, point);
        } else {
            size = hd_character(text + i, at.end - i, &point);
            if (text[i] == '\n' && r->pre)
                s = end_passage(r, err);
            else if (point > 0 && point < 128 && strchr(" \t\n\r\f", point))
                take_space(r, i);
            else
                take_character(r, (hd_span){i, i + size}, text + i, size, point);
        }
    }
    return s;
}

static hd_status take_token(reading *r, const hd_html_token *t, hd_err *err)
{
    if (t->kind == HD_HTML_TEXT) return take_text(r, t->at, err);
    if (!t->block) return take_tag(r, t->at, t->kind, err);
    bool pre = hd_html_is_named(r->to->bytes, t->name, "pre");
    if (pre && t->kind == HD_HTML_OPEN) r->pre++;
    if (pre && t->kind == HD_HTML_CLOSE && r->pre) r->pre--;
    return end_passage(r, err);
}

hd_status hd_html_read(hd_html *out, hd_line bytes, hd_err *err)
{
    reading r = {.to = out};
    hd_html_token t;
    hd_status s = HD_OK;
    *out = (hd_html){.bytes = bytes};
    for (size_t at = 0; !s && hd_html_scan(bytes, &at, &t);) s = take_token(&r, &t, err);
    if (!s) s = end_passage(&r, err);
    if (!s) s = hd_text_status(&out->text, err);
    hd_mem_free(r.kind);
    if (s) hd_html_release(out);
    return s;
}

void hd_html_release(hd_html *h)
{
    hd_mem_free(h->passage);
    hd_mem_free(h->tag);
    hd_text_release(&h->text);
    *h = (hd_html){0};
}

hd_line hd_html_text(const hd_html *h, size_t passage)
{
    const hd_html_passage *p = &h->passage[passage];
    return (hd_line){h->text.data + p->text, p->size};
}

/* -- writing -- */

hd_status hd_html_write(hd_text *to, const hd_html *h, hd_html_put *put, void *context, hd_err *err)
{
    size_t at = 0;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < h->passages; i++) {
        const hd_html_passage *p = &h->passage[i];
        hd_text_add(to, h->bytes.text + at, p->whole.begin - at);
        s = put(to, h, i, context, err);
        at = p->whole.end;
    }
    if (!s) hd_text_add(to, h->bytes.text + at, h->bytes.size - at);
    return s ? s : hd_text_status(to, err);
}

void hd_html_escape(hd_text *to, const char *text, size_t size)
{
    static const struct {
        const char *bytes, *name;
    } known[] = {{"<", "&lt;"}, {">", "&gt;"}, {"&", "&amp;"}, {"\xC2\xA0", "&nbsp;"}};
    for (size_t i = 0, n; i < size; i += n) {
        const char *as = NULL;
        n = 1;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            size_t length = strlen(known[k].bytes);
            if (length <= size - i && !memcmp(text + i, known[k].bytes, length))
                as = known[k].name, n = length;
        }
        hd_text_add(to, as ? as : text + i, as ? strlen(as) : n);
    }
}
