/* Sets of pictures: what the files say, what is refused with which words, what is left out, what is held
 * back. */
#include "check.h"
#include "outcome.h"
#include "scratch.h"

#include <zlib.h>

#include "data/image/set.h"

/* A picture whose pixels are all of this value. */
static void put_picture(const char *path, int width, int height, uint8_t value)
{
    hd_err err = {0};
    hd_image im;
    assert_int_equal(hd_image_make(&im, width, height, 3, "test", &err), HD_OK);
    memset(im.pixel, value, hd_image_bytes(&im));
    if (hd_image_write_png(&im, path, &err)) fail_msg("%s", err.text);
    hd_image_release(&im);
}

static void put_folder(const char *name)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s && mkdir %s", at("%s", name), at("%s", name));
    assert_int_equal(system(command), 0);
}

static int make_pictures(void **state)
{
    if (scratch_make(state)) return -1;
    if (!HEED_PNG) return 0;
    put_folder("p");
    put_picture(at("p/a.png"), 20, 10, 1);
    put_picture(at("p/b.png"), 8, 8, 2);
    put_picture(at("p/c.png"), 30, 40, 3);
    put_file(at("p/bad.png"), "\x89PNG\r\n\x1a\nand nothing");
    return 0;
}

#define NEEDS_PNG \
    if (!HEED_PNG) leave_out("built without libpng")

/* The label of a picture, by name. */
static const char *label_of(const hd_image_set *s, const hd_vocab *labels, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(hd_image_set_name(s, i), name)) return hd_vocab_piece(labels, s->label[i]);
    fail_msg("no picture %s", name);
    return NULL;
}

static uint8_t first_byte(const hd_image_set *s, size_t i)
{
    hd_err err = {0};
    hd_image im;
    if (hd_image_set_picture(s, i, &im, &err)) fail_msg("%s", err.text);
    uint8_t value = im.pixel[0];
    assert_int_equal(im.height, s->size[2 * i]);
    assert_int_equal(im.width, s->size[2 * i + 1]);
    hd_image_release(&im);
    return value;
}

typedef enum kind { FOLDER, LIST, BOXES, CAPTIONS } kind;

static hd_status read_as(kind k, hd_image_set *s, hd_vocab *labels, const char *path, bool skip, hd_err *err)
{
    switch (k) {
    case FOLDER:
        return hd_image_set_folder(s, labels, path, skip, err);
    case LIST:
        return hd_image_set_list(s, labels, path, NULL, skip, err);
    case BOXES:
        return hd_image_set_boxes(s, labels, path, NULL, NULL, skip, err);
    case CAPTIONS:
        return hd_image_set_captions(s, path, NULL, NULL, skip, err);
    }
    return HD_EARG;
}

static hd_image_set read_set(kind k, hd_vocab *labels, const char *path, bool skip)
{
    hd_err err = {0};
    hd_image_set s;
    if (read_as(k, &s, labels, path, skip, &err)) fail_msg("%s", err.text);
    return s;
}

static void assert_refused(kind k, hd_vocab *labels, const char *path, bool skip, const char *says)
{
    hd_err err = {0};
    hd_image_set s;
    hd_vocab none = {0};
    size_t blocks = hd_mem_now().blocks;
    hd_status status = read_as(k, &s, labels ? labels : &none, path, skip, &err);
    if (!status || !strstr(err.text, says)) fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_int_equal(status, err.status);
    assert_int_equal(hd_mem_now().blocks, blocks);
}

/* -- folders and lists -- */

