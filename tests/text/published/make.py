#!/usr/bin/env python3
"""Makes the small tokenisers of this folder and the digests that published_test.c expects.

Never run by the tests. Needs: pip install tokenizers sentencepiece protobuf
    make.py            print the digests of the tokenisers that are here
    make.py --train    make the tokenisers anew first
    make.py --written FOLDER
                       print the digests that tokenizer_json_write_test.c expects, of the files it wrote into FOLDER
The lines are those of lines.h in the test: the same generator, the same numbers.
"""
import json
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LINES = 12000


def at(name):
    return os.path.join(HERE, name)


# -- lines ----------------------------------------------------------------------------------------------------

RANGES = [
    (0x61, 0x7A), (0x41, 0x5A), (0xC0, 0x17F), (0x391, 0x3A1), (0x3B1, 0x3C9), (0x410, 0x44F), (0x4E00, 0x9FA5),
    (0x3041, 0x3093), (0xAC00, 0xD7A3), (0x627, 0x63A), (0x5D0, 0x5EA), (0x905, 0x939), (0xE01, 0xE2E),
    (0x1F600, 0x1F640), (0x2600, 0x2613), (0x1F3FB, 0x1F3FF), (0x300, 0x345), (0x1, 0x1F), (0x7F, 0x9F),
    (0x30, 0x39), (0x660, 0x669), (0xB2, 0xB3), (0xBC, 0xBE), (0x2160, 0x216B), (0x21, 0x2F), (0x3A, 0x40),
    (0x5B, 0x60), (0x7B, 0x7E), (0x2010, 0x2027), (0x3001, 0x3003), (0xA1, 0xBF), (0x2190, 0x2193), (0x20000, 0x20020),
    (0xF900, 0xF910), (0x1E00, 0x1E99), (0x93E, 0x94D),
]
SPACES = [0x20, 0x20, 0x20, 0x20, 0x9, 0xA, 0xD, 0xA0, 0x2003, 0x3000, 0x85, 0x2028, 0x200B, 0xFEFF, 0x200D, 0xB]
WORDS = ["the", "cat", "sat", "on", "mat", "walking", "unbelievable", "don't", "we'll", "I'm", "they're", "he'd",
         "'s", "it's", "Straße", "naïve", "İstanbul", "Größe", "Ångström", "hello", "world", "translation",
         "models", "attention", "2026", "3.14", "e-mail", "https://a.b/c?d=e", "<|endoftext|>", "[MASK]", "[SEP]",
         "<s>", "</s>", "<pad>", "<extra_id_0>", "<extra_id_7>", ">>fr<<", "##ing", "\u2581", "\ufffd", "[ MASK ]", "<mask>"]
WORD_KINDS = len(RANGES)


class Draw:
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        x = self.state
        x ^= (x << 13) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 7
        x ^= (x << 17) & 0xFFFFFFFFFFFFFFFF
        self.state = x
        return (x >> 33) % n


def part(d):
    kind = d.below(WORD_KINDS + 24)
    if kind >= WORD_KINDS + 4:
        return WORDS[d.below(len(WORDS))]
    if kind >= WORD_KINDS + 1:
        return "".join(chr(SPACES[d.below(len(SPACES))]) for _ in range(1 + d.below(4)))
    long = kind == WORD_KINDS
    low, high = RANGES[d.below(8) if long else kind]
    count = 90 + d.below(40) if long and d.below(4) == 0 else 1 + d.below(8)
    return "".join(chr(low + d.below(high - low + 1)) for _ in range(count))


def line(d):
    text = ""
    for _ in range(d.below(14)):
        text += part(d)
        if d.below(2):
            text += " "
    return text


def lines(seed=20261115, count=LINES):
    d = Draw(seed)
    return [line(d) for _ in range(count)]


# -- digests --------------------------------------------------------------------------------------------------

