#!/usr/bin/env python3
"""Makes detr.txt beside it, what ../import_detr_test.c expects.

Never run by the tests. Needs: pip install torch transformers safetensors pillow
    make_detr.py             # detr.txt
    make_detr.py FOLDER      # loads a folder that heed exported, and prints what it gives for the test's picture
Of each model two lines that are its config.json and preprocessor_config.json, how many tensors it has, their names and shapes; then height
and width of a picture, and what the model gives for it: logits and box of every query. Weights are those of ../publisher.h, but for
variances, which are 1 more, and convolutions, which are scaled. The last model has the names of timm's ResNet; transformers runs the same ResNet under its own names, so timm is not needed.
"""
import json
import os
import re
import sys
import tempfile

import numpy
import safetensors.torch
import torch
import transformers

from make import HERE, draw, lines_of
from make_vision import picture

LABELS = {0: "cell", 1: "plate", 2: "rod"}
SIZES = dict(d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=40,
             decoder_ffn_dim=40, num_queries=5, id2label=LABELS, label2id={v: k for k, v in LABELS.items()}, use_timm_backbone=False,
             use_pretrained_backbone=False, backbone=None)
SMALL = dict(embedding_size=8, hidden_sizes=[8, 16], depths=[2, 1], layer_type="basic", out_features=["stage2"])
NECK = dict(embedding_size=8, hidden_sizes=[16, 24, 32], depths=[1, 2, 1], layer_type="bottleneck", out_features=["stage3"])
RESNET18 = dict(embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic", out_features=["stage4"])
MODELS = [
    (SMALL, {}, dict(size={"shortest_edge": 40, "longest_edge": 60}), (30, 41), False),
    (NECK, dict(activation_function="gelu", encoder_layers=1), dict(do_resize=False), (37, 64), False),
    (RESNET18, dict(encoder_layers=1, decoder_layers=1), dict(size={"shortest_edge": 64, "longest_edge": 90}), (50, 80), True),
]
BACKBONE = "model.backbone.conv_encoder.model."


def timm_name(name):
    if not name.startswith(BACKBONE):
        return name
    rest = name[len(BACKBONE):].replace("embedder.embedder.convolution", "conv1").replace("embedder.embedder.normalization", "bn1")
    rest = re.sub(r"encoder\.stages\.(\d+)\.layers\.(\d+)\.", lambda m: f"layer{int(m[1]) + 1}.{m[2]}.", rest)
    rest = rest.replace("shortcut.convolution", "downsample.0").replace("shortcut.normalization", "downsample.1")
    rest = re.sub(r"layer\.(\d)\.convolution", lambda m: f"conv{int(m[1]) + 1}", rest)
    return BACKBONE + re.sub(r"layer\.(\d)\.normalization", lambda m: f"bn{int(m[1]) + 1}", rest)


def drawn(name, shape):
    x = draw(name, shape)
    if len(shape) == 4:  # of a convolution: what goes out is about as large as what goes in
        x = x * numpy.sqrt(numpy.float32(6) / numpy.float32(shape[1] * shape[2] * shape[3]))
    return x + 1 if name.endswith("running_var") else x


def answers(model, processor, size):
    x = processor(picture(*size, 3), return_tensors="pt")
    with torch.no_grad():
        out = model(pixel_values=x.pixel_values, pixel_mask=x.pixel_mask)
    return torch.cat([out.logits[0], out.pred_boxes[0]], 1)


def write(f, backbone, config, how, size, timm):
    config = transformers.DetrConfig(**{**SIZES, **config}, backbone_config=transformers.ResNetConfig(**backbone))
    processor = transformers.DetrImageProcessorPil(**how)
    name = timm_name if timm else lambda n: n
    with tempfile.TemporaryDirectory() as folder:
        transformers.DetrForObjectDetection(config).save_pretrained(folder)
        processor.save_pretrained(folder)
        with open(os.path.join(folder, "config.json")) as c, open(os.path.join(folder, "preprocessor_config.json")) as p:
            said, read = json.load(c), json.load(p)
        saved = safetensors.torch.load_file(os.path.join(folder, "model.safetensors"))
        saved = {n: t for n, t in saved.items() if not n.endswith("num_batches_tracked")}
        safetensors.torch.save_file({n: drawn(name(n), tuple(t.shape)) for n, t in saved.items()}, os.path.join(folder, "model.safetensors"),
                                    metadata={"format": "pt"})
        model = transformers.DetrForObjectDetection.from_pretrained(folder, attn_implementation="eager").eval()
    if timm:  # as files before version 5 say it
        said.pop("backbone_config", None)
        said.update(use_timm_backbone=True, backbone="resnet18", dilation=False)
        read.update(size=64, max_size=90)
    f.write(json.dumps(said) + "\n" + json.dumps(read) + "\n")
    f.write(f"{len(saved)}\n")
    for one in sorted(saved, key=name):
        f.write(f"{name(one)} {saved[one].dim()} {' '.join(str(n) for n in saved[one].shape)}\n")
    f.write(lines_of([list(size)]))
    f.write(lines_of(answers(model, processor, size).tolist()))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        loaded = transformers.DetrForObjectDetection.from_pretrained(sys.argv[1], attn_implementation="eager").eval()
        reader = transformers.DetrImageProcessorPil.from_pretrained(sys.argv[1])
        print(lines_of(answers(loaded, reader, (30, 41)).tolist()), end="")
    else:
        with open(os.path.join(HERE, "detr.txt"), "w") as file:
            for one in MODELS:
                write(file, *one)
