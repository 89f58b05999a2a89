#!/usr/bin/env python3
"""Writes src/test/javascript/expected.json: what the figures with sliders of the book must compute.

    python3 src/test/python/make_play.py        (made with numpy 2.4, torch 2.15, transformers 5.23, diffusers 0.42)

Each case has a figure, a function of its script, the values of its inputs, and a column of the rows that the function
returns, or nothing where it returns numbers. Sinusoids are powers of e^{i w t} and rotations products of complex
numbers here; scalings, slopes and buckets are those of transformers, and numbers of 16 bits those of torch.
"""

import csv
import json
import pathlib
import sys

import numpy as np
import torch
from diffusers.models.embeddings import get_timestep_embedding
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.t5.modeling_t5 import T5Attention

ROOT = pathlib.Path(__file__).parents[3]
BOOK = ROOT / "examples/book/src"
sys.path.append(str(BOOK / "test/python"))
import minilm  # noqa: E402

CASES = []


def case(figure, values, column, expected, function="rows", tolerance=1e-9):
    CASES.append({"figure": figure, "function": function, "values": values, "column": column, "tolerance": tolerance,
                  "expected": np.round(np.asarray(expected, float), 12).tolist()})


def waves(t, d, base=10_000.0):
    """The pairs of a position as complex numbers, cosine + i sine."""
    return np.exp(1j * t / np.power(base, np.arange(0, d, 2) / d))


def row(t, d, base=10_000.0):
    return np.stack([waves(t, d, base).imag, waves(t, d, base).real], -1).ravel()


def softmax(x):
    return np.exp(x) / np.exp(x).sum()


# the sine below one half where the bit is 0
for t in (0, 3, 22, 31):
    case("bits", {"t": t, "smoothness": 0, "waves": "one"}, "value", [int(b) for b in f"{t:05b}"])
    angles = np.pi * t / np.array([16, 8, 4, 2, 1])
    case("bits", {"t": t, "smoothness": 1, "waves": "one"}, "value", (1 - np.sin(angles)) / 2)
    case("bits", {"t": t, "smoothness": 1, "waves": "both"}, "cosine", (1 - np.cos(angles)) / 2)

for t, d, base in ((20, 64, 1e4), (99, 6, 500), (1, 2, 1)):
    values = {"t": t, "d": d, "base": base}
    case("sinusoids", values, "sine", waves(t, d, base).imag)
    case("sinusoids", values, "cosine", waves(t, d, base).real)

for distance, pairs, base in ((-7, 32, 1e4), (101, 32, 1e4), (10, 5, 100)):
    product = (waves(300, 2 * pairs, base) * waves(300 - distance, 2 * pairs, base).conj()).real
    values = {"distance": distance, "pairs": pairs, "base": base}
    case("similarity", values, "cosine", product)
    case("similarity", values, None, [product.sum()], "product")

for pairs, t, length, distance, gain in ((8, 25, 50, 3, 16), (64, 599, 200, 0, 0.5), (1, 5, 10, 20, 32)):
    query = waves(min(t, length - 1), 2 * pairs, 1e4) * waves(-distance, 2 * pairs, 1e4)
    scores = np.array([(query * waves(s, 2 * pairs, 1e4).conj()).real.sum() for s in range(length)])
    values = {"pairs": pairs, "query": t, "length": length, "distance": distance, "gain": gain, "base": 1e4}
    case("shift", values, "product", scores)
    case("shift", values, "weight", softmax(gain * scores / np.sqrt(2 * pairs)))

# Lehmer's generator
seed, numbers = 1, []
for _ in range(20 * 64 * 12):
    seed = seed * 48271 % (2 ** 31 - 1)
    numbers.append(seed / (2 ** 31 - 1))
words = np.array(numbers).reshape(20, 64, 12).sum(-1) - 6
words /= np.linalg.norm(words, axis=-1, keepdims=True)
positions = np.array([row(t, 64) for t in range(50)])
for norm, word, t in ((4, 0, 7), (1, 13, 49), (24, 19, 0)):
    total = norm * words[word] + positions[t]
    values = {"norm": norm, "word": word, "t": t}
    case("added", values, "product", positions @ total, "positions")
    case("added", values, "product", norm * words @ total)
    rest = total - positions[np.argmax(positions @ total)]
    case("added", values, "after subtracting", norm * words @ rest)

