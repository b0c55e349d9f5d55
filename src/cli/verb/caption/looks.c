/* Attention of captions, shown and measured. */
#include "cli/verb/caption/looks.h"

#include <string.h>

hd_status hd_caption_looks_open(hd_caption_looks *l, hd_command *c, const hd_caption_options *o, hd_err *err)
{
    const hd_attention_pick cross = {.kind = 1 + HD_ATTENTION_CROSS};
    hd_status s = hd_attending_open(c, &o->usual.attending, err);
    l->measured = o->boxes != NULL, l->wanted = l->measured || hd_attending_wanted(&o->usual.attending);
    if (s || !o->boxes) return s;
    s = hd_attention_check(&c->model.model, &cross, err);
    return s ? s : hd_image_set_boxes(&l->set, &l->labels, o->boxes, o->images, NULL, true, err);
}

void hd_caption_looks_release(hd_caption_looks *l)
{
    hd_image_set_release(&l->set);
    hd_vocab_release(&l->labels);
}

/* The picture of this name in the file of boxes; paths may be longer than the names there. */
static bool find(const hd_caption_looks *l, const char *name, size_t *at)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < l->set.count; i++) {
        const char *one = hd_image_set_name(&l->set, i);
        size_t n = strlen(one);
        if (n <= size && !strcmp(name + size - n, one) && (n == size || name[size - n - 1] == '/'))
            return *at = i, true;
    }
    return false;
}

static hd_status measure(hd_caption_looks *l, hd_command *c, const char *name, const hd_image *im,
                         const hd_written *caption, hd_err *err)
{
    hd_attention_maps maps;
    size_t at = 0;
    if (!caption->length || !find(l, name, &at)) return HD_OK;
    const hd_attention_ask ask = {.picture = im,
                                  .name = name,
                                  .start = hd_tokenizer_special(c->model.tokenizer[1]).start,
                                  .target = caption->ids,
                                  .targets = caption->length,
                                  .target_pieces = c->model.tokenizer[1],
                                  .score = caption->score};
    hd_status s = hd_attention_collect(&maps, &c->machine.run, &c->model.model, &ask, err);
    if (!s)
        s = hd_inside_add(&l->inside, &maps, l->set.box + l->set.first_box[at],
                          l->set.first_box[at + 1] - l->set.first_box[at], &l->labels, im->height, im->width,
                          err);
    hd_attention_release(&maps);
    return s;
}

hd_status hd_caption_look(hd_caption_looks *l, hd_command *c, const char *name, const hd_image *im,
                          const hd_written *caption, hd_err *err)
{
    const hd_attended_picture t = {.image = im,
                                   .name = name,
                                   .said = caption->text,
                                   .score = caption->score,
                                   .start = hd_tokenizer_special(c->model.tokenizer[1]).start,
                                   .target = caption->ids,
                                   .targets = caption->length};
    hd_status s = caption->length ? hd_attending_picture(c, &t, err) : HD_OK;
    return s || !l->measured ? s : measure(l, c, name, im, caption, err);
}

void hd_caption_looks_say(const hd_caption_looks *l, hd_command *c)
{
    const hd_inside *i = &l->inside;
    double n = (double)i->words;
    if (!l->measured) return;
    if (!i->words)
        hd_log_say(&c->log, HD_WARN, "no word of a caption is a label of a box of its picture");
    else
        hd_log_say(
            &c->log, HD_INFO,
            "attention inside boxes: %zu words, %.1f %% of them with most of it inside; on average %.1f %%, "
            "while the boxes are %.1f %% of the pictures",
            i->words, 100 * (double)i->most / n, 100 * i->share / n, 100 * i->area / n);
}
