#!/usr/bin/env python3
"""Makes the files of this folder with torch.save, which torch_file_test.c and the fuzz target read.

Never run by the tests. Needs: pip install torch
"""
import collections
import os

import torch

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    table = torch.arange(12, dtype=torch.float32).reshape(4, 3) / 8
    state = collections.OrderedDict()
    state["table"] = table
    state["tied"] = table  # the same storage
    state["part"] = table[1:3]
    state["half"] = torch.tensor([1.5, -2.0], dtype=torch.float16)
    state["brain"] = torch.tensor([[1.5], [-2.0]], dtype=torch.bfloat16)
    state["count"] = torch.tensor(7, dtype=torch.int64)
    state["none"] = torch.zeros(0, 3)
    state["grown"] = torch.nn.Parameter(torch.ones(2))
    state._metadata = collections.OrderedDict([("", {"version": 1})])
    for name, modern in (("archive.bin", True), ("legacy.bin", False)):
        torch.save(state, os.path.join(HERE, name), _use_new_zipfile_serialization=modern)
    torch.save({"table": table.t()}, os.path.join(HERE, "turned.bin"))
    torch.save({"model": {"table": table}}, os.path.join(HERE, "nested.bin"))
    torch.save({"table": table, "call": print}, os.path.join(HERE, "call.bin"))


main()
