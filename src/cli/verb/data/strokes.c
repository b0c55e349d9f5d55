/* heed strokes: makes lines of handwriting from stroke fonts, to learn from. */
#include "cli/frame/verb.h"

#include <math.h>
#include <string.h>

#include "base/file/staging.h"
#include "base/system/team.h"
#include "data/strokes/scribe.h"

struct strokes {
    int lines, seed;
    float valid, test;
    const char *out, *fonts;
    bool overwrite;
};

static const hd_option options[] = {
    {"out", 'o', "FOLDER", NULL, "folder to write to; created if missing, and then complete or not at all",
     HD_FILE_INTO(struct strokes, out)},
    {"lines", 'n', "N", "20000", "lines of handwriting in all",
     HD_INT_INTO(struct strokes, lines, 1, 1000000)},
    {"valid-fraction", 0, "X", "0.05", "fraction of them for validation",
     HD_FLOAT_INTO(struct strokes, valid, 0, 0.9)},
    {"test-fraction", 0, "X", "0.05", "fraction of them for testing",
     HD_FLOAT_INTO(struct strokes, test, 0, 0.9)},
    {"fonts", 0, "FOLDER", HD_FONTS_FOLDER,
     "folder of the stroke fonts scripts, cursive, futural and rowmans (.jhf), which Debian's "
     "hershey-fonts-data brings",
     HD_FILE_INTO(struct strokes, fonts)},
    {"seed", 0, "N", "1", "seed of the random lines", HD_INT_INTO(struct strokes, seed, 0, 2147483647)},
    {"overwrite", 0, NULL, NULL, "replace a folder that heed strokes wrote",
     HD_FLAG_INTO(struct strokes, overwrite)},
    {0},
};

static const hd_example examples[] = {
    {"heed strokes --out hand", "18,000 lines to train with, 1,000 each to validate and to test"},
    {"heed train --task write --train hand --out model", "learn to write them"},
    {"heed write model 'attention is all you need' --bias 1 --out line.svg", "and to write anything"},
    {NULL, NULL},
};

enum { SPLITS = 3, TOGETHER = 256 };

static const char *const files[SPLITS + 1] = {"train.tsv", "val.tsv", "test.tsv", NULL};

/* Lines that are made together, by a team. */
struct batch {
    const struct strokes *o;
    const hd_scribe *scribe;
    int first;
    hd_text line[TOGETHER];
    size_t points[TOGETHER];
    hd_err err[TOGETHER];
};

struct writer {
    const struct strokes *o;
    hd_staging folder;
    int end[SPLITS]; /* numbers of lines behind each split */
    hd_text text[SPLITS];
    size_t points, letters;
    struct batch batch;
};

static void make(void *arg, size_t begin, size_t end, int worker)
{
    struct batch *b = arg;
    hd_text text = {0};
    hd_pen_points points = {0};
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        b->line[i].size = 0, b->err[i] = (hd_err){0};
        if (hd_scribe_line(&text, &points, b->scribe, (uint64_t)b->o->seed, (uint64_t)b->first + i,
                           &b->err[i]))
            continue;
        hd_strokes_put(&b->line[i], text.data, points.at, points.count);
        b->points[i] = points.count;
        hd_text_status(&b->line[i], &b->err[i]);
    }
    hd_text_release(&text);
    hd_pen_points_release(&points);
}

static hd_status make_all(struct writer *w, hd_team *team, hd_err *err)
{
    struct batch *b = &w->batch;
    int split = 0;
    for (b->first = 0; b->first < w->o->lines; b->first += TOGETHER) {
        int left = w->o->lines - b->first, count = left < TOGETHER ? left : TOGETHER;
        hd_team_run(team, (size_t)count, 1, make, b);
        for (int i = 0; i < count; i++) {
            if (b->err[i].status) return hd_err_set(err, b->err[i].status, "%s", b->err[i].text);
            while (b->first + i >= w->end[split]) split++;
            hd_text_add(&w->text[split], b->line[i].data, b->line[i].size);
            w->points += b->points[i], w->letters += strcspn(b->line[i].data, "\t");
        }
    }
    return HD_OK;
}

