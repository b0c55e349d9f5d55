#!/usr/bin/env python3
"""Makes decoders/*.txt, what ../import_decoders_test.c expects of the small models whose config.json are decoders/*.json: ids,
logits of some of their rows, 64 tokens by greedy search and logits of rows of a text of 2,100 tokens; and shows that exports load in transformers.

Never run by the tests. Needs: pip install torch transformers safetensors
    make_decoders.py [NAME...]       write the files
    make_decoders.py --check HEED [NAME...]
                                     save each as transformers does (config.json of version 5, shards), import it with HEED, export it,
                                     load that in transformers, compare all logits of 2,000 tokens; import it again, compare files
"""
import filecmp
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import numpy  # noqa: E402
from make import between, key_of  # noqa: E402

TOKENIZER = os.path.join(HERE, "../../text/published/llama3/tokenizer.json")
ROWS = [0, 1, 7, 8, 9, 31, 63, 64, 95]
HEED = sys.argv[sys.argv.index("--check") + 1] if "--check" in sys.argv else None
LONG = [96, 511, 1024, 2047, 2099]
STRIDE = 32


def draw(name, shape):
    u = between(key_of(name), int(numpy.prod(shape))) - numpy.float32(0.5)
    norm = len(shape) == 1 and name.endswith("norm.weight")
    value = (numpy.float32(1) if norm else numpy.float32(0)) + u * numpy.float32(0.6)
    return torch.from_numpy(value.reshape(shape))


def drawn(name, shape, mixtral):
    """A tensor of the state of a model, of names as files have them: experts lie in one tensor there."""
    layer = name.split(".mlp.")[0] + (".block_sparse_moe" if mixtral else ".mlp")
    names = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
    if not name.endswith(("gate_up_proj", "down_proj")) or ".experts." not in name:
        return draw(name.replace(".mlp.gate.", ".block_sparse_moe.gate.") if mixtral else name, shape)
    count, rows, columns = shape
    if name.endswith("down_proj"):
        parts = [draw(f"{layer}.experts.{e}.{names[2]}.weight", (rows, columns)) for e in range(count)]
    else:
        parts = [torch.cat([draw(f"{layer}.experts.{e}.{n}.weight", (rows // 2, columns)) for n in names[:2]])
                 for e in range(count)]
    return torch.stack(parts)


def model_of(path):
    config = json.load(open(path, encoding="utf8"))
    kind = config.pop("model_type")
    config.pop("architectures")
    config = transformers.AutoConfig.for_model(kind, **config)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).float()
    state = model.state_dict()
    for name in state:
        if name != "lm_head.weight" or not config.tie_word_embeddings:
            state[name] = drawn(name, tuple(state[name].shape), kind == "mixtral")
    model.load_state_dict(state)
    model.tie_weights()
    return model.eval()


def logits_of(model, ids):
    with torch.no_grad():
        if "dynamic" not in str(model.config.rope_parameters):
            return model(torch.tensor([ids]), use_cache=False).logits[0]
        # angles of a token are those of the text up to it, as in generate(): see docs/modern.md
        cache, rows = transformers.DynamicCache(config=model.config), []
        for i in ids:
            rows.append(model(torch.tensor([[i]]), past_key_values=cache, use_cache=True).logits[0])
        return torch.cat(rows)


def greedy(model, ids, count):
    out = list(ids)
    for _ in range(count):
        out.append(int(logits_of(model, out)[-1].argmax()))
    return out[len(ids):]


def some_ids(count):
    return [(i * i * 7 + 13 * i + 5) % 500 for i in range(count)]


def named():
    """Those whose names are given, or all."""
    paths = sorted(glob.glob(os.path.join(HERE, "decoders", "*.json")))
    names = [word for word in sys.argv[1:] if not word.startswith("-") and word != HEED]
    return [p for p in paths if not names or os.path.basename(p)[:-5] in names]


def write():
    for path in named():
        model, ids = model_of(path), some_ids(96)
        logits = logits_of(model, ids)
        rows = [[len(ids), *ids]]
        rows += [[float("%.7g" % x) for x in logits[r][::STRIDE].tolist()] for r in ROWS]
        rows.append(greedy(model, ids[:8], 64))
        long = logits_of(model, some_ids(2100))
        gap = min((a - b).item() for a, b in
                  (logits_of(model, ids[:8] + rows[-1][:i])[-1].topk(2).values for i in range(64)))
        rows += [[float("%.7g" % x) for x in long[r][::STRIDE].tolist()] for r in LONG]
        with open(path[:-4] + "txt", "w") as f:
            f.writelines(" ".join("%g" % x if isinstance(x, int) else repr(x) for x in row) + "\n" for row in rows)
        print(os.path.basename(path), "logits to %.2f, least gap %.1e" % (logits.abs().max(), gap), flush=True)


def run(*words):
    done = subprocess.run(words, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")


def check(heed):
    with tempfile.TemporaryDirectory() as folder:
        for path in named():
            name, ids = os.path.basename(path)[:-5], some_ids(2000)
            there, here, back, again = (os.path.join(folder, name + end) for end in ("", ".heed", ".out", ".again"))
            model = model_of(path)
            model.save_pretrained(there, max_shard_size="40KB")
            shutil.copy(TOKENIZER, there)
            run(heed, "import", there, here)
            run(heed, "export", here, back)
            loaded = transformers.AutoModelForCausalLM.from_pretrained(back, attn_implementation="eager").eval()
            worst = (logits_of(model, ids) - logits_of(loaded, ids)).abs().max().item()
            run(heed, "import", back, again)
            same = all(filecmp.cmp(os.path.join(here, f), os.path.join(again, f), shallow=False)
                       for f in ("model.safetensors", "tokenizer.json"))
            print("%-14s %s as %s: logits differ by %.1e; imported again %s" % (
                name, type(model).__name__, type(loaded).__name__, worst, "the same" if same else "ANOTHER"), flush=True)
            if worst > 1e-4 or not same:
                sys.exit(1)


if __name__ == "__main__":
    check(HEED) if HEED else write()