distances = np.arange(129)
formulas = {"kerple": np.log1p(distances), "gaussian": distances ** 2.0,
            "sandwich": 64 - np.array([waves(x, 128).real.sum() for x in distances])}
for buckets, largest in ((32, 128), (2, 33), (64, 512), (7, 100)):
    t5 = T5Attention._relative_position_bucket(torch.from_numpy(-distances), False, buckets, largest).numpy()
    values = {"encoding": "t5", "strength": 0.125, "buckets": buckets, "largest": largest}
    case("biases", values, "chosen bias", -0.125 * t5)
for name, x in formulas.items():
    values = {"encoding": name, "strength": 0.125, "buckets": 32, "largest": 128}
    case("biases", values, "chosen weight", softmax(-0.125 * x))
    case("biases", values, "ALiBi's weight", softmax(-0.125 * distances))

for name in ("linear", "yarn", "llama3"):
    for d, factor, length in ((128, 8.0, 4096), (32, 32.0, 8192), (4, 2.0, 1024)):
        parameters = {"rope_type": name, "rope_theta": 1e4, "factor": factor, "original_max_position_embeddings": length}
        if name == "llama3":
            parameters |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
        config = LlamaConfig(head_dim=d, hidden_size=d, num_attention_heads=1, rope_parameters=parameters,
                             max_position_embeddings=int(factor) * length)
        frequencies, _ = ROPE_INIT_FUNCTIONS[name](config, "cpu")
        scaled = frequencies.double().numpy() * 1e4 ** (np.arange(0, d, 2) / d)
        # transformers has frequencies of 24 bits
        values = {"scaling": name, "factor": factor, "length": length, "d": d}
        case("contexts", values, "divided by", 1 / scaled, tolerance=1e-5 * factor)
# bloc97: the base 10,000 * 8^(128 / 126); the counts of new angles are those of the chapter's table
ntk = (1e4 * 8 ** (128 / 126)) ** (-np.arange(0, 128, 2) / 128) * 1e4 ** (np.arange(0, 128, 2) / 128)
case("contexts", {"scaling": "ntk", "factor": 8, "length": 4096, "d": 128}, "divided by", 1 / ntk)
turns = 4096 / (2 * np.pi) * 1e4 ** (-np.arange(0, 128, 2) / 128)
for name, scaled in (("none", np.ones(64)), ("ntk", ntk)):
    new = np.where((turns < 1) & (8 * scaled > 1 + 1e-9), np.minimum(8 * scaled * turns, 1) - turns, 0)
    assert (new > 0).sum() == {"none": 18, "ntk": 17}[name]
    case("contexts", {"scaling": name, "factor": 8, "length": 4096, "d": 128}, "new turns", new)

TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
special = [0, 256, 257, 259, 2049, 2051, 65_504, 65_519, 65_520, 1e-7, 6e-8, 2e-8, -0.3, 0.9999999, 131_071]
for name, dtype in TYPES.items():
    for x in special + (np.random.default_rng(1).normal(size=40) * 10.0 ** (np.arange(40) % 7 - 2)).tolist():
        single = np.float64(np.float32(x))
        rounded = torch.tensor(single).to(dtype).double().item()
        if np.isfinite(rounded):
            CASES.append({"figure": "formats", "function": "round", "arguments": [name, single], "expected": [rounded],
                          "tolerance": 0})
    for t, frequency in ((999, 1), (257, 0.5), (2049, 0.01)):
        def rounded(x):
            return torch.tensor(x, dtype=torch.float64).to(dtype)

        def wave(at):
            angle = rounded(float(rounded(at)) * float(rounded(frequency))).double()
            return rounded(angle.cos().item()), rounded(angle.sin().item())

        (a, b), (c, d) = wave(t), wave(t - 1)
        exact = [rounded(f((t - i) * frequency)) for i in (0, 1) for f in (np.cos, np.sin)]
        values = {"format": name, "t": t, "distance": 1, "frequency": frequency}
        scores = [a * c + b * d, exact[0] * exact[2] + exact[1] * exact[3]]
        case("formats", values, None, [x.item() for x in scores], "scores")

for phi, d, distance in ((40, 64, 3), (0, 4, 9), (-170, 128, -20), (10, 2, 100)):
    query, key = waves(150, d), waves(150 - distance, d) * np.exp(1j * np.radians(phi))
    case("rotary", {"phi": phi, "d": d, "distance": distance}, "added", (query * key.conj()).real)

