#!/usr/bin/env python3
"""BLEU-1 to 4, ROUGE-L and CIDEr-D of captions, written without looking at heed's: by hand, for the numbers
that tests expect.  captions_check.py REFERENCES CAPTIONS [--split]   (--split: the text is tokens already)"""
import collections
import math
import re
import sys

DROP = set("'' ' `` ` -lrb- -rrb- -lcb- -rcb- . ? ! , : - -- ... ;".split())


def words(text, split):
    if not split:
        text = re.sub(r"(\d),(?=\d)", "\\1\0", text)
        text = re.sub(r'([?!:;"(){},`])', r" \1 ", text).replace("\0", ",")
        text = re.sub(r"\.+(\s|$)", r" . \1", text)
        text = re.sub(r"n't\b", " n't", text)
        text = re.sub(r"(?<=\w)('(?:s|m|d|re|ve|ll))\b", r" \1", text)
        text = text.replace('"', " ")
    return [w for w in text.lower().split() if w not in DROP]


def grams(w, n):
    return collections.Counter(tuple(w[i:i + n]) for i in range(len(w) - n + 1))


def bleu(pairs):
    right, total, hyp_len, ref_len = [0] * 4, [0] * 4, 0, 0
    for hyp, refs in pairs:
        hyp_len += len(hyp)
        ref_len += min((abs(len(r) - len(hyp)), len(r)) for r in refs)[1]
        for n in range(1, 5):
            most = collections.Counter()
            for r in refs:
                most |= grams(r, n)
            right[n - 1] += sum((grams(hyp, n) & most).values())
            total[n - 1] += max(0, len(hyp) - n + 1)
    brief = 1 if hyp_len >= ref_len else math.exp(1 - ref_len / hyp_len)
    return [100 * brief * math.prod(right[k] / total[k] for k in range(n)) ** (1 / n) for n in range(1, 5)]


def lcs(a, b):
    row = [0] * (len(b) + 1)
    for x in a:
        last = row[:]
        for j, y in enumerate(b):
            row[j + 1] = last[j] + 1 if x == y else max(row[j], last[j + 1])
    return row[-1]


def rouge(pairs, beta=1.2):
    total = 0
    for hyp, refs in pairs:
        p = max((lcs(hyp, r) / len(hyp) for r in refs if hyp and r), default=0)
        q = max((lcs(hyp, r) / len(r) for r in refs if hyp and r), default=0)
        total += (1 + beta**2) * p * q / (q + beta**2 * p) if p else 0
    return 100 * total / len(pairs)


def cider(pairs):
    df = collections.Counter()
    for _, refs in pairs:
        df.update(set().union(*(grams(r, n) for r in refs for n in range(1, 5))))
    all_of = math.log(len(pairs))

    def vector(w, n):
        return {g: c * (all_of - math.log(max(1, df[g]))) for g, c in grams(w, n).items()}

    total = 0
    for hyp, refs in pairs:
        one = 0
        for n in range(1, 5):
            h = vector(hyp, n)
            for r in refs:
                v = vector(r, n)
                length = math.sqrt(sum(x * x for x in h.values())) * math.sqrt(sum(x * x for x in v.values()))
                if length:
                    dot = sum(min(x, v[g]) * v[g] for g, x in h.items() if g in v)
                    one += dot / length * math.exp(-((len(hyp) - len(r)) ** 2) / 72)
        total += 10 * one / 4 / len(refs)
    return 100 * total / len(pairs)


def main():
    split = "--split" in sys.argv
    refs = collections.defaultdict(list)
    for line in open(sys.argv[1]):
        name, text = line.rstrip("\n").split("\t")
        refs[re.sub(r"#\d+$", "", name)].append(words(text, split))
    pairs = []
    for line in open(sys.argv[2]):
        name, text = line.rstrip("\n").split("\t")
        pairs.append((words(text, split), refs[name]))
    print(*(f"{x:.12g}" for x in bleu(pairs) + [rouge(pairs), cider(pairs)]))


main()
