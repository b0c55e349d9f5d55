"""By hand: what generation_config.json makes of a published chat model here and in transformers.

    python tests/hub/published/generation_check.py build/heed MODEL PUBLISHED

MODEL is a model of heed with the tokenizer and weights of PUBLISHED, a folder of transformers: `heed import PUBLISHED MODEL`, or
`heed export MODEL PUBLISHED`. Each config is obeyed by both, greedily, and the texts must be the same."""
import json, os, subprocess, sys, tempfile
import torch, transformers

heed, model, published = sys.argv[1:]
QUESTION = "What is the capital of France?"
folder = tempfile.TemporaryDirectory()
for f in os.listdir(model):
    if f != "generation_config.json": os.symlink(os.path.abspath(os.path.join(model, f)), os.path.join(folder.name, f))
tokenizer = transformers.AutoTokenizer.from_pretrained(published)
network = transformers.AutoModelForCausalLM.from_pretrained(published, dtype=torch.float32).eval()
END = tokenizer.eos_token_id


def ids(text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


CONFIGS = [{}, {"bad_words_ids": [ids(" Paris"), ids(" capital of")]}, {"bad_words_ids": [[END], ids(" is Paris")]}, {"suppress_tokens": ids(" Paris") + ids(" capital")},
           {"begin_suppress_tokens": ids("The")}, {"min_new_tokens": 25}, {"min_length": 60}, {"max_length": 40}, {"max_length": 45, "forced_eos_token_id": END},
           {"repetition_penalty": 1.3, "min_new_tokens": 20}, {"no_repeat_ngram_size": 2, "min_new_tokens": 30}, {"eos_token_id": [END] + ids(" France")},
           {"max_new_tokens": 3}]
text = tokenizer.apply_chat_template([{"role": "user", "content": QUESTION}], tokenize=False, add_generation_prompt=True)
given = tokenizer(text, return_tensors="pt", add_special_tokens=False)
same = 0
for c in CONFIGS:
    config = {"eos_token_id": END, "do_sample": False, **c}
    if not {"max_length", "max_new_tokens"} & set(config): config["max_new_tokens"] = 40
    with open(os.path.join(folder.name, "generation_config.json"), "w") as f: json.dump(config, f)
    with torch.no_grad(): new = network.generate(**given, generation_config=transformers.GenerationConfig(**config))[0][given["input_ids"].shape[1]:].tolist()
    ends = config["eos_token_id"] if isinstance(config["eos_token_id"], list) else [END]
    want = tokenizer.decode(new[:-1] if new[-1] in ends else new).rstrip("\n")
    got = subprocess.run([heed, "generate", folder.name, "-q", "--chat", "--prompt", QUESTION], capture_output=True, text=True)
    same += got.stdout.rstrip("\n") == want
    if got.stdout.rstrip("\n") != want: print("DIFFER", c, [want, got.stdout, got.stderr])
print(f"{same} of {len(CONFIGS)} texts are the same")
