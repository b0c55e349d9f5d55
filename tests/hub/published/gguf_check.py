#!/usr/bin/env python3
"""Checks GGUF files of the small models in decoders/*.json, by hand: files written by the package `gguf` under the names of its own
tables, in the layouts of llama.cpp's convert_hf_to_gguf.py, and imported by HEED; what HEED exports must give the logits of the model.

Never run by the tests. Needs: pip install torch transformers gguf
    gguf_check.py HEED [NAME...]         in f32, and with the matrices of experts and feed-forward layers in Q8_0
"""
import json
import os
import subprocess
import sys
import tempfile

import gguf
import numpy
import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import make_decoders  # noqa: E402

ARCHS = {"llama": "llama", "gemma": "gemma", "gemma2": "gemma2", "gemma3": "gemma3", "mixtral": "llama", "qwen2": "qwen2",
         "qwen3": "qwen3", "olmoe": "olmoe", "qwen3_moe": "qwen3moe", "deepseek_v2": "deepseek2", "deepseek_v2-lite": "deepseek2",
         "deepseek_v3": "deepseek2"}


def turned(x, heads):
    """convert_hf_to_gguf's permute: halves become pairs."""
    return x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def tensors_of(model, arch, split):
    """Pairs of the name that the package has for a tensor and its numbers."""
    config, state = model.config, {k: v.numpy() for k, v in model.state_dict().items()}
    names = gguf.get_tensor_name_map(next(a for a, n in gguf.MODEL_ARCH_NAMES.items() if n == arch), config.num_hidden_layers)
    for name, x in state.items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        if arch.startswith("gemma") and name.endswith("norm.weight"):
            x = x + 1
        if arch == "llama" and name.endswith(("q_proj.weight", "k_proj.weight")):
            x = turned(x, config.num_attention_heads if "q_proj" in name else config.num_key_value_heads)
        if name.endswith("experts.gate_up_proj"):
            layer, half = name.split(".")[2], x.shape[1] // 2
            yield f"blk.{layer}.ffn_gate_exps.weight", x[:, :half]
            yield f"blk.{layer}.ffn_up_exps.weight", x[:, half:]
            continue
        if name.endswith("experts.down_proj"):
            yield f"blk.{name.split('.')[2]}.ffn_down_exps.weight", x
            continue
        if split and name.endswith("kv_b_proj.weight"):
            layer = name.split(".")[2]
            kv = x.reshape(config.num_attention_heads, config.qk_nope_head_dim + config.v_head_dim, -1)
            yield f"blk.{layer}.attn_k_b.weight", kv[:, :config.qk_nope_head_dim].swapaxes(1, 2)
            yield f"blk.{layer}.attn_v_b.weight", kv[:, config.qk_nope_head_dim:]
            continue
        if name.endswith("e_score_correction_bias"):
            yield f"blk.{name.split('.')[2]}.exp_probs_b.bias", x
            continue
        there = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if not there:  # dense layers before those with experts
            _, _, layer, _, part, end = name.split(".")
            there = f"blk.{layer}.ffn_{part[:-5]}.{end}"
        yield there, x


def put_latent(w, c):
    w.add_kv_lora_rank(c.kv_lora_rank)
    if c.q_lora_rank:
        w.add_q_lora_rank(c.q_lora_rank)
    w.add_rope_dimension_count(c.qk_rope_head_dim)
    w.add_key_length(c.kv_lora_rank + c.qk_rope_head_dim)
    w.add_value_length(c.kv_lora_rank)
    w.add_key_length_mla(c.qk_nope_head_dim + c.qk_rope_head_dim)
    w.add_value_length_mla(c.v_head_dim)
    w.add_leading_dense_block_count(c.first_k_dense_replace)
    w.add_expert_shared_count(c.n_shared_experts)
    w.add_expert_weights_scale(c.routed_scaling_factor)
    v3 = c.model_type == "deepseek_v3"
    w.add_expert_weights_norm(bool(v3 and c.norm_topk_prob))
    w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID if v3 else gguf.ExpertGatingFuncType.SOFTMAX)
    w.add_expert_group_count(c.n_group)
    w.add_expert_group_used_count(c.topk_group)


