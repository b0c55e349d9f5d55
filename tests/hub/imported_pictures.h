/* What is asked of published models that read pictures, beside hub/imported.h: several of them in one file,
   each with its config.json, its preprocessor_config.json, its tensors and what transformers gives. Include
   after check.h and scratch.h. */
#ifndef IMPORTED_PICTURES_H
#define IMPORTED_PICTURES_H

#include "data/image/image.h"
#include "hub/imported.h"

enum { PATH_SIZE = 256, LINE = 16384 };

static expected e;        /* the file, behind the models before */
static char config[LINE]; /* of what was put last */
/* What else a test puts into a folder, and does to what was drawn; NULL: nothing. */
static void (*put_beside)(const char *folder);
static void (*draw_more)(hd_tensor *t, const char *name);

static void begin(const char *name)
{
    char path[PATH_SIZE];
    if (e.file) fclose(e.file);
    snprintf(path, sizeof path, PUBLISHED "%s.txt", name);
    e = (expected){.file = fopen(path, "r")};
    assert_non_null(e.file);
}

static int close_file(void **state)
{
    if (e.file) fclose(e.file);
    return scratch_remove(state);
}

static void line_to(const char *path, char line[LINE])
{
    do assert_non_null(fgets(line, LINE, e.file));
    while (*line == '\n');
    put_file(path, line);
}

/* A tensor of any shape, drawn as its rows are. */
static void add_shaped(store *s)
{
    char name[128];
    size_t shape[HD_RANK] = {0}, rows = 1;
    int rank;
    assert_int_equal(fscanf(e.file, "%127s %d", name, &rank), 2);
    assert_in_range(rank, 1, HD_RANK);
    for (int i = 0; i < rank; i++) {
        assert_int_equal(fscanf(e.file, "%zu", &shape[i]), 1);
        if (i + 1 < rank) rows *= shape[i];
    }
    add(s, rank == 1 ? shape[0] : rows, rank == 1 ? 0 : shape[rank - 1], "%s", name);
    hd_tensor *t = &s->tensor[s->count - 1];
    *t = hd_shaped(t->data, s->dtype, rank, shape);
    if (draw_more) draw_more(t, name);
}

/* The next model in the file, but for what it gives. */
static void put_kind(const char *folder)
{
    static store s;
    char line[LINE];
    int count;
    s = (store){.dtype = HD_F32};
    assert_int_equal(mkdir(at("%s", folder), 0777), 0);
    line_to(at("%s/config.json", folder), config);
    line_to(at("%s/preprocessor_config.json", folder), line);
    if (put_beside) put_beside(folder);
    assert_int_equal(fscanf(e.file, "%d", &count), 1);
    assert_in_range(count, 1, MOST);
    for (int i = 0; i < count; i++) add_shaped(&s);
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

/* Skips what it gives. */
static void skip_answers(void)
{
    for (int c; (c = fgetc(e.file)) != EOF;)
        if (c == '{') {
            ungetc(c, e.file);
            return;
        }
}

/* Every model of a file is imported as NAME.N.heed and checked. */
CHECK_UNUSED static void check_kinds(const char *name, int kinds, void (*check)(const char *folder))
{
    begin(name);
    for (int kind = 0; kind < kinds; kind++) {
        char from[PATH_SIZE], to[PATH_SIZE];
        snprintf(from, sizeof from, "%s.%d", name, kind);
        snprintf(to, sizeof to, "%s.%d.heed", name, kind);
        put_kind(from);
        pass_well(hd_import, from, to);
        check(to);
    }
}

CHECK_UNUSED static void check_rounds(const char *name, int kinds, const char *const *files)
{
    begin(name);
    for (int kind = 0; kind < kinds; kind++) check_round(put_kind, files), skip_answers();
}

/* The first model of a file with `from` of its config.json changed. */
CHECK_UNUSED static void refuse_in(const char *name, const char *from, const char *to, const char *why)
{
    begin(name);
    put_kind("example");
    char *kept = strdup(config);
    assert_int_equal(hd_folder_remove(at("example"), NULL), HD_OK);
    begin(name);
    check_refused((publisher){put_kind, kept}, from, to, why);
    free(kept);
}

CHECK_UNUSED static hd_image picture_of(int height, int width, int channels)
{
    hd_err err = {0};
    hd_image im;
    assert_int_equal(hd_image_make(&im, width, height, channels, "test", &err), HD_OK);
    for (size_t i = 0; i < hd_image_bytes(&im); i++)
        im.pixel[i] = (uint8_t)((i * 37 + i * i % 101 + 11) % 256);
    return im;
}

#endif
