#!/usr/bin/env python3
"""Shows that what heed exports as a BERT is in transformers what it is in heed, and the other way round.

Never run by the tests. Needs: pip install torch transformers sentencepiece
    bert_check.py HEED
A BERT that HEED trains for a few updates must load as BertForMaskedLM with all tensors in their places, and give the probabilities of
`heed fill`. Models of random weights that transformers saves, bare and with heads, must give `heed fill`, `heed embed` and `heed classify`
its own; a classifier that HEED makes of one of them must load as BertForSequenceClassification, and give the probabilities of `heed classify`; taggers,
of BERT and RoBERTa, must give the labels of `heed tag`.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy
import sentencepiece
import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
TEXTS = ["the cat [MASK] on the mat", "[MASK]", "a dog, a [MASK] and one more [MASK]!"]


def run(*words, text=None):
    return subprocess.run(words, input=text, text=True, capture_output=True, check=True).stdout


def filled(heed, model, text):
    """Of each mask, probabilities by piece."""
    got = json.loads(run(heed, "fill", model, "--json", "--top", "1000", text))
    return [{one["token"]: one["probability"] for one in mask} for mask in got["masks"]]


def tokens(heed, model, text):
    got = json.loads(run(heed, "embed", model, "--pool", "none", "--json", text=text + "\n"))
    return got["tokens"], numpy.array(got["vectors"])


def loaded(kind, folder):
    model, info = kind.from_pretrained(folder, output_loading_info=True, attn_implementation="eager")
    wrong = {k: v for k, v in info.items() if v}
    if wrong:
        print(f"  {kind.__name__}:", wrong)
    return model.eval()


def compare(heed, model, network, pieces):
    """The program's answers with those of the network; pieces: of each id."""
    ids = {piece: i for i, piece in enumerate(pieces)}
    most, count = 0, 0
    for text in TEXTS:
        words, rows = tokens(heed, model, text)
        read = torch.tensor([[ids[w] for w in words]])
        with torch.no_grad():
            out = network(input_ids=read, output_hidden_states=True)
        most = max(most, abs(out.hidden_states[-1][0].numpy() - rows).max())
        if "logits" not in out:
            continue
        p = torch.softmax(out.logits[0], -1)[[w == "[MASK]" for w in words]]
        for wanted, got in zip(p, filled(heed, model, text)):
            most = max([most] + [abs(wanted[ids[piece]].item() - x) for piece, x in got.items()])
            count += len(got)
    print(f"  rows and {count} probabilities: most {most:.2e} apart")
    assert most < 1e-4


def of_heed(heed, folder):
    print("trained by heed")
    text, model, out = (os.path.join(folder, name) for name in ("text", "model", "hf"))
    with open(text, "w") as f:
        f.write("the cat sat on the mat\na dog ate the cat, and one more dog!\n" * 200)
    run(heed, "train", "--task", "mlm", "--train", text, "--out", model, "--vocab-size", "280", "--steps", "30", "--batch-size", "8",
        "--context", "32", "--width", "32", "--heads", "2", "--device", "cpu")
    run(heed, "export", model, out)
    pieces = sentencepiece.SentencePieceProcessor(os.path.join(out, "tokenizer.model"))
    compare(heed, model, loaded(transformers.BertForMaskedLM, out), [pieces.id_to_piece(i) for i in range(len(pieces))] + ["[MASK]"])


def of_transformers(heed, folder, kind):
    print(kind.__name__)
    saved, model, out = (os.path.join(folder, name + kind.__name__) for name in ("saved", "model", "out"))
    vocab = os.path.join(HERE, "../../text/published/bert/vocab.txt")
    torch.manual_seed(1)
    network = kind(transformers.BertConfig(
        vocab_size=1500, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=80, max_position_embeddings=40,
        initializer_range=0.3, attn_implementation="eager")).eval()
    network.save_pretrained(saved)
    shutil.copy(vocab, saved)
    run(heed, "import", saved, model)
    run(heed, "export", model, out)
    with open(vocab) as f:
        pieces = f.read().split("\n")[:-1]
    for one in (network, loaded(kind, out)):
        compare(heed, model, one, pieces)


def probabilities(heed, model, text):
    got = json.loads(run(heed, "classify", model, "--json", "--top", "100", text=text + "\n"))
    return {one["label"]: one["probability"] for one in got["labels"]}


def compare_labels(heed, model, out):
    """Texts and pairs, with the tokeniser of transformers, too."""
    tokeniser, network = transformers.AutoTokenizer.from_pretrained(out), loaded(transformers.BertForSequenceClassification, out)
    most = 0
    for text in ("the cat", "a dog, the cat", "the cat\ta dog", "one more!\tthe [MASK] and the"):
        with torch.no_grad():
            p = torch.softmax(network(**tokeniser(*text.split("\t"), return_tensors="pt")).logits[0], -1)
        got = probabilities(heed, model, text)
        most = max([most] + [abs(p[network.config.label2id[label]].item() - x) for label, x in got.items()])
        assert len(got) == len(p)
    print(f"  labels: most {most:.2e} apart")
    assert most < 1e-4


