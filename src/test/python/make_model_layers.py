#!/usr/bin/env python3
"""Writes the layers of published models that ModelLayersTest compares with, with torch.

    python3 src/test/python/make_model_layers.py        (made with torch 1.13 and numpy 1.24)

Each function is the formula of the published code that it names, of transformers or timm, with weights in float64 under
the names of this library's parameters. It writes the same bytes each time.
"""

import functools
import math
import pathlib

import torch
from make_weights import save_safetensors
from torch.nn.functional import gelu, layer_norm, linear, normalize, silu, softmax

FOLDER = pathlib.Path(__file__).parents[1] / "resources" / "layers"

SIZE, HIDDEN, LENGTH, BATCH = 8, 16, 6, 2

torch.set_default_dtype(torch.float64)
gelu_tanh = functools.partial(gelu, approximate="tanh")


class Weights(dict):
    """Draws a weight where it is used first."""

    def projection(self, name, x, size, bias):
        if name + ".weight" not in self:
            self[name + ".weight"] = torch.randn(size, x.shape[-1]) / 2
            if bias:
                self[name + ".bias"] = torch.randn(size) / 2
        return linear(x, self[name + ".weight"], self.get(name + ".bias"))

    def factor(self, name, size):
        return self.setdefault(name, 1 + torch.randn(size) / 2)

    def rms(self, name, x, epsilon):
        """Gemma stores the factor minus 1."""
        return x / torch.sqrt((x ** 2).mean(-1, keepdim=True) + epsilon) * self.factor(name + ".gamma", x.shape[-1])

    def layer(self, name, x, epsilon, bias=True):
        factor = self.factor(name + ".gamma", x.shape[-1])
        offset = self.setdefault(name + ".beta", torch.randn(x.shape[-1]) / 2 if bias else torch.zeros(x.shape[-1]))
        return layer_norm(x, x.shape[-1:], factor, offset, epsilon)

    def feed_forward(self, x, activation, bias=True, gated=False):
        hidden = self.projection("feedForward.hiddenProjection", x, HIDDEN, bias)
        gate = self.projection("feedForward.gateProjection", x, HIDDEN, bias) if gated else None
        result = activation(gate) * hidden if gated else activation(hidden)
        return self.projection("feedForward.outputProjection", result, SIZE, bias)

    def qkv(self, x, heads, key_heads, size, bias=False, of_all_heads=None, of_each=None):
        """Queries (B, N, T, H), keys and values (B, K, T, H)."""
        found = []
        for name, count in (("query", heads), ("key", key_heads), ("value", key_heads)):
            y = self.projection(f"attention.{name}Projection", x, count * size, bias)
            if of_all_heads and name != "value":
                y = of_all_heads(f"attention.{name}Norm", y)
            y = y.reshape(BATCH, LENGTH, count, size)
            if of_each and name != "value":
                y = of_each(f"attention.{name}Norm", y)
            found.append(y.transpose(1, 2))
        return found

    def attended(self, q, k, v, scale, bias=False, window=None, terms=0):
        """softmax(scale · q kᵀ + terms) v; causal if the window is not None."""
        group = q.shape[1] // k.shape[1]
        scores = q @ k.repeat_interleave(group, 1).transpose(2, 3) * scale + terms
        if window is not None:
            distances = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
            scores = scores.masked_fill((distances < 0) | (distances >= window), -math.inf)
        y = softmax(scores, 3) @ v.repeat_interleave(group, 1)
        return self.projection("attention.resultProjection", y.transpose(1, 2).flatten(2), SIZE, bias)


def rotated(x, size, interleaved=False, base=10000.):
    """The first dimensions of x (B, N, T, H) rotated, in pairs of neighbours or of halves."""
    angles = torch.arange(LENGTH)[:, None] * base ** (-torch.arange(0, size, 2) / size)
    cos, sin = angles.cos(), angles.sin()
    part = x[..., :size]
    a, b = (part[..., ::2], part[..., 1::2]) if interleaved else part.chunk(2, -1)
    pairs = [a * cos - b * sin, b * cos + a * sin]
    y = torch.stack(pairs, -1).flatten(-2) if interleaved else torch.cat(pairs, -1)
    return torch.cat([y, x[..., size:]], -1)


def gemma_3(w, x):
    """Gemma3DecoderLayer: four norms, query_pre_attn_scalar 9, sliding_window 3, head_dim 4."""
    def norm(name, y):
        return w.rms(name, y, 1e-6)

    q, k, v = w.qkv(norm("attentionNorm", x), 4, 2, 4, of_each=norm)
    y = w.attended(rotated(q, 4), rotated(k, 4), v, 9 ** -0.5, window=3)
    x = x + norm("attentionResultNorm", y)
    y = w.feed_forward(norm("feedForwardNorm", x), gelu_tanh, bias=False, gated=True)
    return x + norm("feedForwardResultNorm", y)