class Digest:
    def __init__(self):
        self.value = 0xCBF29CE484222325

    def add(self, number):
        for byte in struct.pack("<I", number & 0xFFFFFFFF):
            self.value = (self.value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF


def digest_of(rows):
    d = Digest()
    for row in rows:
        d.add(len(row))
        for numbers in row:
            for number in numbers:
                d.add(number)
    return d.value


def encoded(tokenizer, texts, special=False):
    for text in texts:
        e = tokenizer.encode(text, add_special_tokens=special)
        yield [(i, b, f) for i, (b, f) in zip(e.ids, e.offsets)]


def pairs(tokenizer, texts):
    for first, second in zip(texts[0::2], texts[1::2]):
        e = tokenizer.encode(first, second)
        yield [(i, b, f, t) for i, (b, f), t in zip(e.ids, e.offsets, e.type_ids)]


def decoded(tokenizer, texts):
    for text in texts:
        yield [(byte,) for byte in tokenizer.decode(tokenizer.encode(text, add_special_tokens=False).ids).encode()]


# -- SentencePiece: a model of the pieces in unigram.tsv, normalised by nothing -------------------------------

def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def spm_model():
    types = {"unk": 2, "control": 3, "normal": 1}
    out = b""
    for row in open(at("unigram.tsv"), encoding="utf8"):
        piece, score, kind = row.rstrip("\n").split("\t")
        out += field(1, field(1, piece.encode()) + b"\x15" + struct.pack("<f", float(score)) +
                     b"\x18" + varint(types[kind]))
    trainer = b"\x18\x01" + b"\xc0\x02\x02" + b"\xc8\x02" + b"\xff" * 9 + b"\x01" + b"\xd0\x02\x01" + b"\xd8\x02\x00"
    return out + field(2, trainer) + field(3, field(1, b"identity"))


def spm_rows(texts, name):
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=spm_model())
    vocab = json.load(open(at("marian/vocab.json"), encoding="utf8"))
    special = ["</s>", "<pad>", "<unk>"] + ["<extra_id_%d>" % i for i in range(100)] * (name == "t5")
    for text in texts:
        row = []
        for stretch, begin in stretches(text, special):
            if stretch in special:
                row.append((ids_of(stretch, name, processor, vocab), begin, begin + len(stretch)))
                continue
            end = stretch.split("\n")[0].find("<<", 3) + 2
            if name == "marian" and stretch.startswith(">>") and end >= 5:
                row.append((vocab.get(stretch[:end], vocab["<unk>"]), begin, begin + end))
                stretch, begin = stretch[end:], begin + end
            proto, whole = processor.encode(stretch, return_type="proto"), stretch.encode()
            for p in proto.pieces:
                first, last = (begin + len(whole[:n].decode()) for n in (p.begin, p.end))
                i = p.id if name == "t5" else vocab.get(p.piece, vocab["<unk>"])
                row.append((i, first, last))
        yield row


def ids_of(piece, name, processor, vocab):
    if name == "marian":
        return vocab[piece]
    if piece.startswith("<extra_id_"):
        return processor.get_piece_size() + 99 - int(piece[10:-1])
    return processor.piece_to_id(piece)


def stretches(text, special):
    begin = at_ = 0
    while at_ < len(text):
        found = max((s for s in special if text.startswith(s, at_)), key=len, default=None)
        if not found:
            at_ += 1
            continue
        if at_ > begin:
            yield text[begin:at_], begin
        yield found, at_
        begin = at_ = at_ + len(found)
    if len(text) > begin:
        yield text[begin:], begin


# -- making them ----------------------------------------------------------------------------------------------

