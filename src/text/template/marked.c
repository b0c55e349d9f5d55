/* Text with marks: two texts that grow together. */
#include "text/template/marked.h"

#include <string.h>

void hd_marked_release(hd_marked *m)
{
    hd_text_release(&m->text);
    hd_text_release(&m->mark);
}

void hd_marked_fill(hd_marked *m, const char *bytes, size_t size, char mark)
{
    char some[256];
    memset(some, mark, sizeof some);
    hd_text_add(&m->text, bytes, size);
    for (size_t n; size; size -= n) {
        n = size < sizeof some ? size : sizeof some;
        hd_text_add(&m->mark, some, n);
    }
}

void hd_marked_add(hd_marked *m, const char *bytes, const char *mark, size_t size)
{
    if (!mark) {
        hd_marked_fill(m, bytes, size, HD_MARK_TEMPLATE);
        return;
    }
    hd_text_add(&m->text, bytes, size);
    hd_text_add(&m->mark, mark, size);
}

hd_status hd_marked_status(const hd_marked *m, hd_err *err)
{
    hd_status s = hd_text_status(&m->text, err);
    return s ? s : hd_text_status(&m->mark, err);
}
