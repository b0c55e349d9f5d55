/* Batches of pictures, made by a crew ahead of the caller. A ring of slots holds the batch of the caller and
   those behind it. Easy to get wrong: a slot may be given to another batch only when nobody makes an item of
   it any more; and a failure ahead of time is nobody's until its batch is asked for. */
#include "data/image/loader.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/system/crew.h"
#include "base/system/machine.h"
#include "base/system/team.h"
#include "data/image/slot.h"

/* Streams of the seed that are ours: one an epoch. */
#define STREAM 0x70696374000000u

enum { AHEAD = 2, MOST_AHEAD = 1024 };

struct hd_image_loader {
    hd_image_maker maker;
    hd_crew *crew; /* its lock guards the slots, but for what is in an item that is being made */
    hd_image_slot *slot;
    size_t slots;
    uint64_t now; /* number of the caller's batch; slots are of it and those behind it */
    bool started;
    size_t from, to;            /* items that the caller has asked for of its batch */
    size_t likely_from, likely; /* and will of later ones; SIZE_MAX: to the end */
    uint32_t *order;            /* [count] of epoch `formed` */
    uint64_t formed;
    bool has_order;
    hd_image_batch batch; /* what the caller gets; its arrays are: */
    int32_t *begin, *size;
    size_t *first_box;
    hd_box *box;
    uint8_t *bytes; /* where sizes differ */
    size_t box_room, byte_room;
};

typedef struct job {
    hd_image_slot *slot;
    size_t group;
    bool failed;
} job;

/* -- the crew's side -- */

static bool take(void *context, void *to)
{
    hd_image_loader *l = context;
    for (size_t k = 0; k < l->slots && l->started; k++) {
        hd_image_slot *s = &l->slot[(l->now + k) % l->slots];
        if (!s->open) continue;
        while (s->next < s->to && s->state[s->next] != HD_SLOT_WAITING) s->next++;
        if (s->next >= s->to) continue;
        s->state[s->next] = HD_SLOT_TAKEN;
        s->taken++;
        *(job *)to = (job){.slot = s, .group = s->next++};
        return true;
    }
    return false;
}

static void work(void *context, void *of)
{
    hd_image_loader *l = context;
    job *j = of;
    hd_err err = {0}; /* it is whoever needs the item who says it, and makes it again for that */
    j->failed = hd_image_slot_make(j->slot, &l->maker, j->group, &err);
}

static void done(void *context, void *of)
{
    (void)context;
    const job *j = of;
    j->slot->state[j->group] = j->failed ? HD_SLOT_FAILED : HD_SLOT_READY;
    j->slot->taken--;
}

static const hd_crew_type crew_type = {.take = take, .work = work, .done = done};

/* -- which batches are made -- */

static void form_order(hd_image_loader *l, uint64_t epoch)
{
    const size_t count = l->maker.opt.set->count;
    hd_rng rng = hd_rng_make(l->maker.opt.seed, STREAM + epoch);
    if (l->has_order && (l->formed == epoch || l->maker.opt.in_order)) return;
    for (size_t i = 0; i < count; i++) l->order[i] = (uint32_t)i;
    for (size_t i = count; i > 1 && !l->maker.opt.in_order; i--) {
        uint32_t j = hd_rng_below(&rng, (uint32_t)i), keep = l->order[i - 1];
        l->order[i - 1] = l->order[j];
        l->order[j] = keep;
    }
    l->formed = epoch;
    l->has_order = true;
}

/* The groups that have items from .. to-1. */
static void want(hd_image_slot *s, size_t group, size_t from, size_t to)
{
    const size_t first = from / group, end = (to + group - 1) / group;
    if (from >= to) return;
    if (s->from >= s->to) s->from = s->next = first, s->to = end;
    if (first < s->from) s->from = s->next = first;
    if (end > s->to) s->to = end;
}

static void open_slot(hd_image_loader *l, hd_image_slot *s, uint64_t number)
{
    const size_t batch = l->maker.opt.batch, count = l->maker.opt.set->count;
    const size_t first = (size_t)(number % l->maker.batches) * batch;
    form_order(l, number / l->maker.batches);
    s->number = number;
    s->items = count - first < batch ? count - first : batch;
    memcpy(s->which, l->order + first, s->items * sizeof *s->which);
    memset(s->state, HD_SLOT_WAITING, batch);
    s->from = s->to = s->next = 0;
    want(s, l->maker.group, l->likely_from, l->likely < s->items ? l->likely : s->items);
    s->open = true;
}

/* Makes the batch the caller's and opens those behind it. */
static hd_image_slot *reach(hd_image_loader *l, uint64_t number)
{
    hd_image_slot *mine = &l->slot[number % l->slots];
    const uint64_t batches = l->maker.batches, end = (number / batches + 1) * batches;
    if (l->started && l->now == number) return mine;
    if (l->started && l->from < l->to) {
        l->likely_from = l->from;
        l->likely = l->to < l->slot[l->now % l->slots].items ? l->to : SIZE_MAX;
    }
    l->now = number, l->started = true;
    l->from = l->to = 0;
    for (uint64_t n = number; n < number + l->slots; n++) {
        hd_image_slot *s = &l->slot[n % l->slots];
        if (s->open && s->number == n) continue;
        s->open = false;
        while (s->taken) hd_crew_wait(l->crew);
        hd_image_slot_clear(s);
        if (n < end || !l->maker.opt.in_order) open_slot(l, s, n);
    }
    return mine;
}

