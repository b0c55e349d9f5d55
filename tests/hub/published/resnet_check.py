"""By hand: what transformers' ResNetModel makes of the weights of tests/model/resnet_test.c, the numbers that it expects.

    for k in 0 1; do build/test_model_resnet $k /tmp/resnet-$k.safetensors; done
    python resnet_check.py /tmp/resnet-0.safetensors /tmp/resnet-1.safetensors
"""
import sys

import numpy as np
import torch
from safetensors.torch import load_file
from transformers import ResNetConfig, ResNetModel

CONFIGS = [
    dict(embedding_size=6, hidden_sizes=[6, 10, 12], depths=[2, 1, 2], layer_type="basic"),
    dict(embedding_size=6, hidden_sizes=[16, 24], depths=[2, 2], layer_type="bottleneck"),
]
HEIGHT, WIDTH = 37, 50

k = np.arange(HEIGHT * WIDTH * 3, dtype=np.int64)
pictures = np.stack([((k * 37 + k * k % 101 + i * 59 + 11) % 256).reshape(HEIGHT, WIDTH, 3) for i in range(2)])
x = torch.tensor(pictures.transpose(0, 3, 1, 2).astype(np.float32) / 255 * 2 - 1)
for config, path in zip(CONFIGS, sys.argv[1:]):
    model = ResNetModel(ResNetConfig(num_channels=3, **config)).eval()
    weights = {name.removeprefix("resnet."): t for name, t in load_file(path).items()}
    told = model.load_state_dict(weights, strict=False)
    assert not told.unexpected_keys and all("num_batches_tracked" in name for name in told.missing_keys), told
    with torch.no_grad():
        y = model(x).last_hidden_state
    row = lambda v: "{" + ", ".join(f"{t:.6f}" for t in v[:4].tolist()) + "}"
    print(f"{{{{{y.shape[2]}, {y.shape[3]}}}, {row(y[1, :, 0, 0])}, {row(y[1, :, -1, -1])}, {y.double().sum().item():.6f}}},")
