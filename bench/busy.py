#!/usr/bin/env python3
# Translating one sentence at a time while other programs keep the cores busy: busy.py HEED MODEL TEXTS [--peer PYTHON CT2-FOLDER] [--busy 0 1 2] [--threads 2]
# [--rounds 5] [--beam 5]. MODEL is a translator with one vocabulary (Multi30k), TEXTS a file of sentences (100 are enough); CT2-FOLDER is made by ct2_convert.py.
# Seconds for all of TEXTS, medians of rounds in which both take turns; heed's have its start in them, CTranslate2's have not. CTranslate2 computes in f32 as heed does.
import argparse, statistics, subprocess, sys, time

PEER = """
import sys, time, ctranslate2, sentencepiece
folder, model, texts, threads, beam = sys.argv[1:]
t = ctranslate2.Translator(folder, intra_threads=int(threads), compute_type="float32")
words = sentencepiece.SentencePieceProcessor(model_file=f"{model}/tokenizer.model")
lines = [words.encode(line.strip(), out_type=str) for line in open(texts)]
begin = time.time()
for line in lines:
    t.translate_batch([line], beam_size=int(beam))
print(time.time() - begin)
"""

options = argparse.ArgumentParser()
options.add_argument("heed"), options.add_argument("model"), options.add_argument("texts")
options.add_argument("--peer", nargs=2, metavar=("PYTHON", "FOLDER"))
options.add_argument("--busy", nargs="+", type=int, default=[0, 1, 2])
options.add_argument("--threads", default="2")
options.add_argument("--rounds", type=int, default=5)
options.add_argument("--beam", default="5")
opt = options.parse_args()


def ours():
    begin = time.time()
    subprocess.run([opt.heed, "translate", opt.model, "--beam", opt.beam, "--batch", opt.beam, "--threads", opt.threads, opt.texts],
                   stdout=subprocess.DEVNULL, check=True)
    return time.time() - begin


def peer():
    return float(subprocess.run([opt.peer[0], "-c", PEER, opt.peer[1], opt.model, opt.texts, opt.threads, opt.beam],
                                stdout=subprocess.PIPE, text=True, check=True).stdout)


for busy in opt.busy:
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    took = {ours: [], **({peer: []} if opt.peer else {})}
    try:
        for _ in range(opt.rounds):
            for who, seconds in took.items():
                seconds.append(who())
    finally:
        for program in programs:
            program.kill()
    middle = {who: statistics.median(seconds) for who, seconds in took.items()}
    print(f"{busy} busy programs: heed {middle[ours]:.2f} s", f"; CTranslate2 {middle[peer]:.2f} s: {middle[peer] / middle[ours]:.1f} times" if opt.peer else "", sep="", flush=True)