static void a_subfolder_is_a_class(void **state)
{
    (void)state;
    NEEDS_PNG;
    hd_vocab labels = {0};
    put_folder("d");
    static const char *const folders[] = {"zebra", "ant", "ant/more", ".hidden"};
    for (size_t i = 0; i < COUNT_OF(folders); i++) assert_int_equal(mkdir(at("d/%s", folders[i]), 0777), 0);
    put_picture(at("d/zebra/1.png"), 5, 5, 10);
    put_picture(at("d/ant/2.png"), 5, 5, 20);
    put_picture(at("d/ant/1.png"), 5, 5, 30);
    put_picture(at("d/ant/more/1.png"), 5, 5, 40);
    put_file(at("d/.hidden/x"), "no picture");
    put_file(at("d/ant/.DS_Store"), "no picture");
    put_file(at("d/README"), "files beside the classes do not count");
    hd_image_set s = read_set(FOLDER, &labels, at("d"), false);
    assert_int_equal(s.count, 4);
    assert_int_equal(labels.count, 2);
    assert_string_equal(hd_image_set_name(&s, 0), "ant/1.png");
    assert_string_equal(hd_image_set_name(&s, 3), "zebra/1.png");
    assert_string_equal(label_of(&s, &labels, "ant/more/1.png"), "ant");
    assert_string_equal(label_of(&s, &labels, "zebra/1.png"), "zebra");
    assert_int_equal(first_byte(&s, 1), 20);
    uint64_t hash = s.hash;
    hd_image_set_release(&s);
    s = read_set(FOLDER, &labels, at("d"), false);
    assert_true(s.hash == hash);
    hd_image_set_release(&s);
    put_file(at("d/ant/notes.txt"), "Dear");
    assert_refused(FOLDER, &labels, at("d"), false, "d/ant/notes.txt: no picture in PNG or JPEG");
    s = read_set(FOLDER, &labels, at("d"), true);
    assert_int_equal(s.count, 4);
    assert_int_equal(s.skipped, 1);
    hd_image_set_release(&s);
    assert_int_equal(mkdir(at("d/bee"), 0777), 0);
    assert_refused(FOLDER, NULL, at("d"), true, "d/bee: there is no picture in it: a class needs one");
    assert_refused(FOLDER, &labels, at("d"), true, "the label \"bee\" is none of the 2 that are known: ant");
    assert_refused(FOLDER, NULL, at("d/zebra"), true, "there is no subfolder in it");
    assert_refused(FOLDER, NULL, at("nothing"), true, "nothing: cannot open the folder");
    hd_vocab_release(&labels);
}

static void a_list_names_pictures_and_labels(void **state)
{
    (void)state;
    NEEDS_PNG;
    hd_vocab labels = {0};
    char absolute[600];
    snprintf(absolute, sizeof absolute, "b.png\tthe dog\na.png\tcat\n\n%s\tcat\n", at("p/c.png"));
    put_file(at("p/l.tsv"), absolute);
    hd_image_set s = read_set(LIST, &labels, at("p/l.tsv"), false);
    assert_int_equal(s.count, 3);
    assert_string_equal(label_of(&s, &labels, "b.png"), "the dog");
    assert_string_equal(hd_vocab_piece(&labels, 0), "cat");
    assert_int_equal(first_byte(&s, 2), 3);
    hd_image_set_release(&s);
    put_file(at("p/l.tsv"), "\xef\xbb\xbf"
                            "a.png\nc.png\n"); /* as an editor may write it */
    s = read_set(LIST, &labels, at("p/l.tsv"), false);
    assert_null(s.label);
    hd_image_set_release(&s);
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "there is no picture in it"},
        {"a.png\tx\na.png\ty\n", "l.tsv:2: the picture a.png is there before"},
        {"a.png\tx\nb.png\n", "l.tsv:2: there is no label, unlike on the lines before"},
        {"a.png\nb.png\tx\n", "l.tsv:2: there is a label, unlike"},
        {"a.png\t \n", "l.tsv:1: the label is empty"},
        {"\tcat\n", "l.tsv:1: the name of the picture is empty"},
        {"a.png\tcat\nmissing.png\tcat\n", "l.tsv:2: "},
        {"a.png\tcat\nmissing.png\tcat\n",
         "missing.png: cannot open: No such file or directory: names are relative to the folder of the list"},
        {"bad.png\tcat\n", "bad.png: damaged PNG"},
        {"a.png\t\xff\n", "l.tsv:1: not UTF-8"}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        put_file(at("p/l.tsv"), bad[i].text);
        assert_refused(LIST, NULL, at("p/l.tsv"), false, bad[i].says);
    }
    put_file(at("p/l.tsv"), "bad.png\tx\na.png\tcat\nmissing.png\tcat\nbad.png\tx\n");
    s = read_set(LIST, &labels, at("p/l.tsv"), true);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.skipped, 2);
    hd_image_set_release(&s);
    put_file(at("p/l.tsv"), "bad.png\tx\n");
    assert_refused(LIST, NULL, at("p/l.tsv"), true, "none of its 1 pictures can be read: ");
    hd_vocab_release(&labels);
}

