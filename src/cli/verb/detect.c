/* heed detect: pictures in, objects with their boxes out; or how well they are found. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "cli/frame/verb.h"
#include "task/detect/detect.h"
#include "view/picture/boxes.h"
#include "view/plot.h"

enum { NAME = 80 }; /* bytes of what a box is called in pictures of attention */

typedef struct detect_options {
    hd_usual usual;
    double threshold;
    const char *draw, *boxes, *images, *split;
} detect_options;

#define OWNER detect_options

static const hd_option options[] = {
    {"threshold", 't', "X", "0.5", "show objects that are more likely than this", .group = "Output",
     HD_FLOAT_INTO(OWNER, threshold, 0, 1)},
    {"json", 0, NULL, NULL,
     "JSON Lines: file, and objects with label, score and box [xmin, ymin, xmax, ymax] in pixels",
     .group = "Output", HD_FLAG_INTO(hd_usual, json)},
    {"draw", 0, "FILE", NULL, "draw the boxes on the picture, of which there is one: .png, .svg or .pdf",
     .group = "Output", HD_FILE_INTO(OWNER, draw)},
    HD_ATTENDING_FILE,
    HD_ATTENDING(
        "kind", 0, "KIND", "auto",
        "encoder (cells at cells), decoder (queries at queries) or cross (queries at cells); auto: cross",
        HD_CHOICE_INTO(hd_usual, attending.kind, hd_attention_choices)),
    HD_ATTENDING_LAYER,
    HD_ATTENDING_HEAD,
    HD_ATTENDING_HEADS,
    {"boxes", 0, "FILE", NULL,
     "measure average precision against the boxes in this file, CSV or COCO JSON, in place of PICTURE",
     .group = "Evaluation", HD_FILE_INTO(OWNER, boxes)},
    {"images", 0, "FOLDER", NULL, "folder of the pictures that --boxes names; without it that of the file",
     .group = "Evaluation", HD_FILE_INTO(OWNER, images)},
    {"split", 0, "NAME", NULL, "only the rows of --boxes whose column split is this, as in test",
     .group = "Evaluation", HD_TEXT_INTO(OWNER, split)},
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed detect model a.png b.jpg", "a line for each object: file, label, score, xmin, ymin, xmax, ymax"},
    {"heed detect model a.png --draw out.png", "and a picture with the boxes on it"},
    {"heed detect model a.png --attention out.html", "where each query looked, over the picture"},
    {"heed detect model a.png --json --threshold 0.3", "more of them, as JSON"},
    {"heed detect model --boxes boxes.csv --images photos --split test", "AP, AP50 and AP75 of each label"},
    {NULL, NULL},
};

typedef struct call {
    hd_command command;
    const detect_options *o;
    size_t bad;
} call;

/* -- objects -- */

static void put_object(hd_text *to, const hd_found_object *o, const char *label)
{
    const double box[] = {o->x, o->y, o->x + o->width, o->y + o->height};
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "label", label);
    hd_member_number(to, "score", o->score, 9);
    hd_member_begin(to, "box", '[');
    for (int i = 0; i < 4; i++) hd_member_number(to, NULL, box[i], 9);
    hd_member_end(to, ']');
    hd_member_end(to, '}');
}

static void put_json(hd_text *to, const char *name, const hd_vocab *labels, const hd_found_objects *f,
                     const char *why)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "file", name);
    if (why) hd_member_text(to, "error", why);
    if (!why) hd_member_begin(to, "objects", '[');
    for (size_t i = 0; i < f->count; i++)
        put_object(to, &f->at[i], hd_vocab_piece(labels, (int32_t)f->at[i].label));
    if (!why) hd_member_end(to, ']');
    hd_member_end(to, '}');
    hd_text_put(to, "\n");
}

static void put_lines(hd_text *to, const char *name, const hd_vocab *labels, const hd_found_objects *f)
{
    for (size_t i = 0; i < f->count; i++) {
        const hd_found_object *o = &f->at[i];
        hd_text_print(to, "%s\t%s\t%.4f\t%.1f\t%.1f\t%.1f\t%.1f\n", name,
                      hd_vocab_piece(labels, (int32_t)o->label), o->score, o->x, o->y, o->x + o->width,
                      o->y + o->height);
    }
}