# masked autoencoders: the column's half, all sines and then all cosines, then the row's
half = [np.concatenate([waves(t, 32).imag, waves(t, 32).real]) for t in range(16)]
grid = np.array([np.concatenate([half[x], half[y]]) for y in range(16) for x in range(16)])
line = np.array([row(n, 64) for n in range(256)])
for y, x in ((4, 10), (15, 0)):
    for name, table in (("axes", grid), ("number", line)):
        case("patches", {"encoding": name, "row": y, "column": x}, "similarity", table @ table[16 * y + x] / 32)
        CASES.append({"figure": "patches", "function": "encode", "arguments": [name, y, x], "tolerance": 1e-9,
                      "expected": table[16 * y + x].round(12).tolist()})


def hashed(text):
    """FNV-1a of 32 bits, and the mixing of MurmurHash3."""
    bits = 0x811C9DC5
    for letter in text.encode():
        bits = (bits ^ letter) * 0x01000193 & 0xFFFFFFFF
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        bits = (bits ^ bits >> shift) * factor & 0xFFFFFFFF
    bits ^= bits >> 16
    return (bits - (bits >> 31 << 32)) / 2147483648


sentence = "the dog bites the man"
bare = np.array([[3 ** 0.5 * hashed(f"{word}#{i}") for i in range(16)] for word in sentence.split()])
for name in ("none", "rotary", "sinusoids", "learned", "alibi", "t5"):
    x, bias, t = bare.copy(), np.zeros(5), 2
    delta = np.arange(5) - t
    if name == "rotary":
        turned = [(v[::2] + 1j * v[1::2]) * waves(s, 16) for s, v in enumerate(bare)]
        x = np.array([np.stack([z.real, z.imag], -1).ravel() for z in turned])
    elif name == "sinusoids":
        x += [row(s, 16) for s in range(5)]
    elif name == "learned":
        x += [[1.5 ** 0.5 * hashed(f"{s}#{i}") for i in range(16)] for s in range(5)]
    elif name == "alibi":
        bias = -0.25 * np.abs(delta)
    elif name == "t5":
        b = T5Attention._relative_position_bucket(torch.from_numpy(delta), True, 8, 16).tolist()
        bias = [1.5 * hashed(f"bucket {n}") for n in b]
    values = {"sentence": "dog", "encoding": name, "t": t}
    case("playground", values, "score", x @ x[t] / 4 + bias)
    case("playground", values, "weight", softmax(x @ x[t] / 4 + bias))


def maps_case(name, expected, tolerance):
    CASES.append({"figure": "maps", "function": "cells", "arguments": [name], "expected": expected.round(12).tolist(),
                  "tolerance": tolerance})


weights = minilm.weights()
for name, has_positions in (("with", True), ("without", False)):
    maps = minilm.attention(weights, "a rose is a rose is a rose".split(), has_positions)
    maps_case(f"{name}2", maps[1, 1], 0.00501)
learned = np.array(list(csv.reader(open(BOOK / "main/resources/trained/positions.csv"))), float)
learned /= np.linalg.norm(learned, axis=-1, keepdims=True)
maps_case("learned", learned @ learned.T, 0.00501)
maps_case("sinusoids", line[:16] @ line[:16].T / 32, 1e-9)

for t, d, base in ((1, 8, 10_000), (37, 8, 500_000), (12, 16, 100)):
    def diffusion(flip, shift):
        return get_timestep_embedding(torch.tensor([float(t)]), d, flip, shift, max_period=base)[0].double().numpy()

    whole = row(t, d, base)
    swapped = whole.reshape(-1, 2)[:, ::-1].ravel()
    own = t * float(base) ** (-np.arange(d) / d)
    less = np.exp(1j * t * float(base) ** (-np.arange(d // 2) / (d // 2 - 1)))
    rows = [whole, swapped, diffusion(False, 0), diffusion(True, 0), diffusion(False, 1), diffusion(True, 1),
            np.stack([less.imag, less.real], -1).ravel(), np.where(np.arange(d) % 2, np.cos(own), np.sin(own))]
    for number, numbers in enumerate(rows):
        CASES.append({"figure": "checker", "found": [number, t, base], "text": ", ".join(f"{x:.4f}" for x in numbers)})

lines = ",\n".join(json.dumps(each) for each in CASES)
(ROOT / "src/test/javascript/expected.json").write_text(f"[\n{lines}\n]\n")
print(len(CASES), "cases")
