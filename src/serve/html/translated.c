/* A text in HTML with the translations of its passages in place of them. */
#include "serve/html/translated.h"

#include <string.h>

bool hd_html_has_tags(const hd_html *h)
{
    return h->tags;
}

static void put_span(hd_text *to, const hd_html *h, hd_span at)
{
    hd_text_add(to, h->bytes.text + at.begin, at.end - at.begin);
}

static hd_status put_tagged(hd_text *to, const hd_html *h, size_t passage, const hd_html_translated *t,
                            hd_err *err)
{
    const hd_translation *found = &t->of[passage];
    const hd_line text = {found->hypothesis[0].text, strlen(found->hypothesis[0].text)};
    hd_html_words source = {0}, target = {0};
    hd_html_links links = {0};
    if (t->over && t->over(t->context)) return hd_err_set(err, HD_ELIMIT, "nobody waits any more");
    hd_status s = hd_html_words_of(&source, h, passage, err);
    if (!s) s = hd_html_words_read(&target, text, err);
    if (!s)
        s = hd_html_align(&links, t->run,
                          &(hd_html_aligned){t->by, found, hd_html_text(h, passage), &source, &target}, err);
    if (!s) s = hd_html_place(to, h, passage, text, &source, &target, &links, err);
    hd_html_links_release(&links);
    hd_html_words_release(&source);
    hd_html_words_release(&target);
    return s;
}

static hd_status put_passage(hd_text *to, const hd_html *h, size_t passage, void *context, hd_err *err)
{
    const hd_html_translated *t = context;
    const hd_html_passage *p = &h->passage[passage];
    const hd_translation *found = &t->of[passage];
    if (!found->count) {
        put_span(to, h, p->whole);
    } else if (p->tags) {
        return put_tagged(to, h, passage, t, err);
    } else {
        put_span(to, h, p->lead);
        hd_html_escape(to, found->hypothesis[0].text, strlen(found->hypothesis[0].text));
        put_span(to, h, p->trail);
    }
    return HD_OK;
}

hd_status hd_html_write_translated(hd_text *to, const hd_html *h, const hd_html_translated *t, hd_err *err)
{
    hd_html_translated copy = *t;
    return hd_html_write(to, h, put_passage, &copy, err);
}
