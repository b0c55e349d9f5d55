#!/usr/bin/env python3
"""Shows that encoders of other families than BERT are in heed what they are in transformers, there and back.

Never run by the tests. Needs: pip install torch transformers sentencepiece protobuf
    encoders_check.py HEED
Of each family transformers saves small models of random weights, bare, with a head that predicts words and with labels. heed imports
them, and `heed embed`, `fill` and `classify` must give their rows, probabilities and labels, of pairs, too; what heed exports must load in
transformers with all tensors in their places and give the same logits, and imported again it must be the same folder. A bare one is
fine-tuned by heed and must give the same labels in transformers.
"""
import filecmp
import io
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
from transformers import AutoTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
WORDPIECE = os.path.join(HERE, "../../text/published/bert/vocab.txt")
TEXTS = ["the cat [MASK] on the mat", "[MASK]", "a dog, a [MASK] and one more [MASK]!", "Größe  of a naïve café"]
SMALL = dict(max_position_embeddings=44, initializer_range=0.3, attn_implementation="eager",
             id2label={0: "bad", 1: "so so", 2: "good"}, label2id={"bad": 0, "so so": 1, "good": 2})
SIZES = dict(hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=80)


def run(*words, text=None):
    done = subprocess.run(words, input=text, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def wordpiece(folder, special=()):
    pieces = list(special) + open(WORDPIECE, encoding="utf8").read().split("\n")[:-1]
    if special:
        pieces.append("<mask>")
        transformers.MPNetTokenizer(vocab={p: i for i, p in enumerate(pieces)}).save_pretrained(folder)
    else:
        shutil.copy(WORDPIECE, folder)
    return len(pieces)


def byte_pairs(folder):
    shutil.copy(os.path.join(HERE, "../../text/published/roberta/tokenizer.json"), folder)
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "mask_token": "<mask>", "pad_token": "<pad>"}, f)
    return 702


def unigram(folder):
    model, lines = io.BytesIO(), open(WORDPIECE, encoding="utf8").read().split("\n")
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["the cat on the mat, a dog and one more!"] * 50 + lines[5:400]),
                                             model_writer=model, vocab_size=400, model_type="unigram", hard_vocab_limit=False,
                                             minloglevel=2, num_threads=1)
    with open(os.path.join(folder, "sentencepiece.bpe.model"), "wb") as f:
        f.write(model.getvalue())
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump({"tokenizer_class": "XLMRobertaTokenizer"}, f)
    return len(sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())) + 2


def unigram_json(folder):
    size = unigram(folder)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({"model_type": "xlm-roberta"}, f)
    AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
    os.remove(os.path.join(folder, "sentencepiece.bpe.model"))
    return size


FAMILIES = {
    "Roberta": (dict(SIZES, type_vocab_size=1, pad_token_id=1), byte_pairs),
    "XLMRoberta": (dict(SIZES, type_vocab_size=1, pad_token_id=1), unigram),
    "XLMRoberta ": (dict(SIZES, type_vocab_size=1, pad_token_id=1), unigram_json),
    "DistilBert": (dict(n_layers=3, n_heads=4, dim=48, hidden_dim=80), wordpiece),
    "Electra": (dict(SIZES, embedding_size=32), wordpiece),
    "Electra ": (dict(SIZES, embedding_size=48), wordpiece),
    "MPNet": (dict(SIZES, pad_token_id=1), lambda folder: wordpiece(folder, ("<s>", "<pad>", "</s>", "<unk>"))),
}


def loaded(kind, folder):
    model, info = kind.from_pretrained(folder, output_loading_info=True, attn_implementation="eager")
    wrong = {k: v for k, v in info.items() if v}
    if wrong:
        sys.exit(f"{folder}: {kind.__name__}: {wrong}")
    return model.eval()


