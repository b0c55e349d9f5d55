/* Edit distance with swaps of neighbors (optimal string alignment). A word that begins with the typed one is
   near, whatever its length. */
#include "cli/frame/spelling.h"

#include <string.h>

enum { LONGEST = 32 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int distance(const char *a, int n, const char *b, int m)
{
    int d[LONGEST + 1][LONGEST + 1];
    for (int i = 0; i <= n; i++) d[i][0] = i;
    for (int j = 0; j <= m; j++) d[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            d[i][j] = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), 1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], 1 + d[i - 2][j - 2]);
        }
    return d[n][m];
}

hd_spelling hd_spelling_of(const char *typed)
{
    /* near: wrong in at most a third of the letters, and one */
    return (hd_spelling){.typed = typed, .distance = 2 + (int)strlen(typed) / 3};
}

void hd_spelling_try(hd_spelling *s, const char *known)
{
    size_t n = strlen(s->typed), m = strlen(known);
    if (n < 2 || n > LONGEST || m > LONGEST) return;
    int d = strncmp(s->typed, known, n) ? distance(s->typed, (int)n, known, (int)m) : 1;
    if (d >= s->distance || d >= (int)m) return;
    s->distance = d;
    s->match = known;
}
