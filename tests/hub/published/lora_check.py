#!/usr/bin/env python3
"""Compares LoRA adapters with those of the package peft, on the small models of decoders/*.json and a GPT-2.

Never run by the tests. Needs: pip install torch transformers safetensors peft
    lora_check.py HEED    of each model: an adapter that peft drew is imported, merged and exported, and gives the logits that peft
                          computes; one that HEED trained is exported, loaded by peft, and gives the logits of HEED's merged model
"""
import glob
import os
import shutil
import sys
import tempfile

import peft
import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import make_decoders  # noqa: E402
from make_decoders import TOKENIZER, model_of, run, some_ids  # noqa: E402


def logits_of(model, ids):
    if model.config.model_type != "gpt2":
        return make_decoders.logits_of(model, ids)
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False).logits[0]


def gpt2():
    config = transformers.GPT2Config(vocab_size=len(transformers.PreTrainedTokenizerFast(tokenizer_file=TOKENIZER)),
                                     n_positions=128, n_embd=32, n_layer=2, n_head=4, attn_implementation="eager")
    torch.manual_seed(1)
    return transformers.GPT2LMHeadModel(config).eval()


def merged(heed, adapter, folder):
    run(heed, "merge", adapter, folder + ".merged")
    run(heed, "export", folder + ".merged", folder + ".there")
    return transformers.AutoModelForCausalLM.from_pretrained(folder + ".there", attn_implementation="eager").eval()


def check(heed, name, make, folder, text):
    ids = some_ids(96)
    there, here = os.path.join(folder, name), os.path.join(folder, name + ".heed")
    make().save_pretrained(there)
    shutil.copy(TOKENIZER, there)
    run(heed, "import", there, here)

    torch.manual_seed(2)
    targets = ["c_attn", "c_proj"] if name == "gpt2" else ["q_proj", "v_proj", "o_proj"]
    if name.startswith("deepseek"):
        targets = ["q_proj" if "lite" in name or "halves" in name else "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]
    config = peft.LoraConfig(r=5, lora_alpha=7, target_modules=targets, init_lora_weights=False, task_type="CAUSAL_LM",
                             fan_in_fan_out=name == "gpt2", use_rslora=name == "llama")
    drawn = peft.get_peft_model(make(), config).eval()
    drawn.save_pretrained(there + ".peft")
    run(heed, "import", there + ".peft", there + ".adapter", "--base", here)
    run(heed, "export", there + ".adapter", there + ".back", "--base", there)
    again = peft.PeftModel.from_pretrained(make(), there + ".back").eval()
    plain, want = logits_of(make(), ids), logits_of(drawn, ids)
    worst = (want - logits_of(merged(heed, there + ".adapter", there + ".a"), ids)).abs().max().item()
    back = (want - logits_of(again, ids)).abs().max().item()

    run(heed, "train", "-q", "--task", "lm", "--from", here, "--lora", "4", "--train", text, "--steps", "8", "--lr", "0.01",
        "--lora-targets", ",".join(targets) if "qwen3_moe" in name or "deepseek" in name else "all",  # peft takes others for the experts'
        "--context", "32", "--batch-size", "2", "--warmup", "1", "--out", there + ".trained")
    run(heed, "export", there + ".trained", there + ".trained.peft", "--base", there)
    learned = logits_of(peft.PeftModel.from_pretrained(make(), there + ".trained.peft").eval(), ids)
    ours = logits_of(merged(heed, there + ".trained", there + ".t"), ids)
    out = (learned - ours).abs().max().item()
    print("%-14s drawn by peft: logits differ by %.1e (%.1e exported again), adapter moves them by %.1e; trained by heed: %.1e, "
          "moved by %.1e" % (name, worst, back, (want - plain).abs().max().item(), out, (learned - plain).abs().max().item()),
          flush=True)
    return max(worst, back, out) <= 1e-4


def main(heed):
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, "text")
        with open(text, "w", encoding="utf8") as to:
            to.write("The quick brown fox jumps over the lazy dog.\n" * 200)
        makes = {os.path.basename(p)[:-5]: (lambda p=p: model_of(p)) for p in sorted(glob.glob(os.path.join(HERE, "decoders", "*.json")))}
        makes["gpt2"] = gpt2
        if not all([check(heed, name, make, folder, text) for name, make in makes.items()]):
            sys.exit(1)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
