#!/usr/bin/python3
# The peers of bench_published: published_pytorch.py gpt2|bert BATCH THREADS [f32|bf16]. The same sizes with random weights:
# transformers' GPT2LMHeadModel.generate and BertModel where transformers is installed, and the same models in plain
# PyTorch. Prints one line for each that bench/run reads: median seconds, tokens/s, processor seconds for a batch, peak
# MiB so far, name.
import math, resource, statistics, sys, time
import torch, torch.nn as nn, torch.nn.functional as F

what, batch, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
TYPE = torch.bfloat16 if sys.argv[4:] == ["bf16"] else torch.float32
LENGTH, TOKENS, ROUNDS, LAYERS, HEADS, WIDTH = 32, 64, 3, 12, 12, 768
torch.set_num_threads(threads)
torch.manual_seed(1)
torch.set_grad_enabled(False)
try:
    import transformers
except ImportError:
    transformers = None


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, keys, values, at):
        new = x.shape[1]
        q, k, v = (y.view(len(x), new, HEADS, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(WIDTH, 2))
        keys[:, :, at:at + new], values[:, :, at:at + new] = k, v
        scores = q @ keys[:, :, :at + new].transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        if new > 1:
            scores = scores.masked_fill(torch.ones(new, at + new).tril(at) == 0, -math.inf)
        y = F.softmax(scores, -1) @ values[:, :, :at + new]
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.outer(F.gelu(self.inner(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, WIDTH), nn.Embedding(1024, WIDTH)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)

    def forward(self, ids, cache, at):
        x = self.words(ids) + self.positions(torch.arange(at, at + ids.shape[1]))
        for block, (keys, values) in zip(self.blocks, cache):
            x = block(x, keys, values, at)
        return (self.norm(x[:, -1]) @ self.words.weight.T).argmax(-1, keepdim=True)


def plain_gpt2(ids):
    model = GPT(50257).eval().to(TYPE)

    def go_on():
        cache = [[torch.empty(batch, HEADS, LENGTH + TOKENS, WIDTH // HEADS, dtype=TYPE) for _ in range(2)] for _ in range(LAYERS)]
        last = model(ids, cache, 0)
        for at in range(LENGTH, LENGTH + TOKENS - 1):
            last = model(last, cache, at)
        return last
    return go_on


def transformers_gpt2(ids):
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).eval().to(TYPE)
    return lambda: model.generate(ids, attention_mask=torch.ones_like(ids), min_new_tokens=TOKENS,
                                  max_new_tokens=TOKENS, do_sample=False, pad_token_id=50256)


def plain_bert(ids):
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, activation="gelu", batch_first=True)
    stack, words = nn.TransformerEncoder(layer, LAYERS).eval().to(TYPE), nn.Embedding(30522, WIDTH).to(TYPE)
    positions, norm = nn.Embedding(512, WIDTH).to(TYPE), nn.LayerNorm(WIDTH).to(TYPE)
    return lambda: stack(norm(words(ids) + positions.weight[:LENGTH])).mean(1)


def transformers_bert(ids):
    model = transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False).eval().to(TYPE)
    mask = torch.ones_like(ids)
    return lambda: model(ids, attention_mask=mask).last_hidden_state.mean(1)


for name in ["transformers", "plain"] if transformers else ["plain"]:
    run = globals()[f"{name}_{what}"](torch.randint(0, 30000, (batch, LENGTH)))
    run()
    taken, before = [], time.process_time()
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    seconds, busy = statistics.median(taken), (time.process_time() - before) / ROUNDS
    print(f"{seconds:.6f} {batch * (TOKENS if what == 'gpt2' else LENGTH) / seconds:.1f} {busy:.3f} "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} {name}")