/* -- IDX -- */

enum { HEAD = 16 };
static const uint8_t idx[HEAD + 12] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2,  0,  0,
                                       0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const uint8_t idx_labels[11] = {0, 0, 8, 1, 0, 0, 0, 3, 2, 0, 11};

static hd_image_set read_idx(hd_vocab *labels, const char *images, const char *label_file)
{
    hd_err err = {0};
    hd_image_set s;
    if (hd_image_set_idx(&s, labels, images, label_file, &err)) fail_msg("%s", err.text);
    return s;
}

static void assert_idx_refused(const uint8_t *bytes, size_t size, const char *says)
{
    hd_err err = {0};
    hd_image_set s;
    put_bytes(at("i"), bytes, size);
    size_t blocks = hd_mem_now().blocks;
    if (!hd_image_set_idx(&s, NULL, at("i"), NULL, &err) || !strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_int_equal(hd_mem_now().blocks, blocks);
}

static void idx_files_are_read_plain_and_packed(void **state)
{
    (void)state;
    hd_vocab labels = {0};
    put_bytes(at("i"), idx, sizeof idx);
    put_bytes(at("l"), idx_labels, sizeof idx_labels);
    gzFile gz = gzopen(at("i.gz"), "wb");
    assert_int_equal(gzwrite(gz, idx, sizeof idx), sizeof idx);
    assert_int_equal(gzclose(gz), Z_OK);
    assert_true(hd_is_idx(at("i")) && hd_is_idx(at("i.gz")) && hd_is_idx(at("l")));
    assert_false(hd_is_idx(at("none")) || hd_is_idx(scratch));
    hd_image_set s = read_idx(&labels, at("i"), at("l")), packed = read_idx(&labels, at("i.gz"), at("l"));
    assert_int_equal(s.count, 3);
    assert_int_equal(labels.count, 12); /* 0 to 11, in the order of numbers */
    assert_string_equal(hd_vocab_piece(&labels, 2), "2");
    assert_string_equal(hd_vocab_piece(&labels, 11), "11");
    assert_int_equal(s.label[2], 11);
    assert_int_equal(first_byte(&s, 2), 9);
    assert_string_equal(hd_image_set_name(&s, 2), "2");
    assert_true(s.hash == packed.hash);
    hd_image_set_release(&packed);
    hd_image_set_release(&s);
    uint8_t color[20 + 6] = {0, 0, 8, 4, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};
    put_bytes(at("c"), color, sizeof color);
    s = read_idx(NULL, at("c"), NULL);
    hd_image im;
    assert_int_equal(hd_image_set_picture(&s, 1, &im, NULL), HD_OK);
    assert_int_equal(im.channels, 3);
    assert_memory_equal(im.pixel, "\4\5\6", 3);
    hd_image_release(&im);
    hd_image_set_release(&s);
    hd_vocab few = {0};
    hd_err err = {0};
    assert_int_equal(hd_vocab_add(&few, "shirt", 5, NULL), HD_OK);
    assert_int_equal(hd_image_set_idx(&s, &few, at("i"), at("l"), &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "the label 11 is none of the 1 that are known: shirt"));
    assert_int_equal(few.count, 1);
    hd_vocab_release(&few);
    hd_vocab_release(&labels);
}

static void broken_idx_files_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[64] = {0};
    for (size_t n = 0; n < sizeof idx; n++)
        assert_idx_refused(idx, n, n < 4 ? "is no IDX file" : "is cut short");
    memcpy(bytes, idx, sizeof idx);
    assert_idx_refused(bytes, sizeof idx + 1, "more numbers follow than its header says");
    bytes[2] = 0x0d;
    assert_idx_refused(bytes, sizeof idx, "an IDX file of type 0x0d: only bytes (0x08) are read");
    bytes[2] = 8, bytes[4] = bytes[8] = 0xff;
    assert_idx_refused(bytes, sizeof idx, "the limit is 65535 on a side");
    bytes[8] = 0;
    assert_idx_refused(bytes, sizeof idx, "4278190083 pictures");
    bytes[4] = 0x7f;
    assert_idx_refused(bytes, sizeof idx, "is cut short");
    memset(bytes + 4, 0, 4);
    assert_idx_refused(bytes, HEAD, "0 pictures");
    assert_idx_refused(idx_labels, sizeof idx_labels, "are these the labels?");
    put_bytes(at("i"), idx, sizeof idx);
    static const struct {
        uint8_t bytes[12];
        size_t size;
        const char *says;
    } labels[] = {{{0, 0, 8, 1, 0, 0, 0, 2, 2, 0}, 10, "2 labels for the 3 pictures of"},
                  {{0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 0}, 12, "no labels: they have one dimension"}};
    for (size_t i = 0; i < COUNT_OF(labels); i++) {
        hd_err err = {0};
        hd_image_set s;
        hd_vocab none = {0};
        put_bytes(at("l"), labels[i].bytes, labels[i].size);
        assert_int_equal(hd_image_set_idx(&s, &none, at("i"), at("l"), &err), HD_EFORMAT);
        if (!strstr(err.text, labels[i].says)) fail_msg("%s", err.text);
    }
}

