/* heed shapes: draws pictures of colored shapes, with classes, boxes and captions, that models learn in
   minutes. */
#include "cli/frame/verb.h"

#include <math.h>
#include <string.h>

#include "base/file/staging.h"
#include "base/system/team.h"
#include "data/shapes/scene.h"

struct shapes {
    int images, size, objects, seed;
    float valid, test;
    const char *out;
    bool overwrite;
};

static const hd_option options[] = {
    {"out", 'o', "FOLDER", NULL, "folder to write to; created if missing, and then complete or not at all",
     HD_FILE_INTO(struct shapes, out)},
    {"images", 'n', "N", "5000", "pictures in all", HD_INT_INTO(struct shapes, images, 1, 1000000)},
    {"size", 0, "N", "64", "side of a picture in pixels",
     HD_INT_INTO(struct shapes, size, HD_SCENE_SIDE_LEAST, HD_SCENE_SIDE_MOST)},
    {"objects", 0, "N", "3", "most objects in a picture",
     HD_INT_INTO(struct shapes, objects, 1, HD_SCENE_MOST)},
    {"valid-fraction", 0, "X", "0.1", "fraction of them for validation",
     HD_FLOAT_INTO(struct shapes, valid, 0, 0.9)},
    {"test-fraction", 0, "X", "0.1", "fraction of them for testing",
     HD_FLOAT_INTO(struct shapes, test, 0, 0.9)},
    {"seed", 0, "N", "1", "seed of the random pictures", HD_INT_INTO(struct shapes, seed, 0, 2147483647)},
    {"overwrite", 0, NULL, NULL, "replace a folder that heed shapes wrote",
     HD_FLAG_INTO(struct shapes, overwrite)},
    {0},
};

static const hd_example examples[] = {
    {"heed shapes --out shapes", "4,000 pictures to train with, 500 each to validate and to test"},
    {"heed train --task classify --preset vit-tiny --train-dir shapes/train --out model",
     "learn which shape is the largest"},
    {"heed train --task detect --preset detr-small --train shapes/boxes.csv --images shapes --out model",
     "learn where the shapes are"},
    {NULL, NULL},
};

enum { SPLITS = 3, TOGETHER = 256, NAME = 64 };

static const char *const splits[SPLITS] = {"train", "val", "test"};

/* X(what is in it, file): files beside the folders of the splits. */
#define FILE_LIST(X)                 \
    X(BOXES, "boxes.csv")            \
    X(CAPTIONS, "captions.txt")      \
    X(VARIED, "captions-varied.txt") \
    X(TRAIN, "train.txt")            \
    X(VAL, "val.txt")                \
    X(TEST, "test.txt")

enum {
#define X(what, file) IN_##what,
    FILE_LIST(X)
#undef X
        FILES
};

static const char *const files[FILES] = {
#define X(what, file) file,
    FILE_LIST(X)
#undef X
};

/* All that lies in the folder. */
static const char *const ours[] = {
#define X(what, file) file,
    "train", "val", "test", FILE_LIST(X) NULL
#undef X
};

/* Pictures that are drawn together, by a team. */
struct batch {
    const struct shapes *o;
    int first;
    hd_text png[TOGETHER];
    hd_err err[TOGETHER];
};

struct writer {
    const struct shapes *o;
    hd_staging folder;
    int end[SPLITS]; /* numbers of pictures behind each split */
    hd_text text[FILES];
    struct batch batch;
};

static int split_of(const struct writer *w, int number)
{
    int k = 0;
    while (number >= w->end[k]) k++;
    return k;
}

static void name_of(char to[NAME], const struct writer *w, int number, const hd_scene *s)
{
    snprintf(to, NAME, "%s/%s/%06d.png", splits[split_of(w, number)], hd_scene_class(s), number);
}

static void draw(void *arg, size_t begin, size_t end, int worker)
{
    struct batch *b = arg;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        hd_scene scene;
        hd_image im;
        b->png[i].size = 0;
        b->err[i] = (hd_err){0};
        hd_scene_draw(&scene, (uint64_t)b->o->seed, (uint64_t)b->first + i, b->o->objects);
        if (hd_scene_picture(&im, &scene, b->o->size, &b->err[i])) continue;
        hd_image_encode_png(&b->png[i], &im, &b->err[i]);
        hd_image_release(&im);
    }
}

/* The lines that name a picture. */
static void describe(struct writer *w, int number, const hd_scene *s, const char *name)
{
    const int split = split_of(w, number);
    hd_text_print(&w->text[IN_TRAIN + split], "%s\n", name);
    for (int i = 0; i < s->count; i++) {
        hd_box b = hd_scene_box(s, i, w->o->size);
        hd_text_print(&w->text[IN_BOXES], "%s,%s,%s,%.2f,%.2f,%.2f,%.2f\n", name, splits[split],
                      hd_shape_name(s->shape[i].kind), (double)b.x, (double)b.y, (double)(b.x + b.width),
                      (double)(b.y + b.height));
    }
    for (int k = 0; k < HD_SCENE_CAPTIONS; k++) {
        hd_text *to = &w->text[k ? IN_VARIED : IN_CAPTIONS];
        for (int twice = 0; twice <= !k; twice++, to = &w->text[IN_VARIED]) {
            hd_text_print(to, "%s#%d\t", name, k);
            hd_scene_caption(to, s, k);
            hd_text_put(to, "\n");
        }
    }
}

