/* A text on its way to a file. */
#include "view/draw/text_file.h"

enum { MUCH = 1 << 16 };

static void write_out(hd_text_file *s)
{
    if (!s->save || s->err.status || s->text.missed) return;
    hd_save_write(s->save, s->text.data, s->text.size, &s->err);
    s->text.size = 0;
}

void hd_text_file_settle(hd_text_file *s)
{
    if (s->text.size >= MUCH) write_out(s);
}

hd_status hd_text_file_status(const hd_text_file *s, hd_err *err)
{
    if (s->err.status) return hd_err_set(err, s->err.status, "%s", s->err.text);
    return hd_text_status(&s->text, err);
}

hd_status hd_text_file_flush(hd_text_file *s, hd_err *err)
{
    write_out(s);
    return hd_text_file_status(s, err);
}