static hd_status draw(const char *path, const hd_image *im, const hd_vocab *labels, const hd_found_objects *f,
                      hd_err *err)
{
    hd_drawn_box *box = hd_mem_array(f->count + 1, sizeof *box);
    if (!box) return hd_err_nomem(err, (f->count + 1) * sizeof *box);
    for (size_t i = 0; i < f->count; i++) {
        const hd_found_object *o = &f->at[i];
        box[i] = (hd_drawn_box){
            o->x, o->y, o->width, o->height, hd_vocab_piece(labels, (int32_t)o->label), o->score, o->label};
    }
    hd_status s = hd_boxes_draw(path, im, box, f->count, err);
    hd_mem_free(box);
    return s;
}

/* Where the queries that found something looked. */
static hd_status attend(hd_command *command, const char *path, const hd_image *im, const hd_vocab *labels,
                        const hd_found_objects *f, hd_err *err)
{
    size_t bytes = (f->count + 1) * (sizeof(hd_attention_box) + NAME);
    hd_attention_box *box = hd_mem_new(bytes);
    if (!box) return hd_err_nomem(err, bytes);
    char *name = (char *)(box + f->count + 1);
    for (size_t i = 0; i < f->count; i++, name += NAME) {
        const hd_found_object *o = &f->at[i];
        snprintf(name, NAME, "%s %.2f", hd_vocab_piece(labels, (int32_t)o->label), o->score);
        box[i] = (hd_attention_box){o->query,
                                    (float)(o->x / im->width),
                                    (float)(o->y / im->height),
                                    (float)(o->width / im->width),
                                    (float)(o->height / im->height),
                                    name};
    }
    const hd_attended_picture t = {.image = im,
                                   .name = path,
                                   .score = NAN,
                                   .box = box,
                                   .boxes = f->count,
                                   .kinds = hd_attending_kinds(&command->attending.o)};
    hd_status s = hd_attending_picture(command, &t, err);
    hd_mem_free(box);
    return s;
}

/* A picture that cannot be read is said and counted; anything else ends the verb. */
static hd_status answer(call *c, const char *path, hd_err *err)
{
    hd_command *command = &c->command;
    const hd_vocab *labels = &command->model.labels;
    hd_found_objects found = {0};
    hd_text out = {0};
    hd_image im = {0};
    hd_err why = {0};
    hd_status s = hd_image_read(&im, path, &why);
    if (s == HD_ENOMEM) return hd_err_set(err, s, "%s", why.text);
    if (s) hd_log_say(&command->log, HD_WARN, "%s", why.text), c->bad++;
    if (!s) s = hd_detect(&found, &command->machine.run, &command->model, &im, c->o->threshold, err);
    if (!s && c->o->draw) s = draw(c->o->draw, &im, labels, &found, err);
    if (!s && hd_attending_wanted(&c->o->usual.attending))
        s = attend(command, path, &im, labels, &found, err);
    hd_image_release(&im);
    if (s && !why.status) return hd_found_objects_release(&found), s;
    if (c->o->usual.json)
        put_json(&out, path, labels, &found, why.status ? why.text : NULL);
    else
        put_lines(&out, path, labels, &found);
    hd_found_objects_release(&found);
    return hd_command_put_text(command, &out, true, err);
}

/* -- evaluation -- */

static void put_score_line(hd_text *to, const char *name, const hd_detection_score *s)
{
    hd_text_print(to, "%-20s %7zu", name, s->truths);
    const double all[] = {s->ap, s->ap50, s->ap75};
    for (int i = 0; i < 3; i++)
        if (isnan(all[i]))
            hd_text_print(to, " %8s", "-");
        else
            hd_text_print(to, " %8.4f", all[i]);
    hd_text_put(to, "\n");
}

static void put_score(hd_text *to, const char *name, const hd_detection_score *s)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "label", name);
    hd_member_number(to, "objects", (double)s->truths, 17);
    hd_member_number(to, "ap", s->ap, 9);
    hd_member_number(to, "ap50", s->ap50, 9);
    hd_member_number(to, "ap75", s->ap75, 9);
    hd_member_end(to, '}');
}

