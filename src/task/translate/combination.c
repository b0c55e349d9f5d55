/* The k best sums, part after part: of the k best beginnings and the guesses of the next part, only pairs (i,
   j) with (i + 1)(j + 1) <= k can be among the k best, since all that are before both in their lists are
   better. */
#include "task/translate/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

typedef struct pair {
    size_t beginning, guess;
    size_t unfinished;
    double score;
} pair;

static int compare(const void *x, const void *y)
{
    const pair *a = x, *b = y;
    if (a->unfinished != b->unfinished) return a->unfinished < b->unfinished ? -1 : 1;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    if (a->beginning != b->beginning) return a->beginning < b->beginning ? -1 : 1;
    return a->guess < b->guess ? -1 : a->guess > b->guess;
}

/* The pairs of `beginnings` with the guesses of a part, best first; returns how many there are, at most
   `most`. */
static size_t extend(pair *to, const pair *from, size_t beginnings, const hd_choices *part, size_t most,
                     bool finished_first)
{
    size_t n = 0, guesses = part->count ? part->count : 1;
    for (size_t i = 0; i < beginnings; i++)
        for (size_t j = 0; j < guesses && (i + 1) * (j + 1) <= most; j++) {
            const hd_guess *g = part->count ? &part->at[j] : NULL;
            to[n++] = (pair){i, j, from[i].unfinished + (finished_first && g && !g->finished),
                             from[i].score + (g ? g->score : 0)};
        }
    qsort(to, n, sizeof *to, compare);
    return n < most ? n : most;
}

/* Pairs that extend can make of `most` beginnings: the sum of most / (i + 1). */
static size_t room_of(size_t most)
{
    size_t room = 0;
    for (size_t i = 1; i <= most; i++) room += most / i;
    return room;
}

hd_status hd_combine(size_t *pick, size_t *count, const hd_choices *part, size_t parts, size_t most,
                     bool finished_first, hd_err *err)
{
    size_t cells, room = room_of(most);
    *count = 1;
    memset(pick, 0, parts * sizeof *pick);
    if (most == 1) return HD_OK;
    pair *path = hd_size_mul(parts, most, &cells) ? hd_mem_array(cells, sizeof *path) : NULL;
    pair *work = hd_mem_array(room, sizeof *work), first = {0};
    hd_status s = path && work ? HD_OK : hd_err_nomem(err, room * sizeof *work);
    for (size_t p = 0; !s && p < parts; p++) {
        *count = extend(work, p ? path + (p - 1) * most : &first, *count, &part[p], most, finished_first);
        memcpy(path + p * most, work, *count * sizeof *work);
    }
    for (size_t n = 0; !s && n < *count; n++)
        for (size_t p = parts, at = n; p-- > 0; at = path[p * most + at].beginning)
            pick[n * parts + p] = path[p * most + at].guess;
    hd_mem_free(work);
    hd_mem_free(path);
    return s;
}
