"""What a PyTorch user writes in Python, timed on request.

Reads lines "case shape seconds" and answers each with the mean time of one call in microseconds. The cases are the usual
module (a buffer, its slice, an addition), the chain embedding -> encoding without and with the factor, the constructor of
the module's table, a module constructed, loaded and called once, and the usual formulation of rotary embeddings.
"""

import math
import sys
import time

import torch

torch.set_grad_enabled(False)
torch.set_num_threads(int(sys.argv[1]))


class PositionalEncoding(torch.nn.Module):
    def __init__(self, size, length):
        super().__init__()
        position = torch.arange(length).unsqueeze(1)
        rate = torch.exp(torch.arange(0, size, 2) * (-math.log(10000.0) / size))
        table = torch.zeros(1, length, size)
        table[0, :, 0::2] = torch.sin(position * rate)
        table[0, :, 1::2] = torch.cos(position * rate)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[:, : x.size(1)]


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def module(shape):
    encoding = PositionalEncoding(shape[2], max(5000, shape[1])).eval()
    x = torch.rand(shape)
    return lambda: encoding(x)


def chain(shape, factor):
    encoding = PositionalEncoding(shape[2], max(5000, shape[1])).eval()
    embedding = torch.nn.Embedding(32000, shape[2])
    ids = (torch.arange(shape[0] * shape[1]) * 7919 % 32000).reshape(shape[:2])
    if factor == 1:
        return lambda: encoding(embedding(ids))
    return lambda: encoding(embedding(ids) * factor)


def rotary(shape):
    q, k = torch.rand(shape), torch.rand(shape)
    cosines, sines = torch.rand(shape[2:]), torch.rand(shape[2:])
    return lambda: (q * cosines + rotate_half(q) * sines, k * cosines + rotate_half(k) * sines)


def first(shape):
    x = torch.rand(shape)
    saved = PositionalEncoding(shape[2], 5000).state_dict()

    def load_and_run():
        encoding = PositionalEncoding(shape[2], 5000).eval()
        encoding.load_state_dict(saved)
        return encoding(x)

    return load_and_run


CASES = {
    "module": module,
    "chain": lambda shape: chain(shape, 1),
    "chainScaled": lambda shape: chain(shape, math.sqrt(shape[2])),
    "table": lambda shape: lambda: PositionalEncoding(shape[1], shape[0]),
    "first": first,
    "rotary": rotary,
}

ready = {}
print("torch", torch.__version__, flush=True)
for line in sys.stdin:
    case, text, seconds = line.split()
    if (case, text) not in ready:
        call = CASES[case](tuple(int(size) for size in text.split("x")))
        end = time.perf_counter() + float(seconds)
        while time.perf_counter() < end:
            call()
        ready[case, text] = call
    call = ready[case, text]
    calls = 0
    start = time.perf_counter()
    end = start + float(seconds)
    now = start
    while now < end:
        call()
        calls += 1
        now = time.perf_counter()
    print((now - start) / calls * 1e6, flush=True)