/* A few bytes that claim to unpack to more than they can. */
static void a_packed_file_cannot_claim_all_memory(void **state)
{
    (void)state;
    uint8_t bytes[HEAD] = {0, 0, 8, 3, 0, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0};
    gzFile gz = gzopen(at("bomb"), "wb");
    assert_int_equal(gzwrite(gz, bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(gzclose(gz), Z_OK);
    hd_err err = {0};
    hd_image_set s;
    hd_mem_peak_reset();
    size_t before = hd_mem_now().used;
    assert_int_equal(hd_image_set_idx(&s, NULL, at("bomb"), NULL, &err), HD_EFORMAT);
    assert_true(hd_mem_now().peak - before < 1 << 20);
}

/* -- boxes -- */

static void assert_box(const hd_image_set *s, const hd_vocab *labels, size_t k, const char *label, float x,
                       float y, float width, float height)
{
    const hd_box *b = &s->box[k];
    assert_string_equal(hd_vocab_piece(labels, b->label), label);
    if (b->x != x || b->y != y || b->width != width || b->height != height)
        fail_msg("box %zu: %g %g %g %g", k, (double)b->x, (double)b->y, (double)b->width, (double)b->height);
}

static void boxes_of_a_table_follow_their_pictures(void **state)
{
    (void)state;
    NEEDS_PNG;
    hd_vocab labels = {0};
    hd_err err = {0};
    hd_image_set s;
    put_file(at("p/b.csv"), "\xef\xbb\xbfimage,split,Label,xmin,ymin,xmax,ymax,note\n"
                            "b.png,train,\"red, \"\"round\"\"\",1,2,3.5,4,\n"
                            "a.png,train,cat,-3,1,50,9,x\n"
                            "\n"
                            "b.png,train,cat,0,0,8,8,\n"
                            "b.png,train,cat,2,2,2,5,no area\n"
                            "c.png,val,,,,,,no object\n");
    s = read_set(BOXES, &labels, at("p/b.csv"), false);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.skipped, 1);
    assert_int_equal(labels.count, 2);
    assert_memory_equal(s.first_box, ((size_t[]){0, 2, 3, 3}), 4 * sizeof(size_t));
    assert_box(&s, &labels, 0, "red, \"round\"", 1, 2, 2.5f, 2);
    assert_box(&s, &labels, 1, "cat", 0, 0, 8, 8);
    assert_box(&s, &labels, 2, "cat", 0, 1, 20, 8);
    hd_image_set_release(&s);
    bool has;
    assert_int_equal(hd_image_set_has_split(&has, at("p/b.csv"), "val", &err), HD_OK);
    assert_true(has);
    assert_int_equal(hd_image_set_has_split(&has, at("p/b.csv"), "test", &err), HD_OK);
    assert_false(has);
    assert_int_equal(hd_image_set_boxes(&s, &labels, at("p/b.csv"), at("p"), "val", false, &err), HD_OK);
    assert_int_equal(s.count, 1);
    assert_non_null(s.first_box);
    assert_int_equal(s.first_box[1], 0);
    hd_image_set_release(&s);
    assert_int_equal(hd_image_set_boxes(&s, &labels, at("p/b.csv"), NULL, "test", false, &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "no row has \"test\" in the column split"));
    hd_vocab_release(&labels);
}

static void broken_tables_of_boxes_are_refused(void **state)
{
    (void)state;
    NEEDS_PNG;
    static const struct {
        const char *rows, *says;
    } bad[] = {{"a.png,cat,1,2,x,4\n", "b.csv:2: xmax is no number: \"x\""},
               {"a.png,cat,1,2,nan,4\n", "b.csv:2: xmax is no number"},
               {"a.png,cat,1,2,1e999,4\n", "b.csv:2: xmax is no number"},
               {"a.png,cat,1,2,3\n", "b.csv:2: ymax is no number"},
               {"a.png,cat,5,2,3,4\n", "b.csv:2: the box has no inside: xmax 3 is less than xmin 5"},
               {"a.png,cat,1,2,3,4\na.png,cat,21,2,30,4\n",
                "b.csv:3: the box 21 2 30 4 lies outside of the picture a.png, which has 20 x 10"},
               {"a.png,,1,2,3,4\n", "b.csv:2: the label is empty"},
               {"a.png,\"cat,1,2,3,4\n", "b.csv:2: a field in quotes does not end on its line"},
               {"a.png,\"c\"at,1,2,3,4\n", "b.csv:2: text follows a field in quotes"},
               {"none.png,cat,1,2,3,4\n",
                "none.png: cannot open: No such file or directory: is --images the folder of the pictures?"},
               {"", "there is no picture in it"}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char text[512];
        snprintf(text, sizeof text, "image,label,xmin,ymin,xmax,ymax\n%s", bad[i].rows);
        put_file(at("p/b.csv"), text);
        assert_refused(BOXES, NULL, at("p/b.csv"), false, bad[i].says);
    }
    put_file(at("p/b.csv"), "image,label,xmin,ymin,xmax\n");
    assert_refused(BOXES, NULL, at("p/b.csv"), false,
                   "b.csv:1: there is no column \"ymax\": the first line names");
    put_file(at("p/b.csv"), "");
    assert_refused(BOXES, NULL, at("p/b.csv"), false, "the file is empty");
    hd_vocab labels = {0};
    put_file(at("p/b.csv"),
             "filename,class,xmin,ymin,xmax,ymax\na.png,cat,21,2,30,4\nnone.png,cat,1,2,3,4\n");
    hd_image_set s = read_set(BOXES, &labels, at("p/b.csv"), true);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.skipped, 2); /* a box and a picture */
    hd_image_set_release(&s);
    hd_vocab_release(&labels);
}

