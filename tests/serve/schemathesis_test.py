"""schemathesis over the OpenAPI document of a server with all kinds of models, all checks that it has by default:
schemathesis_test.py HEED_PROGRAM TINY_MODEL [OPTION...]. Needs the package schemathesis, in this Python or in that of
HEED_CLIENTS; ends with 77 where it is absent. Options go to schemathesis, as --max-examples 100."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

python = os.environ.get("HEED_CLIENTS") or sys.executable
schemathesis = shutil.which("schemathesis", path=os.path.dirname(python) + os.pathsep + os.environ["PATH"])
if not schemathesis:
    print("skipped: no schemathesis (pip install schemathesis, HEED_CLIENTS=PYTHON)")
    sys.exit(77)
program, tiny = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
THINGS, GOOD, BAD = ["dog", "cat", "film", "day"], ["good", "nice"], ["bad", "sad"]
SMALL = "--layers 1 --width 16 --seed 1 --steps 20 --lr 0.01".split()


def train(name, task, *words):
    subprocess.run([program, "train", "-q", "--task", task, *words, *SMALL, "--out", name], check=True)


def write(name, lines):
    with open(name, "w") as f:
        f.writelines(line + "\n" for line in lines)


def make_models():
    draw = random.Random(1)
    said = [(draw.choice(GOOD + BAD), draw.choice(THINGS), draw.choice(THINGS)) for i in range(100)]
    label = {word: "good" if word in GOOD else "bad" for word in GOOD + BAD}
    write("classify.tsv", ["label\ttext"] + [f"{label[w]}\ta {w} {t}" for w, t, u in said])
    write("multilabel.tsv", ["label\ttext"] + [f"{label[w]},{t}\ta {w} {t}" for w, t, u in said])
    write("regress.tsv", ["label\ttext\ttext2"] + [f"{int(t == u)}.0\tthe {t}\ta {w} {u}" for w, t, u in said])
    write("lines.txt", [f"a {w} {t} and the {u}" for w, t, u in said])
    write("chat.jsonl", [json.dumps({"messages": [{"role": "user", "content": f"the {t}?"}, {"role": "assistant", "content": w}]})
                         for w, t, u in said])
    for task in "classify", "multilabel", "regress":
        train(task, task, "--train", f"{task}.tsv", "--unit", "word")
    train("bert", "mlm", "--train", "lines.txt", "--unit", "word", "--heads", "2")
    # texts that are generated are short, but conversations must fit
    train("chat", "lm", "--model", "gpt", "--train", "chat.jsonl", "--unit", "char", "--heads", "2", "--context", "4096")
    subprocess.run([tiny, "translator"], check=True)


with tempfile.TemporaryDirectory(prefix="heed-schemathesis-test-") as folder:
    os.chdir(folder)
    make_models()
    server = subprocess.Popen([program, "serve", "translator", "chat", "bert", "classify", "multilabel", "regress", "--languages", "en:de",
                               "--port", "0", "--threads", "1", "--tokens", "32"], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().strip()
        # a zero byte in a text of JSON is refused, wherever it stands: no field may have one
        done = subprocess.run([schemathesis, "run", address + "/openapi.json", "--max-examples", "10", "--seed", "1", "--suppress-health-check", "all",
                               "--generation-allow-x00", "false", "--generation-database", "none", "--no-color", *sys.argv[3:]],
                              capture_output=True, text=True)
        print("\n".join(done.stdout.splitlines()[-120 if done.returncode else -12:]), done.stderr)
    finally:
        server.terminate()
        ended = server.wait(60)
    os.chdir("/")
sys.exit(done.returncode or ended)
