/* The pages of all experiments. */
#include "lab/site.h"

#include <stdio.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "view/draw/markup.h"
#include "view/paper/page.h"

static hd_status save(const char *folder, const char *name, hd_text *page, hd_status s, hd_err *err)
{
    char path[HD_PATH];
    if (!s) s = hd_text_status(page, err);
    if (!s) s = hd_path(path, folder, name, err);
    if (!s) s = hd_save_bytes(path, page->data, page->size, err);
    hd_text_release(page);
    return s;
}

/* -- the index -- */

static void begin_index(hd_text *to, const hd_lab *lab)
{
    hd_page_begin(to, "The laboratory: claims of the lectures, run here");
    hd_text_put(to,
                "<h1>The laboratory</h1>\n<p>What five lectures on attention and Transformers claim, run and "
                "measured with heed. Every number of these pages is of one run: ");
    hd_text_print(to, "%d seeds from %llu on, %s size, on ", lab->seeds, (unsigned long long)lab->seed,
                  lab->full ? "full" : "small");
    hd_markup_xml(to, lab->run->backend->detail);
    hd_text_put(to, ".</p>\n");
}

static void add_to_index(hd_text *to, const hd_experiment *x, const hd_paper *r, int *lecture)
{
    bool held = hd_paper_held(r);
    if (*lecture != x->lecture)
        hd_text_print(to, "%s<h2>Lecture %03d</h2>\n<ul>\n", *lecture < 0 ? "" : "</ul>\n", x->lecture);
    *lecture = x->lecture;
    hd_text_print(to, "<li%s><a href=\"%s.html\">", held ? "" : " class=\"no\"", x->name);
    hd_markup_xml(to, x->title);
    hd_text_print(to, "</a>: <b>%s</b> <span class=\"source\">(%.1f s)</span><br>",
                  held ? "held" : "did not hold", r->seconds);
    hd_markup_xml(to, x->claim);
    for (size_t i = 0; i < r->claims; i++)
        if (!r->claim[i].held && r->claim[i].note) {
            hd_text_put(to, "<br><span class=\"source\">Too strong as worded: ");
            hd_markup_xml(to, r->claim[i].text);
            hd_text_put(to, "</span>");
        }
    hd_text_put(to, "</li>\n");
}

/* -- all -- */

static hd_status write_page(hd_paper *r, const char *folder, hd_err *err)
{
    char name[64];
    hd_text page = {0};
    hd_status s = hd_paper_html(&page, r, "index.html", err);
    snprintf(name, sizeof name, "%s.html", r->name);
    s = save(folder, name, &page, s, err);
    if (s) return s;
    hd_paper_json(&page, r);
    snprintf(name, sizeof name, "%s.json", r->name);
    return save(folder, name, &page, HD_OK, err);
}

hd_status hd_site_write(const hd_lab *lab, const hd_site_opt *o, hd_err *err)
{
    hd_text index = {0};
    int lecture = -1;
    hd_status s = hd_folder_make(o->folder, NULL, err);
    begin_index(&index, lab);
    for (size_t i = 0; !s && i < hd_experiment_count; i++) {
        hd_paper r;
        if (o->begun) o->begun(o->context, hd_experiments[i]);
        s = hd_experiment_run(&r, hd_experiments[i], lab, err);
        if (!s) s = write_page(&r, o->folder, err);
        if (!s) add_to_index(&index, hd_experiments[i], &r, &lecture);
        if (!s && o->done) o->done(o->context, &r);
        hd_paper_release(&r);
    }
    hd_text_put(&index, "</ul>\n</html>\n");
    return save(o->folder, "index.html", &index, s, err);
}