static const char coco[] =
    "{\"info\": {}, \"images\": [{\"id\": 900, \"file_name\": \"b.png\", \"width\": 8},"
    "{\"id\": -4, \"file_name\": \"a.png\"}, {\"id\": 5, \"file_name\": \"c.png\"}],"
    "\"annotations\": [{\"image_id\": -4, \"category_id\": 17, \"bbox\": [1, 2, 30, 4.5], \"iscrowd\": 0},"
    "{\"image_id\": 900, \"category_id\": 2, \"bbox\": [0, 0, 4, 4]},"
    "{\"image_id\": -4, \"category_id\": 2, \"bbox\": [3, 3, 2, 2]},"
    "{\"image_id\": 900, \"category_id\": 17, \"bbox\": [0, 0, 4, 4], \"iscrowd\": 1},"
    "{\"image_id\": 900, \"category_id\": 17, \"bbox\": [3, 0, 0, 4]}],"
    "\"categories\": [{\"id\": 2, \"name\": \"zebra\"}, {\"id\": 17, \"name\": \"ant\"}, {\"id\": 3, "
    "\"name\": \"bee\"}]}";

static void coco_is_read(void **state)
{
    (void)state;
    NEEDS_PNG;
    hd_vocab labels = {0};
    put_file(at("p/c.json"), coco);
    hd_image_set s = read_set(BOXES, &labels, at("p/c.json"), false);
    assert_int_equal(s.count, 3);
    assert_int_equal(labels.count, 3);
    assert_memory_equal(s.first_box, ((size_t[]){0, 1, 3, 3}), 4 * sizeof(size_t));
    assert_box(&s, &labels, 0, "zebra", 0, 0, 4, 4);
    assert_box(&s, &labels, 1, "ant", 1, 2, 19, 4.5f);
    assert_box(&s, &labels, 2, "zebra", 3, 3, 2, 2);
    hd_image_set_release(&s);
    static const struct {
        const char *from, *to, *says;
    } bad[] = {
        {"\"annotations\"", "\"annotation\"", "there is no list \"annotations\""},
        {"\"images\"", "\"image\"", "no COCO file of boxes: there is no list \"images\""},
        {"\"id\": 5", "\"id\": 900", "two entries of \"images\" have the id 900"},
        {"\"id\": 5", "\"id\": \"5\"", "entry 2 of \"images\" has no id or no file_name"},
        {"\"image_id\": 900", "\"image_id\": 1", "entry 1 of \"annotations\" has no image_id that is listed"},
        {"\"category_id\": 2", "\"category_id\": 2.5", "has no category_id that is listed"},
        {"[0, 0, 4, 4]", "[0, 0, 4]", "entry 1 of \"annotations\" has no bbox of x, y, width, height"},
        {"[0, 0, 4, 4]", "[0, 0, -4, 4]", "has no bbox"},
        {"[0, 0, 4, 4]", "[9, 0, 4, 4]", "lies outside of the picture b.png"},
        {"\"b.png\"", "\"none.png\"", "none.png: cannot open"},
        {"{\"info\"", "{{\"info\"", "c.json:1: "}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char text[2048];
        const char *where = strstr(coco, bad[i].from);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(where - coco), coco, bad[i].to,
                 where + strlen(bad[i].from));
        put_file(at("p/c.json"), text);
        assert_refused(BOXES, NULL, at("p/c.json"), false, bad[i].says);
    }
    hd_vocab few = {0}; /* a fixed list: only what a box has must be in it */
    assert_int_equal(hd_vocab_add(&few, "ant", 3, NULL), HD_OK);
    put_file(at("p/c.json"), coco);
    assert_refused(BOXES, &few, at("p/c.json"), false,
                   "its category is none of the 1 labels that are known: ant");
    assert_int_equal(hd_vocab_add(&few, "zebra", 5, NULL), HD_OK);
    s = read_set(BOXES, &few, at("p/c.json"), false);
    assert_int_equal(s.box[0].label, 1);
    hd_image_set_release(&s);
    hd_vocab_release(&few);
    hd_vocab_release(&labels);
}

