/* heed caption: pictures in, captions out, in order. */
#include <string.h>

#include "cli/frame/searching.h"
#include "cli/frame/written.h"
#include "cli/verb/caption/caption.h"
#include "cli/verb/caption/looks.h"

enum { CHUNK = 64 }; /* pictures that are captioned at once */

#define OWNER hd_caption_options

#define SEARCH    .group = "Search"
#define INPUT     .group = "Input"
#define OUTPUT    .group = "Output"
#define ATTENTION .group = "Attention"

static const hd_option options[] = {
    HD_SEARCH_ROWS(OWNER, "caption", "picture"),
    {"max-length", 0, "N", "50", "most tokens of a caption", SEARCH,
     HD_COUNT_INTO(OWNER, opt.search.max_length, 1, 1000000)},

    HD_SAMPLING_ROWS(OWNER),

    {"names", 0, "FILE", NULL, "caption the pictures named in this file, one name a line, too", INPUT,
     HD_FILE_INTO(OWNER, names)},
    {"images", 0, "FOLDER", NULL, "folder of the pictures that --names names; without it that of the file",
     INPUT, HD_FILE_INTO(OWNER, images)},
    {"batch", 0, "N", "0", "hypotheses searched in parallel; 0: 256", INPUT,
     HD_COUNT_INTO(OWNER, opt.batch, 0, 1000000)},

    {"json", 0, NULL, NULL, "JSON Lines: file, and captions with tokens, score and logprob", OUTPUT,
     HD_FLAG_INTO(hd_usual, json)},
    {"scores", 0, NULL, NULL, "add a tab and the score", OUTPUT, HD_FLAG_INTO(OWNER, scores)},

    {"attention", 'a', "FILE", NULL,
     "write what each word looks at in the picture as .json, .html, .svg or .png; .svg and .png of several "
     "pictures are numbered",
     ATTENTION, HD_FILE_INTO(hd_usual, attending.file)},
    {"kind", 0, "KIND", "auto", "encoder, decoder or cross; auto: cross in pictures, all in .json and .html",
     ATTENTION, HD_CHOICE_INTO(hd_usual, attending.kind, hd_attention_choices)},
    HD_ATTENDING_LAYER,
    HD_ATTENDING_HEAD,
    HD_ATTENDING_HEADS,
    {"boxes", 0, "FILE", NULL,
     "measure how much of the attention of words lies inside the boxes of this file (CSV or COCO JSON) whose "
     "labels they are, and of the word before each: \"red circle\"",
     ATTENTION, HD_FILE_INTO(OWNER, boxes)},
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed caption model a.png b.jpg", "a line for each picture: its name, a tab and the caption"},
    {"heed caption model a.png --attention out.html", "where each word looks, as a page for the browser"},
    {"heed caption model a.png --n-best 5 --scores", "five captions with their scores"},
    {"heed caption model a.png --sample --temperature 0.8", "a random caption, another one for each --seed"},
    {"heed caption model --names test.txt --images photos > out.tsv",
     "captions of a test set, for heed score --task caption"},
    {NULL, NULL},
};

typedef struct call {
    hd_command command;
    const hd_caption_options *o;
    hd_caption_opt opt;
    hd_caption_pictures pictures; /* of the chunk, those that could be read */
    hd_image image[CHUNK];        /* as decoded, where attention is looked at */
    hd_caption_looks looks;
    const char *name[CHUNK];
    hd_err why[CHUNK]; /* of those that could not */
    size_t count;
    size_t number, bad; /* so far */
    hd_arena names;     /* of --names, as long as a chunk */
} call;

/* -- a chunk -- */

static hd_status write_chunk(call *c, const hd_written_all *found, hd_err *err)
{
    const hd_written_how how = {c->o->usual.json, c->o->scores, "captions"};
    hd_text out = {0};
    size_t next = 0;
    for (size_t i = 0; i < c->count; i++) {
        bool bad = c->why[i].status;
        hd_written_put(&out, &how, c->command.model.tokenizer[1], c->name[i], bad ? NULL : found->of[next],
                       bad ? 0 : found->found[next], bad ? c->why[i].text : NULL);
        next += !bad;
    }
    return hd_command_put_text(&c->command, &out, true, err);
}

static hd_status look(call *c, const hd_written_all *found, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0, next = 0; !s && i < c->count; i++) {
        if (c->why[i].status) continue;
        if (found->found[next])
            s = hd_caption_look(&c->looks, &c->command, c->name[i], &c->image[i], found->of[next], err);
        next++;
    }
    return s;
}

static hd_status answer(call *c, hd_err *err)
{
    hd_written_all found = {0};
    c->opt.first = c->number - c->count;
    hd_status s =
        hd_caption_of(&found, &c->command.machine.run, &c->command.model, &c->pictures.batch, &c->opt, err);
    if (!s) s = write_chunk(c, &found, err);
    if (!s && c->looks.wanted) s = look(c, &found, err);
    hd_written_release(&found);
    hd_caption_pictures_clear(&c->pictures);
    for (size_t i = 0; i < c->count; i++) hd_image_release(&c->image[i]);
    c->count = 0;
    return s;
}

