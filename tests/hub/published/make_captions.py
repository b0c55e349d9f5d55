#!/usr/bin/env python3
"""Makes captioner.txt beside it, what ../import_captioner_test.c expects: VisionEncoderDecoders of a ViT and a GPT-2.

Never run by the tests. Needs: pip install torch transformers safetensors pillow
    make_captions.py                     write the file
    make_captions.py --check FOLDER...   what folders give that `heed export` wrote of its models, in their order: as in the file
Of each model two lines that are its config.json and preprocessor_config.json, how many tensors it has, their names and shapes, as
transformers saves them; then height and width of a picture, a target, the log-probabilities after each of its tokens (every 11th), and what
is written by greedy search and by 4 beams. Weights are those of ../publisher.h.
"""
import json
import os
import sys
import tempfile

import safetensors.torch
import torch
import transformers

from make import HERE, draw, lines_of
from make_vision import picture

END = 0
VIT = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, image_size=12, patch_size=4)
GPT = dict(vocab_size=1200, n_layer=2, n_head=4, n_embd=16, n_positions=32, bos_token_id=END, eos_token_id=END)
MODELS = [
    ({}, {}, (20, 31)),
    (dict(num_hidden_layers=1, layer_norm_eps=1e-3), dict(n_embd=24, n_inner=40, n_layer=1, activation_function="relu"), (9, 9)),
    (dict(image_size=16, hidden_act="gelu_new"), dict(tie_word_embeddings=False, layer_norm_epsilon=1e-3), (33, 14)),
]
TARGET = [END, 5, 300, 41, 7, 900]


def build(vit, gpt):
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        transformers.ViTConfig(**{**VIT, **vit}), transformers.GPT2Config(**{**GPT, **gpt}), decoder_start_token_id=END, pad_token_id=END,
        eos_token_id=END)
    return transformers.VisionEncoderDecoderModel(config)


def answers(model, processor, size):
    x = processor(picture(*size, 3), return_tensors="pt").pixel_values
    with torch.no_grad():
        logits = model(pixel_values=x, decoder_input_ids=torch.tensor([TARGET])).logits[0]
        found = [model.generate(pixel_values=x, max_length=13, num_beams=n, do_sample=False)[0].tolist()[1:] for n in (1, 4)]
    return torch.log_softmax(logits, -1)[:, ::11], found


def load(folder):
    return (transformers.VisionEncoderDecoderModel.from_pretrained(folder, attn_implementation="eager").eval(),
            transformers.ViTImageProcessorPil.from_pretrained(folder))


def write(f, vit, gpt, size):
    with tempfile.TemporaryDirectory() as folder:
        build(vit, gpt).save_pretrained(folder)
        side = {**VIT, **vit}["image_size"]
        transformers.ViTImageProcessorPil(size={"height": side, "width": side}).save_pretrained(folder)
        for name in ("config.json", "preprocessor_config.json"):
            with open(os.path.join(folder, name)) as c:
                f.write(json.dumps(json.load(c)) + "\n")
        path = os.path.join(folder, "model.safetensors")
        saved = {n: draw(n, tuple(t.shape)) for n, t in safetensors.torch.load_file(path).items()}
        safetensors.torch.save_file(saved, path, metadata={"format": "pt"})
        f.write(f"{len(saved)}\n")
        for one in sorted(saved):
            f.write(f"{one} {saved[one].dim()} {' '.join(str(n) for n in saved[one].shape)}\n")
        logits, found = answers(*load(folder), size)
    f.write(lines_of([list(size), TARGET]))
    f.write(lines_of([row.tolist() for row in logits]) + lines_of(found))


def check(folders):
    for folder, (_, _, size) in zip(folders, MODELS):
        logits, found = answers(*load(folder), size)
        print(folder, found, [round(v, 4) for v in logits[0, :4].tolist()])


if sys.argv[1:2] == ["--check"]:
    check(sys.argv[2:])
else:
    with open(os.path.join(HERE, "captioner.txt"), "w") as out:
        for one in MODELS:
            write(out, *one)
