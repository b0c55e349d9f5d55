/* libFuzzer target: any bytes as HTML, read, with words aligned at random, and written again. The first byte
   says how the words are aligned and whether memory runs out. Tags, comments and scripts that are written are
   those that were read; without passages all of it is. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "serve/html/html.h"
#include "serve/html/scanner.h"

#define MUST(x)                                        \
    do {                                               \
        if (!(x)) {                                    \
            fprintf(stderr, "%d: %s\n", __LINE__, #x); \
            abort();                                   \
        }                                              \
    } while (0)

typedef struct drawing {
    uint32_t seed;
    hd_text words;
} drawing;

static size_t draw(drawing *d, size_t most)
{
    d->seed = d->seed * 1664525u + 1013904223u;
    return most ? (d->seed >> 8) % most : HD_HTML_NONE;
}

static hd_status put(hd_text *to, const hd_html *h, size_t passage, void *context, hd_err *err)
{
    drawing *d = context;
    hd_line own = hd_html_text(h, passage), line = d->seed % 3 ? (hd_line){"aa bb, cc", 9} : own;
    hd_html_words source = {0}, target = {0};
    hd_html_links links = {0};
    hd_status s = hd_html_words_of(&source, h, passage, err);
    if (!s) s = hd_html_words_read(&target, line, err);
    links.source = hd_mem_array(target.count + 1, sizeof *links.source);
    links.target = hd_mem_array(source.count + 1, sizeof *links.target);
    if (!s && (!links.source || !links.target)) s = hd_err_nomem(err, 1);
    for (size_t i = 0; !s && i < target.count; i++) links.source[i] = draw(d, source.count);
    for (size_t i = 0; !s && i < source.count; i++) links.target[i] = draw(d, target.count);
    if (!s) s = hd_html_place(to, h, passage, line, &source, &target, &links, err);
    hd_html_links_release(&links);
    hd_html_words_release(&source);
    hd_html_words_release(&target);
    return s;
}

/* A number that no order changes, of all that is no text. */
static uint64_t sum_of_tags(hd_line bytes)
{
    uint64_t sum = 0;
    hd_html_token t;
    for (size_t at = 0; hd_html_scan(bytes, &at, &t);) {
        uint64_t hash = 14695981039346656037u;
        MUST(t.at.begin < t.at.end && t.at.end <= bytes.size && t.at.end == at);
        for (size_t i = t.at.begin; i < t.at.end; i++)
            hash = (hash ^ (uint8_t)bytes.text[i]) * 1099511628211u;
        if (t.kind != HD_HTML_TEXT) sum += hash;
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    size_t blocks = hd_mem_now().blocks;
    char *copy = malloc(size); /* of its own, so that a byte beyond is noticed */
    MUST(copy);
    memcpy(copy, data + 1, size - 1);
    copy[size - 1] = 0;
    const hd_line bytes = {copy, size - 1};
    hd_html h;
    hd_err err = {0};
    hd_text out = {0};
    drawing d = {.seed = data[0]};
    hd_mem_fail_at(data[0] & 0x80 ? 1 + (data[0] & 0x7F) : 0);
    hd_status s = hd_html_read(&h, bytes, &err);
    if (!s) s = hd_html_write(&out, &h, put, &d, &err);
    hd_mem_fail_at(0);
    MUST(!s || (s == HD_ENOMEM && err.text[0]));
    if (!s) {
        MUST(h.passages || (out.size == bytes.size && !memcmp(out.data ? out.data : "", copy, out.size)));
        MUST(sum_of_tags((hd_line){out.data ? out.data : "", out.size}) == sum_of_tags(bytes));
    }
    hd_html_release(&h);
    hd_text_release(&out);
    free(copy);
    MUST(hd_mem_now().blocks == blocks);
    return 0;
}