static void put_scores(hd_text *to, const hd_detector_judged *j, const hd_vocab *labels, bool json)
{
    if (!json) {
        hd_text_print(to, "%-20s %7s %8s %8s %8s\n", "label", "objects", "AP", "AP50", "AP75");
        for (size_t i = 0; i < labels->count; i++)
            put_score_line(to, hd_vocab_piece(labels, (int32_t)i), &j->of[i]);
        put_score_line(to, "all", &j->all);
        return;
    }
    hd_member_begin(to, NULL, '{');
    hd_member_number(to, "pictures", (double)j->pictures, 17);
    hd_member_number(to, "objects", (double)j->objects, 17);
    hd_member_number(to, "ap", j->all.ap, 9);
    hd_member_number(to, "ap50", j->all.ap50, 9);
    hd_member_number(to, "ap75", j->all.ap75, 9);
    hd_member_begin(to, "labels", '[');
    for (size_t i = 0; i < labels->count; i++) put_score(to, hd_vocab_piece(labels, (int32_t)i), &j->of[i]);
    hd_member_end(to, ']');
    hd_member_end(to, '}');
    hd_text_put(to, "\n");
}

static hd_status evaluate(call *c, hd_err *err)
{
    hd_command *command = &c->command;
    hd_vocab *labels = &command->model.labels;
    hd_image_set set = {0};
    hd_detector_judged j = {0};
    hd_text out = {0};
    hd_status s = hd_image_set_boxes(&set, labels, c->o->boxes, c->o->images, c->o->split, false, err);
    if (!s) s = hd_detector_judge(&j, &command->machine.run, &command->model, &set, false, err);
    if (!s) put_scores(&out, &j, labels, c->o->usual.json);
    hd_detector_judged_release(&j);
    hd_image_set_release(&set);
    return s ? s : hd_command_put_text(command, &out, true, err);
}

/* -- the verb -- */

static hd_status run(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    hd_status s = hd_attending_open(command, &c->o->usual.attending, err);
    if (!s && c->o->boxes) s = evaluate(c, err);
    for (int i = 1; !s && i < command->operands.count; i++) s = answer(c, command->operands.word[i], err);
    if (!s && c->bad) {
        hd_log_say(&command->log, HD_WARN, "%zu of %d pictures could not be read", c->bad,
                   command->operands.count - 1);
        command->exit = HD_EXIT_FAILURE;
    }
    return s;
}

static hd_status check(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const detect_options *o = c->o = command->options;
    bool pictures = command->operands.count > 1;
    if (!pictures && !o->boxes)
        return hd_err_set(err, HD_EARG, "no picture is given: name files after MODEL, or --boxes FILE");
    if (pictures && o->boxes)
        return hd_err_set(err, HD_EARG, "--boxes names the pictures itself: give no PICTURE");
    if (o->draw && command->operands.count != 2)
        return hd_err_set(err, HD_EARG, "--draw draws on one picture: give one PICTURE");
    if ((o->images || o->split) && !o->boxes)
        return hd_err_set(err, HD_EARG, "--%s belongs to --boxes: give --boxes FILE",
                          o->images ? "images" : "split");
    return o->draw ? hd_plot_check(o->draw, err) : HD_OK;
}

const hd_usage hd_verb_detect = {
    .operands = "MODEL [PICTURE...]",
    .least = 1,
    .most = 1 + HD_INPUT_FILES_MOST,
    .about =
        "Finds the objects in pictures (PNG, JPEG) with the model in the folder MODEL. A line for each "
        "object, the likeliest first: the name of the file, the label, its probability and the corners of "
        "the box in pixels, xmin ymin xmax ymax, with tabs between. A picture that cannot be read gives no "
        "line, with --json an object with \"file\" and \"error\", and a warning; the exit status is then "
        "1.\n"
        "With --boxes it measures average precision as COCO does: AP over overlaps from 0.5 to 0.95, AP50 "
        "and AP75.",
    .options = options,
    .size = sizeof(detect_options),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .pictures = true,
    .task = "detect",
    .call = sizeof(call),
    .check = check,
    .run = run,
};