/* -- captions -- */

static void captions_follow_their_pictures(void **state)
{
    (void)state;
    NEEDS_PNG;
    static const char *const forms[] = {
        "b.png#0\tA dog .\na.png#0\t A cat, red \nb.png#1\tTwo dogs\n",
        "b.png\tA dog .\n\na.png\tA cat, red\nb.png\tTwo dogs\n",
        "image,caption\nb.png,A dog .\na.png,\"A cat, red\"\nb.png,Two dogs\n"};
    uint64_t hash = 0;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        put_file(at("p/c.txt"), forms[i]);
        hd_image_set s = read_set(CAPTIONS, NULL, at("p/c.txt"), false);
        assert_int_equal(s.count, 2);
        assert_memory_equal(s.first_caption, ((size_t[]){0, 2, 3}), 3 * sizeof(size_t));
        assert_string_equal(s.caption[1].text, "Two dogs");
        assert_string_equal(s.caption[2].text, "A cat, red");
        assert_int_equal(s.caption[2].size, 10);
        assert_true(!i || s.hash == hash);
        hash = s.hash;
        hd_image_set_release(&s);
    }
    hd_image_set s;
    hd_err err = {0}, missing = {0};
    put_file(at("names"), "a.png\n");
    if (hd_image_set_captions(&s, at("p/c.txt"), NULL, at("names"), false, &err)) fail_msg("%s", err.text);
    assert_int_equal(s.count, 1);
    assert_string_equal(s.caption[0].text, "A cat, red");
    hd_image_set_release(&s);
    put_file(at("names"), "a.png\nc.png\n");
    assert_int_equal(hd_image_set_captions(&s, at("p/c.txt"), NULL, at("names"), false, &missing),
                     HD_EFORMAT);
    assert_non_null(strstr(missing.text, "c.png has no caption in "));
    static const struct {
        const char *text, *says;
    } bad[] = {{"a.png A dog\n", "c.txt:1: no tab: a line is the name of a picture, a tab and a caption"},
               {"a.png\tA dog\na.png#1\t \n", "c.txt:2: the caption is empty"},
               {"none.png#1\tx\n", "none.png: cannot open"},
               {"image,caption\na.png\n", "c.txt:2: a column is missing that the first line names"},
               {"#1\tx\n", "cannot open"},
               {"", "there is no picture in it"}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        put_file(at("p/c.txt"), bad[i].text);
        assert_refused(CAPTIONS, NULL, at("p/c.txt"), false, bad[i].says);
    }
}

