#!/usr/bin/env python3
"""Compares vectors of `heed embed` with those of sentence-transformers, for the ways to make them that its folders can say.

Never run by the tests. Needs: pip install sentence-transformers
    sentence.py FOLDER HEED     FOLDER is a copy of sentence-transformers/all-MiniLM-L6-v2, or any other encoder, whose weights and
                                tokenizer are taken
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling
from sentence_transformers.base.modules import Normalize, Transformer

LINES = ["A man is playing a guitar on stage.", "?", "naïve café ÀÉÎÕÜ", "word " * 50 + "last", "the long way home " * 111]


def embed(heed, model):
    done = subprocess.run([heed, "embed", model, "--long", "cut", "--json"], input="".join(line + "\n" for line in LINES),
                          text=True, capture_output=True, check=True)
    return numpy.array([json.loads(line)["vector"] for line in done.stdout.split("\n")[:-1]])


def vectors(folder):
    return SentenceTransformer(folder, device="cpu").encode(LINES, batch_size=1, convert_to_numpy=True)


def main():
    folder, heed = sys.argv[1:]
    worst = 0
    for mode in ("mean", "cls", "max", "lasttoken", "mean_sqrt_len_tokens"):
        for limit in (None, 32) if getattr(Transformer(folder).auto_model.config, "pad_token_id", 0) == 0 else (32,):
            for normal in (False, True):
                with tempfile.TemporaryDirectory() as tmp:
                    saved, here, back = (os.path.join(tmp, name) for name in ("saved", "here", "back"))
                    body = Transformer(folder)
                    if limit:
                        body.max_seq_length = limit
                    modules = [body, Pooling(body.auto_model.config.hidden_size, pooling_mode=mode)] + ([Normalize()] if normal else [])
                    SentenceTransformer(modules=modules, device="cpu").save(saved)
                    wanted = vectors(saved)
                    subprocess.run([heed, "import", "-q", saved, here], check=True)
                    subprocess.run([heed, "export", "-q", here, back], check=True)
                    off, again = abs(embed(heed, here) - wanted).max(), abs(vectors(back) - wanted).max()
                    worst = max(worst, off, again)
                    print(f"{mode}, limit {limit}, normalize {normal}: {off:.1e}; exported, in sentence-transformers: {again:.1e}")
    if worst > 1e-4:
        sys.exit("vectors differ")


main()