def olmo_2(w, x):
    """Olmo2DecoderLayer: norms behind the parts, and of all heads of queries and of keys."""
    def norm(name, y):
        return w.rms(name, y, 1e-6)

    q, k, v = w.qkv(x, 2, 1, 4, of_all_heads=norm)
    x = x + norm("attentionNorm", w.attended(rotated(q, 4), rotated(k, 4), v, 0.5, window=LENGTH))
    return x + norm("feedForwardNorm", w.feed_forward(x, silu, bias=False, gated=True))


def phi(w, x):
    """PhiDecoderLayer: parallel parts of one norm, half of a head rotated."""
    normed = w.layer("attentionNorm", x, 1e-5)
    q, k, v = w.qkv(normed, 2, 2, 4, bias=True)
    y = w.attended(rotated(q, 2), rotated(k, 2), v, 0.5, bias=True, window=LENGTH)
    return y + w.feed_forward(normed, gelu_tanh) + x


def cohere(w, x):
    """CohereDecoderLayer: parallel parts of one norm without a bias, pairs of neighbours."""
    normed = w.layer("attentionNorm", x, 1e-5, bias=False)
    q, k, v = w.qkv(normed, 2, 1, 4)
    y = w.attended(rotated(q, 4, interleaved=True), rotated(k, 4, interleaved=True), v, 0.5, window=LENGTH)
    return x + y + w.feed_forward(normed, silu, bias=False, gated=True)


def gpt_neox(w, x):
    """GPTNeoXLayer with use_parallel_residual: a norm for each of the parallel parts."""
    q, k, v = w.qkv(w.layer("attentionNorm", x, 1e-5), 2, 2, 4, bias=True)
    y = w.attended(rotated(q, 2), rotated(k, 2), v, 0.5, bias=True, window=LENGTH)
    return w.feed_forward(w.layer("feedForwardNorm", x, 1e-5), gelu) + y + x


def swin_v2(w, x):
    """SwinTransformerV2Block of timm in a window of 2 by 3: cosines, a network of the log-spaced coordinates, and no bias
    of keys. The second temperature is above the limit of 100."""
    w["attention.keyProjection.weight"] = torch.randn(SIZE, SIZE) / 2
    w["attention.keyProjection.bias"] = torch.zeros(SIZE)
    w["attention.temperature"] = torch.tensor([1.5, 5.])
    encoding = "attention.relativeEncoding."
    w.update({encoding + "weight1": torch.randn(5, 2), encoding + "bias1": torch.randn(5),
              encoding + "weight2": torch.randn(2, 5)})
    cells = torch.stack(torch.meshgrid(torch.arange(2.), torch.arange(3.), indexing="ij")).flatten(1)
    shares = 8 * (cells[:, :, None] - cells[:, None]) / torch.tensor([1., 2.])[:, None, None]
    table = torch.sign(shares) * torch.log2(shares.abs() + 1) / math.log2(8)
    hidden = torch.relu(linear(table.permute(1, 2, 0), w[encoding + "weight1"], w[encoding + "bias1"]))
    biases = 16 * torch.sigmoid(linear(hidden, w[encoding + "weight2"])).permute(2, 0, 1)
    q, k, v = w.qkv(x, 2, 2, 4, bias=True)
    scale = w["attention.temperature"].clamp(max=math.log(1 / 0.01)).exp().reshape(2, 1, 1)
    y = w.attended(normalize(q, dim=-1), normalize(k, dim=-1), v, scale, bias=True, terms=biases)
    x = x + w.layer("attentionNorm", y, 1e-5)
    return x + w.layer("feedForwardNorm", w.feed_forward(x, gelu), 1e-5)


def dinov2(w, x):
    """Block of DINOv2, and of timm's vision transformers with init_values: learned factors of both results."""
    q, k, v = w.qkv(w.layer("attentionNorm", x, 1e-6), 2, 2, 4, bias=True)
    x = x + w.attended(q, k, v, 0.5, bias=True) * w.factor("attentionScale", SIZE)
    return x + w.feed_forward(w.layer("feedForwardNorm", x, 1e-6), gelu) * w.factor("feedForwardScale", SIZE)


if __name__ == "__main__":
    torch.manual_seed(54)
    for model in (gemma_3, olmo_2, phi, cohere, gpt_neox, swin_v2, dinov2):
        weights, x = Weights(), torch.randn(BATCH, LENGTH, SIZE)
        output = model(weights, x)
        save_safetensors(FOLDER / (model.__name__ + ".safetensors"), {**weights, "input": x, "output": output})
