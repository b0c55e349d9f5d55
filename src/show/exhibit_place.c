/* Where a probe's names are, for people: "dec.0.cross.softmax" is of the decoder's first layer. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/formula.h"
#include "show/exhibit_parts.h"

/* One scope of a name, for people; "" where it says nothing. */
static const char *place(const hd_model *of, const char *name, const char *scope, char *buf, size_t size)
{
    static const struct {
        const char *scope, *text;
    } known[] = {{"enc", "encoder"},           {"dec", "decoder"},      {"self", "self-attention"},
                 {"cross", "cross-attention"}, {"ffn", "feed-forward"}, {"reverse", "from the end"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(scope, known[i].scope)) return known[i].text;
    bool digits = isdigit((unsigned char)*scope);
    if (digits && of->type->numbers_stage && of->type->numbers_stage(of->self, name)) return "";
    if (!digits && strncmp(scope, "layer", 5) && strncmp(scope, "stage", 5)) return scope;
    snprintf(buf, size, "%.5s %d", digits ? "layer" : scope, atoi(digits ? scope : scope + 5) + 1);
    return buf;
}

const char *hd_exhibit_part(const hd_model *of, const char *name, char *buf, size_t size)
{
    size_t used = 0;
    if (size) *buf = 0;
    for (const char *at = name, *dot; (dot = strchr(at, '.')); at = dot + 1) {
        char scope[32], text[32];
        snprintf(scope, sizeof scope, "%.*s", (int)(dot - at), at);
        const char *says = place(of, name, scope, text, sizeof text);
        int n = !*says ? 0 : snprintf(buf + used, size - used, "%s%s", used ? ", " : "", says);
        if (n < 0 || (size_t)n >= size - used) break;
        used += (size_t)n;
    }
    if (!used) {
        bool input = hd_formula_is(name, "emb") || hd_formula_is(name, "X");
        snprintf(buf, size, input ? "input" : hd_formula_is(name, "h") ? "hidden layer" : "output");
    }
    if (size) *buf = (char)toupper((unsigned char)*buf);
    return buf;
}