def labels_of_transformers(heed, folder):
    print("BertForSequenceClassification")
    saved, model, out = (os.path.join(folder, name + "labels") for name in ("saved", "model", "out"))
    torch.manual_seed(1)
    transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=1500, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=80, max_position_embeddings=40,
        initializer_range=0.3, id2label={0: "bad", 1: "so so", 2: "good"}, label2id={"bad": 0, "so so": 1, "good": 2})).save_pretrained(saved)
    shutil.copy(os.path.join(HERE, "../../text/published/bert/vocab.txt"), saved)
    run(heed, "import", saved, model)
    run(heed, "export", model, out)
    compare_labels(heed, model, saved)
    compare_labels(heed, model, out)


def compare_tags(heed, model, out):
    """Words of a line, each labeled at its first token."""
    file = os.path.join(out, "tokenizer.json")  # whose rules the class of RoBERTa's tokeniser does not keep
    tokeniser = (transformers.PreTrainedTokenizerFast(tokenizer_file=file) if os.path.exists(file) else
                 transformers.AutoTokenizer.from_pretrained(out))
    network = loaded(transformers.AutoModelForTokenClassification, out)
    labels = 0
    for text in ("the cat sat on the mat", "a dog , one more !", "unbelievable cats and xyzzy"):
        words = text.split()
        ask = tokeniser(text, return_tensors="pt", return_token_type_ids=False)
        starts = [sum(len(w) + 1 for w in words[:i]) for i in range(len(words))]
        with torch.no_grad():
            said = network(**ask).logits[0].argmax(-1).tolist()
        first = [ask.word_ids(0).index(ask.char_to_word(0, s)) for s in starts]
        wanted = [network.config.id2label[said[k]] for k in first]
        got = [line.split("\t")[1] for line in run(heed, "tag", model, text=text + "\n").split("\n") if line]
        assert wanted == got, (text, wanted, got)
        labels += len(got)
    print(f"  tags: {labels} are the same")


def tags_of_transformers(heed, folder, title, config, files):
    print(title + "ForTokenClassification")
    saved, model, out = (os.path.join(folder, name + title + "tags") for name in ("saved", "model", "out"))
    torch.manual_seed(2)
    getattr(transformers, title + "ForTokenClassification")(config).save_pretrained(saved)
    for name in files:
        shutil.copy(os.path.join(HERE, "../../text/published", name), saved)
    run(heed, "import", saved, model)
    run(heed, "export", model, out)
    compare_tags(heed, model, saved)
    compare_tags(heed, model, out)


def tags_of_heed(heed, folder):
    print("tagger fine-tuned by heed")
    tokens, model, out = (os.path.join(folder, name) for name in ("tokens", "tagger", "tagger.hf"))
    with open(tokens, "w") as f:
        f.write("the\tDET\ncat\tNOUN\nsat\tVERB\n\na\tDET\ndog\tNOUN\nate\tVERB\nthe\tDET\nmat\tNOUN\n\n" * 40)
    run(heed, "train", "--task", "tag", "--from", os.path.join(folder, "modelBertModel"), "--train", tokens, "--out", model,
        "--epochs", "2", "--device", "cpu", "--valid-fraction", "0")
    run(heed, "export", model, out)
    compare_tags(heed, model, out)


def labels_of_heed(heed, folder):
    print("fine-tuned by heed")
    table, model, out = (os.path.join(folder, name) for name in ("table.tsv", "tuned", "tuned.hf"))
    with open(table, "w") as f:
        f.write("label\ttext\ttext2\n" + "cats\tthe cat sat\ton the mat\ndogs\ta dog ate\tone more\n" * 40)
    run(heed, "train", "--task", "classify", "--from", os.path.join(folder, "modelBertModel"), "--train", table, "--out", model,
        "--epochs", "2", "--device", "cpu")
    run(heed, "export", model, out)
    compare_labels(heed, model, out)


def main():
    with tempfile.TemporaryDirectory() as folder:
        of_heed(sys.argv[1], folder)
        for kind in (transformers.BertModel, transformers.BertForMaskedLM):
            of_transformers(sys.argv[1], folder, kind)
        labels_of_transformers(sys.argv[1], folder)
        labels_of_heed(sys.argv[1], folder)
        sizes = dict(hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=80, max_position_embeddings=40,
                     initializer_range=0.3, num_labels=5)
        tags_of_transformers(sys.argv[1], folder, "Bert", transformers.BertConfig(vocab_size=1500, **sizes), ["bert/vocab.txt"])
        tags_of_transformers(sys.argv[1], folder, "Roberta", transformers.RobertaConfig(vocab_size=702, type_vocab_size=1, **sizes),
                             ["roberta/tokenizer.json"])
        tags_of_heed(sys.argv[1], folder)


main()
