/* Attention inside boxes. */
#include "show/picture/inside.h"

#include <math.h>
#include <string.h>

enum { MOST_BOXES = 256 };

/* The word that a token is; pieces of SentencePiece begin with a mark for the space before them. */
static const char *word_of(const hd_shown_token *t)
{
    static const char space[] = "\xe2\x96\x81";
    const char *text = hd_shown_plain(t);
    return strncmp(text, space, sizeof space - 1) ? text : text + sizeof space - 1;
}

static bool is_article(const char *word)
{
    return !strcmp(word, "a") || !strcmp(word, "an") || !strcmp(word, "the");
}

/* How much of a cell from a to b a box covers along one side. */
static double covered(double a, double b, double from, double to)
{
    double low = fmax(a, from), high = fmin(b, to);
    return high > low ? (high - low) / (b - a) : 0;
}

/* Of the attention of a row over the cells of a grid. */
static double share_inside(const hd_attention_map *m, size_t row, const hd_attention_scene *s,
                           const hd_box *box, int height, int width)
{
    const float *weight = m->weight + row * m->cols + s->lead;
    double inside = 0, all = 0, x = (double)box->x / width, y = (double)box->y / height;
    double right = x + (double)box->width / width, bottom = y + (double)box->height / height;
    for (size_t r = 0; r < s->height; r++)
        for (size_t c = 0; c < s->width; c++) {
            double w = (double)weight[r * s->width + c];
            all += w;
            inside += w *
                      covered((double)r / (double)s->height, (double)(r + 1) / (double)s->height, y, bottom) *
                      covered((double)c / (double)s->width, (double)(c + 1) / (double)s->width, x, right);
        }
    return all > 0 ? inside / all : 0;
}

static void count(hd_inside *sum, double share, const hd_box *box, int height, int width)
{
    sum->words++, sum->most += share > 0.5;
    sum->share += share;
    sum->area += (double)box->width * (double)box->height / ((double)height * (double)width);
}

/* The first object of this name that no word before has named. */
static const hd_box *object(const char *word, const hd_box *box, size_t boxes, const hd_vocab *labels,
                            bool *named)
{
    for (size_t i = 0; i < boxes && i < MOST_BOXES; i++)
        if (!named[i] && !strcmp(hd_vocab_piece(labels, box[i].label), word)) return named[i] = true, &box[i];
    return NULL;
}

hd_status hd_inside_add(hd_inside *sum, const hd_attention_maps *maps, const hd_box *box, size_t boxes,
                        const hd_vocab *labels, int height, int width, hd_err *err)
{
    hd_attention_map m;
    bool named[MOST_BOXES] = {0}, taken = false; /* taken: the token before is a label */
    hd_status s = hd_attention_map_of(&m, maps, &(hd_attention_pick){.kind = 1 + HD_ATTENTION_CROSS}, err);
    if (s) return s;
    for (size_t t = 0; t < maps->targets; t++) {
        const hd_box *b = object(word_of(&maps->output[t]), box, boxes, labels, named);
        if (b && t && !taken && !is_article(word_of(&maps->output[t - 1])))
            count(sum, share_inside(&m, t - 1, &maps->scene, b, height, width), b, height, width);
        if (b) count(sum, share_inside(&m, t, &maps->scene, b, height, width), b, height, width);
        taken = b != NULL;
    }
    hd_attention_map_release(&m);
    return HD_OK;
}
