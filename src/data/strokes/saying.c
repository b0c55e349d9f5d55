/* Draws what is written. */
#include "data/strokes/saying.h"

#include <string.h>

static const char *const words[] = {
    "the",     "of",     "and",     "to",       "in",       "is",        "you",     "that",     "it",
    "he",      "was",    "for",     "on",       "are",      "as",        "with",    "his",      "they",
    "at",      "be",     "this",    "have",     "from",     "or",        "one",     "had",      "by",
    "word",    "but",    "not",     "what",     "all",      "were",      "we",      "when",     "your",
    "can",     "said",   "there",   "use",      "an",       "each",      "which",   "she",      "do",
    "how",     "their",  "if",      "will",     "up",       "other",     "about",   "out",      "many",
    "then",    "them",   "these",   "so",       "some",     "her",       "would",   "make",     "like",
    "him",     "into",   "time",    "has",      "look",     "two",       "more",    "write",    "go",
    "see",     "number", "no",      "way",      "could",    "people",    "my",      "than",     "first",
    "water",   "been",   "call",    "who",      "oil",      "its",       "now",     "find",     "long",
    "down",    "day",    "did",     "get",      "come",     "made",      "may",     "part",     "over",
    "new",     "sound",  "take",    "only",     "little",   "work",      "know",    "place",    "year",
    "live",    "me",     "back",    "give",     "most",     "very",      "after",   "thing",    "our",
    "just",    "name",   "good",    "man",      "think",    "say",       "great",   "where",    "help",
    "through", "much",   "before",  "line",     "right",    "too",       "mean",    "old",      "any",
    "same",    "tell",   "boy",     "follow",   "came",     "want",      "show",    "also",     "around",
    "form",    "three",  "small",   "set",      "put",      "end",       "does",    "another",  "well",
    "large",   "must",   "big",     "even",     "such",     "because",   "turn",    "here",     "why",
    "ask",     "went",   "men",     "read",     "need",     "land",      "home",    "us",       "move",
    "try",     "kind",   "hand",    "picture",  "again",    "change",    "off",     "play",     "spell",
    "air",     "away",   "animal",  "house",    "point",    "page",      "letter",  "mother",   "answer",
    "found",   "study",  "still",   "learn",    "should",   "world",     "high",    "every",    "near",
    "add",     "food",   "between", "own",      "below",    "country",   "plant",   "last",     "school",
    "father",  "keep",   "tree",    "never",    "start",    "city",      "earth",   "eye",      "light",
    "thought", "head",   "under",   "story",    "saw",      "left",      "few",     "while",    "along",
    "might",   "close",  "seem",    "next",     "hard",     "open",      "example", "begin",    "life",
    "always",  "those",  "both",    "paper",    "together", "got",       "group",   "often",    "run",
    "quick",   "jazz",   "zero",    "fox",      "lazy",     "queen",     "exact",   "question", "quiet",
    "box",     "six",    "mixed",   "size",     "prize",    "puzzle",    "vowel",   "river",    "voice",
    "king",    "bridge", "garden",  "window",   "winter",   "yellow",    "brown",   "jump",     "joy",
    "attend",  "model",  "network", "sequence", "weight",   "translate", "memory",  "machine",  "language",
};

static const char onsets[] = "bcdfghjklmnpqrstvwxyz", vowels[] = "aeiouy", codas[] = "bdfgklmnprstxz";

static char one_of(hd_rng *rng, const char *from)
{
    return from[hd_rng_below(rng, (uint32_t)strlen(from))];
}

/* A word that is none: every pair of letters may stand in it. */
static void add_syllables(hd_text *to, hd_rng *rng)
{
    for (uint32_t n = 1 + hd_rng_below(rng, 3); n; n--) {
        const char c[4] = {one_of(rng, onsets), one_of(rng, vowels), one_of(rng, codas), 0};
        hd_text_add(to, c, hd_rng_below(rng, 2) ? 3 : 2);
    }
}

static void add_word(hd_text *to, hd_rng *rng)
{
    size_t from = to->size;
    uint32_t kind = hd_rng_below(rng, 20);
    if (kind == 0)
        hd_text_print(to, "%u", hd_rng_below(rng, 2000));
    else if (kind < 6)
        add_syllables(to, rng);
    else
        hd_text_put(to, words[hd_rng_below(rng, sizeof words / sizeof *words)]);
    bool capital = !from || hd_rng_below(rng, 8) == 0;
    if (capital && hd_rng_below(rng, 2) && to->size > from && to->data[from] >= 'a' && to->data[from] <= 'z')
        to->data[from] = (char)(to->data[from] - 'a' + 'A');
    if (hd_rng_below(rng, 10) == 0) hd_text_add(to, &(const char){one_of(rng, ",,,..?!;:")}, 1);
}

void hd_saying_draw(hd_text *to, hd_rng *rng)
{
    size_t wanted = HD_SAYING_LEAST + hd_rng_below(rng, HD_SAYING_MOST - 10 - HD_SAYING_LEAST + 1);
    to->size = 0;
    while (!to->missed && to->size < wanted) {
        if (to->size) hd_text_put(to, " ");
        add_word(to, rng);
    }
    if (to->size > HD_SAYING_MOST) to->size = HD_SAYING_MOST;
    while (to->size && to->data[to->size - 1] == ' ') to->size--;
    if (to->data) to->data[to->size] = 0;
}
