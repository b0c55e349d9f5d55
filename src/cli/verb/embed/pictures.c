/* heed embed on pictures: a vector for every file. */
#include "cli/verb/embed/embed.h"

#include "data/image/image.h"

static void put_vectors(hd_text *to, const hd_embeddings *e, bool all, bool json)
{
    const hd_embedded *one = &e->of[0];
    if (json && all) hd_member_begin(to, "vectors", '[');
    for (size_t i = 0; i < one->vectors; i++) {
        if (json) hd_member_begin(to, all ? NULL : "vector", '[');
        hd_embed_put_numbers(to, one->vector + i * e->width, e->width, json ? ", " : " ");
        if (json) hd_member_end(to, ']');
        if (!json) hd_text_put(to, "\n");
    }
    if (json && all) hd_member_end(to, ']');
    if (!json && all) hd_text_put(to, "\n");
}

/* A picture that cannot be read is said, and gives an empty line. */
static hd_status answer(hd_command *c, const char *name, const hd_embed_opt *opt, size_t *bad, hd_err *err)
{
    const bool json = c->usual->json;
    hd_embeddings e = {0};
    hd_image im = {0};
    hd_err why = {0};
    hd_text out = {0};
    hd_status s = hd_image_read(&im, name, &why);
    if (s == HD_ENOMEM) return hd_err_set(err, s, "%s", why.text);
    if (!s) s = hd_embed_picture(&e, &c->machine.run, &c->model, &im, opt, err);
    hd_image_release(&im);
    if (s && !why.status) return s;
    if (why.status) hd_log_say(&c->log, HD_WARN, "%s", why.text), ++*bad;
    if (json) hd_member_begin(&out, NULL, '{'), hd_member_text(&out, "file", name);
    if (json && why.status) hd_member_text(&out, "error", why.text);
    if (!why.status) put_vectors(&out, &e, opt->pool == HD_POOLING_NONE, json);
    if (json || why.status) hd_text_put(&out, json ? "}\n" : "\n");
    hd_embeddings_release(&e);
    return hd_command_put_text(c, &out, true, err);
}

hd_status hd_embed_answer_pictures(hd_command *c, const hd_embed_opt *opt, hd_err *err)
{
    size_t bad = 0;
    hd_status s = HD_OK;
    if (c->operands.count < 2)
        return hd_err_set(err, HD_EARG, "the model reads pictures: give their files after MODEL");
    for (int i = 1; !s && i < c->operands.count; i++) s = answer(c, c->operands.word[i], opt, &bad, err);
    if (!s && bad) {
        hd_log_say(&c->log, HD_WARN, "%zu of %d pictures could not be read", bad, c->operands.count - 1);
        c->exit = HD_EXIT_FAILURE;
    }
    return s;
}
