/* libFuzzer target: any bytes as one of the files that say which pictures there are. The first byte says
   which reader gets the rest, the last whether an allocation fails. Each must refuse it with a text or take
   it; nothing may leak. */
#include "data/image/set.h"
#include "fuzz.h"
#include "fuzz_pictures.h"

enum { MEMORY = 1 << 26 };

static bool skip; /* pictures that cannot be read */
static hd_vocab labels;

static hd_status read_boxes(hd_image_set *s, hd_err *err)
{
    bool has = false;
    hd_status status = hd_image_set_has_split(&has, path, "train", err);
    if (status) return status;
    return hd_image_set_boxes(s, &labels, path, NULL, has ? "train" : NULL, skip, err);
}

static hd_status read_captions(hd_image_set *s, hd_err *err)
{
    return hd_image_set_captions(s, path, NULL, NULL, skip, err);
}

/* The bytes are the names, and the captions are good. */
static hd_status read_names(hd_image_set *s, hd_err *err)
{
    char captions[HD_PATH];
    MUST(!hd_path(captions, folder, "good.txt", NULL));
    return hd_image_set_captions(s, captions, NULL, path, skip, err);
}

static hd_status read_list(hd_image_set *s, hd_err *err)
{
    return hd_image_set_list(s, &labels, path, NULL, skip, err);
}

static hd_status read_idx(hd_image_set *s, hd_err *err)
{
    return hd_image_set_idx(s, NULL, path, NULL, err);
}

/* The bytes are the labels of two pictures. */
static hd_status read_idx_labels(hd_image_set *s, hd_err *err)
{
    static const uint8_t good[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4};
    char file[HD_PATH];
    snprintf(file, sizeof file, "%s", path);
    write_file("pixels", good, sizeof good);
    return hd_image_set_idx(s, &labels, path, file, err);
}

static const struct {
    const char *name;
    hd_status (*read)(hd_image_set *s, hd_err *err);
    const char *seed;
    size_t size;
} readers[] = {
#define SEED(text) text, sizeof text - 1
    {"boxes.csv", read_boxes,
     SEED("image,split,label,xmin,ymin,xmax,ymax\na.png,train,cat,1,2,3.5,4\n\"b.png\",val,\"a "
          "\"\"dog\",0,0,9,9\n"
          "c.png,train,,,,,\n")},
    {"boxes.json", read_boxes,
     SEED("{\"images\": [{\"id\": 7, \"file_name\": \"a.png\"}, {\"id\": 8, \"file_name\": \"b.png\"}], "
          "\"annotations\": [{\"image_id\": 7, \"category_id\": 3, \"bbox\": [1, 2, 3, 4.5], \"iscrowd\": "
          "0}], "
          "\"categories\": [{\"id\": 3, \"name\": \"cat\"}]}")},
    {"captions.txt", read_captions, SEED("a.png#0\tA dog .\na.png#1\tA cat .\nb.png\tNothing\n")},
    {"captions.csv", read_captions,
     SEED("image,caption\na.png,A dog .\nb.png,\"A cat, and \"\"more\"\"\"\n")},
    {"names.txt", read_names, SEED("b.png\na.png\n")},
    {"list.tsv", read_list, SEED("a.png\tcat\nb.png\tdog\nc.png\tcat\n")},
    {"idx", read_idx, SEED("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x01\x01\x02\x03\x04")},
    {"idx", read_idx_labels, SEED("\0\0\x08\x01\0\0\0\x02\x01\x05")},
    {"idx.gz", read_idx,
     SEED("\x1f\x8b\x08\0\0\0\0\0\0\x03\x63\x60\xe0\x60\x66\x60\x60\x60\x02\x62\x20\x66\x64\x62\x06\0\x46\x4e"
          "\xdf\x2a"
          "\x14\0\0\0")},
#undef SEED
};
enum { READERS = sizeof readers / sizeof *readers };

static void check(const hd_image_set *s)
{
    hd_image im;
    MUST(s->count && s->name.count == s->count);
    for (size_t i = 0; i < s->count; i++) {
        MUST(s->size[2 * i] > 0 && s->size[2 * i + 1] > 0);
        MUST(!s->label || s->label[i] >= 0);
        for (size_t k = s->first_box ? s->first_box[i] : 0; s->first_box && k < s->first_box[i + 1]; k++) {
            const hd_box *b = &s->box[k];
            MUST(b->label >= 0 && (size_t)b->label < labels.count);
            MUST(b->x >= 0 && b->y >= 0 && b->width > 0 && b->height > 0);
            MUST(b->x + b->width <= (float)s->size[2 * i + 1] * 1.001f &&
                 b->y + b->height <= (float)s->size[2 * i] * 1.001f);
        }
        for (size_t k = s->first_caption ? s->first_caption[i] : 0;
             s->first_caption && k < s->first_caption[i + 1]; k++)
            MUST(s->caption[k].size && !s->caption[k].text[s->caption[k].size]);
    }
    hd_status status = hd_image_set_picture(s, s->count - 1, &im, NULL);
    MUST(status == HD_OK || status == HD_ENOMEM || !s->block);
    hd_image_release(&im);
}

static void read_once(size_t which, size_t fail_at)
{
    hd_err err = {0};
    hd_image_set s = {0}, part = {0};
    size_t blocks = hd_mem_now().blocks;
    hd_mem_fail_at(fail_at);
    hd_status status = readers[which].read(&s, &err);
    hd_mem_fail_at(0);
    MUST(!status || (err.status == status && err.text[0]));
    if (!status) check(&s);
    if (!status && s.count > 1) {
        MUST(!hd_image_set_split(&s, 0.3, 1, &part, NULL));
        check(&s);
        check(&part);
    }
    hd_image_set_release(&s);
    hd_image_set_release(&part);
    hd_vocab_release(&labels);
    MUST(hd_mem_now().blocks == blocks);
}

int LLVMFuzzerInitialize(int *count, char ***given)
{
    static const char good[] = "a.png\tA dog .\nb.png\tA cat .\n";
    const char *to = first_folder(*count, *given);
    hd_image im = make_picture(9, 7, 3);
    make_folder("");
    for (int i = 0; i < 3; i++) {
        char file[HD_PATH];
        snprintf(file, sizeof file, "%s/%c.png", folder, 'a' + i);
        MUST(!hd_image_write_png(&im, file, NULL));
    }
    hd_image_release(&im);
    write_file("good.txt", good, sizeof good - 1);
    for (size_t i = 0; to && i < READERS; i++) {
        char file[HD_PATH];
        snprintf(file, sizeof file, "%s/seed-%zu", to, i);
        FILE *f = fopen(file, "wb");
        MUST(f && fputc((int)i, f) != EOF &&
             fwrite(readers[i].seed, 1, readers[i].size, f) == readers[i].size);
        MUST(!fclose(f));
    }
    hd_mem_limit(MEMORY);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    size_t which = reader_of(data[0] & 0x7f, READERS);
    skip = data[0] & 0x80;
    write_file(readers[which].name, data + 1, size - 1);
    read_once(which, data[size - 1] % 4 ? 0 : 1 + data[size - 1] / 4u);
    return 0;
}
