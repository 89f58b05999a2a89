"""What a PyTorch user writes in Python, timed on request.

Reads lines "operation sizes kind seconds", such as "ATTEND 8,256,512 rotary 0.3", and answers each with the mean time of one
call in microseconds. The operations are those of the Java program. The kind is that of an attention's positions or mask.
"""

import math
import os
import re
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


def alibi(distance, heads):
    slopes = 2.0 ** (-8.0 / heads * torch.arange(1, heads + 1)).view(heads, 1, 1)
    return (-distance.abs() * slopes).unsqueeze(0)


def t5_buckets(distance, causal, buckets=32, furthest=128):
    if causal:
        offset, distance = 0, (-distance).clamp(min=0)
    else:
        buckets //= 2
        offset, distance = (distance > 0) * buckets, distance.abs()
    exact = buckets // 2
    far = exact + torch.log(distance / exact + 1e-9) / math.log(furthest / exact) * (buckets - exact)
    return (offset + torch.where(distance < exact, distance, far.clamp(exact, buckets - 1).floor())).long()


class Cache:
    """Keys and values with room for all positions, as in Meta's code for Llama: a step writes its own behind the others."""

    def __init__(self, batch, heads, length, size):
        self.keys = torch.rand(batch, heads, length + 1, size)
        self.values = torch.rand(batch, heads, length + 1, size)

    def __call__(self, keys, values):
        self.keys[:, :, -1:] = keys
        self.values[:, :, -1:] = values
        return self.keys, self.values