/* Waits for the items, makes them itself where they are waiting. */
static hd_status finish(hd_image_loader *l, hd_image_slot *s, size_t from, size_t to, hd_err *err)
{
    const size_t group = l->maker.group;
    hd_status st = HD_OK;
    for (size_t g = from / group; !st && g * group < to;) {
        if (s->state[g] == HD_SLOT_READY) {
            g++;
        } else if (s->state[g] == HD_SLOT_FAILED) {
            st = hd_image_slot_make(s, &l->maker, g, err);
            if (!st) s->state[g] = HD_SLOT_READY;
        } else if (s->next >= s->to || !hd_crew_help(l->crew)) {
            hd_crew_wait(l->crew);
        }
    }
    return st;
}

/* -- what the caller gets -- */

static hd_status lay_out_bytes(hd_image_loader *l, const hd_image_slot *s, size_t from, size_t to,
                               hd_err *err)
{
    const size_t stride = l->maker.stride;
    size_t used = 0;
    for (size_t i = from; i < to; i++) {
        l->begin[i - from] = (int32_t)used;
        l->size[2 * (i - from)] = s->image[i].height, l->size[2 * (i - from) + 1] = s->image[i].width;
        used += hd_image_bytes(&s->image[i]);
        if (used > INT32_MAX)
            return hd_err_set(err, HD_ELIMIT, "%zu pictures have over %d bytes: a smaller batch is needed",
                              to - from, INT32_MAX);
    }
    l->batch.byte_count = used;
    l->batch.bytes = s->bytes + from * stride;
    if (stride) return HD_OK;
    hd_status st = hd_mem_reserve(&l->bytes, &l->byte_room, used, 1, err);
    if (st) return st;
    for (size_t i = from; i < to; i++)
        memcpy(l->bytes + l->begin[i - from], s->image[i].pixel, hd_image_bytes(&s->image[i]));
    l->batch.bytes = l->bytes;
    return HD_OK;
}

static hd_status lay_out_boxes(hd_image_loader *l, const hd_image_slot *s, size_t from, size_t to,
                               hd_err *err)
{
    size_t used = 0;
    if (!l->maker.opt.set->box) return HD_OK;
    for (size_t i = from; i < to; i++) {
        hd_status st = hd_mem_reserve(&l->box, &l->box_room, used + s->boxes[i] + 1, sizeof *l->box, err);
        if (st) return st;
        memcpy(l->box + used, s->box[i], s->boxes[i] * sizeof *l->box);
        l->first_box[i - from] = used;
        used += s->boxes[i];
    }
    l->first_box[to - from] = used;
    l->batch.box = l->box;
    l->batch.first_box = l->first_box;
    return HD_OK;
}

hd_status hd_image_loader_get(hd_image_loader *l, uint64_t number, size_t from, size_t to,
                              const hd_image_batch **out, hd_err *err)
{
    hd_crew_lock(l->crew);
    hd_image_slot *s = reach(l, number);
    hd_status st =
        to <= s->items && from <= to
            ? HD_OK
            : hd_err_set(err, HD_EARG, "items %zu to %zu of a batch of %zu pictures", from, to, s->items);
    if (!st && from < to) {
        l->from = l->to && l->from < from ? l->from : from;
        l->to = l->to > to ? l->to : to;
        want(s, l->maker.group, from, to);
        hd_crew_call(l->crew);
        st = finish(l, s, from, to, err);
    }
    hd_crew_unlock(l->crew);
    if (st) return st;
    const bool mixed = l->maker.group > 1;
    l->batch = (hd_image_batch){.items = to - from,
                                .which = s->which + from,
                                .begin = l->begin,
                                .size = l->size,
                                .channels = l->maker.opt.prepare->channels,
                                .other = mixed ? s->other + from : NULL,
                                .share = mixed ? s->share + from : NULL};
    st = lay_out_bytes(l, s, from, to, err);
    if (!st) st = lay_out_boxes(l, s, from, to, err);
    if (!st) *out = &l->batch;
    return st;
}

const uint32_t *hd_image_loader_which(hd_image_loader *l, uint64_t number, size_t *items)
{
    hd_crew_lock(l->crew);
    const hd_image_slot *s = reach(l, number);
    hd_crew_call(l->crew);
    hd_crew_unlock(l->crew);
    *items = s->items;
    return s->which;
}

size_t hd_image_loader_kept(const hd_image_loader *l)
{
    return hd_kept_most(l->maker.kept);
}

size_t hd_image_loader_batches(const hd_image_loader *l)
{
    return l->maker.batches;
}

/* -- making -- */