def train():
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    import io
    import sentencepiece

    texts = lines(7, 6000)
    for folder in ("gpt2", "roberta", "bert", "bert-cased", "marian"):
        os.makedirs(at(folder), exist_ok=True)

    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=1200, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    t.model.save(at("gpt2"))

    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.add_special_tokens([mask()])
    t.add_tokens(added())
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    t.save(at("roberta/tokenizer.json"), pretty=False)

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for name, lower in (("bert", True), ("bert-cased", False)):
        t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        t.normalizer = normalizers.BertNormalizer(lowercase=lower)
        t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        t.train_from_iterator(texts, trainers.WordPieceTrainer(
            vocab_size=1500 if lower else 900, special_tokens=special, limit_alphabet=500, show_progress=False))
        t.decoder = decoders.WordPiece(cleanup=False)
        t.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(s, t.token_to_id(s)) for s in ("[CLS]", "[SEP]")])
        if not lower:
            t.add_tokens(["hello", "translation models"] + added())
            t.save(at(name + "/tokenizer.json"), pretty=False)
            continue
        vocab = sorted(t.get_vocab().items(), key=lambda item: item[1])
        with open(at(name + "/vocab.txt"), "w", encoding="utf8", newline="\n") as f:
            f.writelines(piece + "\n" for piece, _ in vocab)

    model = io.BytesIO()
    words = ["".join(c for c in " ".join(text.split()) if " " <= c < "\u0500") for text in texts]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(words), model_writer=model, vocab_size=1000, model_type="unigram",
        character_coverage=0.99, normalization_rule_name="identity", pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
        pad_piece="<pad>", minloglevel=2, num_threads=1)
    p = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    with open(at("unigram.tsv"), "w", encoding="utf8", newline="\n") as f:
        for i in range(p.get_piece_size()):
            kind = "unk" if p.is_unknown(i) else "control" if p.is_control(i) else "normal"
            # in steps of 1/64 sums are exact, and releases of the library cannot differ in rounding
            f.write("%s\t%.9g\t%s\n" % (p.id_to_piece(i), round(p.get_score(i) * 64) / 64, kind))
    pieces = [p.id_to_piece(i) for i in range(3, p.get_piece_size())][::-1]
    pieces = ["</s>", "<unk>"] + pieces[: len(pieces) // 2] + [">>fr<<", "世", "ж"] + pieces[len(pieces) // 2 + 20 :]
    vocab = {piece: i for i, piece in enumerate(dict.fromkeys(pieces + ["<pad>"]))}
    json.dump(vocab, open(at("marian/vocab.json"), "w", encoding="utf8"), ensure_ascii=False)


def mask():
    from tokenizers import AddedToken

    return AddedToken("<mask>", lstrip=True, normalized=False, special=True)


def added():
    from tokenizers import AddedToken

    return [AddedToken("cat", single_word=True), AddedToken("sat", lstrip=True),
            AddedToken("mat", rstrip=True, normalized=False), AddedToken("on", lstrip=True, rstrip=True, single_word=True),
            AddedToken("Größe", normalized=True)]


def bert():
    from tokenizers import decoders
    from tokenizers.implementations import BertWordPieceTokenizer

    t = BertWordPieceTokenizer(at("bert/vocab.txt"), lowercase=True)
    t._tokenizer.decoder = decoders.WordPiece(cleanup=False)
    return t


def gpt2():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    t = Tokenizer(models.BPE.from_file(at("gpt2/vocab.json"), at("gpt2/merges.txt")))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.add_special_tokens(["<|endoftext|>"])
    return t


def written(folder):
    import tokenizers
    texts = lines()
    for name in ("words", "characters", "unigram", "unigram-bytes", "bpe-bytes"):
        path = os.path.join(folder, name, "tokenizer.json")
        tokenizer, file = tokenizers.Tokenizer.from_file(path), Digest()
        tokenizer.encode_special_tokens = True
        for byte in open(path, "rb").read():
            file.value = (file.value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        ids = digest_of([(i,) for i in tokenizer.encode(text, add_special_tokens=False).ids] for text in texts)
        print(f"        {{{file.value:#018x}u, {ids:#018x}u}}, /* {name} */")


def main():
    if "--written" in sys.argv:
        return written(sys.argv[-1])
    from tokenizers import Tokenizer

    if "--train" in sys.argv:
        train()
    texts = lines()
    print("lines        0x%016x" % digest_of([[(ord(c),) for c in text] for text in texts]))
    for name, t in (("gpt2", gpt2()), ("roberta", Tokenizer.from_file(at("roberta/tokenizer.json"))),
                    ("bert", bert()), ("bert-cased", Tokenizer.from_file(at("bert-cased/tokenizer.json")))):
        print("%-12s 0x%016x 0x%016x 0x%016x" % (name, digest_of(encoded(t, texts)), digest_of(pairs(t, texts)),
                                                digest_of(decoded(t, texts))))
    for name in ("marian", "t5"):
        print("%-12s 0x%016x" % (name, digest_of(spm_rows(texts, name))))


if __name__ == "__main__":
    main()
