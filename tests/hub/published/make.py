#!/usr/bin/env python3
"""Makes the .txt files beside it, what ../import_*_test.c expect: the logits that transformers gives for small models, and
what it writes by greedy search and by beams.

Never run by the tests. Needs: pip install torch transformers safetensors
    make.py            write the files
    make.py FOLDER     and save the models below FOLDER, without tokenisers
    make.py --t5 WANTED.txt FOLDER...
                       check folders that `heed export` wrote of T5s: the logits are those in the file
Weights are those of ../publisher.h: hd_rng_between of a key that is the hash of the tensor's name.
"""
import json
import os
import sys
import tempfile

import numpy
import safetensors.torch
import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = 0xFFFFFFFF


def key_of(name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def between(key, count):
    x = (numpy.arange(count, dtype=numpy.uint64) * 0x9E3779B9 + (key & MASK)) & MASK
    x ^= x >> numpy.uint64(16)
    x = (x * 0x7FEB352D) & MASK
    x ^= x >> numpy.uint64(15)
    x = (x * 0x846CA68B) & MASK
    x ^= x >> numpy.uint64(16)
    x ^= numpy.uint64(key >> 32)
    return ((x >> numpy.uint64(9)).astype(numpy.float32) + numpy.float32(0.5)) * numpy.float32(2.0**-23)


def draw(name, shape):
    u = between(key_of(name), int(numpy.prod(shape))) - numpy.float32(0.5)
    norm = len(shape) == 1 and name.endswith(".weight")
    spread = 0.5 if len(shape) == 1 or name.endswith(".q.weight") else 1 if name in ("wte.weight", "model.shared.weight") else 2
    value = (numpy.float32(1) if norm else numpy.float32(0)) + u * numpy.float32(spread)
    return torch.from_numpy(value.reshape(shape))


def fill(model, named):
    state = model.state_dict()
    for name in state:
        if named(name):
            state[name] = draw(named(name), tuple(state[name].shape))
    model.load_state_dict(state)
    model.tie_weights()
    return model.eval()


def lines_of(rows):
    return "".join(f"{len(row)} " + " ".join(repr(round(float(x), 6)) if isinstance(x, float) else str(x) for x in row) + "\n"
                   for row in rows)


def put(name, rows):
    with open(os.path.join(HERE, name), "w") as f:
        f.write(lines_of(rows))


def bert():
    config = transformers.BertConfig(
        vocab_size=1500, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, max_position_embeddings=24,
        type_vocab_size=3, hidden_act="gelu_new", layer_norm_eps=1e-3, attn_implementation="eager")
    model = transformers.BertForPreTraining(config)
    tied = ("position_ids", "token_type_ids", "predictions.decoder.weight", "predictions.decoder.bias")
    fill(model, lambda n: None if n.endswith(tied) else n.removeprefix("bert."))
    ids, types = [2, 40, 300, 4, 41, 3, 7, 256, 900, 3], [0, 0, 0, 0, 0, 0, 1, 1, 2, 2]
    ask = {"input_ids": torch.tensor([ids]), "token_type_ids": torch.tensor([types])}
    with torch.no_grad():
        rows, logits, pooled = model.bert(**ask)[0][0], model(**ask).prediction_logits[0], model.bert(**ask)[1][0]
    labels = []
    for count in (3, 1):
        config.num_labels = count
        with torch.no_grad():
            said = fill(transformers.BertForSequenceClassification(config), lambda n: n.removeprefix("bert."))(**ask).logits[0]
        labels.append(torch.log_softmax(said, -1).tolist() if count > 1 else said.tolist())
    put("bert.txt", [ids, types] + [row.tolist() for row in rows] + [pooled.tolist()] + [row[::37].tolist() for row in logits] + labels)
    return model


def roberta():
    """Rows and logits of words, then log-probabilities of three labels."""
    config = transformers.RobertaConfig(
        vocab_size=702, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, max_position_embeddings=24,
        type_vocab_size=1, hidden_act="gelu", layer_norm_eps=1e-5, pad_token_id=1, num_labels=3, attn_implementation="eager")
    tied = ("position_ids", "token_type_ids", "lm_head.decoder.weight", "lm_head.decoder.bias")
    model, labels = [fill(kind(config), lambda n: None if n.endswith(tied) else n.removeprefix("roberta."))
                     for kind in (transformers.RobertaForMaskedLM, transformers.RobertaForSequenceClassification)]
    ids = [0, 40, 300, 700, 41, 7, 256, 2]
    ask = torch.tensor([ids])
    with torch.no_grad():
        rows, logits, said = model.roberta(ask)[0][0], model(ask).logits[0], torch.log_softmax(labels(ask).logits[0], -1)
    put("roberta.txt", [ids] + [row.tolist() for row in rows] + [row[::37].tolist() for row in logits] + [said.tolist()])
    return model


ENCODER = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40)
LABELS = dict(max_position_embeddings=24, id2label={0: "bad", 1: "so so", 2: "good"}, label2id={"bad": 0, "so so": 1, "good": 2},
              attn_implementation="eager")
