#!/usr/bin/python3
# The peer of bench_step rnn: rnn_pytorch.py THREADS STEPS. Bahdanau's model on random tokens, 64 sentences of 15
# words to 15: a bidirectional GRU, a GRU cell that attends before every word, an output layer over state, context
# and word. Prints one line that bench/run reads: median seconds, tokens/s, processor seconds a step, peak MiB.
import resource, statistics, sys, time
import torch, torch.nn as nn, torch.nn.functional as F

threads, steps = int(sys.argv[1]), int(sys.argv[2])
B, T, V, H, WARM = 64, 15, 8000, 512, 3
torch.set_num_threads(threads)
torch.manual_seed(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(V, H), nn.Embedding(V, H)
        self.encoder = nn.GRU(H, H, bidirectional=True, batch_first=True)
        self.begin = nn.Linear(2 * H, H)
        self.query, self.key, self.score = nn.Linear(H, H), nn.Linear(2 * H, H), nn.Linear(H, 1, bias=False)
        self.cell = nn.GRUCell(3 * H, H)
        self.read = nn.Linear(4 * H, H)
        self.output = nn.Linear(H, V)
        self.drop = nn.Dropout(0.1)

    def forward(self, source, target):
        memory, last = self.encoder(self.drop(self.source(source)))
        h, key = torch.tanh(self.begin(torch.cat([last[0], last[1]], 1))), self.key(memory)
        words, said = self.drop(self.target(target)), []
        for t in range(T):
            weights = F.softmax(self.score(torch.tanh(self.query(h)[:, None] + key)), 1)
            context = (weights * memory).sum(1)
            h = self.cell(torch.cat([words[:, t], context], 1), h)
            said.append(torch.cat([h, context, words[:, t]], 1))
        return self.output(self.drop(torch.tanh(self.read(torch.stack(said, 1)))))


model = Model()
adam = torch.optim.Adam(model.parameters(), lr=1e-4)
source, target = torch.randint(0, V, (B, T)), torch.randint(0, V, (B, T + 1))


def step():
    adam.zero_grad(set_to_none=True)
    logits = model(source, target[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, V), target[:, 1:].reshape(-1), label_smoothing=0.1)
    loss.backward()
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
print(f"{seconds:.6f} {B * T / seconds:.0f} {(time.process_time() - before) / steps:.3f} "
      f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")
