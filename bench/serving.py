#!/usr/bin/env python3
# heed serve under load, beside one request at a time and beside CTranslate2 behind a batching Python server: serving.py BUILD MODEL TEXTS [--peer PYTHON CT2-FOLDER]
# [--rounds 3] [--seconds 4] [-- OPTIONS OF heed serve]. MODEL translates from en to de (Multi30k), TEXTS is a file of sentences; CT2-FOLDER is made by ct2_convert.py.
# The generator (bench_load) shares the cores with the server. Medians of interleaved rounds: answers a second with 64 users that always ask; the same with one
# sentence at a time (--batch as large as the beam); then requests that arrive at 0.8 and 4 times the first, whatever becomes of those before.
import argparse, re, statistics, subprocess, sys, time

options = argparse.ArgumentParser()
options.add_argument("build"), options.add_argument("model"), options.add_argument("texts")
options.add_argument("--peer", nargs=2, metavar=("PYTHON", "FOLDER"))
options.add_argument("--rounds", type=int, default=3)
options.add_argument("--seconds", type=float, default=4)
options.add_argument("--beam", type=int, default=5)
options.add_argument("--port", type=int, default=18099)
options.add_argument("--with", dest="extra", default="", help="further options of heed serve")
opt = options.parse_args()
here = __file__.rsplit("/", 1)[0]


def heed(*more):
    return [f"{opt.build}/heed", "serve", opt.model, "--languages", "en:de", "--port", str(opt.port), "--beam", str(opt.beam), *opt.extra.split(), *more]


def loads(command, *asks):
    """What bench_load says for each (RATE or users=N, seconds)."""
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        server.stdout.readline()
        return [load(*ask) for ask in asks]
    finally:
        server.terminate()
        server.wait(60)


def load(rate, seconds):
    said = subprocess.run([f"{opt.build}/bench_load", str(opt.port), opt.texts, str(rate), str(seconds)], capture_output=True, text=True, check=True).stdout
    number = [float(x) for x in re.findall(r"[\d.]+", said)]
    return dict(zip(("rate", "sent", "good", "refused", "failed", "p50", "p95", "p99", "longest", "refused_p99", "refused_longest"), number))


def middle(found, key):
    return statistics.median(one[key] for one in found)


ours, single, peer = [], [], []
for _ in range(opt.rounds):
    ours += loads(heed(), ("users=64", opt.seconds))
    single += loads(heed("--batch", str(opt.beam)), ("users=64", opt.seconds))
    if opt.peer:
        peer += loads([opt.peer[0], f"{here}/ct2_server.py", opt.peer[1], str(opt.port), "--beam", str(opt.beam)], ("users=64", opt.seconds))
best = middle(ours, "rate")
print(f"beam {opt.beam} {opt.extra}: {best:.0f} /s with 64 users; one at a time {middle(single, 'rate'):.0f} /s: {best / middle(single, 'rate'):.2f} times", end="")
print(f"; CTranslate2 {middle(peer, 'rate'):.0f} /s: {best / middle(peer, 'rate'):.2f} times" if peer else "", flush=True)
usual, much = [], []
for _ in range(opt.rounds):
    a, b = loads(heed(), (0.8 * best, 2 * opt.seconds), (4 * best, 2 * opt.seconds))
    usual.append(a), much.append(b)
print(f"at 0.8: p50 {middle(usual, 'p50'):.0f} ms, p99 {middle(usual, 'p99'):.0f} ms: {middle([{'x': u['p99'] / u['p50']} for u in usual], 'x'):.2f} times; {sum(u['failed'] + u['refused'] for u in usual):.0f} not answered")
print(f"at 4: {middle(much, 'rate'):.0f} /s: {100 * middle(much, 'rate') / best:.0f} %; refused within {max(m['refused_longest'] for m in much):.0f} ms (p99 {middle(much, 'refused_p99'):.1f}); "
      f"p50 of the others {middle(much, 'p50') / 1e3:.1f} s; {sum(m['failed'] for m in much):.0f} failed")
