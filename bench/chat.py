#!/usr/bin/python3
# Greedy text of a published chat model, batch 1, heed beside llama.cpp and transformers:
#     python bench/chat.py BUILD-FOLDER SmolLM2-135M-Instruct.Q4_1.gguf [TOKENS [ROUNDS [THREADS]]]
# by default 128 tokens, 5 rounds, 2 threads. Rounds are interleaved: in each, everyone writes 1 and then 1 + TOKENS tokens behind the same
# prompt, and the difference counts, so that loading, reading the prompt and starting are in nobody's time. heed is its program
# (`heed generate --greedy --endless`), once in f32 and once in bf16, which it widens the file to; llama.cpp runs the file as it is and one in f16 made
# of it, through llama-cpp-python or xllamacpp; transformers runs what `heed export` gives, in f32 and bf16. Whoever is not installed is left out.
import os, statistics, subprocess, sys, tempfile, time

build, file = sys.argv[1], sys.argv[2]
TOKENS, ROUNDS, THREADS = (int(x) for x in (sys.argv[3:] + ["128", "5", "2"][len(sys.argv[3:]):]))
PROMPT = "Once upon a time there was a"
os.environ["OMP_NUM_THREADS"], os.environ["TRANSFORMERS_VERBOSITY"] = str(THREADS), "error"
folder = tempfile.TemporaryDirectory()
heed, model, published = os.path.join(build, "heed"), os.path.join(folder.name, "model"), os.path.join(folder.name, "published")


def heeds(precision):
    def write(tokens):
        subprocess.run([heed, "generate", "-q", model, "--prompt", PROMPT, "--greedy", "--endless", "--tokens", str(tokens), "--threads", str(THREADS),
                        "--precision", precision], check=True, stdout=subprocess.DEVNULL)
    return write


def f16_of(source):
    """The same model with all matrices in f16, as llama.cpp's converter has them."""
    import gguf
    to, reader = os.path.join(folder.name, "f16.gguf"), gguf.GGUFReader(source)
    w = gguf.GGUFWriter(to, reader.get_field("general.architecture").contents())
    for name, f in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type", "general.quantization_version"): continue
        kind = f.types[0]
        w.add_key_value(name, f.contents(), kind, f.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    w.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    for t in reader.tensors:
        x = gguf.dequantize(t.data, t.tensor_type).reshape(tuple(int(n) for n in t.shape)[::-1])
        w.add_tensor(t.name, x.astype("float16" if len(t.shape) > 1 else "float32"))
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()
    return to


def llamas(path):
    try:
        import llama_cpp
        m = llama_cpp.Llama(path, n_ctx=1024, n_threads=THREADS, n_threads_batch=THREADS, verbose=False, logits_all=False)
        end = [m.token_eos()]

        def write(tokens):
            m.reset()
            got = m.create_completion(PROMPT, max_tokens=tokens, temperature=0, logit_bias={str(e): -100 for e in end})
            assert got["usage"]["completion_tokens"] == tokens, got["usage"]
        return write
    except ImportError:
        import xllamacpp
    p = xllamacpp.CommonParams()
    p.model.path, p.n_ctx, p.n_parallel, p.warmup, p.verbosity, p.cache_prompt = path, 1024, 1, True, -1, False
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = THREADS
    server = xllamacpp.Server(p)

    def write(tokens):
        got = server.handle_completions({"prompt": PROMPT, "max_tokens": tokens, "temperature": 0, "ignore_eos": True, "cache_prompt": False})
        assert got["usage"]["completion_tokens"] == tokens, got["usage"]
    return write


def transformers_in(kind):
    import torch, transformers
    torch.set_num_threads(THREADS)
    t = transformers.AutoTokenizer.from_pretrained(published)
    m = transformers.AutoModelForCausalLM.from_pretrained(published, dtype=getattr(torch, kind)).eval()
    given = t(PROMPT, return_tensors="pt")

    def write(tokens):
        with torch.no_grad():
            m.generate(**given, do_sample=False, max_new_tokens=tokens, min_new_tokens=tokens)
    return write


def seconds(write, tokens):
    begin = time.perf_counter()
    write(tokens)
    return time.perf_counter() - begin


subprocess.run([heed, "import", "-q", file, model], check=True)
subprocess.run([heed, "export", "-q", model, published], check=True)
peers = {"heed f32": lambda: heeds("f32"), "heed bf16": lambda: heeds("bf16"), "llama.cpp as it is": lambda: llamas(file),
         "llama.cpp f16": lambda: llamas(f16_of(file)), "transformers f32": lambda: transformers_in("float32"), "transformers bf16": lambda: transformers_in("bfloat16")}
who = {}
for name, make in peers.items():
    try:
        who[name] = make()
        who[name](2)
    except ImportError as e:
        print(f"({name} is left out: {e})")
took = {name: [] for name in who}
for _ in range(ROUNDS):
    for name, write in who.items():
        one = seconds(write, 1)
        took[name].append(seconds(write, 1 + TOKENS) - one)
if "xllamacpp" in sys.modules: print("== llama.cpp of xllamacpp,", sys.modules["xllamacpp"].get_system_info().strip())
print(f"== {os.uname().machine}, {os.cpu_count()} cores, {THREADS} threads, load {os.getloadavg()[0]:.1f}; {TOKENS} tokens behind a prompt, median of {ROUNDS} interleaved rounds")
rate = {name: TOKENS / statistics.median(x) for name, x in took.items()}
for name, x in rate.items():
    spread = sorted(TOKENS / y for y in took[name])
    print(f"{name:20} {x:7.1f} tokens/s ({spread[0]:.1f} to {spread[-1]:.1f})   heed bf16 / it {rate['heed bf16'] / x:5.2f}   heed f32 / it {rate['heed f32'] / x:5.2f}")
sys.stdout.flush()
folder.cleanup()
os._exit(0)  # threads of a server do not end by themselves
