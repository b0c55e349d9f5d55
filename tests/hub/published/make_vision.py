#!/usr/bin/env python3
"""Makes vit.txt and deit.txt beside it, what ../import_vit_test.c expects.

Never run by the tests. Needs: pip install torch transformers safetensors pillow
    make_vision.py
Of each model two lines that are its config.json and preprocessor_config.json, how many tensors it has, their names and shapes, as
transformers saves them; then height and width of a picture, every 7th number of what the processor makes of it, and what the model gives:
all rows, then what its pooler makes of the first, or log-probabilities of labels. Weights are those of ../publisher.h.
"""
import json
import os
import tempfile

import numpy
import PIL.Image
import safetensors.torch
import torch
import transformers

from make import HERE, draw, lines_of

SIZES = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, attn_implementation="eager",
             id2label={0: "bad", 1: "so so", 2: "good"}, label2id={"bad": 0, "so so": 1, "good": 2})
IMAGENET = dict(image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])
MODELS = {
    "vit.txt": [
        ("ViTModel", dict(image_size=12, patch_size=4), dict(size={"height": 12, "width": 12}), (20, 31)),
        ("ViTForImageClassification", dict(image_size=12, patch_size=4), dict(size={"height": 12, "width": 12}, **IMAGENET), (9, 9)),
        ("ViTForImageClassification", dict(image_size=12, patch_size=4, qkv_bias=False, hidden_act="gelu_new", layer_norm_eps=1e-3),
         dict(size={"height": 16, "width": 20}, resample=3), (33, 14)),
        ("ViTForImageClassification", dict(image_size=[8, 12], patch_size=[2, 2], num_channels=1),
         dict(size={"height": 8, "width": 12}, image_mean=[0.25], image_std=[0.75], resample=1), (20, 20)),
        ("ViTModel", dict(image_size=12, patch_size=4), dict(size={"height": 8, "width": 23}, do_normalize=False), (24, 25)),
    ],
    "deit.txt": [
        ("DeiTModel", dict(image_size=12, patch_size=4), dict(size={"height": 16, "width": 16}, crop_size={"height": 12, "width": 12}), (20, 31)),
        ("DeiTForImageClassification", dict(image_size=12, patch_size=4),
         dict(size={"height": 14, "width": 14}, crop_size={"height": 12, "width": 12}, **IMAGENET), (30, 17)),
        ("DeiTForImageClassificationWithTeacher", dict(image_size=12, patch_size=4),
         dict(size={"height": 15, "width": 15}, crop_size={"height": 12, "width": 12}), (12, 12)),
        ("DeiTForImageClassificationWithTeacher", dict(image_size=12, patch_size=4),
         dict(size={"height": 22, "width": 22}, crop_size={"height": 20, "width": 16}), (40, 40)),
    ],
}


def picture(height, width, channels):
    at = numpy.arange(height * width * channels, dtype=numpy.uint64)
    pixel = ((at * 37 + at * at % 101 + 11) % 256).astype(numpy.uint8)
    return PIL.Image.fromarray(pixel.reshape((height, width, channels) if channels > 1 else (height, width)))


def values(processor, image, channels):
    """pixel_values; a grey picture by hand, as the processor does it with others: it refuses such ones."""
    if channels > 1:
        return processor(image, return_tensors="pt").pixel_values
    image = image.resize((processor.size["width"], processor.size["height"]), processor.resample)
    x = (numpy.array(image).astype(numpy.float64) * processor.rescale_factor).astype(numpy.float32)
    mean, std = numpy.float32(processor.image_mean[0]), numpy.float32(processor.image_std[0])
    return torch.from_numpy((x - mean) / std)[None, None]


def write(f, name, config, how, size):
    model = getattr(transformers, name)(getattr(transformers, name[:name.index("T") + 1] + "Config")(**SIZES, **config))
    processor = getattr(transformers, name[:name.index("T") + 1] + "ImageProcessorPil")(**how)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        processor.save_pretrained(folder)
        with open(os.path.join(folder, "config.json")) as c, open(os.path.join(folder, "preprocessor_config.json")) as p:
            f.write(json.dumps(json.load(c)) + "\n" + json.dumps(json.load(p)) + "\n")
        saved = safetensors.torch.load_file(os.path.join(folder, "model.safetensors"))
    # in memory modules have other names since version 5: loading by the saved ones is transformers' own business
    model = model_of(name, model, saved)
    f.write(f"{len(saved)}\n")
    for one in sorted(saved):
        f.write(f"{one} {saved[one].dim()} {' '.join(str(n) for n in saved[one].shape)}\n")
    channels = model.config.num_channels
    x = values(processor, picture(*size, channels), channels)
    with torch.no_grad():
        native = model.config.image_size
        other = [native] * 2 != list(x.shape[2:]) if isinstance(native, int) else False
        out = model(x, interpolate_pos_encoding=other)
    f.write(lines_of([list(size)]))
    flat = x.flatten().tolist()[::7]
    f.write(f"{len(flat)} " + " ".join(repr(v) for v in flat) + "\n")
    rows = torch.log_softmax(out.logits, -1) if "logits" in out else torch.cat([out.last_hidden_state[0], out.pooler_output])
    f.write(lines_of([row.tolist() for row in rows]))


def model_of(name, model, saved):
    """The same with drawn weights, by the names that files have."""
    with tempfile.TemporaryDirectory() as folder:
        model.config.save_pretrained(folder)
        safetensors.torch.save_file({n: draw(n, tuple(t.shape)) for n, t in saved.items()}, os.path.join(folder, "model.safetensors"),
                                    metadata={"format": "pt"})
        return getattr(transformers, name).from_pretrained(folder, attn_implementation="eager").eval()


if __name__ == "__main__":
    for file, models in MODELS.items():
        with open(os.path.join(HERE, file), "w") as f:
            for one in models:
                write(f, *one)