def compare(heed, model, network, tokenizer):
    """The program's rows and probabilities with those of the network."""
    most, count = 0, 0
    for text in TEXTS:
        got = json.loads(run(heed, "embed", model, "--pool", "none", "--json", text=text + "\n"))
        read = tokenizer(text.replace("[MASK]", tokenizer.mask_token), return_tensors="pt")
        assert tokenizer.convert_ids_to_tokens(read["input_ids"][0]) == got["tokens"] or "[MASK]" in text or "Gr" in text, text
        with torch.no_grad():
            out = network(**read, output_hidden_states=True)
        most = max(most, abs(out.hidden_states[-1][0].numpy() - numpy.array(got["vectors"])).max())
        if "logits" not in out or "[MASK]" not in text:
            continue
        p = torch.softmax(out.logits[0], -1)[read["input_ids"][0] == tokenizer.mask_token_id]
        masks = json.loads(run(heed, "fill", model, "--json", "--top", "1000", text))["masks"]
        for wanted, mask in zip(p, masks):
            for one in mask:
                most = max(most, abs(wanted[tokenizer.convert_tokens_to_ids(one["token"])].item() - one["probability"]))
            count += len(mask)
    print(f"  {type(network).__name__}: rows and {count} probabilities: most {most:.2e} apart")
    assert most < 1e-4


def compare_labels(heed, model, kind, out):
    tokenizer, network, most = AutoTokenizer.from_pretrained(out), loaded(kind, out), 0
    for text in ("the cat", "a dog, the cat", "the cat\ta dog", "one more!\tthe cat and the"):
        with torch.no_grad():
            p = torch.softmax(network(**tokenizer(*text.split("\t"), return_tensors="pt")).logits[0], -1)
        got = json.loads(run(heed, "classify", model, "--json", "--top", "100", text=text + "\n"))["labels"]
        assert len(got) == len(p)
        most = max([most] + [abs(p[network.config.label2id[one["label"]]].item() - one["probability"]) for one in got])
    print(f"  {kind.__name__}: labels: most {most:.2e} apart")
    assert most < 1e-4


def same_again(heed, model, out, again):
    run(heed, "import", out, again)
    for name in os.listdir(model):
        assert filecmp.cmp(os.path.join(model, name), os.path.join(again, name), shallow=False), (model, name)


def check(heed, folder, family):
    sizes, put_tokenizer = FAMILIES[family]
    title = family.strip()
    print(family, put_tokenizer.__name__)
    for kind_name in ("Model", "ForMaskedLM", "ForSequenceClassification"):
        kind = getattr(transformers, title + kind_name)
        saved, model, out, again = (os.path.join(folder, name + family.replace(" ", "_") + kind_name)
                                    for name in ("saved", "model", "out", "again"))
        os.makedirs(saved)
        vocab = put_tokenizer(saved)
        torch.manual_seed(1)
        network = kind(getattr(transformers, title + "Config")(vocab_size=vocab, **sizes, **SMALL)).eval()
        network.save_pretrained(saved)
        run(heed, "import", saved, model)
        run(heed, "export", model, out)
        same_again(heed, model, out, again)
        back, ask = loaded(kind, out), torch.tensor([[0, 40, 300, 41, 7, 256, 2]])
        with torch.no_grad():
            assert torch.equal(network(ask)[0], back(ask)[0])
        if kind_name == "ForSequenceClassification":
            compare_labels(heed, model, kind, saved)
            compare_labels(heed, model, kind, out)
        else:
            compare(heed, model, network, AutoTokenizer.from_pretrained(out))
    table, tuned = os.path.join(folder, "table.tsv"), os.path.join(folder, "tuned" + family.replace(" ", "_"))
    with open(table, "w") as f:
        f.write("label\ttext\ttext2\n" + "cats\tthe cat sat\ton the mat\ndogs\ta dog ate\tone more\n" * 40)
    run(heed, "train", "--task", "classify", "--from", os.path.join(folder, "model" + family.replace(" ", "_") + "Model"), "--train", table,
        "--out", tuned, "--epochs", "2", "--device", "cpu")
    run(heed, "export", tuned, tuned + ".hf")
    if os.path.exists(os.path.join(saved, "tokenizer_config.json")):  # of no model but of transformers alone
        shutil.copy(os.path.join(saved, "tokenizer_config.json"), tuned + ".hf")
    compare_labels(heed, tuned, getattr(transformers, title + "ForSequenceClassification"), tuned + ".hf")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for family in FAMILIES:
            check(sys.argv[1], folder, family)


main()
