/* heed classify on pictures: a label for every file, or how well labels are predicted. */
#include <math.h>

#include "cli/verb/label/labels.h"
#include "nn/pixels.h"

enum { CHUNK = 64 }; /* pictures answered at once */

typedef struct chunk {
    const char *const *name; /* [count] files */
    size_t count;
    hd_image shown[CHUNK], read[CHUNK]; /* as decoded, and as the model reads them; {0}: could not be read */
    hd_err why[CHUNK];
    hd_real *answer; /* [those that could be read, classes] */
} chunk;

/* A failure that is not the picture's ends the verb. */
static hd_status read_one(chunk *k, size_t i, const hd_image_prepare *p, hd_err *err)
{
    hd_status s = hd_image_read(&k->shown[i], k->name[i], &k->why[i]);
    if (!s) s = hd_image_prepared(&k->read[i], &k->shown[i], p, &k->why[i]);
    if (s == HD_ENOMEM) return hd_err_set(err, s, "%s", k->why[i].text);
    return HD_OK;
}

static hd_status ask(hd_command *c, chunk *k, hd_err *err)
{
    const hd_classifier *m = hd_model_folder_classifier(&c->model);
    const hd_image *image[CHUNK];
    hd_run *r = &c->machine.run;
    hd_pixels pixels;
    hd_class_batch b = {.in.pixels = &pixels};
    size_t count = 0;
    for (size_t i = 0; i < k->count; i++)
        if (!k->why[i].status) image[count++] = &k->read[i];
    k->answer = hd_mem_array(count * m->opt.classes + 1, sizeof *k->answer);
    if (!k->answer) return hd_err_nomem(err, count * m->opt.classes * sizeof *k->answer);
    if (!count) return HD_OK;
    hd_run_begin(r, HD_INFERENCE);
    hd_pixels_send_images(r, &pixels, image, count, hd_labeler_prepare(&c->model));
    b.rows = count;
    hd_tensor *y = r->err.status ? NULL : hd_classifier_answer(r, m, &b);
    if (y) hd_read_output(r, y, k->answer);
    return r->err.status ? hd_err_set(err, r->err.status, "labels: %s", r->err.text) : HD_OK;
}

static void put_one(hd_text *to, const hd_command *c, const char *name, const hd_real *answer,
                    const char *why)
{
    const bool json = c->usual->json;
    if (json) hd_member_begin(to, NULL, '{'), hd_member_text(to, "file", name);
    if (json && why) hd_member_text(to, "error", why);
    if (!json) hd_text_print(to, "%s\t", name);
    if (json && !why) hd_member_begin(to, "labels", '[');
    if (!why) hd_labels_put_likely(to, c, answer);
    if (json && !why) hd_member_end(to, ']');
    hd_text_put(to, json ? "}\n" : "\n");
}

static hd_status attend(hd_command *c, const chunk *k, size_t i, const hd_real *answer, hd_err *err)
{
    size_t best = 0;
    for (size_t n = 1; n < c->model.labels.count; n++)
        if (answer[n] > answer[best]) best = n;
    return hd_attending_picture(
        c,
        &(hd_attended_picture){.image = &k->shown[i],
                               .name = k->name[i],
                               .said = hd_vocab_piece(&c->model.labels, (int32_t)best),
                               .score = exp((double)answer[best])},
        err);
}

static hd_status answer_chunk(hd_command *c, chunk *k, size_t *bad, hd_err *err)
{
    const size_t classes = hd_model_folder_classifier(&c->model)->opt.classes;
    hd_status s = HD_OK;
    hd_text out = {0};
    for (size_t i = 0; !s && i < k->count; i++) s = read_one(k, i, hd_labeler_prepare(&c->model), err);
    if (!s) s = ask(c, k, err);
    for (size_t i = 0, at = 0; !s && i < k->count; i++) {
        const char *why = k->why[i].status ? k->why[i].text : NULL;
        put_one(&out, c, k->name[i], k->answer + at * classes, why);
        if (why) hd_log_say(&c->log, HD_WARN, "%s", why), ++*bad;
        if (!why) s = attend(c, k, i, k->answer + at++ * classes, err);
    }
    for (size_t i = 0; i < k->count; i++) hd_image_release(&k->shown[i]), hd_image_release(&k->read[i]);
    hd_mem_free(k->answer);
    if (s) return hd_text_release(&out), s;
    return hd_command_put_text(c, &out, true, err);
}

/* A body alone gives no labels. */
static hd_status check_labels(const hd_command *c, hd_err *err)
{
    if (c->model.labels.count) return HD_OK;
    return hd_err_set(err, HD_EARG, "the model has no labels: train it with --task classify --from");
}

hd_status hd_labels_answer_pictures(hd_command *c, hd_err *err)
{
    const hd_labels_options *o = c->options;
    const hd_words files = {c->operands.word + 1, c->operands.count - 1};
    hd_status s = check_labels(c, err);
    size_t bad = 0;
    if (s) return s;
    if (!files.count)
        return hd_err_set(err, HD_EARG, "the model reads pictures: give their files after MODEL");
    chunk *k = hd_mem_new(sizeof *k);
    if (!k) return hd_err_nomem(err, sizeof *k);
    for (int from = 0; !s && from < files.count; from += CHUNK) {
        *k = (chunk){.name = (const char *const *)files.word + from,
                     .count = (size_t)(files.count - from < CHUNK ? files.count - from : CHUNK)};
        s = answer_chunk(c, k, &bad, err);
    }
    hd_mem_free(k);
    if (s || !bad) return s;
    hd_log_say(&c->log, HD_WARN, "%zu of %d pictures could not be read", bad, files.count);
    if (o->on_invalid == 0) c->exit = HD_EXIT_FAILURE;
    return HD_OK;
}

hd_status hd_labels_judge_pictures(hd_judged *out, hd_command *c, hd_err *err)
{
    const hd_labels_options *o = c->options;
    hd_vocab labels = c->model.labels; /* not added to */
    hd_image_set set = {0};
    hd_status s = check_labels(c, err);
    if (s) return s;
    if (c->operands.count < 2)
        return hd_err_set(
            err, HD_EARG,
            "--confusion of pictures: give a folder with a subfolder a class, a list, or an IDX "
            "file of pictures and one of labels");
    s = hd_labeler_read_pictures(&set, &labels, (const char *const *)c->operands.word + 1,
                                 c->operands.count - 1, o->images, o->on_invalid == 1, err);
    if (!s && set.skipped)
        hd_log_say(&c->log, HD_WARN, "%zu pictures cannot be read and are left out", set.skipped);
    if (!s) s = hd_labeler_judge_pictures(out, &c->machine.run, &c->model, &set, c->common.threads, err);
    hd_image_set_release(&set);
    return s;
}
