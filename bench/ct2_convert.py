#!/usr/bin/env python3
# A translator of heed (model transformer, as for Multi30k) for CTranslate2, with the same weights: ct2_convert.py MODEL-FOLDER OUT-FOLDER
import json, math, os, shutil, sys
import ctranslate2, numpy as np
from ctranslate2.specs import common_spec, transformer_spec
from safetensors.numpy import load_file
from sentencepiece import SentencePieceProcessor

source, out = sys.argv[1:3]
config = json.load(open(f"{source}/config.json"))
weights = load_file(f"{source}/model.safetensors")
width = config["width"]
spec = transformer_spec.TransformerSpec.from_config((config["encoder_layers"], config["decoder_layers"]), config["heads"],
                                                    pre_norm=config["pre_norm"], activation=common_spec.Activation.RELU)


def linear(to, *names):
    to.weight = np.concatenate([weights[f"{n}.weight"] for n in names])
    to.bias = np.concatenate([weights[f"{n}.bias"] for n in names])


def norm(to, name):
    to.gamma, to.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]


def attention(to, name, cross=False):
    q, k, v, o = (f"{name}.{x}_proj" for x in ("q", "k", "v", "out"))
    for at, names in enumerate([[q], [k, v], [o]] if cross else [[q, k, v], [o]]):
        linear(to.linear[at], *names)
    norm(to.layer_norm, f"{name}_layer_norm")


def feed_forward(to, name):
    linear(to.linear_0, f"{name}.fc1"), linear(to.linear_1, f"{name}.fc2")
    norm(to.layer_norm, f"{name}.final_layer_norm")


def positions(rows):
    angle = np.arange(rows)[:, None] * np.exp(np.arange(0, width, 2) * (-math.log(1e4) / width))
    table = np.zeros((rows, width), np.float32)
    table[:, : width // 2], table[:, width // 2:] = np.sin(angle), np.cos(angle)
    return table


table = weights["model.shared.weight"]
for side, part in (("encoder", spec.encoder), ("decoder", spec.decoder)):
    embeddings = part.embeddings[0] if side == "encoder" else part.embeddings
    embeddings.weight, embeddings.multiply_by_sqrt_depth = table, True
    part.position_encodings.encodings = positions(config["positions"])
    norm(part.layer_norm, f"model.{side}.layer_norm")
    for i, layer in enumerate(part.layer):
        name = f"model.{side}.layers.{i}"
        attention(layer.self_attention, f"{name}.self_attn")
        if side == "decoder":
            attention(layer.attention, f"{name}.encoder_attn", cross=True)
        feed_forward(layer.ffn, name)
spec.decoder.projection.weight = table
spec.decoder.projection.bias = np.zeros(len(table), np.float32)

pieces = SentencePieceProcessor(model_file=f"{source}/tokenizer.model")
words = [pieces.id_to_piece(i) for i in range(pieces.get_piece_size())]
spec.register_source_vocabulary(words), spec.register_target_vocabulary(words)
spec.config.add_source_eos = True
spec.config.decoder_start_token = words[pieces.bos_id()]
spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = (words[i] for i in (pieces.bos_id(), pieces.eos_id(), pieces.unk_id()))
spec.validate(), spec.optimize()
os.makedirs(out, exist_ok=True)
spec.save(out)
shutil.copy(f"{source}/tokenizer.model", out)