class Attention(torch.nn.Module):
    """Scores, their softmax, and its product with the values, for t queries, which are the last of the f keys."""

    def __init__(self, size, heads, kind, t, f, causal, key_heads=None, head_size=None, base=10000.0, bias=True):
        super().__init__()
        self.heads, self.key_heads, self.head_size = heads, key_heads or heads, head_size or size // heads
        self.kind = kind
        all_keys = self.key_heads * self.head_size
        self.query = torch.nn.Linear(size, heads * self.head_size, bias)
        self.key = torch.nn.Linear(size, all_keys, bias)
        self.value = torch.nn.Linear(size, all_keys, bias)
        self.result = torch.nn.Linear(heads * self.head_size, size, bias)
        positions = torch.arange(f, dtype=torch.float32)
        distance = positions.view(1, f) - positions[f - t :].view(t, 1)
        hidden = torch.zeros(t, f, dtype=torch.bool)
        if causal or kind in ("causal", "window"):
            hidden = distance > 0
        if kind == "window":
            hidden = hidden | (distance <= -max(1, f // 4))
        if kind == "padding":
            hidden = hidden | (positions >= f - f // 4)
        if kind == "mask":
            sequences = positions // max(1, f // 4)
            hidden = hidden | (sequences.view(1, f) != sequences[f - t :].view(t, 1))
        # a single query is the last one, from which nothing is later
        is_hidden = kind in ("padding", "mask", "window", "causal") or (causal and t > 1)
        self.hidden = hidden if is_hidden else None
        if kind == "rotary":
            frequencies = base ** (-torch.arange(0, self.head_size, 2) / self.head_size)
            angles = torch.cat((positions[f - t :, None] * frequencies,) * 2, dim=-1)
            self.cosines, self.sines = angles.cos(), angles.sin()
        elif kind == "alibi":
            self.alibi = alibi(distance, heads)
        elif kind == "t5":
            self.buckets = t5_buckets(distance, causal)
            self.biases = torch.nn.Embedding(32, heads)
        elif kind == "kerple":
            self.distance = distance.abs()
            self.a, self.b = (torch.nn.Parameter(torch.rand(heads, 1, 1)) for _ in range(2))
        elif kind == "shaw":
            self.relative = distance.clamp(-16, 16).long() + 16
            self.key_vectors = torch.nn.Embedding(33, self.head_size)
            self.value_vectors = torch.nn.Embedding(33, self.head_size)
        elif kind == "transformer-xl":
            steps = torch.arange(float(f), -t, -1)[:, None] * 10000.0 ** (-torch.arange(0, size, 2) / size)
            self.sinusoids = torch.cat((steps.sin(), steps.cos()), dim=-1)
            self.position = torch.nn.Linear(size, size, bias=False)
            self.u, self.v = (torch.nn.Parameter(torch.rand(heads, 1, self.head_size)) for _ in range(2))

    def split(self, x, heads):
        return x.view(x.shape[0], x.shape[1], heads, self.head_size).transpose(1, 2)

    def rotate(self, x):
        return x * self.cosines + rotate_half(x) * self.sines

    def scores(self, q, k):
        kind = self.kind
        if kind == "transformer-xl":
            content = (q + self.u) @ k.transpose(2, 3)
            r = self.position(self.sinusoids).view(-1, self.heads, self.head_size).permute(1, 2, 0)
            shifted = (q + self.v) @ r
            b, n, t, w = shifted.shape
            shifted = shifted.reshape(b, n, w, t)[:, :, 1:].reshape(b, n, t, w - 1)[..., : k.shape[2]]
            return (content + shifted) / math.sqrt(self.head_size)
        scores = q @ k.transpose(2, 3)
        if kind == "shaw":
            scores = scores + torch.einsum("bnth,tfh->bntf", q, self.key_vectors(self.relative))
        scores = scores / math.sqrt(self.head_size)
        if kind == "alibi":
            scores = scores + self.alibi
        elif kind == "t5":
            scores = scores + self.biases(self.buckets).permute(2, 0, 1)
        elif kind == "kerple":
            scores = scores - self.b * torch.log(1 + self.a * self.distance)
        return scores

    def forward(self, x, cache=None):
        q = self.split(self.query(x), self.heads)
        k = self.split(self.key(x), self.key_heads)
        v = self.split(self.value(x), self.key_heads)
        if self.kind == "rotary":
            q, k = self.rotate(q), self.rotate(k)
        if cache is not None:
            k, v = cache(k, v)
        if self.key_heads < self.heads:
            k, v = (repeated(each, self.heads // self.key_heads) for each in (k, v))
        scores = self.scores(q, k)
        if self.hidden is not None:
            scores = scores.masked_fill(self.hidden, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = weights @ v
        if self.kind == "shaw":
            heads = heads + torch.einsum("bntf,tfh->bnth", weights, self.value_vectors(self.relative))
        return self.result(heads.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1))


def repeated(x, times):
    b, n, f, h = x.shape
    return x[:, :, None].expand(b, n, times, f, h).reshape(b, n * times, f, h)


HEADS = 8


def attention(shape, kind):
    block = Attention(shape[2], HEADS, kind, shape[1], shape[1], False).eval()
    x = torch.rand(shape)
    return lambda: block(x)


def attention_training(shape, kind):
    block = Attention(shape[2], HEADS, kind, shape[1], shape[1], False)
    x = torch.rand(shape, requires_grad=True)

    def step():
        with torch.enable_grad():
            block.zero_grad(set_to_none=True)
            x.grad = None
            block(x).sum().backward()

    return step


def generation(shape, block):
    batch, length, size = shape
    cache = Cache(batch, block.key_heads, length, block.head_size)
    x = torch.rand(batch, 1, size)
    return lambda: block.eval()(x, cache)


def of_kind(shape, kind):
    return Attention(shape[2], HEADS, kind, 1, shape[1] + 1, True)


def llama(shape):
    return Attention(shape[2], 32, "rotary", 1, shape[1] + 1, True, 8, 128, 500000.0, False)


OPERATIONS = {
    "ADD": lambda shape, _: module(shape),
    "EMBED": lambda shape, _: chain(shape, 1),
    "EMBED_SCALED": lambda shape, _: chain(shape, math.sqrt(shape[2])),
    "COMPUTE_TABLE": lambda shape, _: lambda: PositionalEncoding(shape[1], shape[0]),
    "FIRST_FORWARD": lambda shape, _: first(shape),
    "ROTATE": lambda shape, _: rotary(shape),
    "ROTATE_INTERLEAVED": lambda shape, _: rotary(shape),
    "ATTEND": attention,
    "TRAIN_ATTENTION": attention_training,
    "GENERATE": lambda shape, kind: generation(shape, of_kind(shape, kind)),
    "GENERATE_LLAMA": lambda shape, _: generation(shape, llama(shape)),
}


def blas():
    """The file of the library that multiplies matrices, by what the process has loaded."""
    torch.rand(2, 2) @ torch.rand(2, 2)
    try:
        with open("/proc/self/maps") as maps:
            files = {os.path.realpath(line.split()[-1]) for line in maps if re.search("blas|mkl", line)}
    except OSError:
        return "an unknown BLAS"
    return " and ".join(sorted(os.path.basename(file) for file in files)) or "no BLAS but its own"


ready = {}
has_fused = hasattr(torch.nn.functional, "scaled_dot_product_attention")
print("torch", torch.__version__, "with", blas(), "" if has_fused else "and no fused attention", flush=True)
for line in sys.stdin:
    operation, sizes, kind, seconds = line.split()
    key = operation, sizes, kind
    if key not in ready:
        call = OPERATIONS[operation](tuple(int(size) for size in sizes.split(",")), kind)
        end = time.perf_counter() + float(seconds)
        while time.perf_counter() < end:
            call()
        ready[key] = call
    call = ready[key]
    calls = 0
    start = time.perf_counter()
    end = start + float(seconds)
    now = start
    while now < end:
        call()
        calls += 1
        now = time.perf_counter()
    print((now - start) / calls * 1e6, flush=True)
