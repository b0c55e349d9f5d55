#!/usr/bin/env python3
# heed beside CTranslate2 and PyTorch on the CPU, training and decoding, in f32, bf16 and int8: cpu_peers.py BUILD-FOLDER SHARED-FOLDER [--threads 1,2] [--rounds 3]
# [--only TEXT,TEXT] [--types f32,bf16,int8] [--peer PYTHON]. heed and the peer run in turns, each in a process of its own; medians of the rounds.
# A row's peer does the same work: the same sizes, vocabulary, sources and number of tokens, none of which ends early. `share` is heed's part of what the
# machine allows: multiply-adds and bytes of weights at the rates that the shared folder's tools measure here, whichever takes longer in each step.
# The script calls itself as the peer: cpu_peers.py --ct2 MODEL TYPE BEAM BATCH THREADS.
import argparse, os, platform, re, statistics, subprocess, sys

LENGTH = 25  # tokens of a source and of a translation


# -- the peer of bench_decode --

def ct2_decode(model, kind, beam, batch, threads):
    import random, time, ctranslate2
    random.seed(1)
    t = ctranslate2.Translator(model, device="cpu", compute_type=kind, intra_threads=threads, inter_threads=1)
    sources = [[f"t{random.randrange(15997)}" for _ in range(LENGTH)] for _ in range(batch)]

    def go():
        return t.translate_batch(sources, beam_size=beam, max_batch_size=batch, batch_type="examples",
                                 min_decoding_length=LENGTH, max_decoding_length=LENGTH, return_scores=False)
    go()
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        found = go()
        taken.append(time.perf_counter() - start)
    tokens = sum(len(f.hypotheses[0]) for f in found)
    if tokens != batch * LENGTH:
        sys.exit(f"CTranslate2 wrote {tokens} tokens instead of {batch * LENGTH}")
    print(tokens / statistics.median(taken))


if sys.argv[1:2] == ["--ct2"]:
    ct2_decode(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:7]))
    sys.exit(0)

options = argparse.ArgumentParser()
options.add_argument("build"), options.add_argument("shared")
options.add_argument("--threads", default=",".join(dict.fromkeys(["1", str(os.cpu_count())])))
options.add_argument("--types", default="f32,bf16,int8")
options.add_argument("--rounds", type=int, default=3)
options.add_argument("--only", default="")
options.add_argument("--peer", default=sys.executable)
opt = options.parse_args()
here = os.path.dirname(os.path.abspath(__file__))


# -- limits of the machine --

def measure_limits():
    """{(type, threads): operations/s}, {threads: bytes/s}; empty where the tool is not there."""
    arm = platform.machine() == "aarch64"
    program = f"{opt.build}/cpu_peak"
    source = f"{program}.c"
    try:
        text = open(f"{opt.shared}/tools/{'neon' if arm else 'x86'}_peak.c").read()
    except OSError:
        return {}, {}
    if "amx_tile" not in open("/proc/cpuinfo").read():  # which the tool takes to be there
        text = re.sub(r'time_it\("[^"]* amx\b[^;]*;', "", text)
    with open(source, "w") as file:
        file.write(text)
    # gcc leaves the x86 tool's sums in memory at -O2
    flags = ["-O2", "-march=armv8.2-a+bf16+i8mm+fp16+dotprod"] if arm else ["-O3", "-march=sapphirerapids"]
    if subprocess.run(["cc", *flags, "-o", program, source, "-lpthread"], capture_output=True).returncode:
        return {}, {}
    out = subprocess.run([program], capture_output=True, text=True).stdout
    rate, read = {}, {}
    kinds = {"k_f32": "f32", "k_bfmm": "bf16", "k_smmla": "int8", "f32 fma avx512": "f32", "bf16 avx512": "bf16",
             "bf16 amx": "bf16", "int8 vnni": "int8", "int8 amx": "int8"}
    for name, kind in kinds.items():
        for found in re.finditer(rf"^threads (\d+) {name} +([\d.]+) GOP|^{name} +(\d+) threads +([\d.]+) G/s", out, re.M):
            threads, value = int(found[1] or found[3]), 1e9 * float(found[2] or found[4])
            rate[kind, threads] = max(rate.get((kind, threads), 0), value)
    for found in re.finditer(r"^threads (\d+) arrays 3x262144 KiB .* read ([\d.]+) GB/s", out, re.M):
        read[int(found[1])] = 1e9 * float(found[2])
    for found in re.finditer(r"^read 1 GiB one core ([\d.]+) GB/s", out, re.M):
        read = {t: t * 1e9 * float(found[1]) for t in range(1, 65)}  # the tool reads with one core
    return rate, read


