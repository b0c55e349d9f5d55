#!/usr/bin/env python3
"""Makes whisper.txt beside it, what ../import_whisper_test.c expects: small Whispers, multilingual and of English alone.

Never run by the tests. Needs: pip install torch transformers safetensors
    make_whisper.py                     write the file
    make_whisper.py --save FOLDER       save the models with tokenizers as FOLDER/0, FOLDER/1, ...
    make_whisper.py --check FOLDER...   what folders give that `heed export` wrote of its models, in their order: as in the file
Of each model three lines that are its config.json, preprocessor_config.json and generation_config.json, how many tensors it has, their names
and shapes, as transformers saves them; then
    a target, the log-probabilities after each of its tokens (every 11th)
    the language that is detected (a token; -1: none is)
    what is written of a window by greedy search and by 4 beams, behind the prompt
    what is written of a long sound with timestamps: tokens of all segments, begins and ends of segments, times of tokens
Weights are those of ../publisher.h, sounds are drawn as weights are.
"""
import json
import os
import sys
import tempfile
import warnings

import safetensors.torch
import torch
import transformers

from make import HERE, draw, lines_of

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()

BASE = 262  # bytes and six merges
LANGUAGES = ["en", "zh", "de", "ja"]
WINDOW, BINS, POSITIONS = 100, 12, 50


def ids_of(multilingual):
    """As published models have them: the tokens in this order."""
    at = BASE + multilingual  # a piece of no bytes
    names = ["<|endoftext|>", "<|startoftranscript|>"] + [f"<|{c}|>" for c in LANGUAGES] + [
        "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    return {n: at + i for i, n in enumerate(names)}


def settings(multilingual):
    t = ids_of(multilingual)
    g = dict(
        decoder_start_token_id=t["<|startoftranscript|>"], eos_token_id=t["<|endoftext|>"], bos_token_id=t["<|endoftext|>"],
        pad_token_id=t["<|endoftext|>"], max_length=40, max_initial_timestamp_index=20, no_timestamps_token_id=t["<|notimestamps|>"],
        prev_sot_token_id=t["<|startofprev|>"], is_multilingual=multilingual, alignment_heads=[[0, 1], [1, 0], [1, 3]],
        begin_suppress_tokens=[32, t["<|endoftext|>"]],
        suppress_tokens=[1, 2, 7, 40, 41, 90] + [t[n] for n in t if n not in ("<|endoftext|>", "<|notimestamps|>")])
    if multilingual:
        g.update(lang_to_id={f"<|{c}|>": t[f"<|{c}|>"] for c in LANGUAGES},
                 task_to_id={n: t[f"<|{n}|>"] for n in ("transcribe", "translate")})
    return g


def vocab(multilingual):
    return ids_of(multilingual)["<|notimestamps|>"] + 1 + POSITIONS + 1


MODELS = [
    (True, dict()),
    (False, dict(d_model=24, encoder_layers=1, encoder_ffn_dim=48, decoder_ffn_dim=48)),
    (True, dict(decoder_layers=3, activation_function="relu")),
]


def build(multilingual, more):
    t = ids_of(multilingual)
    sizes = dict(vocab_size=vocab(multilingual), num_mel_bins=BINS, d_model=16, encoder_layers=2, decoder_layers=2,
                 encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=40, decoder_ffn_dim=40,
                 max_source_positions=POSITIONS, max_target_positions=40, decoder_start_token_id=t["<|startoftranscript|>"],
                 eos_token_id=t["<|endoftext|>"], bos_token_id=t["<|endoftext|>"], pad_token_id=t["<|endoftext|>"],
                 suppress_tokens=None, begin_suppress_tokens=None)
    sizes.update(more)
    model = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(**sizes))
    model.generation_config = transformers.GenerationConfig(**settings(multilingual))
    return model


def sound(frames):
    return draw(f"sound.{frames}", (frames, BINS)).T[None].contiguous()


def drawn(name, shape):
    """As of ../publisher.h, but that positions matter more: texts are less dull then."""
    return draw(name, shape) * (4 if name == "model.decoder.embed_positions.weight" else 1)


