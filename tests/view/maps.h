/* Attention made by hand, for tests of its views: any number of tokens, any names, every weight another one.
 */
#ifndef MAPS_H
#define MAPS_H

#include <dirent.h>
#include <unistd.h>

#include "base/file/file.h"
#include "check.h"
#include "view/attention/file.h"

typedef struct maps_shape {
    size_t sources, targets, layers, heads;
    const char *const *source, *const *target; /* NULL: words of some length */
} maps_shape;

CHECK_UNUSED static void maps_name(hd_attention_maps *a, hd_shown_token *to, const char *const *names,
                                   size_t i, const char *kind)
{
    static const char *const words[] = {"▁the",   "▁house",  "▁of", "▁my",   "▁grand",
                                        "mother", "▁stands", "▁by", "▁the",  "▁sea",
                                        ",",      "▁where",  "▁it", "▁rain", "s"};
    hd_err err = {0};
    char word[64];
    if (names)
        snprintf(word, sizeof word, "%s", names[i]);
    else
        snprintf(word, sizeof word, "%s%s", words[i * 7 % COUNT_OF(words)], i % 11 == 5 ? kind : "");
    to->piece = hd_shown_text(&a->memory, (hd_line){word, strlen(word)}, &err);
    assert_non_null(to->piece);
}

/* Rows that add up to 1 and lean to the diagonal, each head in its own way. */
CHECK_UNUSED static void maps_fill(hd_attention_part *p, bool masked, uint64_t seed)
{
    hd_rng rng = hd_rng_make(seed, 3);
    for (size_t k = 0; k < p->layers * p->heads; k++)
        for (size_t i = 0; i < p->rows; i++) {
            float *row = p->weight + (k * p->rows + i) * p->cols;
            double sum = 0, place = (double)(i * p->cols) / (double)p->rows + hd_rng_normal(&rng);
            size_t seen = masked ? i + 1 : p->cols;
            for (size_t j = 0; j < seen; j++) {
                double far = ((double)j - place) / (0.4 + (double)(k % 4));
                row[j] = (float)(exp(-far * far) + 0.02 * hd_rng_unit(&rng));
                sum += (double)row[j];
            }
            for (size_t j = 0; j < seen; j++) row[j] = (float)((double)row[j] / sum);
        }
}

CHECK_UNUSED static hd_attention_maps maps_of(const maps_shape *shape)
{
    hd_err err = {0};
    hd_attention_maps a;
    const size_t layers[] = {shape->layers, shape->layers, shape->layers},
                 heads[] = {shape->heads, shape->heads, shape->heads};
    if (hd_attention_init(&a, shape->sources, shape->targets, layers, heads, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < a.sources; i++) maps_name(&a, &a.source[i], shape->source, i, "source");
    for (size_t i = 0; i < a.targets; i++) maps_name(&a, &a.output[i], shape->target, i, "target");
    a.input[0].piece = "<s>";
    for (int k = 0; k < HD_ATTENTION_KINDS; k++)
        maps_fill(&a.part[k], k == HD_ATTENTION_DECODER, 7 + (uint64_t)k);
    a.score = -1.25;
    return a;
}

/* A folder for one test, and what is in it. */
typedef struct maps_folder {
    char path[64];
} maps_folder;

CHECK_UNUSED static maps_folder maps_folder_new(void)
{
    maps_folder f = {"/tmp/heed-view-XXXXXX"};
    assert_non_null(mkdtemp(f.path));
    return f;
}

CHECK_UNUSED static const char *maps_path(const maps_folder *f, const char *name, char buf[128])
{
    snprintf(buf, 128, "%s/%s", f->path, name);
    return buf;
}

/* Names in the folder; removes them too when told so. */
CHECK_UNUSED static size_t maps_files(const maps_folder *f, bool remove_them)
{
    size_t count = 0;
    char path[400];
    DIR *d = opendir(f->path);
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        count++;
        snprintf(path, sizeof path, "%s/%s", f->path, e->d_name);
        if (remove_them) unlink(path);
    }
    closedir(d);
    return count;
}

CHECK_UNUSED static void maps_folder_free(const maps_folder *f)
{
    maps_files(f, true);
    rmdir(f->path);
}

/* The bytes of a file with a zero byte behind them; the caller frees them. NULL: there is none. */
CHECK_UNUSED static char *maps_read(const maps_folder *f, const char *name, size_t *size)
{
    char path[128];
    hd_map m;
    if (hd_map_open(&m, maps_path(f, name, path), NULL)) return NULL;
    char *bytes = malloc(m.size + 1);
    memcpy(bytes, m.data, m.size);
    bytes[m.size] = 0;
    if (size) *size = m.size;
    hd_map_close(&m);
    return bytes;
}

/* Writes the sentences to a file of the folder; ends the test with the message when that fails. */
CHECK_UNUSED static void maps_write(const maps_folder *f, const char *name, const hd_attention_pick *pick,
                                    const hd_attention_maps *a, size_t count)
{
    char path[128];
    hd_err err = {0};
    hd_attention_file *file = NULL;
    if (hd_attention_file_open(&file, maps_path(f, name, path), pick, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < count; i++)
        if (hd_attention_file_add(file, &a[i], &err)) fail_msg("%s", err.text);
    if (hd_attention_file_close(file, &err)) fail_msg("%s", err.text);
}

#endif
