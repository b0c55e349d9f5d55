#!/usr/bin/python3
# The peer of bench_step vit: vit_pytorch.py THREADS STEPS. The small Vision Transformer on 128 random pictures of 28 x 28
# pixels: three layers of a 3 x 3 convolution, batch norm and relu, pooled behind the first and the last, positions, four pre-norm blocks, the mean, ten classes.
# Prints one line that bench/run reads: median seconds, pictures/s, processor seconds a step, peak MiB.
import resource, statistics, sys, time
import torch, torch.nn as nn, torch.nn.functional as F

threads, steps = int(sys.argv[1]), int(sys.argv[2])
B, SIDE, D, HEADS, INNER, LAYERS, CLASSES, WARM = 128, 28, 128, 4, 256, 4, 10, 3
torch.set_num_threads(threads)
torch.manual_seed(1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(D, eps=1e-12), nn.LayerNorm(D, eps=1e-12)
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.fc1, self.fc2 = nn.Linear(D, INNER), nn.Linear(INNER, D)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).view(B, -1, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, -1, D))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [1, 32, 64, D]
        layers = [[nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU()] for a, b in zip(widths, widths[1:])]
        self.stem = nn.Sequential(*layers[0], nn.MaxPool2d(2), *layers[1], *layers[2], nn.MaxPool2d(2))
        self.position = nn.Parameter(0.02 * torch.randn(1, 49, D))
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.classifier = nn.LayerNorm(D, eps=1e-12), nn.Linear(D, CLASSES)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2) + self.position
        return self.classifier(self.norm(self.blocks(x)).mean(1))


model = Model()
adam = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)
pictures, labels = torch.randn(B, 1, SIDE, SIDE), torch.randint(0, CLASSES, (B,))


def step():
    adam.zero_grad(set_to_none=True)
    loss = F.cross_entropy(model(pictures), labels, label_smoothing=0.1)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()
    return loss.item()


for _ in range(WARM):
    step()
taken, before = [], time.process_time()
for _ in range(steps):
    start = time.perf_counter()
    step()
    taken.append(time.perf_counter() - start)
seconds = statistics.median(taken)
print(f"{seconds:.6f} {B / seconds:.0f} {(time.process_time() - before) / steps:.3f} "
      f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")
