#!/usr/bin/env python3
# By hand: the numbers of error_rate_test.c, counted by a plain edit distance over whole tables.
import unicodedata


def plain(text):
    kept = "".join(c for c in text.lower() if unicodedata.category(c)[0] not in "PS")
    return " ".join(kept.split())


def errors(hyp, ref):  # (substitutions, deletions, insertions): of equal sums the way a diagonal is preferred
    table = [[None] * (len(hyp) + 1) for _ in range(len(ref) + 1)]
    for i in range(len(ref) + 1):
        for j in range(len(hyp) + 1):
            ways = []
            if i and j:
                s, d, n = table[i - 1][j - 1]
                ways.append((s + (ref[i - 1] != hyp[j - 1]), d, n))
            if i:
                s, d, n = table[i - 1][j]
                ways.append((s, d + 1, n))
            if j:
                s, d, n = table[i][j - 1]
                ways.append((s, d, n + 1))
            table[i][j] = min(ways, key=sum) if ways else (0, 0, 0)
    return table[-1][-1]


def make_text(seed, words, kinds):
    out = []
    for _ in range(words):
        seed = (seed * 1103515245 + 12345) % 2**32
        out.append(chr(ord("a") + (seed >> 20) % kinds) + str((seed >> 16) % 3))
    return " ".join(out), seed


seed, pairs = 7, []
for i in range(200):
    hyp, seed = make_text(seed, i % 23, 3 + i % 9)
    ref, seed = make_text(seed, (i * 7) % 19, 3 + i % 9)
    pairs.append((plain(hyp), plain(ref)))
for name, cut in (("wer", str.split), ("cer", list)):
    counts = [errors(cut(h), cut(r)) for h, r in pairs]
    total, length = [sum(k) for k in zip(*counts)], sum(len(cut(r)) for _, r in pairs)
    print(name, repr(100 * sum(total) / length), total, length)
for hyp, ref in (("the bat sat on", "the cat sat"), ("sat cat the", "the cat sat"), ("seven three", "seventhree")):
    print(hyp, "|", ref, errors(hyp.split(), ref.split()), errors(hyp, ref), len(ref))
