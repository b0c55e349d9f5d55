/* A part of a set is held back. Easy to get wrong: of each label the same share goes, and which pictures does
   not depend on their order. */
#include <string.h>

#include "base/mem.h"
#include "data/image/set/build.h"

static int32_t label_of(const hd_image_set *s, size_t i)
{
    return s->label ? s->label[i] : 0;
}

/* Marks what moves: every so many of the pictures, label by label. */
static hd_status choose(bool *moves, const hd_image_set *s, double fraction, uint64_t seed, hd_err *err)
{
    size_t moved = 0, *order = hd_set_draw(s->mark, s->label, s->count, seed);
    if (!order) return hd_err_nomem(err, s->count * sizeof *order);
    for (size_t i = 0; i < s->count; i++) {
        bool first = !i || label_of(s, order[i - 1]) != label_of(s, order[i]),
             last = i + 1 == s->count || label_of(s, order[i + 1]) != label_of(s, order[i]);
        if (first && last) continue; /* the only one of its label */
        moves[order[i]] = (size_t)((double)(i + 1) * fraction + 0.5) > (size_t)((double)i * fraction + 0.5);
        moved += moves[order[i]];
    }
    if (!moved) moves[order[0]] = true;
    if (moved == s->count) moves[order[0]] = false;
    hd_mem_free(order);
    return HD_OK;
}

/* Room for the marked ones. */
static hd_status make(hd_image_set *to, const hd_image_set *s, size_t count, size_t boxes, size_t captions,
                      size_t bytes, hd_err *err)
{
    *to = (hd_image_set){.root = hd_mem_text(s->root), .block = s->block, .channels = s->channels};
    if (to->block) to->block->users++;
    to->size = hd_mem_array(count, 2 * sizeof *to->size);
    to->mark = hd_mem_array(count, sizeof *to->mark);
    bool made = to->root && to->size && to->mark;
    if (s->label) made = (to->label = hd_mem_array(count, sizeof *to->label)) && made;
    if (s->place) made = (to->place = hd_mem_array(count, sizeof *to->place)) && made;
    if (s->first_box) {
        to->first_box = hd_mem_array(count + 1, sizeof *to->first_box);
        to->box = hd_mem_array(boxes + 1, sizeof *to->box);
        made = to->first_box && to->box && made;
    }
    if (s->first_caption) {
        to->first_caption = hd_mem_array(count + 1, sizeof *to->first_caption);
        to->caption = hd_mem_array(captions + 1, sizeof *to->caption);
        to->text = hd_mem_new(bytes + 1);
        made = to->first_caption && to->caption && to->text && made;
    }
    return made ? HD_OK : hd_err_nomem(err, count * sizeof *to->mark);
}

static void copy_captions(hd_image_set *to, size_t n, const hd_image_set *s, size_t i, size_t *used)
{
    size_t first = s->first_caption[i], count = s->first_caption[i + 1] - first, at = to->first_caption[n];
    for (size_t k = 0; k < count; k++) {
        hd_line c = s->caption[first + k];
        to->caption[at + k] = (hd_line){to->text + *used, c.size};
        memcpy(to->text + *used, c.text, c.size + 1);
        *used += c.size + 1;
    }
    to->first_caption[n + 1] = at + count;
}

static hd_status copy_item(hd_image_set *to, const hd_image_set *s, size_t i, size_t *used, hd_err *err)
{
    size_t n = to->count++;
    const char *name = hd_image_set_name(s, i);
    memcpy(to->size + 2 * n, s->size + 2 * i, 2 * sizeof *to->size);
    to->mark[n] = s->mark[i];
    if (s->label) to->label[n] = s->label[i];
    if (s->place) to->place[n] = s->place[i];
    if (s->first_box) {
        size_t count = s->first_box[i + 1] - s->first_box[i];
        memcpy(to->box + to->first_box[n], s->box + s->first_box[i], count * sizeof *to->box);
        to->first_box[n + 1] = to->first_box[n] + count;
    }
    if (s->first_caption) copy_captions(to, n, s, i, used);
    return hd_vocab_add(&to->name, name, strlen(name), err);
}

static hd_status copy(hd_image_set *to, const hd_image_set *s, const bool *mark, bool value, hd_err *err)
{
    size_t count = 0, boxes = 0, captions = 0, bytes = 0, used = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (mark[i] != value) continue;
        count++;
        if (s->first_box) boxes += s->first_box[i + 1] - s->first_box[i];
        for (size_t k = s->first_caption ? s->first_caption[i] : 0;
             s->first_caption && k < s->first_caption[i + 1]; k++)
            captions++, bytes += s->caption[k].size + 1;
    }
    hd_status status = make(to, s, count, boxes, captions, bytes, err);
    for (size_t i = 0; !status && i < s->count; i++)
        if (mark[i] == value) status = copy_item(to, s, i, &used, err);
    if (!status) hd_set_hash(to);
    return status;
}

hd_status hd_image_set_split(hd_image_set *s, double fraction, uint64_t seed, hd_image_set *out, hd_err *err)
{
    hd_image_set kept = {0}, gone = {0};
    if (s->count < 2)
        return hd_err_set(
            err, HD_EARG,
            "there is one picture alone, of which no part can be held back: give --valid a file");
    bool *moves = hd_mem_array(s->count, sizeof *moves);
    hd_status status = moves ? choose(moves, s, fraction, seed, err) : hd_err_nomem(err, s->count);
    if (!status) status = copy(&kept, s, moves, false, err);
    if (!status) status = copy(&gone, s, moves, true, err);
    hd_mem_free(moves);
    if (status) {
        hd_image_set_release(&kept);
        hd_image_set_release(&gone);
        return status;
    }
    kept.skipped = s->skipped;
    hd_image_set_release(s);
    *s = kept;
    *out = gone;
    return HD_OK;
}