static hd_status write_pictures(struct writer *w, hd_team *team, hd_err *err)
{
    struct batch *b = &w->batch;
    hd_status s = HD_OK;
    b->o = w->o;
    for (b->first = 0; !s && b->first < w->o->images; b->first += TOGETHER) {
        int left = w->o->images - b->first, count = left < TOGETHER ? left : TOGETHER;
        hd_team_run(team, (size_t)count, 1, draw, b);
        for (int i = 0; !s && i < count; i++) {
            char name[NAME];
            hd_scene scene;
            if (b->err[i].status) return hd_err_set(err, b->err[i].status, "%s", b->err[i].text);
            hd_scene_draw(&scene, (uint64_t)w->o->seed, (uint64_t)(b->first + i), w->o->objects);
            name_of(name, w, b->first + i, &scene);
            s = hd_staging_write(&w->folder, name, b->png[i].data, b->png[i].size, err);
            describe(w, b->first + i, &scene, name);
        }
    }
    return s;
}

static hd_status make_folders(const struct writer *w, hd_err *err)
{
    hd_status s = HD_OK;
    for (int k = 0; !s && k < SPLITS; k++) {
        char split[HD_PATH], class[HD_PATH];
        if (w->end[k] == (k ? w->end[k - 1] : 0)) continue;
        s = hd_path(split, w->folder.temp, splits[k], err);
        if (!s) s = hd_folder_make(split, NULL, err);
        for (int i = 0; !s && i < HD_SHAPES; i++) {
            s = hd_path(class, split, hd_shape_name((hd_shape_kind)i), err);
            if (!s) s = hd_folder_make(class, NULL, err);
        }
    }
    return s;
}

static hd_status write_all(struct writer *w, hd_team *team, hd_err *err)
{
    hd_text_put(&w->text[IN_BOXES], "image,split,label,xmin,ymin,xmax,ymax\n");
    hd_status s = make_folders(w, err);
    if (!s) s = write_pictures(w, team, err);
    for (int i = 0; !s && i < FILES; i++) {
        s = hd_text_status(&w->text[i], err);
        if (!s) s = hd_staging_write(&w->folder, files[i], w->text[i].data, w->text[i].size, err);
    }
    return s;
}

static hd_status write_folder(struct writer *w, hd_team *team, hd_err *err)
{
    hd_status s = hd_staging_make_room(w->o->out, w->o->overwrite, "heed shapes", ours, err);
    if (!s) s = hd_staging_begin(&w->folder, w->o->out, err);
    return s ? s : hd_staging_end(&w->folder, write_all(w, team, err), err);
}

static void say(const hd_command *c, const struct writer *w)
{
    const struct shapes *o = w->o;
    char n[SPLITS][32];
    for (int k = 0; k < SPLITS; k++) hd_grouped((uint64_t)(w->end[k] - (k ? w->end[k - 1] : 0)), n[k]);
    hd_log_say(&c->log, HD_INFO, "wrote %s training, %s validation and %s test pictures to %s", n[0], n[1],
               n[2], o->out);
    hd_log_say(&c->log, HD_INFO, "to learn from them:");
    hd_log_say(&c->log, HD_INFO,
               "  heed train --task classify --preset vit-tiny --train-dir %s/train --out MODEL", o->out);
    hd_log_say(&c->log, HD_INFO,
               "  heed train --task detect --preset detr-small --train %s/boxes.csv --images %s --out MODEL",
               o->out, o->out);
    hd_log_say(&c->log, HD_INFO,
               "  heed train --task caption --preset show-attend-tell --train %s/captions.txt --images %s "
               "--train-names %s/train.txt --valid-names %s/val.txt --out MODEL",
               o->out, o->out, o->out, o->out);
}

static hd_status check(hd_command *c, hd_err *err)
{
    const struct shapes *o = c->options;
    if (!o->out || !*o->out)
        return hd_err_set(err, HD_EARG, "--out is required: the folder for the pictures");
    if ((double)o->valid + (double)o->test > 0.95)
        return hd_err_set(err, HD_EARG, "--valid-fraction and --test-fraction leave nothing to train with");
    return HD_OK;
}

static hd_status run(hd_command *c, hd_err *err)
{
    const struct shapes *o = c->options;
    hd_team *team = NULL;
    struct writer *w = hd_mem_zero(sizeof *w);
    hd_status s = w ? hd_team_new(&team, c->common.threads, err) : hd_err_nomem(err, sizeof *w);
    if (!s) {
        const int valid = (int)lround(o->images * (double)o->valid),
                  test = (int)lround(o->images * (double)o->test);
        w->o = o;
        w->end[0] = o->images - valid - test, w->end[1] = o->images - test, w->end[2] = o->images;
        s = write_folder(w, team, err);
    }
    if (!s) say(c, w);
    for (int i = 0; w && i < FILES; i++) hd_text_release(&w->text[i]);
    for (int i = 0; w && i < TOGETHER; i++) hd_text_release(&w->batch.png[i]);
    hd_team_free(team);
    hd_mem_free(w);
    return s;
}

const hd_usage hd_verb_shapes = {
    .about =
        "Draws pictures of one to three colored circles, squares and triangles on a light or dark ground. "
        "Pictures lie in train, val and test, in a folder for each class: the shape of the largest object. "
        "boxes.csv has the box of every object, the largest first, captions.txt a caption for each "
        "picture: 'a red circle above a blue square', from the largest to the smallest; "
        "captions-varied.txt has further wordings. train.txt, val.txt and test.txt list the pictures.\n"
        "No two objects of a picture have one color, each is clearly smaller than the one before it and lies "
        "clearly above, below, left or right of the largest: a picture has one right caption.",
    .options = options,
    .size = sizeof(struct shapes),
    .examples = examples,
    .check = check,
    .run = run,
};
