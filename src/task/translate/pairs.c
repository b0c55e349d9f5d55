/* Sentence pairs of files. */
#include "task/translate/training.h"

#include <string.h>

#include "run/data.h"

enum { PIECE = 1 << 23 }; /* bytes of text in memory at once */

static bool has_columns(const char *path)
{
    const char *name = strrchr(path, '/'), *dot = strstr(name ? name : path, ".tsv");
    static const char *const behind[] = {"", ".gz", ".xz", ".zst"};
    for (size_t i = 0; dot && i < sizeof behind / sizeof *behind; i++)
        if (!strcmp(dot + 4, behind[i])) return true;
    return false;
}

/* Whether all files have both sides. Which file of a folder is a source, its name does not say. */
static hd_status find_form(const hd_files *f, const hd_texts *given, bool *tabs, hd_err *err)
{
    size_t columns = 0;
    for (size_t i = 0; i < f->count; i++) columns += has_columns(f->at[i]);
    *tabs = f->count == 1 || columns == f->count;
    if (*tabs) return HD_OK;
    if (f->count != (size_t)given->count)
        return hd_err_set(err, HD_EARG, "%s: the files of a folder of sentence pairs must all end in .tsv",
                          given->text[0]);
    if (!columns && f->count % 2 == 0) return HD_OK;
    return hd_err_set(err, HD_EARG,
                      "%s: files of pairs must all end in .tsv, or come in pairs, source before target",
                      f->at[f->count - 1]);
}

hd_status hd_pairs_open(hd_pairs *p, const hd_texts *given, const hd_train_options *o, const hd_log *log,
                        hd_err *err)
{
    static const hd_policy when_broken[] = {HD_POLICY_ERROR, HD_POLICY_SKIP},
                           when_empty[] = {HD_POLICY_SKIP, HD_POLICY_ERROR};
    bool tabs = false;
    *p = (hd_pairs){0};
    hd_status s = hd_data_files(&p->files, given, err);
    if (!s) s = find_form(&p->files, given, &tabs, err);
    if (s) return s;
    size_t first = tabs ? 1 : 2;
    p->more = (hd_files){p->files.at + first, p->files.count - first, 0};
    p->read = (hd_read_opt){.source = p->files.at[0],
                            .target = tabs ? NULL : p->files.at[1],
                            .more = &p->more,
                            .tabs = tabs,
                            .broken = when_broken[o->on_invalid],
                            .empty = when_empty[o->on_empty],
                            .log = log};
    return HD_OK;
}

void hd_pairs_release(hd_pairs *p)
{
    hd_reader_close(p->reader);
    hd_files_release(&p->files);
    hd_sentences_release(&p->text);
    hd_sentences_release(&p->held);
    *p = (hd_pairs){0};
}

hd_status hd_pairs_rewind(hd_pairs *p, hd_err *err)
{
    hd_reader_close(p->reader);
    p->reader = NULL;
    hd_sentences_release(&p->text);
    return hd_reader_open(&p->reader, &p->read, err);
}

hd_status hd_pairs_next(hd_pairs *p, bool *more, hd_err *err)
{
    hd_status s = hd_reader_next(p->reader, &p->text, PIECE, err);
    *more = !s && p->text.count;
    hd_sentences_release(&p->held);
    return s || p->fraction <= 0 ? s : hd_sentences_split(&p->text, p->fraction, &p->held, err);
}

static bool next_line(void *context, hd_line *line)
{
    hd_pairs_walk *w = context;
    for (bool more = true; !w->err.status;) {
        if (!w->begun) {
            if (w->side > w->last || hd_pairs_rewind(w->of, &w->err)) return false;
            w->of->read.log = NULL; /* what is left out was said, or will be when it is encoded */
            w->begun = true, w->line = 0, w->next = w->of->text.count = 0;
        }
        while (w->next < w->of->text.count) {
            *line = hd_sentence(&w->of->text, w->side, w->next++);
            if (hd_data_sample(w->share, w->line++)) return w->taken++, true;
        }
        w->next = 0;
        if (hd_pairs_next(w->of, &more, &w->err)) return false;
        if (!more) w->side++, w->begun = false;
    }
    return false;
}

hd_feed hd_pairs_feed(hd_pairs *p, int side, bool both, double share, hd_pairs_walk *walk)
{
    *walk = (hd_pairs_walk){.of = p, .side = both ? 0 : side, .last = both ? 1 : side, .share = share};
    return (hd_feed){next_line, walk};
}