BYTES = {"f32": 4, "bf16": 2, "int8": 1}


def limit_of(phases, kind, threads):
    """The tokens/s that [(times, multiply-adds, weights)] allow; 0: not known."""
    if (kind, threads) not in rates or threads not in reads:
        return 0
    return 1 / sum(times * max(2 * products / rates[kind, threads], weights * BYTES[kind] / reads[threads])
                   for times, products, weights in phases)


def work_of_base(beam, batch):
    d, inner, layers, vocab = 512, 2048, 6, 16000
    enc = layers * (4 * d * d + 2 * d * inner)
    memory = layers * 2 * d * d
    dec = layers * (6 * d * d + 2 * d * inner) + d * vocab
    n, rows = batch * LENGTH, beam * batch
    see = layers * 2 * d * (LENGTH / 2 + LENGTH)  # keys and values of a row, on average
    return [(1 / n, n * (enc + memory + layers * 2 * d * LENGTH), enc + memory), (LENGTH / n, rows * (dec + see), dec)]


def work_of_gpt2(batch):
    d, layers, prompt, tokens = 768, 12, 32, 64
    all_, words, n = layers * 12 * d * d, 50257 * d, batch * tokens
    return [(1 / n, batch * prompt * all_, all_), (tokens / n, batch * (all_ + words + layers * 2 * d * (prompt + tokens / 2)), all_ + words)]


def work_of_bert(batch):
    d, layers, length = 768, 12, 32
    return [(1 / (batch * length), batch * length * layers * (12 * d * d + 2 * d * length), layers * 12 * d * d)]


def work_of_training(d, inner, layers, vocab, decoders):
    """Multiply-adds of a target token, forward and back; as many source tokens are read."""
    block = 4 * d * d + 2 * d * inner
    return [(1, 3 * (layers * block + (layers * (block + 4 * d * d) if decoders else 0) + d * vocab), 0)]


# -- rows --

def run(command, threads, pattern=r"([\d.]+)"):
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive", CT2_VERBOSE="-3")
    done = subprocess.run([str(c) for c in command], env=env, capture_output=True, text=True)
    found = re.findall(pattern, done.stdout, re.M) if not done.returncode else []
    return max(map(float, found)) if found else None


def heed_decode(search, batch):
    return lambda kind, threads: run([f"{opt.build}/bench_decode", "base", search, batch, threads, kind], threads, r"^[\d.]+ ([\d.]+)")


def heed_published(model, batch):
    return lambda kind, threads: run([f"{opt.build}/bench_published", model, batch, threads, kind], threads, r"^[\d.]+ ([\d.]+)")


def ct2(beam, batch):
    names = {"f32": "float32", "bf16": "bfloat16", "int8": "int8"}
    return lambda kind, threads: run([opt.peer, __file__, "--ct2", f"{opt.build}/ct2-base", names[kind], beam, batch, threads], threads)


def torch(model, batch):  # the quicker of transformers and plain PyTorch
    return lambda kind, threads: None if kind == "int8" else run(
        [opt.peer, f"{here}/published_pytorch.py", model, batch, threads, kind], threads, r"^[\d.]+ ([\d.]+)")


def heed_step(model, steps):
    return lambda kind, threads: None if kind == "int8" else run([f"{opt.build}/bench_step", model, threads, steps, kind], threads, r"^[\d.]+ ([\d.]+)")


