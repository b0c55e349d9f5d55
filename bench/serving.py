#!/usr/bin/env python3
# heed serve under load, beside one request at a time and beside CTranslate2 behind a batching Python server: serving.py BUILD MODEL TEXTS [--peer PYTHON CT2-FOLDER]
# [--rounds 3] [--seconds 4] [-- OPTIONS OF heed serve]. MODEL translates from en to de (Multi30k), TEXTS is a file of sentences; CT2-FOLDER is made by ct2_convert.py.
# The generator (bench_load) shares the cores with the server. Medians of rounds, in which all take turns: answers a second with 64 users that always ask; the same
# with one sentence at a time (--batch as large as the beam); then requests that arrive at 0.8 and 4 times what 64 users got a moment ago, whatever becomes of those
# before. Machines that others use change their speed from second to second, and 0.8 times what a faster one could is too much for a slower one: so each such load
# stands between two with 64 users and is compared with their mean; those between two that differ by at most --steady are counted by themselves, too.
import argparse, contextlib, re, statistics, subprocess

options = argparse.ArgumentParser()
options.add_argument("build"), options.add_argument("model"), options.add_argument("texts")
options.add_argument("--peer", nargs=2, metavar=("PYTHON", "FOLDER"))
options.add_argument("--rounds", type=int, default=3)
options.add_argument("--seconds", type=float, default=4)
options.add_argument("--beam", type=int, default=5)
options.add_argument("--port", type=int, default=18099)
options.add_argument("--steady", type=float, default=0.1)
options.add_argument("--with", dest="extra", default="", help="further options of heed serve")
opt = options.parse_args()
here = __file__.rsplit("/", 1)[0]


def heed(*more):
    return [f"{opt.build}/heed", "serve", opt.model, "--languages", "en:de", "--port", str(opt.port), "--beam", str(opt.beam), *opt.extra.split(), *more]


@contextlib.contextmanager
def server(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        yield
    finally:
        process.terminate()
        process.wait(60)


def load(rate, seconds, seed=0):
    """What bench_load says; rate: requests a second, or users=N."""
    said = subprocess.run([f"{opt.build}/bench_load", str(opt.port), opt.texts, str(rate), str(seconds), str(seed)], capture_output=True, text=True, check=True).stdout
    number = [float(x) for x in re.findall(r"[\d.]+", said)]
    return dict(zip(("rate", "sent", "good", "refused", "failed", "p50", "p95", "p99", "longest", "refused_p99", "refused_longest"), number))


def alone(command):
    with server(command):
        return load("users=64", opt.seconds)


def between(times, seed):
    """A load of so many times what there is, and what there was before and after it."""
    with server(heed()):
        load("users=64", 0.5)
        before = load("users=64", opt.seconds / 2)["rate"]
        found = load(times * before, opt.seconds, seed)
        after = load("users=64", opt.seconds / 2)["rate"]
    found["share"] = 2 * found["rate"] / (before + after)
    found["steady"] = abs(after - before) <= opt.steady * max(before, after)
    found["spread"] = found["p99"] / found["p50"]
    return found


def middle(found, key):
    return statistics.median(one[key] for one in found)


ours, single, peer = [], [], []
for _ in range(opt.rounds):
    ours.append(alone(heed()))
    single.append(alone(heed("--batch", str(opt.beam))))
    if opt.peer:
        peer.append(alone([opt.peer[0], f"{here}/ct2_server.py", opt.peer[1], str(opt.port), "--beam", str(opt.beam)]))
best = middle(ours, "rate")
print(f"beam {opt.beam} {opt.extra}: {best:.0f} /s with 64 users; one at a time {middle(single, 'rate'):.0f} /s: {best / middle(single, 'rate'):.2f} times", end="")
print(f"; CTranslate2 {middle(peer, 'rate'):.0f} /s: {best / middle(peer, 'rate'):.2f} times" if peer else "", flush=True)

usual, much = zip(*((between(0.8, i + 1), between(4, i + 1)) for i in range(2 * opt.rounds)))
for what, loads in ("all loads", usual), ("loads where the machine was steady", [u for u in usual if u["steady"]]):
    if loads:
        print(f"at 0.8, {len(loads)} of {len(usual)}, {what}: p50 {middle(loads, 'p50'):.0f} ms, p99 {middle(loads, 'p99'):.0f} ms: {middle(loads, 'spread'):.2f} times "
              f"({' '.join(format(u['spread'], '.1f') for u in loads)}); {sum(u['failed'] + u['refused'] for u in loads):.0f} not answered")
print(f"at 4: {100 * middle(much, 'share'):.0f} % of what 64 users get; refused within {max(m['refused_longest'] for m in much):.0f} ms "
      f"(p99 {middle(much, 'refused_p99'):.1f}, worst p99 {max(m['refused_p99'] for m in much):.1f}); p50 of the others {middle(much, 'p50') / 1e3:.1f} s; {sum(m['failed'] for m in much):.0f} failed")
