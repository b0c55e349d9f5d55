#!/usr/bin/python3
# The peer of `heed bench --device cuda --only llama`: llama_pytorch.py [train] [greedy]. A Llama of 124 million parameters
# (12 layers, 768 columns, 12 heads, gate of 2,048, 50,304 tokens, tied) on random tokens, bf16, torch.compile.
# train: 64 sequences of 1,024 tokens in as many parts as is fastest, fused AdamW, gradients clipped. greedy: one text, 128 tokens, the whole step a graph.
import statistics, sys, time
import torch, torch.nn as nn, torch.nn.functional as F

D, HEADS, INNER, LAYERS, V, T, B = 768, 12, 2048, 12, 50304, 1024, 64
torch.set_float32_matmul_precision("high")
torch.manual_seed(1)


def turn(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(D), nn.RMSNorm(D)
        self.qkv, self.out = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)
        self.gate, self.down = nn.Linear(D, 2 * INNER, bias=False), nn.Linear(INNER, D, bias=False)

    def forward(self, x, cos, sin, cache=None, at=None, seen=None):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        q, k = turn(q, cos, sin).to(v.dtype), turn(k, cos, sin).to(v.dtype)
        if cache is not None:
            cache[0].index_copy_(2, at, k), cache[1].index_copy_(2, at, v)
            k, v = cache
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=seen is None)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, D))
        a, g = self.gate(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(a) * g)


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(V, D)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(D)
        angle = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, D // HEADS, 2) / (D // HEADS))
        self.register_buffer("cos", angle.cos().repeat(1, 2))
        self.register_buffer("sin", angle.sin().repeat(1, 2))

    def forward(self, x, y):
        h = self.table(x)
        for block in self.blocks:
            h = block(h, self.cos[: x.shape[1]], self.sin[: x.shape[1]])
        return F.cross_entropy(F.linear(self.norm(h), self.table.weight).view(-1, V), y.view(-1))

    def step(self, x, at, caches):
        h, seen = self.table(x), (torch.arange(caches[0].shape[3], device=x.device) <= at).view(1, 1, 1, -1)
        for block, cache in zip(self.blocks, caches):
            h = block(h, self.cos[at], self.sin[at], cache, at, seen)
        return F.linear(self.norm(h), self.table.weight).argmax(-1)


def train():
    for parts in (1, 2, 4):
        model = Llama().cuda()
        adam = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        run = torch.compile(model)
        x = torch.randint(0, V, (parts, B // parts, T), device="cuda")

        def step():
            for part in x:
                with torch.autocast("cuda", torch.bfloat16):
                    loss = run(part, part) / parts
                loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            adam.step(), adam.zero_grad(set_to_none=True)

        for _ in range(4):
            step()
        taken = []
        for _ in range(12):
            torch.cuda.synchronize()
            start = time.perf_counter()
            step()
            torch.cuda.synchronize()
            taken.append(time.perf_counter() - start)
        s = statistics.median(taken)
        print(f"train, {parts} parts: {B * T / s:.0f} tokens/s, {s * 1000:.1f} ms, {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB", flush=True)
        torch.cuda.reset_peak_memory_stats()


def greedy():
    model = Llama().cuda().bfloat16().eval()
    caches = [torch.zeros(2, 1, HEADS, 256, D // HEADS, device="cuda", dtype=torch.bfloat16) for _ in range(LAYERS)]
    for cache in caches:
        torch._dynamo.mark_static_address(cache)
    step = torch.compile(model.step, mode="reduce-overhead")
    places = [torch.tensor([i], device="cuda") for i in range(256)]
    with torch.no_grad():
        for _ in range(6):
            torch.cuda.synchronize()
            start, x = time.perf_counter(), torch.ones(1, 1, dtype=torch.long, device="cuda")
            for i in range(128):
                x = step(x, places[i], caches).clone()
            torch.cuda.synchronize()
            taken = time.perf_counter() - start
    print(f"greedy 1: {128 / taken:.0f} tokens/s", flush=True)


for name in sys.argv[1:] or ["train", "greedy"]:
    {"train": train, "greedy": greedy}[name]()
