#!/usr/bin/env python3
"""Writes small models under the names of Hugging Face's transformers, for TensorNamesTest, with torch.

    python3 src/test/python/make_stacks.py        (made with torch 1.13 and numpy 1.24)

Each function is the formula of the model class that it names, without dropout. A file has random weights in float32;
stack_outputs has the token ids, and the outputs of the last normalizations in float64. D = 8, two heads, hidden size 16, 11 tokens, two layers.
It writes the same bytes each time.
"""

import functools
import pathlib

import torch
from make_weights import save_safetensors
from torch.nn.functional import gelu, layer_norm, silu

FOLDER = pathlib.Path(__file__).parents[1] / "resources" / "layers"
SIZE, HIDDEN, LENGTH, HEADS = 8, 16, 6, 2
IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])

gelu_tanh = functools.partial(gelu, approximate="tanh")


class Model(dict):
    """Draws a weight where it is used first."""

    def draw(self, name, *shape, mean=0.):
        return self.setdefault(name, mean + torch.randn(*shape) / 3).double()

    def linear(self, name, x, size, bias=True):
        y = x @ self.draw(name + ".weight", size, x.shape[-1]).T
        return y + self.draw(name + ".bias", size) if bias else y

    def conv1d(self, name, x, size):
        return x @ self.draw(name + ".weight", x.shape[-1], size) + self.draw(name + ".bias", size)

    def norm(self, name, x, epsilon):
        return layer_norm(
            x, x.shape[-1:], self.draw(name + ".weight", SIZE, mean=1.), self.draw(name + ".bias", SIZE), epsilon)

    def rms(self, name, x, epsilon):
        return self.draw(name + ".weight", x.shape[-1], mean=1.) * x / torch.sqrt((x ** 2).mean(-1, True) + epsilon)


def heads(x, count):
    return x.reshape(*x.shape[:2], count, -1).transpose(1, 2)


def attended(q, k, v, causal):
    scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(LENGTH, LENGTH).triu(1).bool(), -torch.inf)
    return (scores.softmax(3) @ v).transpose(1, 2).flatten(2)


def rotated(x):
    """apply_rotary_pos_emb: pairs of halves of a head."""
    size = x.shape[-1]
    angles = torch.arange(LENGTH).double()[:, None] * 10000. ** (-torch.arange(0, size, 2).double() / size)
    a, b = x.chunk(2, -1)
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)


def bert(m, prefix="bert.", first_position=0):
    """BertModel; with a first position of 2, RobertaModel without padding."""
    words = m.draw(prefix + "embeddings.word_embeddings.weight", 11, SIZE)
    positions = m.draw(prefix + "embeddings.position_embeddings.weight", LENGTH + 2 + first_position, SIZE)
    types = m.draw(prefix + "embeddings.token_type_embeddings.weight", 2, SIZE)
    x = words[IDS] + positions[first_position:first_position + LENGTH] + types[0]
    x = m.norm(prefix + "embeddings.LayerNorm", x, 1e-12)
    for i in range(2):
        layer = f"{prefix}encoder.layer.{i}."
        q, k, v = (heads(m.linear(f"{layer}attention.self.{name}", x, SIZE), HEADS) for name in ("query", "key", "value"))
        y = m.linear(layer + "attention.output.dense", attended(q, k, v, False), SIZE)
        x = m.norm(layer + "attention.output.LayerNorm", x + y, 1e-12)
        y = m.linear(layer + "output.dense", gelu(m.linear(layer + "intermediate.dense", x, HIDDEN)), SIZE)
        x = m.norm(layer + "output.LayerNorm", x + y, 1e-12)
    return x


def roberta(m):
    return bert(m, "", 2)


def distilbert(m):
    """DistilBertModel: BERT without token types."""
    x = m.draw("embeddings.word_embeddings.weight", 11, SIZE)[IDS]
    x = x + m.draw("embeddings.position_embeddings.weight", LENGTH + 2, SIZE)[:LENGTH]
    x = m.norm("embeddings.LayerNorm", x, 1e-12)
    for i in range(2):
        layer = f"transformer.layer.{i}."
        q, k, v = (heads(m.linear(f"{layer}attention.{name}_lin", x, SIZE), HEADS) for name in "qkv")
        y = m.linear(layer + "attention.out_lin", attended(q, k, v, False), SIZE)
        x = m.norm(layer + "sa_layer_norm", x + y, 1e-12)
        y = m.linear(layer + "ffn.lin2", gelu(m.linear(layer + "ffn.lin1", x, HIDDEN)), SIZE)
        x = m.norm(layer + "output_layer_norm", x + y, 1e-12)
    return x