def torch_nmt(model, steps):
    types = {"f32": ["--dtype", "fp32"], "bf16": ["--dtype", "bf16", "--fused"]}
    return lambda kind, threads: None if kind == "int8" else run(
        [opt.peer, f"{opt.shared}/bench/torch_nmt.py", model, "--threads", threads, "--steps", steps, *types[kind]], threads, r"target tok/s median ([\d.]+)")


def torch_gpt(steps):  # its script has f32 alone
    return lambda kind, threads: None if kind != "f32" else run(
        [opt.peer, f"{opt.shared}/bench/torch_gpt.py", "--threads", threads, "--steps", steps], threads, r" ms, (\d+) tokens/s")


ROWS = [("base train", heed_step("base", 3), "torch", torch_nmt("base", 3), work_of_training(512, 2048, 6, 16000, True)),
        ("tiny train", heed_step("tiny", 8), "torch", torch_nmt("tiny", 8), work_of_training(128, 256, 4, 8000, True)),
        ("nano train", heed_step("gpt", 60), "torch", torch_gpt(60), work_of_training(128, 512, 4, 65, False))]
ROWS += [(f"base {search} {batch}", heed_decode(search, batch), "ctranslate2", ct2(beam, batch), work_of_base(beam, batch))
        for search, beam in (("greedy", 1), ("beam4", 4)) for batch in (1, 40)]
ROWS += [(f"gpt2 greedy {batch}", heed_published("gpt2", batch), "torch", torch("gpt2", batch), work_of_gpt2(batch)) for batch in (1, 8)]
ROWS += [("bert vectors 32", heed_published("bert", 32), "torch", torch("bert", 32), work_of_bert(32))]


def has(module):
    return not subprocess.run([opt.peer, "-c", f"import {module}"], capture_output=True).returncode


def prepare_peers():
    there = {module for module in ("ctranslate2", "torch") if has(module)}
    if "ctranslate2" in there and not os.path.isdir(f"{opt.build}/ct2-base"):
        made = subprocess.run([opt.peer, f"{opt.shared}/bench/ct2_mk.py", f"{opt.build}/ct2-base", "base"], capture_output=True)
        if made.returncode:
            there.remove("ctranslate2")
    for module in sorted({"ctranslate2", "torch"} - there):
        print(f"({module} is not there for {opt.peer}: heed alone)")
    return there


def measure(heed, peer, kind, threads):
    ours, theirs = [], []
    for _ in range(opt.rounds):
        ours.append(heed(kind, threads))
        if peer and None not in theirs:
            theirs.append(peer(kind, threads))
    return [statistics.median(x) if x and None not in x else None for x in (ours, theirs)]


def show(value, digits=0):
    return f"{value:,.{digits}f}" if value else "-"


def report(name, heed, peer, phases):
    for threads in map(int, opt.threads.split(",")):
        found = {kind: measure(heed, peer, kind, threads) for kind in opt.types.split(",")}
        best = max((theirs for _, theirs in found.values() if theirs), default=None)
        for kind, (ours, theirs) in found.items():
            if not ours:
                continue
            limit = limit_of(phases, kind, threads)
            print(f"{name:16} {threads:7} {kind:5} {show(ours):>8} {show(ours and limit and 100 * ours / limit):>6}% {show(theirs):>8} "
                  f"{show(ours and theirs and ours / theirs, 2):>6} {show(best):>8} {show(ours and best and ours / best, 2):>6}", flush=True)


print(f"{platform.machine()}, {os.cpu_count()} cores; tokens/s, medians of {opt.rounds} interleaved rounds; load {os.getloadavg()[0]:.1f}")
rates, reads = measure_limits()
for (kind, threads), value in sorted(rates.items()):
    print(f"limit: {kind} {threads} threads {value / 1e9:,.0f} G/s", end="; " if (kind, threads) != max(rates) else "\n")
if reads:
    print(f"limit: reading {reads[1] / 1e9:.1f} GB/s with one thread")
peers = prepare_peers()
print(f"{'row':16} threads type      heed  share     peer  ratio  its best  ratio")
for name, heed, module, peer, phases in ROWS:
    if any(text in name for text in opt.only.split(",")):
        report(name, heed, peer if module in peers else None, phases)