static hd_status write_all(struct writer *w, hd_team *team, hd_err *err)
{
    hd_status s = make_all(w, team, err);
    for (int i = 0; !s && i < SPLITS; i++) {
        if (w->end[i] == (i ? w->end[i - 1] : 0)) continue;
        s = hd_text_status(&w->text[i], err);
        if (!s) s = hd_staging_write(&w->folder, files[i], w->text[i].data, w->text[i].size, err);
    }
    return s;
}

static hd_status write_folder(struct writer *w, hd_team *team, hd_err *err)
{
    hd_status s = hd_staging_make_room(w->o->out, w->o->overwrite, "heed strokes", files, err);
    if (!s) s = hd_staging_begin(&w->folder, w->o->out, err);
    return s ? s : hd_staging_end(&w->folder, write_all(w, team, err), err);
}

static void say(const hd_command *c, const struct writer *w)
{
    char n[SPLITS][32];
    for (int k = 0; k < SPLITS; k++) hd_grouped((uint64_t)(w->end[k] - (k ? w->end[k - 1] : 0)), n[k]);
    hd_log_say(
        &c->log, HD_INFO,
        "wrote %s training, %s validation and %s test lines to %s: %.0f points a line, %.1f a character",
        n[0], n[1], n[2], w->o->out, (double)w->points / w->o->lines, (double)w->points / (double)w->letters);
    hd_log_say(&c->log, HD_INFO, "to learn from them:");
    hd_log_say(&c->log, HD_INFO, "  heed train --task write --train %s --out MODEL", w->o->out);
}

static hd_status check(hd_command *c, hd_err *err)
{
    const struct strokes *o = c->options;
    if (!o->out || !*o->out)
        return hd_err_set(err, HD_EARG, "--out is required: the folder for the handwriting");
    if ((double)o->valid + (double)o->test > 0.95)
        return hd_err_set(err, HD_EARG, "--valid-fraction and --test-fraction leave nothing to train with");
    return HD_OK;
}

static hd_status run(hd_command *c, hd_err *err)
{
    const struct strokes *o = c->options;
    hd_team *team = NULL;
    hd_scribe *scribe = NULL;
    struct writer *w = hd_mem_zero(sizeof *w);
    hd_status s = w ? hd_scribe_open(&scribe, o->fonts, err) : hd_err_nomem(err, sizeof *w);
    if (!s) s = hd_team_new(&team, c->common.threads, err);
    if (!s) {
        const int valid = (int)lround(o->lines * (double)o->valid),
                  test = (int)lround(o->lines * (double)o->test);
        w->o = o, w->batch.o = o, w->batch.scribe = scribe;
        w->end[0] = o->lines - valid - test, w->end[1] = o->lines - test, w->end[2] = o->lines;
        s = write_folder(w, team, err);
    }
    if (!s) say(c, w);
    for (int i = 0; w && i < SPLITS; i++) hd_text_release(&w->text[i]);
    for (int i = 0; w && i < TOGETHER; i++) hd_text_release(&w->batch.line[i]);
    hd_scribe_free(scribe);
    hd_team_free(team);
    hd_mem_free(w);
    return s;
}

const hd_usage hd_verb_strokes = {
    .about =
        "Makes lines of handwriting to learn from: English words, words that are none and numbers, written "
        "with the stroke fonts of Dr. A. V. Hershey, each line by another hand: font, slant, size, base "
        "line, "
        "tremor, and whether letters are joined. train.tsv, val.tsv and test.tsv have a line for each: the "
        "text, a tab, and the strokes of the pen as x,y with spaces between points and semicolons between "
        "strokes; x runs right and y down, and capitals are about 2100 high.",
    .options = options,
    .size = sizeof(struct strokes),
    .examples = examples,
    .check = check,
    .run = run,
};
