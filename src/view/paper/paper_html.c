/* A paper as a page that needs nothing else. Drawings are SVG on white; in the dark they are turned over. */
#include <string.h>

#include "view/paper/paper.h"
#include "view/paper/page.h"
#include "view/draw/markup.h"

static const char style[] =
    ":root{color-scheme:light dark;--paper:#fff;--panel:#f6f8fa;--ink:#1f2328;--faint:#59636e;--line:#d1d9e0;"
    "--good:#1a7f37;--bad:#b42318}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#0d1117;--panel:#161b22;--ink:#e6edf3;--faint:#9198a1;"
    "--line:#30363d;--good:#3fb950;--bad:#ff7b72}figure svg{filter:invert(.93) hue-rotate(180deg) "
    "brightness(1.25)}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:62rem;padding:1rem;background:var(--paper);color:var(--ink);"
    "font:16px/1.5 system-ui,\"DejaVu Sans\",\"Noto Sans\",sans-serif;overflow-wrap:break-word}\n"
    "p,.claim,li{max-width:46rem}"
    "h1{font-size:1.5rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.1rem;margin:1.5rem 0 .5rem}\n"
    "a{color:inherit}nav,.source{color:var(--faint);font-size:.9rem}\n"
    "figure{margin:1.2rem 0;overflow-x:auto}figure "
    "svg{max-width:100%;min-width:min(var(--own),34rem);height:auto;display:block}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}\n"
    "figcaption{font-size:.9rem;font-weight:bold;padding:.2rem 0;white-space:pre-line}\n"
    "th,td{padding:.2rem .5rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}th.l,td.l{text-align:left}\n"
    ".claim{border-left:.3rem solid var(--good);background:var(--panel);padding:.5rem .8rem;margin:.8rem 0}\n"
    ".claim.no{border-color:var(--bad)}.claim p{margin:.2rem 0}.claim b{color:var(--good)}"
    ".claim.no b{color:var(--bad)}\n"
    "li{margin:.4rem 0}li b{color:var(--good)}li.no b{color:var(--bad)}code{font-size:.9em}\n";

void hd_page_begin(hd_text *to, const char *title)
{
    hd_text_put(to, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>");
    hd_markup_xml(to, title);
    hd_text_put(to, "</title>\n<style>\n");
    hd_text_put(to, style);
    hd_text_put(to, "</style>\n");
}

static void put_element(hd_text *to, const char *tag, const char *text)
{
    hd_text_print(to, "<%s>", tag);
    hd_markup_xml(to, text);
    hd_text_print(to, "</%s>\n", tag);
}

static void put_table(hd_text *to, const hd_paper_table *t)
{
    const char *cell = t->cells.data;
    hd_text_put(to, "<figure>\n");
    if (t->title) put_element(to, "figcaption", t->title);
    hd_text_put(to, "<div class=\"wide\" tabindex=\"0\"><table>\n");
    for (size_t i = 0; i < t->count; i++, cell += strlen(cell) + 1) {
        const char *tag = i < t->columns ? "th" : "td";
        hd_text_print(to, "%s<%s%s>", i % t->columns ? "" : "<tr>", tag,
                      i % t->columns < t->left ? " class=\"l\"" : "");
        hd_markup_xml(to, cell);
        hd_text_print(to, "</%s>%s", tag, (i + 1) % t->columns ? "" : "</tr>\n");
    }
    hd_text_put(to, "</table></div>\n</figure>\n");
}

/* Narrow windows scroll it in its box before its letters become too small. */
static hd_status put_figure(hd_text *to, hd_paper_part *p, hd_err *err)
{
    hd_text_file svg = {0};
    hd_drawing d;
    if (!hd_paper_drawing(p, &d)) return HD_OK;
    hd_status s = hd_drawing_svg(&svg, &d, err);
    const char *from = s ? NULL : strstr(svg.text.data, "<svg");
    if (from) {
        hd_text_print(to, "<figure tabindex=\"0\" style=\"--own:%.0fpx\">\n", d.width);
        hd_text_put(to, from);
        hd_text_put(to, "</figure>\n");
    }
    hd_text_release(&svg.text);
    return s;
}

static void put_claim(hd_text *to, const hd_claim *c)
{
    hd_text_print(to, "<div class=\"claim%s\">\n<p><b>%s</b> ", c->held ? "" : " no", hd_claim_verdict(c));
    hd_markup_xml(to, c->text);
    hd_text_put(to, "</p>\n");
    put_element(to, "p", c->found);
    if (c->note) put_element(to, "p", c->note);
    hd_text_put(to, "</div>\n");
}

hd_status hd_paper_html(hd_text *to, hd_paper *r, const char *back, hd_err *err)
{
    hd_status s = HD_OK;
    hd_page_begin(to, r->title);
    if (back) {
        hd_text_put(to, "<nav><a href=\"");
        hd_markup_xml(to, back);
        hd_text_put(to, "\">All experiments</a></nav>\n");
    }
    put_element(to, "h1", r->title);
    put_element(to, "p", r->about);
    hd_text_put(to, "<p class=\"source\">");
    hd_markup_xml(to, r->source);
    if (r->command) {
        hd_text_put(to, "; <code>");
        hd_markup_xml(to, r->command);
        hd_text_put(to, "</code>");
    }
    if (r->setting) hd_text_put(to, ", "), hd_markup_xml(to, r->setting);
    hd_text_put(to, "</p>\n");
    for (size_t i = 0; !s && i < r->parts; i++) {
        if (r->part[i]->kind == HD_PAPER_WORDS)
            put_element(to, "p", r->part[i]->words);
        else if (r->part[i]->kind == HD_PAPER_TABLE)
            put_table(to, &r->part[i]->table);
        else
            s = put_figure(to, r->part[i], err);
    }
    put_element(to, "h2", "What came of it");
    for (size_t i = 0; i < r->claims; i++) put_claim(to, &r->claim[i]);
    hd_text_put(to, "</html>\n");
    return s ? s : hd_text_status(to, err);
}