ENCODERS = {
    "xlm-roberta": ("XLMRoberta", [0, 40, 300, 1001, 41, 7, 256, 2], dict(ENCODER, vocab_size=1002, type_vocab_size=1, pad_token_id=1,
                                                                         layer_norm_eps=1e-5)),
    "distilbert": ("DistilBert", [2, 40, 300, 4, 41, 7, 256, 3], dict(vocab_size=1500, dim=16, n_layers=2, n_heads=4, hidden_dim=40,
                                                                      activation="relu")),
    "electra": ("Electra", [2, 40, 300, 4, 41, 7, 256, 3], dict(ENCODER, vocab_size=1500, embedding_size=8)),
    "mpnet": ("MPNet", [0, 40, 300, 1504, 41, 7, 256, 90, 301, 12, 700, 33, 950, 5, 61, 62, 63, 64, 2], dict(ENCODER, vocab_size=1505, pad_token_id=1, layer_norm_eps=1e-5)),
}


def encoder(name):
    """Of each kind of model a line that is its config.json, how many tensors it has, their names and shapes, as transformers saves
    them; then ids, and what it gives for them: rows, logits of words, or log-probabilities of labels."""
    title, ids, sizes = ENCODERS[name]
    kinds = ["Model", "ForMaskedLM", "ForSequenceClassification"] + ["ForPreTraining"] * (name == "electra")
    with open(os.path.join(HERE, name + ".txt"), "w") as f:
        for kind in kinds:
            model = getattr(transformers, title + kind)(getattr(transformers, title + "Config")(**sizes, **LABELS))
            with tempfile.TemporaryDirectory() as folder:
                model.save_pretrained(folder)
                with open(os.path.join(folder, "config.json")) as c:
                    config = json.load(c)
                names = list(safetensors.torch.load_file(os.path.join(folder, "model.safetensors")))
            fill(model, lambda n: n if n in names else None)
            ask = torch.tensor([ids])
            with torch.no_grad():
                out = model.base_model(ask)[0][0] if kind in ("Model", "ForPreTraining") else model(ask).logits[0]
            rows = torch.log_softmax(out, -1)[None] if out.dim() == 1 else out[:, ::37] if kind == "ForMaskedLM" else out
            f.write(json.dumps(config) + f"\n{len(names)}\n")
            state = model.state_dict()
            for one in sorted(names):
                shape = list(state[one].shape) + [0] * (2 - state[one].dim())
                f.write(f"{one} {shape[0]} {shape[1]}\n")
            f.write(lines_of([ids] + [row.tolist() for row in rows]))


def gpt2(name, **more):
    with open(os.path.join(HERE, "../../text/published/gpt2/vocab.json")) as f:
        vocab = len(json.load(f))
    config = transformers.GPT2Config(vocab_size=vocab, n_positions=24, n_embd=16, n_layer=2, n_head=4, n_inner=40,
                                     bos_token_id=0, eos_token_id=0, attn_implementation="eager", **more)
    model = transformers.GPT2LMHeadModel(config)
    skip = (("lm_head.weight",) if config.tie_word_embeddings else ()) + (".attn.bias", ".attn.masked_bias")
    fill(model, lambda n: None if n.endswith(skip) else n.removeprefix("transformer."))
    ids = [0, 40, 300, 41, 7, 256, 90, 301]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
        written = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), do_sample=False,
                                 max_new_tokens=12, eos_token_id=None, pad_token_id=0)[0].tolist()[len(ids):]
        prompt = [0, 52,277,652]  # "The cat"
        again = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                               do_sample=False, max_new_tokens=17, eos_token_id=None, pad_token_id=0,
                               repetition_penalty=1.15)[0].tolist()[len(prompt):]
    put(name + ".txt", [ids] + [row[::29].tolist() for row in logits] + [written, prompt, again])
    return model


