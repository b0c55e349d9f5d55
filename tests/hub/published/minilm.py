#!/usr/bin/env python3
"""Makes minilm.txt, what minilm_test.c expects: lines, and of the vector that sentence-transformers gives for each every 16th number.

Never run by the tests. Needs: pip install sentence-transformers
    minilm.py FOLDER          write the file; FOLDER is a copy of sentence-transformers/all-MiniLM-L6-v2
    minilm.py FOLDER HEED     compare instead: all numbers with those of that program, and of what it exports
The first 2 * PAIRS lines are pairs that mean much the same, which nothing else in the file does.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy
from sentence_transformers import SentenceTransformer

HERE = os.path.dirname(os.path.abspath(__file__))
PAIRS = 20
LINES = """A man is playing a guitar on stage.
Someone performs music with a guitar in front of an audience.
The cat sat on the mat.
A kitten was sitting on the rug.
How do I reset my password?
I forgot my login and need a new password.
The stock market fell sharply on Monday.
Shares dropped steeply at the start of the week.
She is slicing tomatoes for a salad.
A woman cuts up vegetables in the kitchen.
The rocket was launched into orbit this morning.
A spacecraft lifted off early today.
He broke his leg while skiing in the Alps.
A skier was injured in the mountains.
What is the capital of France?
Which city is the seat of the French government?
It will rain heavily tomorrow afternoon.
The forecast says there will be downpours the next day.
The train to Berlin was two hours late.
Our rail journey to the German capital was badly delayed.
Water boils at one hundred degrees Celsius.
The boiling point of water is 100 °C.
The court sentenced him to five years in prison.
A judge sent the man to jail.
My laptop battery no longer holds a charge.
The notebook computer runs out of power after minutes.
Two dogs are running through a field of grass.
Puppies race across a green meadow.
The novel won the prize for best fiction.
The book was awarded the literature medal.
Vaccines protect children against measles.
Immunisation keeps kids safe from infectious disease.
The recipe needs flour, butter and sugar.
To bake the cake you mix fat, sweetener and wheat powder.
The team scored in the last minute and won the match.
A late goal gave the football club victory.
Prices for houses in the city keep rising.
Buying a home in town has become more expensive.
Plants turn sunlight into energy by photosynthesis.
Leaves make sugar from light and carbon dioxide.
a
I
?
...
Ein Mann fährt mit dem Fahrrad durch die Straße.
Où est la bibliothèque, s'il vous plaît ?
El niño está jugando en el jardín.
Ελληνικά και Русский, side by side
今日はとても良い天気ですね。
我爱北京天安门
naïve café ÀÉÎÕÜ ﬁne ½ ™ İstanbul
e\u0301 and é, Å and \u212b
Call +1 (555) 010-9999 or write to someone@example.org!
https://www.example.org/a/b?c=d&e=%20#f
for (int i = 0; i < n; i++) sum += x[i] * y[i];
The [MASK] sat on the [SEP] mat [CLS] [UNK] [PAD].
emoji 😀 and 👩‍🚀, zero\u200bwidth, soft\u00adhyphen, tab\there
  spaces   before,  between    and   behind   
UPPER CASE IS lower case Is MiXeD
don't won't it's o'clock 'quoted' "double" — dash – and … dots
Donaudampfschifffahrtsgesellschaftskapitän antidisestablishmentarianism
3.14159 2.71828 1,000,000 0x1F 1e-12 -40°
x²+y²=z², ∑∞, ≤ ≥ ≠ ← →
\x7f\u0080 controls \u2028 and \ufffd marks
""".split("\n")[:-1]


def lines():
    letters = "abcdefghijklmnopqrstuvwxyz"
    word = letters * 4
    return LINES + [word[:100] + " " + word[:101], " ".join(f"the {i}th word of a very long line" for i in range(150)),
                    "word " * 253 + "last", "word " * 254 + "last"]


def expected(folder, text):
    model = SentenceTransformer(folder, device="cpu")
    return model.encode(text, batch_size=1, convert_to_numpy=True)


def embed(heed, model, text):
    done = subprocess.run([heed, "embed", model, "--long", "cut", "--json"],
                          input="".join(line + "\n" for line in text), text=True, capture_output=True, check=True)
    return numpy.array([json.loads(line)["vector"] for line in done.stdout.split("\n")[:-1]])


def compare(folder, heed, text, wanted):
    from transformers import AutoModel, AutoTokenizer
    with tempfile.TemporaryDirectory() as tmp:
        model, back = os.path.join(tmp, "model"), os.path.join(tmp, "back")
        subprocess.run([heed, "import", folder, model], check=True)
        subprocess.run([heed, "export", model, back], check=True)
        got = embed(heed, model, text)
        print(f"{len(text)} lines: most {abs(got - wanted).max():.2e} apart")
        again = expected(back, text)
        print(f"what was exported, in sentence-transformers: {abs(again - wanted).max():.2e}")
        AutoTokenizer.from_pretrained(back)
        _, info = AutoModel.from_pretrained(back, output_loading_info=True)
        print("in transformers:", {k: v for k, v in info.items() if v} or "all tensors in their places")


def main():
    text = lines()
    vector = expected(sys.argv[1], text)
    if len(sys.argv) > 2:
        return compare(sys.argv[1], sys.argv[2], text, vector)
    with open(os.path.join(HERE, "minilm.txt"), "w") as f:
        for line, v in zip(text, vector):
            f.write(line + "\n" + " ".join(f"{x:.5f}" for x in v[::16]) + "\n")


main()
