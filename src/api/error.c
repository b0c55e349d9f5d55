/* Errors, option structs and lines at the border of the library. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"

_Static_assert(sizeof((heed_error *)0)->text == sizeof((hd_err *)0)->text, "error texts differ in size");

enum { LINE_MOST = 1 << 28 }; /* bytes: places in a line are 32-bit numbers */

heed_status hd_api_end(heed_error *to, const hd_err *err, hd_status s)
{
    if (!to) return (heed_status)s;
    to->status = (heed_status)s;
    snprintf(to->text, sizeof to->text, "%s", !s ? "" : *err->text ? err->text : hd_status_text(s));
    return (heed_status)s;
}

void hd_api_defaults(void *to, size_t size, const void *defaults, size_t known)
{
    if (!to || size < sizeof size) return;
    memset(to, 0, size);
    memcpy(to, defaults, size < known ? size : known);
    memcpy(to, &size, sizeof size);
}

hd_status hd_api_options(void *to, size_t size, const void *from, const char *name, hd_err *err)
{
    size_t given;
    if (!from) return HD_OK;
    memcpy(&given, from, sizeof given);
    if (given < 2 * sizeof given || given > 1 << 16)
        return hd_err_set(err, HD_EARG, "the options are not initialized: call %s_init", name);
    const char *bytes = from;
    for (size_t i = size; i < given; i++)
        if (bytes[i])
            return hd_err_set(
                err, HD_EARG,
                "the options are of a newer heed.h and ask for something version %s does not have",
                heed_version());
    memcpy(to, from, given < size ? given : size);
    return HD_OK;
}

hd_status hd_api_lines(hd_line *to, const char *const *text, const size_t *size, size_t count,
                       const char *what, bool may_miss, hd_err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!text[i] && !may_miss)
            return hd_err_set(err, HD_EARG, "%s %zu of %zu is NULL", what, i + 1, count);
        to[i] = text[i] ? (hd_line){text[i], size ? size[i] : strlen(text[i])} : (hd_line){NULL, 0};
        if (to[i].size > LINE_MOST)
            return hd_err_set(err, HD_ELIMIT, "%s %zu of %zu has %zu bytes, at most %d are possible", what,
                              i + 1, count, to[i].size, LINE_MOST);
    }
    return HD_OK;
}

hd_status hd_api_ranges(const hd_api_size *size, const hd_api_real *real, hd_err *err)
{
    for (; size->name; size++)
        if (size->value < size->least || size->value > size->most)
            return hd_err_set(err, HD_EARG, "%s is %zu: it must be %zu to %zu", size->name, size->value,
                              size->least, size->most);
    for (; real->name; real++)
        if (!(real->value >= real->least && real->value <= real->most))
            return hd_err_set(err, HD_EARG, "%s is %g: it must be %g to %g", real->name, real->value,
                              real->least, real->most);
    return HD_OK;
}
