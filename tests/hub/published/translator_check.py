#!/usr/bin/env python3
"""Shows that a translator which heed trained is in transformers what it is in heed, with what `heed export` writes.

Never run by the tests. Needs: pip install torch transformers
    translator_check.py HEED MODEL < LINES         MODEL has a tokeniser of words
All tensors must have their places. Of each line the log-probabilities of the tokens that greedy search and four beams find must be those
of `heed translate`, and generate() must find the same tokens with what config.json says alone.
"""
import json
import subprocess
import sys
import tempfile

import torch
import transformers


def main():
    heed, model = sys.argv[1:]
    text = sys.stdin.read()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run([heed, "export", "-q", model, tmp + "/hf"], check=True)
        network, info = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp + "/hf", output_loading_info=True, attn_implementation="eager")
        network.eval()
        info["missing_keys"] = [k for k in info["missing_keys"] if not k.endswith("embed_positions.weight")]  # sinusoids, which are computed
        wrong = {k: v for k, v in info.items() if v}
        most, equal, count = 0, 0, 0
        for beam in (1, 4):
            said = subprocess.run([heed, "translate", model, "--json", "--device", "cpu"] + (["--beam", "4"] if beam > 1 else []), input=text, text=True,
                                  capture_output=True, check=True).stdout
            for line in said.splitlines():
                got = json.loads(line)
                source, target = (torch.tensor([[ids_of(heed, model)[t] for t in tokens]])
                                  for tokens in (got["tokens"], got["hypotheses"][0]["tokens"]))
                start = torch.tensor([[network.config.decoder_start_token_id]])
                with torch.no_grad():
                    logits = network(input_ids=source, decoder_input_ids=torch.cat([start, target[:, :-1]], 1)).logits[0]
                    found = network.generate(input_ids=source, num_beams=beam, length_penalty=1.0, early_stopping=False, do_sample=False)[0].tolist()[1:]
                logp = torch.log_softmax(logits, -1).gather(1, target[0][:, None])[:, 0]
                most = max(most, (logp - torch.tensor(got["hypotheses"][0]["token_logprobs"])).abs().max().item())
                equal += found == target[0].tolist()
                count += 1
    print(f"{network.config.architectures[0]}: {count} searches, {equal} with the same tokens; log-probabilities {most:.1e} apart at most; "
          f"{wrong or 'all tensors in their places'}")
    assert not wrong and equal == count and most < 1e-4


PIECES = {}


def ids_of(heed, model):
    if not PIECES:
        with open(model + "/tokeniser.txt") as f:
            PIECES.update({line.rstrip("\n"): i for i, line in enumerate(f)})
    return PIECES


main()
