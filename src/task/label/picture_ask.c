/* Pictures on their way through a classifier. */
#include <string.h>

#include "backend/ranks.h"
#include "base/mem.h"
#include "op/replay.h"
#include "task/label/labeler.h"

enum { ROWS = 8192, MOST = 512 }; /* of a step, about; pictures of a step */

/* -- sending -- */

/* The classes of what is mixed in, and the shares of both. */
static void send_shares(hd_run *r, hd_class_batch *out, const hd_examples *x, const hd_image_batch *b)
{
    size_t n = b->items;
    int32_t *other = hd_host_take(r, (n + 1) * sizeof *other);
    hd_real *own = hd_host_take(r, (2 * n + 1) * sizeof *own), *rest = own + n;
    if (!other || !own) return;
    for (size_t i = 0; i < n; i++) {
        other[i] = b->other[i] < 0 ? -1 : x->label[b->other[i]];
        own[i] = b->other[i] < 0 ? 1 : b->share[i];
        rest[i] = 1 - own[i];
    }
    out->other = hd_ints(r, other, n);
    out->own_share = hd_from(r, n, 1, own);
    out->other_share = hd_from(r, n, 1, rest);
}

uint64_t hd_labeler_send_pictures(hd_run *r, hd_class_batch *out, hd_pixels *pixels, const hd_model_folder *f,
                                  const hd_examples *x, const hd_image_batch *b)
{
    *out = (hd_class_batch){.in.pixels = pixels, .rows = b->items};
    uint64_t shape = hd_pixels_send(r, pixels, b, hd_labeler_prepare(f));
    int32_t *target = hd_host_take(r, (b->items + 1) * sizeof *target);
    if (!shape || !target || !x) return shape;
    for (size_t i = 0; i < b->items; i++) target[i] = x->label[b->which[i]];
    out->target = hd_ints(r, target, b->items);
    if (b->other) send_shares(r, out, x, b);
    return shape;
}

/* -- asking -- */

static hd_status ask_some(hd_run *r, const hd_model_folder *f, const hd_image_batch *b, hd_labeler_hear *hear,
                          void *context, hd_err *err)
{
    const hd_classifier *m = hd_model_folder_classifier(f);
    hd_class_batch batch;
    hd_pixels pixels;
    hd_run_begin(r, HD_INFERENCE);
    hd_labeler_send_pictures(r, &batch, &pixels, f, NULL, b);
    hd_tensor *y = r->err.status ? NULL : hd_classifier_answer(r, m, &batch);
    hd_real *answer = hd_host_take(r, (y ? hd_count_of(y) + 1 : 1) * sizeof *answer);
    if (y && answer) hd_read_output(r, y, answer);
    if (r->err.status) return hd_err_set(err, r->err.status, "labels: %s", r->err.text);
    for (size_t i = 0; i < b->items; i++) hear(context, b->which[i], answer + i * m->opt.classes);
    return HD_OK;
}

hd_status hd_labeler_ask_pictures(hd_run *r, const hd_model_folder *f, const hd_image_set *set, int threads,
                                  hd_labeler_hear *hear, void *context, hd_err *err)
{
    size_t rows = hd_image_encoder_length(&hd_model_folder_classifier(f)->opt.body.image);
    size_t batch = rows && rows < ROWS ? ROWS / rows : 1;
    hd_image_loader_opt opt = {.set = set,
                               .prepare = hd_labeler_prepare(f),
                               .batch = batch < MOST ? batch : MOST,
                               .threads = threads,
                               .in_order = true};
    hd_image_loader *loader = NULL;
    const hd_image_batch *b = NULL;
    hd_status s = hd_image_loader_new(&loader, &opt, err);
    for (size_t k = 0; !s && k < hd_image_loader_batches(loader); k++) {
        size_t items = 0;
        if (k % (size_t)hd_ranks() != (size_t)hd_rank()) continue;
        hd_image_loader_which(loader, k, &items);
        s = hd_image_loader_get(loader, k, 0, items, &b, err);
        if (!s) s = ask_some(r, f, b, hear, context, err);
    }
    hd_image_loader_free(loader);
    return s;
}

/* -- judging -- */

typedef struct asking {
    hd_run *r;
    const hd_model_folder *f;
    const hd_image_set *set;
    int threads;
} asking;

static hd_status ask(void *context, hd_labeler_hear *hear, void *of, hd_err *err)
{
    const asking *a = context;
    return hd_labeler_ask_pictures(a->r, a->f, a->set, a->threads, hear, of, err);
}

hd_status hd_labeler_judge_pictures(hd_judged *out, hd_run *r, const hd_model_folder *f,
                                    const hd_image_set *set, int threads, hd_err *err)
{
    hd_examples x = {0};
    *out = (hd_judged){0};
    hd_status s = hd_examples_of_pictures(&x, set, err);
    if (!s) s = hd_labeler_judge_with(out, f, &x, ask, &(asking){r, f, set, threads}, err);
    hd_examples_release(&x);
    return s;
}