/* -- a part is held back -- */

static void a_split_keeps_labels_balanced(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    uint8_t bytes[HEAD + COUNT] = {0, 0, 8, 3, 0, 0, 0, COUNT, 0, 0, 0, 1, 0, 0, 0, 1};
    uint8_t label[8 + COUNT] = {0, 0, 8, 1, 0, 0, 0, COUNT};
    for (int i = 0; i < COUNT; i++) bytes[HEAD + i] = (uint8_t)(i * 2), label[8 + i] = (uint8_t)(i % 5);
    put_bytes(at("i"), bytes, sizeof bytes);
    put_bytes(at("l"), label, sizeof label);
    size_t first = 0;
    for (uint64_t seed = 1; seed < 4; seed++) {
        hd_err err = {0};
        hd_vocab labels = {0};
        hd_image_set s = read_idx(&labels, at("i"), at("l")), held;
        if (hd_image_set_split(&s, 0.2, seed, &held, &err)) fail_msg("%s", err.text);
        assert_int_equal(held.count, 20);
        assert_int_equal(s.count, 80);
        int count[5] = {0};
        bool seen[256] = {false};
        for (size_t i = 0; i < held.count; i++) {
            count[held.label[i]]++;
            uint8_t byte = first_byte(&held, i);
            assert_int_equal(byte / 2 % 5, held.label[i]);
            seen[byte] = true;
        }
        for (int i = 0; i < 5; i++) assert_int_equal(count[i], 4);
        for (size_t i = 0; i < s.count; i++) assert_false(seen[first_byte(&s, i)]);
        assert_true(s.hash != held.hash);
        if (seed > 1) assert_true(first != (size_t)held.hash); /* another seed, others */
        first = (size_t)held.hash;
        hd_image_set_release(&s);
        assert_int_equal(held.size[0], 1);
        first_byte(&held, 3); /* the pixels are shared, and there as long as one set is */
        hd_image_set_release(&held);
        hd_vocab_release(&labels);
    }
}

static void a_split_keeps_what_belongs_to_a_picture(void **state)
{
    (void)state;
    NEEDS_PNG;
    hd_err err = {0};
    hd_vocab labels = {0};
    hd_image_set held, s;
    const size_t boxes[] = {2, 1, 0};
    put_file(at("p/c.json"), coco);
    s = read_set(BOXES, &labels, at("p/c.json"), false);
    if (hd_image_set_split(&s, 0.34, 3, &held, &err)) fail_msg("%s", err.text);
    assert_int_equal(s.count, 2);
    assert_int_equal(held.count, 1);
    assert_int_equal(s.first_box[2] + held.first_box[1], 3);
    for (size_t i = 0; i < s.count; i++)
        assert_int_equal(s.first_box[i + 1] - s.first_box[i], boxes[hd_image_set_name(&s, i)[0] - 'a']);
    hd_image_set_release(&s);
    hd_image_set_release(&held);
    put_file(at("p/c.txt"), "a.png\tx\nb.png\ty y\nb.png\tz\n");
    s = read_set(CAPTIONS, NULL, at("p/c.txt"), false);
    if (hd_image_set_split(&s, 0.5, 3, &held, &err)) fail_msg("%s", err.text);
    const hd_image_set *b = hd_image_set_name(&s, 0)[0] == 'b' ? &s : &held;
    assert_string_equal(b->caption[0].text, "y y");
    assert_string_equal(b->caption[1].text, "z");
    hd_image_set_release(&held);
    assert_int_equal(hd_image_set_split(&s, 0.5, 3, &held, &err), HD_EARG);
    hd_image_set_release(&s);
    hd_vocab_release(&labels);
}