def gpt2_labels():
    """What heads of three labels and of one say of the last row; no special token stands around."""
    rows, ids = [], [40, 300, 41, 7, 256, 90, 301]
    for count in (3, 1):
        config = transformers.GPT2Config(vocab_size=1200, n_positions=24, n_embd=16, n_layer=2, n_head=4, n_inner=40, num_labels=count,
                                         attn_implementation="eager")
        model = transformers.GPT2ForSequenceClassification(config)
        fill(model, lambda n: None if n.endswith((".attn.bias", ".attn.masked_bias")) else n.removeprefix("transformer."))
        with torch.no_grad():
            said = model(torch.tensor([ids])).logits[0]
        rows.append(torch.log_softmax(said, -1).tolist() if count > 1 else said.tolist())
    put("gpt2-labels.txt", [ids] + rows)
    return model


def tags():
    """Log-probabilities of three labels for every token, of a BERT and of a RoBERTa; ids before each."""
    sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, max_position_embeddings=24, num_labels=3,
                 attn_implementation="eager")
    bert = transformers.BertConfig(vocab_size=1500, type_vocab_size=3, hidden_act="gelu_new", layer_norm_eps=1e-3, **sizes)
    roberta = transformers.RobertaConfig(vocab_size=702, type_vocab_size=1, hidden_act="gelu", layer_norm_eps=1e-5, pad_token_id=1, **sizes)
    rows = []
    for config, kind, prefix, ids in ((bert, transformers.BertForTokenClassification, "bert.", [2, 40, 300, 41, 7, 256, 900, 3]),
                                      (roberta, transformers.RobertaForTokenClassification, "roberta.", [0, 40, 300, 700, 41, 7, 256, 2])):
        model = fill(kind(config), lambda n: None if n.endswith(("position_ids", "token_type_ids")) else n.removeprefix(prefix))
        with torch.no_grad():
            said = torch.log_softmax(model(torch.tensor([ids])).logits[0], -1)
        rows += [ids] + [row.tolist() for row in said]
    put("tags.txt", rows)


MARIAN_SOURCES = ([57, 25, 44, 14, 28, 0], [26, 38, 55, 3, 31, 0], [57, 32, 55, 61, 33, 0])


def translator_rows(model, sources, target, banned):
    rows, rules = [], {"max_new_tokens": 12, "bad_words_ids": [[i] for i in banned], "do_sample": False}
    for source in sources:
        ask = {"input_ids": torch.tensor([source]), "attention_mask": torch.ones(1, len(source), dtype=torch.long)}
        with torch.no_grad():
            logits = model(**ask, decoder_input_ids=torch.tensor([target])).logits[0]
            greedy = model.generate(**ask, num_beams=1, **rules)[0].tolist()[1:]
            beams = model.generate(**ask, num_beams=4, length_penalty=1.0, early_stopping=False, **rules)[0].tolist()[1:]
        rows += [source, target] + [row[::3].tolist() for row in logits] + [greedy, beams]
    return rows


SIZES = dict(vocab_size=64, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
             encoder_ffn_dim=40, decoder_ffn_dim=40, activation_function="swish", max_position_embeddings=32, forced_eos_token_id=None,
             attn_implementation="eager")
TIED = ("lm_head.weight", "embed_tokens.weight", "embed_positions.weight")


def marian(name="marian.txt", scaled=True, sources=MARIAN_SOURCES):
    config = transformers.MarianConfig(decoder_vocab_size=64, scale_embedding=scaled, pad_token_id=63, eos_token_id=0, bos_token_id=0,
                                       decoder_start_token_id=63, **SIZES)
    model = transformers.MarianMTModel(config)
    fill(model, lambda n: None if n.endswith(TIED) else n)
    put(name, translator_rows(model, sources, [63, 8, 30, 12, 44], [63]))
    return model