def answers(model, multilingual):
    t = ids_of(multilingual)
    ask = dict(language="de", task="transcribe") if multilingual else {}
    target = [t["<|startoftranscript|>"], 5, 100, 41, 7, 200]
    x, long = sound(WINDOW), sound(230)
    out = [target]
    with torch.no_grad():
        logits = model(input_features=x, decoder_input_ids=torch.tensor([target])).logits[0]
        out += torch.log_softmax(logits, -1)[:, ::11].tolist()
        out.append(model.detect_language(x).tolist() if multilingual else [-1])
        for beams in (1, 4):
            whole = model.generate(x, num_beams=beams, do_sample=False, early_stopping="never" if beams > 1 else False, **ask)[0].tolist()
            out.append(whole)
        found = model.generate(long, return_timestamps=True, return_segments=True, return_token_timestamps=True,
                               attention_mask=torch.ones(1, 230, dtype=torch.long), condition_on_prev_tokens=True, temperature=0.0, **ask)
    segments = found["segments"][0]
    out.append([i for s in segments for i in s["tokens"].tolist()])
    out.append([float(s[k]) for s in segments for k in ("start", "end")])
    out.append([float(v) for s in segments for v in s["token_timestamps"]])
    return out


def load(folder):
    return transformers.WhisperForConditionalGeneration.from_pretrained(folder, attn_implementation="eager").eval()


def write(f, multilingual, more):
    with tempfile.TemporaryDirectory() as folder:
        build(multilingual, more).save_pretrained(folder)
        transformers.WhisperFeatureExtractor(feature_size=BINS, chunk_length=1).save_pretrained(folder)
        for name in ("config.json", "preprocessor_config.json", "generation_config.json"):
            with open(os.path.join(folder, name)) as c:
                f.write(json.dumps({k: v for k, v in json.load(c).items() if k != "mel_filters"}) + "\n")
        path = os.path.join(folder, "model.safetensors")
        saved = {n: drawn(n, tuple(t.shape)) for n, t in safetensors.torch.load_file(path).items()}
        safetensors.torch.save_file(saved, path, metadata={"format": "pt"})
        f.write(f"{len(saved)}\n")
        for one in sorted(saved):
            f.write(f"{one} {saved[one].dim()} {' '.join(str(n) for n in saved[one].shape)}\n")
        f.write(lines_of(answers(load(folder), multilingual)))


def put_tokenizer(folder, multilingual):
    """As ../../task/whisper_tokens.h does it."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [i for i in range(256) if i not in shown]
    pieces = [chr(i if i in shown else 256 + hidden.index(i)) for i in range(256)] + ["Ġt", "he", "in", "re", "Ġthe", "Ġa"] + [""] * multilingual
    added = ids_of(multilingual)
    first = added["<|notimestamps|>"] + 1
    added.update({f"<|{i * 0.02:.2f}|>": first + i for i in range(POSITIONS + 1)})
    for name, value in (("vocab.json", {p: i for i, p in enumerate(pieces)}), ("added_tokens.json", added)):
        with open(os.path.join(folder, name), "w") as f:
            json.dump(value, f, ensure_ascii=False)
    with open(os.path.join(folder, "merges.txt"), "w") as f:
        f.write("#version: 0.2\nĠ t\nh e\ni n\nr e\nĠt he\nĠ a\n")


def save(folder):
    for i, (multilingual, more) in enumerate(MODELS):
        to = os.path.join(folder, str(i))
        model = build(multilingual, more)
        state = {n: drawn(n, tuple(t.shape)) for n, t in model.state_dict().items() if n != "proj_out.weight"}
        model.load_state_dict(state, strict=False)
        model.tie_weights()
        model.save_pretrained(to)
        transformers.WhisperFeatureExtractor(feature_size=BINS, chunk_length=1).save_pretrained(to)
        put_tokenizer(to, multilingual)


def check(folders):
    for folder, (multilingual, _) in zip(folders, MODELS):
        transformers.WhisperProcessor.from_pretrained(folder)
        print(lines_of(answers(load(folder), multilingual)), end="")


if sys.argv[1:2] == ["--check"]:
    check(sys.argv[2:])
elif sys.argv[1:2] == ["--save"]:
    save(sys.argv[2])
else:
    with open(os.path.join(HERE, "whisper.txt"), "w") as out:
        for one in MODELS:
            write(out, *one)