/* The header is good: the end tells, and the pixels where they are asked for. */
static void a_picture_that_is_broken_behind_its_header_is_named(void **state)
{
    (void)state;
    NEEDS_PNG;
    hd_vocab labels = {0};
    hd_err err = {0};
    hd_image im;
    size_t size;
    put_folder("late");
    put_picture(at("late/x.png"), 9, 9, 5);
    put_picture(at("late/y.png"), 9, 9, 5);
    put_file(at("late/l.tsv"), "x.png\tcat\ny.png\tcat\n");
    char *bytes = get_file(at("late/x.png"), &size);
    char *longer = calloc(1, size + 100); /* zeros behind the end do no harm */
    memcpy(longer, bytes, size);
    put_bytes(at("late/x.png"), longer, size + 100);
    hd_image_set s = read_set(LIST, &labels, at("late/l.tsv"), false);
    assert_int_equal(first_byte(&s, 0), 5);
    hd_image_set_release(&s);
    put_bytes(at("late/x.png"), bytes, size - 10);
    assert_refused(LIST, &labels, at("late/l.tsv"), false, "l.tsv:1: ");
    assert_refused(LIST, &labels, at("late/l.tsv"), false, "late/x.png: damaged PNG: the file is cut short");
    s = read_set(LIST, &labels, at("late/l.tsv"), true);
    assert_int_equal(s.skipped, 1);
    hd_image_set_release(&s);
    bytes[size - 20] ^= 1;
    put_bytes(at("late/x.png"), bytes, size);
    s = read_set(LIST, &labels, at("late/l.tsv"), false);
    assert_int_equal(hd_image_set_picture(&s, 0, &im, &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "late/x.png: damaged PNG: "));
    hd_image_set_release(&s);
    hd_vocab_release(&labels);
    free(longer);
    free(bytes);
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    NEEDS_PNG;
    put_file(at("p/c.json"), coco);
    put_file(at("p/b.csv"), "image,label,xmin,ymin,xmax,ymax\na.png,cat,1,2,3,4\nb.png,dog,1,2,3,4\n");
    put_file(at("p/c.txt"), "a.png\tx\nb.png\ty\n");
    put_file(at("p/l.tsv"), "a.png\tx\nb.png\ty\n");
    put_folder("two");
    assert_int_equal(mkdir(at("two/x"), 0777), 0);
    put_picture(at("two/x/a.png"), 3, 3, 1);
    put_picture(at("two/x/b.png"), 3, 3, 1);
    static const struct {
        kind kind;
        const char *path;
    } cases[] = {
        {BOXES, "p/c.json"}, {BOXES, "p/b.csv"}, {CAPTIONS, "p/c.txt"}, {LIST, "p/l.tsv"}, {FOLDER, "two"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t blocks = hd_mem_now().blocks, n = 1;
        for (bool failed = true; failed; n++) {
            hd_err err = {0};
            hd_image_set s = {0}, held = {0};
            hd_vocab labels = {0};
            hd_mem_fail_at(n);
            hd_status status = read_as(cases[i].kind, &s, &labels, at("%s", cases[i].path), true, &err);
            if (!status) status = hd_image_set_split(&s, 0.5, 1, &held, &err);
            hd_mem_fail_at(0);
            failed = status != HD_OK;
            if (failed && status != HD_ENOMEM) fail_msg("%s, allocation %zu: %s", cases[i].path, n, err.text);
            hd_image_set_release(&s);
            hd_image_set_release(&held);
            hd_vocab_release(&labels);
            assert_int_equal(hd_mem_now().blocks, blocks);
        }
        assert_true(n > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subfolder_is_a_class),
        cmocka_unit_test(a_list_names_pictures_and_labels),
        cmocka_unit_test(idx_files_are_read_plain_and_packed),
        cmocka_unit_test(broken_idx_files_are_refused),
        cmocka_unit_test(a_packed_file_cannot_claim_all_memory),
        cmocka_unit_test(boxes_of_a_table_follow_their_pictures),
        cmocka_unit_test(broken_tables_of_boxes_are_refused),
        cmocka_unit_test(coco_is_read),
        cmocka_unit_test(captions_follow_their_pictures),
        cmocka_unit_test(a_split_keeps_labels_balanced),
        cmocka_unit_test(a_split_keeps_what_belongs_to_a_picture),
        cmocka_unit_test(a_picture_that_is_broken_behind_its_header_is_named),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return outcome(cmocka_run_group_tests(tests, make_pictures, scratch_remove));
}