def pegasus():
    """Ids of the special tokens as in vocabularies of heed."""
    config = transformers.PegasusConfig(scale_embedding=True, pad_token_id=0, eos_token_id=3, bos_token_id=2, decoder_start_token_id=2,
                                        **SIZES)
    model = transformers.PegasusForConditionalGeneration(config)
    fill(model, lambda n: None if n.endswith(TIED) else n)
    put("pegasus.txt", translator_rows(model, ([8, 9, 59, 5, 32, 4, 3], [36, 18, 3], [20, 37, 3]),
                                       [2, 8, 30, 12, 44], [0, 1, 2]))
    return model


T5_SOURCES = ([40, 300, 41, 7, 256, 90, 301, 12, 700, 33, 950, 5, 61, 62, 63, 64, 1], [950, 305, 746, 613, 330, 463, 403, 323, 1],
              [402, 306, 519, 514, 20, 336, 629, 1])


def t5_rows(model):
    target, rows = [0, 8, 30, 612, 44, 9, 1101, 77, 78, 79, 80, 81, 82, 83, 84], []
    rules = {"max_new_tokens": 12, "bad_words_ids": [[0]], "do_sample": False}
    for source in T5_SOURCES:
        ask = {"input_ids": torch.tensor([source]), "attention_mask": torch.ones(1, len(source), dtype=torch.long),
               "use_cache": False}  # which has as many layers as the encoder
        with torch.no_grad():
            logits = model(**ask, decoder_input_ids=torch.tensor([target])).logits[0]
            greedy = model.generate(**ask, num_beams=1, **rules)[0].tolist()[1:]
            beams = model.generate(**ask, num_beams=4, length_penalty=1.0, early_stopping=False, **rules)[0].tolist()[1:]
        rows += [source, target] + [row[::29].tolist() for row in logits] + [greedy, beams]
    return rows


def t5(name, **more):
    """vocab_size: 1000 pieces, 100 sentinels, and 8 ids that no token has, as the published ones have some."""
    config = transformers.T5Config(vocab_size=1108, d_model=16, d_kv=6, d_ff=40, num_layers=2, num_decoder_layers=3, num_heads=4,
                                   relative_attention_num_buckets=8, relative_attention_max_distance=12, decoder_start_token_id=0,
                                   attn_implementation="eager", **more)
    model = transformers.T5ForConditionalGeneration(config)
    tied = ("lm_head.weight", "embed_tokens.weight")
    fill(model, lambda n: None if n.endswith(tied) else n)
    if not config.scale_decoder_outputs:
        model.lm_head.weight = torch.nn.Parameter(draw("lm_head.weight", (1108, 16)))
    put(name + ".txt", t5_rows(model))
    return model


def check_t5(wanted, folders):
    with open(wanted) as f:
        wanted = [[float(x) for x in line.split()[1:]] for line in f]
    for folder in folders:
        rows = t5_rows(transformers.T5ForConditionalGeneration.from_pretrained(folder, attn_implementation="eager").eval())
        worst = max(abs(a - b) for x, y in zip(wanted, rows, strict=True) for a, b in zip(x, y, strict=True))
        print(f"{folder}: off by {worst:.1e} at most")
        assert worst < 2e-6


def main():
    if sys.argv[1:2] == ["--t5"]:
        return check_t5(sys.argv[2], sys.argv[3:])
    for name in ENCODERS:
        encoder(name)
    tags()
    apart = gpt2("gpt2-apart", tie_word_embeddings=False, layer_norm_epsilon=0.01)
    unscaled = marian("marian-unscaled.txt", False, ([25, 0], [59, 0], [25, 55, 0]))
    for name, model in (("bert", bert()), ("roberta", roberta()), ("gpt2", gpt2("gpt2")), ("gpt2-apart", apart), ("gpt2-labels", gpt2_labels()), ("marian", marian()), ("marian-unscaled", unscaled), ("pegasus", pegasus()),
                        ("t5", t5("t5")), ("t5-gated", t5("t5-gated", feed_forward_proj="gated-gelu", tie_word_embeddings=False))):
        if len(sys.argv) > 1:
            model.save_pretrained(os.path.join(sys.argv[1], name), safe_serialization=True)


if __name__ == "__main__":
    main()