def put_keys(w, c, arch):
    w.add_block_count(c.num_hidden_layers)
    w.add_context_length(c.max_position_embeddings)
    w.add_embedding_length(c.hidden_size)
    w.add_feed_forward_length(c.intermediate_size)
    w.add_head_count(c.num_attention_heads)
    w.add_head_count_kv(1 if arch == "deepseek2" else c.num_key_value_heads)
    w.add_layer_norm_rms_eps(c.rms_norm_eps)
    rope = c.rope_parameters.get("full_attention", c.rope_parameters)
    w.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] != "default":
        w.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        w.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if rope.get("mscale_all_dim"):
        w.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])
    if arch != "deepseek2" and getattr(c, "head_dim", None):
        w.add_key_length(c.head_dim)
        w.add_value_length(c.head_dim)
    experts = getattr(c, "n_routed_experts", None) or getattr(c, "num_local_experts", None) or getattr(c, "num_experts", None)
    if experts:
        w.add_expert_count(experts)
        w.add_expert_used_count(c.num_experts_per_tok)
    if getattr(c, "moe_intermediate_size", None):
        w.add_expert_feed_forward_length(c.moe_intermediate_size)
    if arch in ("gemma2", "gemma3"):
        w.add_sliding_window(c.sliding_window)
        w.add_float32(f"{arch}.attention.scale", c.query_pre_attn_scalar ** -0.5)
    if arch == "gemma2":
        w.add_attn_logit_softcapping(c.attn_logit_softcapping)
        w.add_final_logit_softcapping(c.final_logit_softcapping)
    if arch == "gemma3":
        w.add_uint32("gemma3.attention.sliding_window_pattern", c.layer_types.index("full_attention") + 1)
    if arch == "deepseek2":
        put_latent(w, c)


def put_tokenizer(w):
    root = json.load(open(make_decoders.TOKENIZER, encoding="utf8"))
    vocab = dict(root["model"]["vocab"], **{t["content"]: t["id"] for t in root["added_tokens"]})
    pieces = sorted(vocab, key=vocab.get)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("llama-bpe")
    w.add_token_list(pieces)
    w.add_token_types([1 if i < 500 else 3 if i < 502 else 4 for i in range(len(pieces))])
    w.add_token_merges([" ".join(m) for m in root["model"]["merges"]])
    w.add_bos_token_id(500)
    w.add_eos_token_id(501)


def write(model, arch, path, small):
    """small: some matrices in Q8_0, of which the model gets what is left."""
    w = gguf.GGUFWriter(path, arch)
    put_keys(w, model.config, arch)
    put_tokenizer(w)
    rounded = []
    for name, x in tensors_of(model, arch, split=model.config.model_type == "deepseek_v3"):
        x = numpy.ascontiguousarray(x, dtype=numpy.float32)
        if small and "ffn_" in name and "inp" not in name and x.ndim > 1 and x.shape[-1] % 32 == 0:
            kind = gguf.GGMLQuantizationType.Q8_0
            q = gguf.quants.quantize(x, kind)
            rounded.append((name, gguf.quants.dequantize(q, kind)))
            w.add_tensor(name, q, raw_dtype=kind)
        else:
            w.add_tensor(name, x)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return rounded


def take_rounded(model, rounded):
    state = model.state_dict()
    for name, x in rounded:
        _, layer, part, _ = name.split(".")
        x, mlp = torch.from_numpy(x), f"model.layers.{layer}.mlp."
        if part.endswith("_exps"):
            both = state[mlp + ("experts.down_proj" if "down" in part else "experts.gate_up_proj")]
            half = both.shape[1] // 2
            (both if "down" in part else both[:, :half] if "gate" in part else both[:, half:]).copy_(x)
        else:
            where = "shared_experts." if part.endswith("_shexp") else ""
            state[f"{mlp}{where}{part.split('_')[1]}_proj.weight"].copy_(x)


def model_of(name, folder):
    """Without what files of llama.cpp do not say: windows of Qwen, a factor of angles beside that of scores."""
    config = json.load(open(os.path.join(HERE, "decoders", name + ".json"), encoding="utf8"))
    config.pop("use_sliding_window", None)
    scaling = config.get("rope_scaling") or {}
    if "mscale" in scaling:
        scaling["mscale"] = scaling["mscale_all_dim"]
    path = os.path.join(folder, name + ".json")
    json.dump(config, open(path, "w", encoding="utf8"))
    return make_decoders.model_of(path)


def main():
    heed, names = sys.argv[1], sys.argv[2:] or list(ARCHS)
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for small in (False, True):
                model = model_of(name, folder)
                path, here, back = (os.path.join(folder, f"{name}-{small}{end}") for end in (".gguf", ".heed", ".out"))
                rounded = write(model, ARCHS[name], path, small)
                take_rounded(model, rounded)
                for words in (("import", path, here), ("export", here, back)):
                    done = subprocess.run([heed, *words], text=True, capture_output=True)
                    if done.returncode:
                        sys.exit(f"{name}: {done.stderr}")
                loaded = transformers.AutoModelForCausalLM.from_pretrained(back, attn_implementation="eager").eval()
                ids = make_decoders.some_ids(300)
                apart = (make_decoders.logits_of(model, ids) - make_decoders.logits_of(loaded, ids)).abs().max().item()
                print("%-16s %s: logits differ by %.1e, %d tensors in Q8_0" % (name, ARCHS[name], apart, len(rounded)), flush=True)
                worst = max(worst, apart)
    sys.exit(worst > 1e-4)


if __name__ == "__main__":
    main()
