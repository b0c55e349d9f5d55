#!/usr/bin/env python3
"""Checks folders that `heed export` wrote: that transformers' AutoTokenizer gives the ids of `heed tokenize`, and that its
pipelines answer as heed does.

Never run by the tests. Needs: pip install torch transformers
    pipelines.py HEED MODEL EXPORTED LINES...
MODEL is the model's folder, EXPORTED what was exported of it, LINES files of text. Prints the lines that differ.
"""
import json
import os
import random
import subprocess
import sys

import transformers

SCRIPTS = [(0x20, 0x7F), (0xA0, 0x180), (0x300, 0x340), (0x370, 0x400), (0x400, 0x460), (0x5D0, 0x5EB), (0x620, 0x64B),
           (0x905, 0x940), (0xE01, 0xE30), (0x1100, 0x1113), (0x1161, 0x1176), (0x1E00, 0x1F00), (0x2000, 0x2070),
           (0x20A0, 0x20C0), (0x2100, 0x2200), (0x3040, 0x3100), (0x4E00, 0x4E80), (0xAC00, 0xAC80), (0xFF01, 0xFFBF),
           (0x1F300, 0x1F650), (1, 32)]
PHRASES = ["<s> </s> <pad> <unk> <0x41>", "don't well-known it’s -x- 'quoted'", "naïve café", "cafe\u0301 e\u0323\u0302 n\u0303o",
           "\u1100\u1161\u11a8", "👨‍👩‍👧 ❤️ 1️⃣ 🇩🇪", "  two  spaces \t tab ", "～ ｱﾊﾟ ½ ﬁ ™ №", "▁x ▁▁y", "日本語のテスト。", "aaaa....----!!!!"]


def odd_lines(count):
    """Sentences of a word or two of each script, and phrases that have led tokenisers astray."""
    draw = random.Random(7)
    for _ in range(count):
        words = []
        for _ in range(draw.randint(1, 6)):
            low, high = draw.choice(SCRIPTS)
            words.append("".join(chr(draw.randrange(low, high)) for _ in range(draw.randint(1, 6))))
            if draw.random() < 0.2:
                words.append(draw.choice(PHRASES))
        line = draw.choice(["", " ", "  "]).join(words)
        if "\n" not in line and "\r" not in line:
            yield line


def heed(program, *arguments, text=None):
    done = subprocess.run([program, *arguments], input=text, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.stdout


def check_ids(program, model, tokenizer, name, lines):
    wanted = heed(program, "tokenize", model, "--ids", text="".join(line + "\n" for line in lines)).split("\n")[:-1]
    differ = 0
    for line, ids in zip(lines, wanted, strict=True):
        have = " ".join(map(str, tokenizer(line, add_special_tokens=False)["input_ids"]))
        if have != ids:
            differ += 1
            if differ <= 3:
                print(f"  {line!a}\n    heed         {ids}\n    transformers {have}")
    print(f"  ids, {name}: {len(lines)} lines, {differ} differ")


def check_pipeline(program, model, exported, lines):
    config = json.load(open(os.path.join(model, "config.json")))
    task, same, count = config["task"], 0, 0
    lines = [line for line in lines if line.strip()][:25]
    if task == "lm":
        ask = transformers.pipeline("text-generation", model=exported)
        for line in lines:
            prompt = " ".join(line.split()[:4])
            if not prompt: continue
            have = ask(prompt, max_new_tokens=8, do_sample=False, return_full_text=True)[0]["generated_text"]
            want = heed(program, "generate", model, "--greedy", "--prompt", prompt, "--tokens", "8").rstrip("\n")
            same, count = same + (have.split("\n")[0].strip() == want.split("\n")[0].strip()), count + 1
            if count <= 2: print(f"    {have!a}\n    {want!a}")
    elif task == "mlm":
        ask = transformers.pipeline("fill-mask", model=exported)
        for line in lines:
            words = line.split()
            text = " ".join(words[:2] + ["[MASK]"] + words[3:])
            have = [(a["token"], round(a["score"], 3)) for a in ask(text, top_k=3)]
            want = [row.split("\t") if "\t" in row else row.split() for row in heed(program, "fill", model, "--top", "3", text).split("\n") if row]
            want = [(ask.tokenizer.convert_tokens_to_ids(row[2]), round(float(row[1]), 3)) for row in want if len(row) > 2]
            good = len(have) >= len(want) > 0 and all(abs(a[1] - b[1]) < 2e-3 for a, b in zip(have, want))
            same, count = same + good, count + 1
            if count <= 2 or not good: print(f"    {have}\n    {want}")
    elif task in ("classify", "regress"):
        ask = transformers.pipeline("text-classification", model=exported)
        want = heed(program, "classify", model, text="".join(line + "\n" for line in lines)).split("\n")
        for line, answer in zip(lines, want):
            have = ask(line)[0]
            count, same = count + 1, same + (have["label"] == answer.split()[0])
            if count <= 2: print("   ", have, answer)
    elif task == "translate":
        tokenizer = transformers.AutoTokenizer.from_pretrained(exported)
        network = transformers.AutoModelForSeq2SeqLM.from_pretrained(exported)
        want = heed(program, "translate", model, "--beam", "1", text="".join(line + "\n" for line in lines)).split("\n")
        for line, answer in zip(lines, want):
            out = network.generate(**tokenizer(line, return_tensors="pt"), num_beams=1, do_sample=False, max_new_tokens=60)
            have = tokenizer.decode(out[0], skip_special_tokens=True)
            count, same = count + 1, same + (have.split()[:12] == answer.split()[:12])
            if count <= 2: print(f"    {have!a}\n    {answer!a}")
    print(f"  pipeline, {task}: {same} of {count} the same")


def main():
    program, model, exported = sys.argv[1:4]
    transformers.logging.set_verbosity_error()
    tokenizer = transformers.AutoTokenizer.from_pretrained(exported)
    print(exported, type(tokenizer).__name__, len(tokenizer))
    for path in sys.argv[4:]:
        lines = [line.rstrip("\n") for line in open(path, encoding="utf-8")]
        check_ids(program, model, tokenizer, os.path.basename(path), lines)
    check_ids(program, model, tokenizer, "odd ones", list(odd_lines(5000)))
    check_pipeline(program, model, exported, lines)


main()