def gpt2(m):
    """GPT2Model."""
    x = m.draw("wte.weight", 11, SIZE)[IDS] + m.draw("wpe.weight", LENGTH + 2, SIZE)[:LENGTH]
    for i in range(2):
        layer = f"h.{i}."
        qkv = m.conv1d(layer + "attn.c_attn", m.norm(layer + "ln_1", x, 1e-5), 3 * SIZE)
        q, k, v = (heads(part, HEADS) for part in qkv.chunk(3, 2))
        x = x + m.conv1d(layer + "attn.c_proj", attended(q, k, v, True), SIZE)
        y = m.conv1d(layer + "mlp.c_fc", m.norm(layer + "ln_2", x, 1e-5), HIDDEN)
        x = x + m.conv1d(layer + "mlp.c_proj", gelu_tanh(y), SIZE)
    return m.norm("ln_f", x, 1e-5)


def decoder(m, prefix, qkv, feed):
    """What the model classes of Llama's family share."""
    x = m.draw(prefix + "embed_tokens.weight", 11, SIZE)[IDS]
    for i in range(2):
        layer = f"{prefix}layers.{i}."
        q, k, v = qkv(layer + "self_attn.", m.rms(layer + "input_layernorm", x, 1e-6))
        k, v = (part.repeat_interleave(q.shape[1] // part.shape[1], 1) for part in (k, v))
        y = attended(rotated(q), rotated(k), v, True)
        x = x + m.linear(layer + "self_attn.o_proj", y, SIZE, bias=False)
        gate, up = feed(layer + "mlp.", m.rms(layer + "post_attention_layernorm", x, 1e-6))
        x = x + m.linear(layer + "mlp.down_proj", silu(gate) * up, SIZE, bias=False)
    return m.rms(prefix + "norm", x, 1e-6)


def separate(m, bias=False, norms=False):
    def qkv(name, x):
        q, k, v = (heads(m.linear(f"{name}{part}_proj", x, 4 * count, bias), count)
                   for part, count in (("q", HEADS), ("k", 1), ("v", 1)))
        return (m.rms(name + "q_norm", q, 1e-6), m.rms(name + "k_norm", k, 1e-6), v) if norms else (q, k, v)

    def feed(name, x):
        return m.linear(name + "gate_proj", x, HIDDEN, False), m.linear(name + "up_proj", x, HIDDEN, False)

    return qkv, feed


def llama(m):
    """LlamaModel, with one head of keys and values."""
    return decoder(m, "model.", *separate(m))


def qwen2(m):
    """Qwen2Model: biases of queries, keys and values."""
    return decoder(m, "", *separate(m, bias=True))


def qwen3(m):
    """Qwen3Model: norms of the heads of queries and keys."""
    return decoder(m, "", *separate(m, norms=True))


def phi3(m):
    """Phi3Model: qkv_proj and gate_up_proj."""
    def qkv(name, x):
        q, k, v = m.linear(name + "qkv_proj", x, 2 * SIZE, False).split([SIZE, 4, 4], 2)
        return heads(q, HEADS), heads(k, 1), heads(v, 1)

    def feed(name, x):
        return m.linear(name + "gate_up_proj", x, 2 * HIDDEN, False).chunk(2, 2)

    return decoder(m, "model.", qkv, feed)


if __name__ == "__main__":
    torch.manual_seed(54)
    outputs = {"ids": IDS}
    for function in (bert, roberta, distilbert, gpt2, llama, qwen2, qwen3, phi3):
        model = Model()
        outputs[function.__name__] = function(model)
        if function is bert:  # the names of google-bert/bert-base-uncased
            model = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
                     for name, value in model.items()}
        save_safetensors(FOLDER / f"stack_{function.__name__}.safetensors", model)
    save_safetensors(FOLDER / "stack_outputs.safetensors", outputs)
