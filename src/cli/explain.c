/* heed explain: one step of an encoder-decoder Transformer small enough to read, matrix by matrix. */
#include "cli/verb.h"

#include <fnmatch.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>

#include "view/explain_json.h"
#include "view/explain_text.h"

struct explain {
    bool backward, json;
    int train;  /* steps */
    int digits; /* decimals shown */
    const char *only;
};

static const hd_option options[] = {
    {"backward", 0, NULL, NULL, "add every gradient", HD_FLAG_INTO(struct explain, backward)},
    {"train", 0, "N", "0",
     "train N steps with Adam (rate 0.01) on both sentence pairs and show how it learns; the matrices are "
     "left out unless --backward, --only or --json asks for them",
     HD_INT_INTO(struct explain, train, 0, 100000)},
    {"only", 0, "PATTERN", NULL,
     "show only matrices whose name matches the glob PATTERN, such as 'dec.self.*'",
     HD_TEXT_INTO(struct explain, only)},
    {"digits", 0, "N", "2", "decimals shown, 1 to 9", HD_INT_INTO(struct explain, digits, 1, 9)},
    {"json", 0, NULL, NULL, "write one JSON object instead of text", HD_FLAG_INTO(struct explain, json)},
    {0},
};

static const hd_example examples[] = {
    {"heed explain", "every matrix of the forward pass, from the embeddings to the loss"},
    {"heed explain --backward --only 'dec.cross.*'",
     "the cross-attention of the decoder, with its gradients"},
    {"heed explain --train 200", "watch the loss fall"},
    {NULL, NULL},
};

const hd_usage hd_verb_explain_usage = {
    .about = "Computes one step of a small encoder-decoder Transformer (one layer, one head, six channels) "
             "and shows every matrix on the way with its name, its shape and the formula that made it.\n"
             "The weights are fixed, so the numbers are the same on every machine.",
    .options = options,
    .size = sizeof(struct explain),
    .examples = examples,
};

/* Does the locale's character set have the signs? Asked without setting the locale of the process. */
static bool has_utf8(void)
{
    locale_t l = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (!l) return false;
    bool yes = !strcmp(nl_langinfo_l(CODESET, l), "UTF-8");
    freelocale(l);
    return yes;
}

static bool matches_something(const char *pattern)
{
    const hd_lecture_matrix *m = hd_lecture_matrices;
    while (m->name && fnmatch(pattern, m->name, 0)) m++;
    return m->name;
}

static hd_status compute(hd_text *page, const hd_command *c, const struct explain *o, hd_err *err)
{
    hd_backend *backend = NULL;
    hd_explain *x = NULL;
    const hd_explain_look look = {.width = c->out.width,
                                  .colour = c->out.colour,
                                  .utf8 = has_utf8(),
                                  .digits = o->digits,
                                  .only = o->only,
                                  .no_matrices = o->train && !o->backward && !o->only};
    hd_status s = hd_backend_new(&backend, "cpu", &(hd_backend_opt){.threads = c->common.threads}, err);
    if (!s) s = hd_explain_run(&x, backend, &(hd_explain_opt){o->backward, o->train}, err);
    if (!s) s = o->json ? hd_explain_json(page, x, o->only, err) : hd_explain_text(page, x, &look, err);
    hd_explain_free(x);
    hd_backend_free(backend);
    return s;
}

int hd_verb_explain(const hd_command *c)
{
    const struct explain *o = c->options;
    hd_err err = {0};
    if (o->only && !matches_something(o->only)) {
        hd_err_set(&err, HD_EARG, "--only: no matrix matches '%s'", o->only);
        return hd_verb_misused(c->verb, &err);
    }
    hd_text page = {0};
    hd_status s = compute(&page, c, o, &err);
    if (!s) fwrite(page.data, 1, page.size, c->out.file);
    hd_text_release(&page);
    return s ? hd_command_fail(c, &err) : HD_EXIT_OK;
}