static hd_status check(const hd_image_loader_opt *o, hd_err *err)
{
    if (!o->set->count) return hd_err_set(err, HD_EARG, "there are no pictures to make batches of");
    if (o->set->count > INT32_MAX)
        return hd_err_set(err, HD_ELIMIT, "%zu pictures, at most %d are possible", o->set->count, INT32_MAX);
    if (!o->batch || o->ahead > MOST_AHEAD)
        return hd_err_set(err, HD_EARG,
                          "batches of %zu pictures, %zu ahead: at least 1 picture, at most %d ahead",
                          o->batch, o->ahead, MOST_AHEAD);
    hd_status s = o->augment ? hd_augment_check(o->augment, err) : HD_OK;
    if (!s && o->augment && (o->augment->mixup > 0 || o->augment->cutmix > 0) && o->set->box)
        s = hd_err_set(err, HD_EARG, "pictures with boxes cannot be mixed: leave out mixup and cutmix");
    return s;
}

/* The size of all pictures, where that does not depend on them. */
static size_t fixed_size(const hd_image_prepare *p)
{
    const int height = p->crop_height ? p->crop_height
                       : p->resize    ? p->height
                                      : 0,
              width = p->crop_width ? p->crop_width
                      : p->resize   ? p->width
                                    : 0;
    return (size_t)height * (size_t)width * (size_t)p->channels;
}

/* The shorter side a picture must have for its smallest part not to be enlarged; 0: that is not known. To
   judge a model, pictures are decoded as they are. */
static int side_needed(const hd_image_loader_opt *o)
{
    const hd_image_prepare *p = o->prepare;
    const hd_augment *a = o->augment;
    int height = p->crop_height, width = p->crop_width;
    if (!a || !p->resize) return 0;
    if (p->height > height) height = p->height;
    if (p->width > width) width = p->width;
    if (p->shortest > height) height = p->shortest;
    double side = height > width ? height : width;
    if (a->crop > 0 && a->crop < 1)
        side *= sqrt((a->aspect > 0 ? (double)a->aspect : 4.0 / 3) / (double)a->crop);
    if (a->scale_high > 1) side *= (double)a->scale_high;
    return side < HD_IMAGE_MOST_SIDE ? (int)ceil(side) : 0;
}

static hd_status make(hd_image_loader *l, hd_err *err)
{
    const size_t count = l->maker.opt.set->count, batch = l->maker.opt.batch;
    size_t all = 0, left = 0;
    hd_machine_memory(&all, &left);
    const size_t room = (size_t)((double)left * l->maker.opt.keep);
    l->order = hd_mem_array(count, sizeof *l->order);
    l->begin = hd_mem_array(batch, sizeof *l->begin);
    l->size = hd_mem_array(batch, 2 * sizeof *l->size);
    l->first_box = hd_mem_array(batch + 1, sizeof *l->first_box);
    l->slot = hd_mem_array(l->slots, sizeof *l->slot);
    if (!l->order || !l->begin || !l->size || !l->first_box || !l->slot)
        return hd_err_nomem(err, count * sizeof *l->order);
    hd_status s = hd_kept_new(&l->maker.kept, l->maker.opt.set, side_needed(&l->maker.opt), room, err);
    for (size_t i = 0; !s && i < l->slots; i++) s = hd_image_slot_init(&l->slot[i], &l->maker, err);
    int threads = l->maker.opt.threads;
    return s ? s
             : hd_crew_new(&l->crew,
                           threads < 0 ? 0
                           : threads   ? threads
                                       : hd_team_cores(),
                           &crew_type, l, err);
}

hd_status hd_image_loader_new(hd_image_loader **out, const hd_image_loader_opt *opt, hd_err *err)
{
    hd_status s = check(opt, err);
    if (s) return s;
    hd_image_loader *l = hd_mem_zero(sizeof *l);
    if (!l) return hd_err_nomem(err, sizeof *l);
    hd_image_maker *m = &l->maker;
    m->opt = *opt;
    if (m->opt.batch > opt->set->count) m->opt.batch = opt->set->count;
    m->batches = (opt->set->count + m->opt.batch - 1) / m->opt.batch;
    m->group = opt->augment && (opt->augment->mixup > 0 || opt->augment->cutmix > 0) ? 2 : 1;
    m->stride = fixed_size(opt->prepare);
    l->slots = (opt->ahead ? opt->ahead : AHEAD) + 1;
    l->likely = SIZE_MAX;
    s = make(l, err);
    if (s)
        hd_image_loader_free(l);
    else
        *out = l;
    return s;
}

void hd_image_loader_free(hd_image_loader *l)
{
    if (!l) return;
    hd_crew_free(l->crew);
    for (size_t i = 0; l->slot && i < l->slots; i++) hd_image_slot_release(&l->slot[i]);
    hd_kept_free(l->maker.kept);
    hd_mem_free(l->slot);
    hd_mem_free(l->order);
    hd_mem_free(l->begin);
    hd_mem_free(l->size);
    hd_mem_free(l->first_box);
    hd_mem_free(l->box);
    hd_mem_free(l->bytes);
    hd_mem_free(l);
}