/* A picture that cannot be read is said and counted; anything else ends the verb. */
static hd_status read_picture(call *c, const char *path, hd_err *err)
{
    hd_image im = {0};
    hd_err *why = &c->why[c->count];
    *why = (hd_err){0};
    hd_status s = hd_image_read(&im, path, why);
    if (!s) s = hd_caption_pictures_add(&c->pictures, &im, hd_caption_prepare(&c->command.model), why);
    if (!s && c->looks.wanted) c->image[c->count] = im, im = (hd_image){0};
    hd_image_release(&im);
    if (s == HD_ENOMEM) return hd_err_set(err, s, "%s", why->text);
    if (s) hd_log_say(&c->command.log, HD_WARN, "%s", why->text), c->bad++;
    return HD_OK;
}

/* The name must stay until its chunk is written. */
static hd_status take(call *c, const char *name, const char *path, hd_err *err)
{
    c->name[c->count] = name;
    hd_status s = read_picture(c, path, err);
    if (s) return s;
    c->number++, c->count++;
    return c->count == CHUNK ? answer(c, err) : HD_OK;
}

/* -- the verb -- */

static hd_status take_names(call *c, hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line;
    char path[HD_PATH], folder[HD_PATH] = ".";
    const char *slash = strrchr(c->o->names, '/');
    if (c->o->images)
        snprintf(folder, sizeof folder, "%s", c->o->images);
    else if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - c->o->names), c->o->names);
    hd_status s = hd_lines_open(&lines, c->o->names, &hd_lines_text, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text) {
        if (!line.size) continue;
        if (!c->count) hd_arena_reset(&c->names);
        char *name = hd_arena_array(&c->names, line.size + 1, 1, err);
        if (!name) s = HD_ENOMEM;
        if (!s) memcpy(name, line.text, line.size + 1);
        if (!s) s = hd_path(path, folder, name, err);
        if (!s) s = take(c, name, path, err);
    }
    hd_lines_close(lines);
    return s;
}

static hd_status run(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    hd_status s = hd_caption_looks_open(&c->looks, command, c->o, err);
    for (int i = 1; !s && i < command->operands.count; i++)
        s = take(c, command->operands.word[i], command->operands.word[i], err);
    if (!s && c->count) s = answer(c, err);
    if (!s && c->o->names) s = take_names(c, err);
    if (!s && c->count) s = answer(c, err);
    if (!s) hd_caption_looks_say(&c->looks, command);
    if (!s && c->bad) {
        hd_log_say(&command->log, HD_WARN, "%zu of %zu pictures could not be read", c->bad, c->number);
        command->exit = HD_EXIT_FAILURE;
    }
    return s;
}

static hd_status check(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const hd_caption_options *o = c->o = command->options;
    hd_search_opt *search = &c->opt.search;
    c->opt = o->opt;
    hd_arena_init(&c->names, hd_allocator_host, 1 << 12);
    search->kind = o->sample ? HD_SEARCH_SAMPLE : search->beam > 1 ? HD_SEARCH_BEAM : HD_SEARCH_GREEDY;
    if (command->operands.count < 2 && !o->names)
        return hd_err_set(err, HD_EARG, "no picture is given: name files after MODEL, or --names FILE");
    if (o->images && !o->names)
        return hd_err_set(err, HD_EARG, "--images is the folder of what --names names: give --names");
    if (!o->sample && search->best > search->beam)
        return hd_err_set(err, HD_EARG, "--n-best %zu is more than --beam %zu", search->best, search->beam);
    return HD_OK;
}

static void release(hd_command *command)
{
    call *c = (call *)command;
    hd_caption_pictures_release(&c->pictures);
    hd_caption_looks_release(&c->looks);
    for (size_t i = 0; i < CHUNK; i++) hd_image_release(&c->image[i]);
    if (c->names.chunks) hd_arena_release(&c->names);
}

const hd_usage hd_verb_caption = {
    .operands = "MODEL [PICTURE...]",
    .least = 1,
    .most = 1 + HD_INPUT_FILES_MOST,
    .about =
        "Writes a caption for each picture (PNG, JPEG) with the model in the folder MODEL: the name of the "
        "file, a tab and the caption. A picture that cannot be read gives an empty caption, with --json an "
        "object with \"file\" and \"error\", and a warning; the exit status is then 1.\n"
        "With --n-best a picture has as many lines.",
    .options = options,
    .size = sizeof(hd_caption_options),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .pictures = true,
    .task = "caption",
    .call = sizeof(call),
    .check = check,
    .run = run,
    .release = release,
};
