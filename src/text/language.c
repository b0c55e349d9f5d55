/* Languages by their codes and English names. */
#include "text/language.h"

#include <string.h>
#include <strings.h>

#include "text/language_list.h"

#define X(code, name) code,
const char *const hd_language_codes[] = {HD_LANGUAGE_LIST(X) NULL};
#undef X

#define X(code, name) name,
static const char *const names[] = {HD_LANGUAGE_LIST(X) NULL};
#undef X

static const struct {
    const char *name, *code;
} aliases[] = {
#define X(name, code) {name, code},
    HD_LANGUAGE_ALIAS_LIST(X)
#undef X
};

const char *hd_language_code(const char *called)
{
    for (size_t i = 0; hd_language_codes[i]; i++)
        if (!strcasecmp(called, hd_language_codes[i]) || !strcasecmp(called, names[i]))
            return hd_language_codes[i];
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcasecmp(called, aliases[i].name)) return aliases[i].code;
    return NULL;
}

const char *hd_language_name(const char *code)
{
    for (size_t i = 0; hd_language_codes[i]; i++)
        if (!strcmp(code, hd_language_codes[i])) return names[i];
    return NULL;
}

bool hd_language_unspaced(const char *code)
{
    static const char *const unspaced[] = {"zh", "ja", "th", "lo", "my", "yue"};
    for (size_t i = 0; i < sizeof unspaced / sizeof *unspaced; i++)
        if (!strcmp(code, unspaced[i])) return true;
    return false;
}
