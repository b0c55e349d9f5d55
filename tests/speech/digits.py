#!/usr/bin/env python3
"""Strings of spoken digits from the Free Spoken Digit Dataset, for trainings by hand (docs/speech.md).

    tests/speech/digits.py RECORDINGS OUT [--strings N] [--test N] [--seed N] [--leave-out SPEAKER]

RECORDINGS has DIGIT_SPEAKER_INDEX.wav at 8 kHz. A string is 3 to 7 recordings of one speaker with random gaps
between; of those to learn from a third are single recordings, half of them without gaps around them. Recordings
of index 0 to 4 are for tests alone, 5 and 6 for validation alone. OUT gets the sounds and, as FILE<tab>TEXT, train.tsv, valid.tsv, test.tsv (strings) and
digits.tsv (the recordings to test with, one by one). With --leave-out all recordings of that speaker are for
tests and nothing else is. Needs nothing but Python.
"""
import argparse, array, functools, os, sys, wave

WORDS = "zero one two three four five six seven eight nine".split()
RATE, GAP, TEST, VALID = 8000, 0.3, range(0, 5), range(5, 7)


class Draws:
    """Numbers that no version of Python changes (splitmix64)."""

    def __init__(self, seed):
        self.state = seed & (2**64 - 1)

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) & (2**64 - 1)
        x = self.state
        x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & (2**64 - 1)
        return (x ^ x >> 31) % n


@functools.lru_cache(maxsize=None)
def read(path):
    with wave.open(path) as f:
        if (f.getnchannels(), f.getsampwidth(), f.getframerate()) != (1, 2, RATE):
            sys.exit(f"{path}: not one channel of 16 bits at {RATE} Hz")
        samples = array.array("h", f.readframes(f.getnframes()))
    if sys.byteorder == "big":
        samples.byteswap()
    return samples


def write(path, samples):
    if sys.byteorder == "big":
        samples = array.array("h", samples)
        samples.byteswap()
    with wave.open(path, "wb") as f:
        f.setnchannels(1), f.setsampwidth(2), f.setframerate(RATE)
        f.writeframes(samples.tobytes())


def recordings(folder):
    """{speaker: {index: {digit: path}}}"""
    found = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".wav"):
            continue
        digit, speaker, index = name[:-4].split("_")
        found.setdefault(speaker, {}).setdefault(int(index), {})[int(digit)] = os.path.join(folder, name)
    if not found:
        sys.exit(f"{folder}: no recordings as 3_jackson_17.wav")
    return found


NOISE = (lambda draws: array.array("h", [draws.below(5) - 2 for _ in range(2 * RATE)]))(Draws(0))


def gap(draws):
    """Almost silence: the recordings are cut close."""
    begin, count = draws.below(RATE), draws.below(int(GAP * RATE)) + 1
    return NOISE[begin : begin + count]


def string(draws, speakers, keep, single):
    speaker = sorted(speakers)[draws.below(len(speakers))]
    indices = [i for i in sorted(speakers[speaker]) if keep(i)]
    samples, words = array.array("h"), []
    bare = single and draws.below(2)
    for _ in range(1 if single else 3 + draws.below(5)):
        of = speakers[speaker][indices[draws.below(len(indices))]]
        digit = sorted(of)[draws.below(len(of))]
        samples += (array.array("h") if bare else gap(draws)) + read(of[digit])
        words.append(WORDS[digit])
    return samples if bare else samples + gap(draws), " ".join(words)


def strings(out, name, count, seed, speakers, keep, singles):
    draws = Draws(seed)
    os.makedirs(os.path.join(out, name), exist_ok=True)
    with open(os.path.join(out, name + ".tsv"), "w") as to:
        for i in range(count):
            samples, text = string(draws, speakers, keep, singles and draws.below(3) == 0)
            path = f"{name}/{i:05}.wav"
            write(os.path.join(out, path), samples)
            to.write(f"{path}\t{text}\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("recordings"), p.add_argument("out")
    p.add_argument("--strings", type=int, default=6000), p.add_argument("--test", type=int, default=500)
    p.add_argument("--seed", type=int, default=1), p.add_argument("--leave-out", default="")
    o = p.parse_args()
    speakers = recordings(o.recordings)
    if o.leave_out and o.leave_out not in speakers:
        sys.exit(f"no speaker {o.leave_out}: " + ", ".join(sorted(speakers)))
    left = {o.leave_out: speakers.pop(o.leave_out)} if o.leave_out else None
    tested, kept = left or speakers, (lambda i: True) if left else (lambda i: i in TEST)
    learned = lambda i: i not in VALID and (left or i not in TEST)
    os.makedirs(o.out, exist_ok=True)
    strings(o.out, "train", o.strings, 4 * o.seed, speakers, learned, True)
    strings(o.out, "valid", o.test, 4 * o.seed + 1, speakers, lambda i: i in VALID, False)
    strings(o.out, "test", o.test, 4 * o.seed + 2, tested, kept, False)
    with open(os.path.join(o.out, "digits.tsv"), "w") as to:
        for speaker in sorted(tested):
            for index in sorted(i for i in tested[speaker] if kept(i)):
                for digit, path in sorted(tested[speaker][index].items()):
                    to.write(f"{os.path.relpath(path, o.out)}\t{WORDS[digit]}\n")


if __name__ == "__main__":
    main()
