/* Files of attention. Those that hold all sentences grow behind a temporary name; those that hold one are
   made in memory, because only the second sentence tells that the first needs a number. */
#include "view/attention/file.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "view/attention/format.h"

static const struct {
    const char *ending;
    const hd_attention_format *format;
} formats[] = {
#define X(ending, about) {#ending, &hd_attention_##ending},
    HD_ATTENTION_FORMAT_LIST(X)
#undef X
};

const char hd_attention_file_help[] = "write the attention weights to FILE, in the form its ending says:"
#define X(ending, about) " ." #ending " (" about ")"
    HD_ATTENTION_FORMAT_LIST(X)
#undef X
    ;

enum { FORMATS = sizeof formats / sizeof *formats };

struct hd_attention_file {
    const hd_attention_format *format;
    char *path;
    hd_attention_writer writer;
    hd_err failed; /* of an add: what is there is not whole */
};

/* ".json, .html, .svg, .png or .pdf" */
static const char *endings_into(char *buf, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < FORMATS && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s.%s",
                               !i                ? ""
                               : i + 1 < FORMATS ? ", "
                                                 : " or ",
                               formats[i].ending);
    return buf;
}

static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return dot && dot > name ? dot : name + strlen(name);
}

static hd_status find_format(const hd_attention_format **out, const char *path, hd_err *err)
{
    const char *ending = ending_of(path);
    char all[80];
    for (int i = 0; i < FORMATS; i++) {
        if (!*ending || strcasecmp(ending + 1, formats[i].ending)) continue;
        *out = formats[i].format;
        if (formats[i].format->missing)
            return hd_err_set(err, HD_EMISSING, "%s: no .%s: %s", path, formats[i].ending,
                              formats[i].format->missing);
        return HD_OK;
    }
    return hd_err_set(err, HD_EARG, "%s: attention files must end in %s", path,
                      endings_into(all, sizeof all));
}

void hd_attention_file_abandon(hd_attention_file *f)
{
    if (!f) return;
    if (f->format->release && f->writer.state) f->format->release(&f->writer);
    hd_save_abandon(f->writer.out.save);
    hd_text_release(&f->writer.out.text);
    hd_mem_free(f->path);
    hd_mem_free(f);
}

hd_status hd_attention_file_open(hd_attention_file **out, const char *path, const hd_attention_pick *pick,
                                 hd_err *err)
{
    const hd_attention_format *format = NULL;
    hd_status s = find_format(&format, path, err);
    if (s) return s;
    hd_attention_file *f = hd_mem_zero(sizeof *f);
    if (!f) return hd_err_nomem(err, sizeof *f);
    f->format = format;
    if (pick) f->writer.pick = *pick;
    f->path = hd_mem_text(path);
    if (!f->path) s = hd_err_nomem(err, strlen(path) + 1);
    if (!s) s = hd_save_open(&f->writer.out.save, path, err);
    if (!s && format->single) { /* it was only to see that the folder can be written to */
        hd_save_abandon(f->writer.out.save);
        f->writer.out.save = NULL;
    }
    if (!s && !format->single) s = format->begin(&f->writer, err);
    if (s)
        hd_attention_file_abandon(f);
    else
        *out = f;
    return s;
}

/* What is in memory, as NAME-number.svg; NAME.svg for number 0. */
static hd_status save_single(hd_attention_file *f, size_t number, hd_err *err)
{
    const char *ending = ending_of(f->path);
    hd_text name = {0}, *text = &f->writer.out.text;
    hd_text_add(&name, f->path, (size_t)(ending - f->path));
    if (number) hd_text_print(&name, "-%zu", number);
    hd_text_put(&name, ending);
    hd_status s = hd_text_status(&name, err);
    if (!s) s = hd_save_bytes(name.data, text->data, text->size, err);
    hd_text_release(&name);
    return s;
}

static hd_status add_single(hd_attention_file *f, const hd_attention_maps *a, hd_err *err)
{
    hd_attention_writer *w = &f->writer;
    hd_status s = w->sentences == 1 ? save_single(f, 1, err) : HD_OK;
    w->out.text.size = 0;
    if (!s) s = f->format->add(w, a, err);
    if (!s && w->sentences) s = save_single(f, w->sentences + 1, err);
    return s;
}

hd_status hd_attention_file_add(hd_attention_file *f, const hd_attention_maps *a, hd_err *err)
{
    hd_attention_writer *w = &f->writer;
    hd_err *own = &f->failed;
    if (!own->status && !(f->format->single ? add_single(f, a, own) : f->format->add(w, a, own)))
        return w->sentences++, HD_OK;
    return hd_err_set(err, own->status, "%s", own->text);
}

hd_status hd_attention_file_close(hd_attention_file *f, hd_err *err)
{
    hd_attention_writer *w = &f->writer;
    hd_status s = HD_OK;
    if (f->failed.status) {
        s = hd_err_set(err, f->failed.status, "%s", f->failed.text);
    } else if (f->format->single) {
        if (w->sentences == 1) s = save_single(f, 0, err);
    } else {
        s = f->format->end(w, err);
        if (!s) s = hd_text_file_flush(&w->out, err);
        if (!s) {
            s = hd_save_commit(w->out.save, err);
            w->out.save = NULL;
        }
    }
    hd_attention_file_abandon(f);
    return s;
}
