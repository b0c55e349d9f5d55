#!/usr/bin/env python3
"""Shows that Vision Transformers are in heed what they are in transformers, there and back.

Never run by the tests. Needs: pip install torch transformers pillow
    vit_check.py HEED
transformers saves small ViTs and DeiTs of random weights, bare and with labels, for pictures of several sizes, also ones that positions have
to be resized for. heed imports them, and `heed embed` and `heed classify` must give their rows, pooled vectors and probabilities for random
pictures; what heed exports must load in transformers with all tensors in their places and give the same pixels and logits, and imported again it
must be the same folder, byte for byte. A bare one is fine-tuned by heed, at its size and at another, and a model is trained from scratch:
exported, both must give the same labels in transformers.
"""
import filecmp
import json
import os
import subprocess
import sys
import tempfile

import numpy
import PIL.Image
import torch
import transformers

HEED = sys.argv[1]
SIZES = dict(hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=80, initializer_range=0.3,
             attn_implementation="eager", id2label={0: "bad", 1: "so so", 2: "good"}, label2id={"bad": 0, "so so": 1, "good": 2})
MODELS = [
    ("ViTModel", dict(image_size=32, patch_size=8), dict(size={"height": 32, "width": 32})),
    ("ViTModel", dict(image_size=30, patch_size=5, qkv_bias=False), dict(size={"height": 50, "width": 35}, resample=3)),
    ("ViTForImageClassification", dict(image_size=32, patch_size=4, hidden_act="relu"), dict(size={"height": 32, "width": 32})),
    ("ViTForImageClassification", dict(image_size=224, patch_size=16), dict()),
    ("ViTForImageClassification", dict(image_size=64, patch_size=16), dict(size={"height": 96, "width": 128})),
    ("DeiTModel", dict(image_size=32, patch_size=8), dict(size={"height": 40, "width": 40}, crop_size={"height": 32, "width": 32})),
    ("DeiTForImageClassification", dict(image_size=224), dict(image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])),
    ("DeiTForImageClassificationWithTeacher", dict(image_size=32, patch_size=8),
     dict(size={"height": 40, "width": 40}, crop_size={"height": 48, "width": 32})),
]
worst = {}


def run(*words):
    done = subprocess.run((HEED,) + words, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def near(what, a, b, limit):
    off = float(numpy.abs(numpy.asarray(a, dtype=numpy.float64) - numpy.asarray(b, dtype=numpy.float64)).max())
    worst[what] = max(worst.get(what, 0), off)
    if not off <= limit:
        sys.exit(f"{what}: off by {off}")


def pictures(folder):
    rng, files = numpy.random.default_rng(1), []
    for i, (height, width) in enumerate([(32, 32), (100, 57), (31, 240), (8, 9)]):
        files.append(os.path.join(folder, f"{i}.png"))
        PIL.Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=numpy.uint8)).save(files[-1])
    return files


def answers(model, processor, files):
    model.eval()
    x = [processor(PIL.Image.open(f), return_tensors="pt").pixel_values for f in files]
    native = model.config.image_size
    native = [native, native] if isinstance(native, int) else list(native)
    with torch.no_grad():
        return x, [model(one, interpolate_pos_encoding=list(one.shape[2:]) != native) for one in x]


def same_folder(a, b):
    names = sorted(os.listdir(a))
    if names != sorted(os.listdir(b)) or filecmp.cmpfiles(a, b, names, shallow=False)[0] != names:
        sys.exit(f"{a} and {b} differ")


def check_heed(name, folder, files, out):
    """What heed gives for the pictures is what transformers has given."""
    if "logits" in out[0]:
        said = [json.loads(line) for line in run("classify", folder, *files, "--json", "--top", "3").splitlines()]
        for one, want in zip(said, out):
            want = torch.softmax(want.logits[0], -1)
            label = {0: "bad", 1: "so so", 2: "good"}
            have = {x["label"]: x["probability"] for x in one["labels"]}
            near(name + " probabilities", [have[label[i]] for i in range(3)], want, 1e-4)
        return
    for how, want in (("none", [o.last_hidden_state[0] for o in out]), ("pooler", [o.pooler_output for o in out])):
        for line, rows in zip(run("embed", folder, *files, "--pool", how, "--json").splitlines(), want):
            line = json.loads(line)
            have = line["vectors"] if how == "none" else [line["vector"]]
            near(f"{name} {'rows' if how == 'none' else 'pooled'}", have, rows, 1e-4)


def check_model(work, i, name, config, how, files):
    title = name[:name.index("T") + 1]
    torch.manual_seed(i)
    model = getattr(transformers, name)(getattr(transformers, title + "Config")(**SIZES, **config))
    processor = getattr(transformers, title + "ImageProcessorPil")(**how)
    for n, p in model.named_parameters():  # what starts as zeros or ones, too
        p.data = p.data + 0.1 * torch.randn_like(p.data)
    hf, here, back, again = [os.path.join(work, f"{i}.{k}") for k in ("hf", "heed", "back", "again")]
    model.save_pretrained(hf)
    processor.save_pretrained(hf)
    pixels, out = answers(model, processor, files)
    run("import", hf, here)
    check_heed(name, here, files, out)
    run("export", here, back)
    loaded, info = getattr(transformers, name).from_pretrained(back, output_loading_info=True, attn_implementation="eager")
    if any(info[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")):
        sys.exit(f"{name}: {info}")
    others, said = answers(loaded, transformers.AutoImageProcessor.from_pretrained(back), files)
    for a, b in zip(pixels, others):
        near(name + " pixels exported", a, b, 0)
    for a, b in zip(out, said):
        near(name + " exported", *(x.logits if "logits" in x else x.last_hidden_state for x in (a, b)), 0)
    run("import", back, again)
    same_folder(here, again)
    return here


def check_trained(work, name, words):
    here, hf = os.path.join(work, name), os.path.join(work, name + ".hf")
    run("train", "--task", "classify", "--train-dir", os.path.join(work, "shapes/train"), "--out", here, "--steps", "30", *words)
    run("export", here, hf)
    folder = os.path.join(work, "shapes/test")
    files = [os.path.join(d, f) for d, _, names in os.walk(folder) for f in names][:20]
    model = transformers.AutoModelForImageClassification.from_pretrained(hf)
    out = answers(model, transformers.AutoImageProcessor.from_pretrained(hf), files)[1]
    for line, want in zip(run("classify", here, *files, "--json").splitlines(), out):
        best = json.loads(line)["labels"][0]
        p = torch.softmax(want.logits[0], -1)
        if best["label"] != model.config.id2label[int(p.argmax())]:
            sys.exit(f"{name}: another label")
        near(name, best["probability"], p.max(), 1e-4)


def main():
    with tempfile.TemporaryDirectory() as work:
        files = pictures(work)
        made = [check_model(work, i, *one, files) for i, one in enumerate(MODELS)]
        run("shapes", "--out", os.path.join(work, "shapes"), "--images", "300", "--size", "32")
        check_trained(work, "fine-tuned", ["--from", made[0]])
        check_trained(work, "fine-tuned at 48 pixels", ["--from", made[2], "--image-size", "48"])
        check_trained(work, "trained here", ["--preset", "vit-tiny", "--conv-stem", "0", "--patch-size", "8", "--pool", "first"])
    for what, off in worst.items():
        print(f"{what:64} off by {off:.2e}")


main()
