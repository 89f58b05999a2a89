#!/usr/bin/env python3
"""Writes the weight files that the tests of io.github.djlpositional.weights read, with torch and numpy.

    python3 src/test/python/make_weights.py        (made with torch 1.13 and numpy 1.24)

Files of safetensors are written here after https://github.com/huggingface/safetensors#format, tensors sorted and the header
padded as the reference writer does it: its module is not needed. It writes the same bytes each time. Expected numbers,
computed by torch in float64 from the tables as they are stored, go to expected.csv: a name, and values in full.
"""

import json
import math
import pathlib
import struct

import numpy as np
import torch
from torch import nn

FOLDER = pathlib.Path(__file__).parents[1] / "resources" / "weights"
EXPECTED = {}

# most aligned first, the order in which the reference writer lays tensors out
SAFETENSORS_TYPES = [
    (torch.int64, "I64"), (torch.float64, "F64"), (torch.float32, "F32"), (torch.int32, "I32"),
    (torch.bfloat16, "BF16"), (torch.float16, "F16"), (torch.int16, "I16"), (torch.uint8, "U8"), (torch.int8, "I8"),
    (torch.bool, "BOOL"),
]


def raw(tensor):
    """The bytes of a tensor, row-major and little-endian; torch has no numpy type for bfloat16, whose bits go as int16."""
    tensor = tensor.detach().contiguous()
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy().tobytes()


def save_safetensors(path, tensors, metadata=None, renamed=()):
    """Writes a file; `renamed` has other type names for tensors, of types that torch 1.13 does not know."""
    names = dict(SAFETENSORS_TYPES)
    order = [kind for kind, _ in SAFETENSORS_TYPES]
    header = {"__metadata__": metadata} if metadata else {}
    data = b""
    for key, tensor in sorted(tensors.items(), key=lambda item: (order.index(item[1].dtype), item[0])):
        content = raw(tensor)
        header[key] = {
            "dtype": dict(renamed).get(key, names[tensor.dtype]),
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    (FOLDER / path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def expect(name, tensor):
    EXPECTED[name] = tensor.detach().double().reshape(-1).tolist()


def embeddings(seed, vocabulary, length, size):
    torch.manual_seed(seed)
    return nn.Embedding(vocabulary, size), nn.Embedding(length, size)


IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 0]])


def bert():
    """BERT's names, and the buffer that older files have."""
    words, positions = embeddings(1, 11, 8, 6)
    save_safetensors("bert.safetensors", {
        "bert.embeddings.word_embeddings.weight": words.weight,
        "bert.embeddings.position_embeddings.weight": positions.weight,
        "bert.embeddings.token_type_embeddings.weight": nn.Embedding(2, 6).weight,
        "bert.embeddings.LayerNorm.weight": torch.ones(6),
        "bert.embeddings.position_ids": torch.arange(8).unsqueeze(0),
    }, {"format": "pt"})
    expect("bert", words(IDS) + positions(torch.arange(5)))


def roberta():
    """RoBERTa: positions count from 2, padding (id 1) has position 1 and is not counted."""
    words, positions = embeddings(2, 11, 10, 6)
    save_safetensors("roberta.safetensors", {
        "roberta.embeddings.word_embeddings.weight": words.weight,
        "roberta.embeddings.position_embeddings.weight": positions.weight,
    })
    tokens = (IDS != 1).long()
    count = torch.cumsum(tokens, 1) * tokens + 1
    expect("roberta", (words(IDS) + positions(count))[tokens.bool()])


def opt():
    """OPT: two rows before position 0. Its tables are stored in float16."""
    words, positions = embeddings(3, 11, 10, 6)
    words.half(), positions.half()
    save_safetensors("opt.safetensors", {
        "model.decoder.embed_tokens.weight": words.weight,
        "model.decoder.embed_positions.weight": positions.weight,
    }, {"format": "pt"})
    words.double(), positions.double()
    expect("opt", words(IDS) + positions(torch.arange(5) + 2))


def gpt2():
    words, positions = embeddings(4, 11, 8, 6)
    save_safetensors("gpt2.safetensors", {"wte.weight": words.weight, "wpe.weight": positions.weight})
    expect("gpt2", words(IDS) + positions(torch.arange(5)))


def linear():
    torch.manual_seed(5)
    layer = nn.Linear(4, 3)
    save_safetensors("linear.safetensors", {"weight": layer.weight, "bias": layer.bias})
    x = torch.arange(8.0).reshape(2, 4)
    expect("linear", layer(x))


def attention():
    """nn.MultiheadAttention in each of its forms, and GPT-2's attention and feed-forward of Conv1D, x @ weight + bias.

    Stored in float32, computed in float64. PyTorch starts biases at 0, here they are random.
    """
    torch.manual_seed(7)
    queries, keys = torch.randn(2, 3, 8).double(), torch.randn(2, 5, 8).double()
    values = torch.randn(2, 5, 8).double()
    tensors = {}
    for name, options in (("self_attn", {}), ("plain", {"bias": False}), ("extended", {"add_bias_kv": True}),
                          ("separate", {"kdim": 6, "vdim": 4})):
        layer = nn.MultiheadAttention(8, 2, batch_first=True, **options)
        if layer.in_proj_bias is not None:
            nn.init.normal_(layer.in_proj_bias)
            nn.init.normal_(layer.out_proj.bias)
        tensors.update({f"{name}.{key}": tensor.clone() for key, tensor in layer.state_dict().items()})
        if name in ("self_attn", "plain"):
            expect(f"attention {name}", layer.double()(queries, keys, values)[0])
    sizes = {"attn.c_attn": (8, 24), "attn.c_proj": (8, 8), "mlp.c_fc": (8, 32)}
    conv1d = {f"h.0.{name}.{part}": torch.randn(shape) / 4 for name, size in sizes.items()
              for part, shape in (("weight", size), ("bias", size[1:]))}
    tensors.update(conv1d)

    def conv(name, x):
        return x @ conv1d[f"h.0.{name}.weight"].double() + conv1d[f"h.0.{name}.bias"].double()

    # (2, 5, 24) to three of (2, heads, 5, 4)
    query, key, value = (part.reshape(2, 5, 2, 4).transpose(1, 2) for part in conv("attn.c_attn", keys).chunk(3, 2))
    scores = (query @ key.transpose(2, 3) / 2).masked_fill(torch.ones(5, 5).triu(1).bool(), -math.inf)
    expect("gpt2 attention", conv("attn.c_proj", (scores.softmax(3) @ value).transpose(1, 2).reshape(2, 5, 8)))
    expect("gpt2 feed-forward", conv("mlp.c_fc", keys))
    for name, tensor in (("queries", queries), ("keys", keys), ("values", values)):
        expect(f"attention {name}", tensor)
    save_safetensors("attention.safetensors", tensors)


def integers():
    """The smallest and the largest number of each type; torch 1.13 has no unsigned types of two or more bytes."""
    arrays = {}
    for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        limits = np.iinfo(kind)
        arrays[kind] = np.array([limits.min, limits.max, 1], kind)
    arrays["b1"] = np.array([False, True, True])
    arrays["number"] = np.array(7)
    unsigned = {"u2": "U16", "u4": "U32", "u8": "U64"}
    save_safetensors("integers.safetensors", {
        name: torch.from_numpy(array.view(name.replace("u", "i")) if name in unsigned else array)
        for name, array in arrays.items()}, renamed=unsigned.items())


NUMBERS = [
    0.0, -0.0, 1.0, -1.0, 0.1, -1 / 3, 2.0**-14, 2.0**-15, 2.0**-24, -(2.0**-23), 65504.0, -1000.5,
]


def types():
    """The same twelve numbers in each type, expected as torch rounds them."""
    numbers = torch.tensor(NUMBERS, dtype=torch.float64).reshape(4, 3)
    reals = {"f64": numbers, "f32": numbers.float(), "f16": numbers.half(), "bf16": numbers.bfloat16()}
    for name, tensor in reals.items():
        expect(name, tensor)
    save_safetensors("types.safetensors", {
        **reals,
        "i64": torch.arange(12).reshape(4, 3),
        "i32": torch.arange(12, dtype=torch.int32).reshape(4, 3),
        "bool": torch.ones(4, 3, dtype=torch.bool),
        "f8": torch.zeros(4, 3, dtype=torch.uint8),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
        "größe \n": torch.ones(2),
    }, renamed={"f8": "F8_E4M3"}.items())


def t5():
    torch.manual_seed(6)
    bias = nn.Embedding(32, 4)
    save_safetensors("t5.safetensors", {
        "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": bias.weight})
    expect("t5", bias.weight)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for part in (bert, roberta, opt, gpt2, linear, attention, integers, types, t5):
        part()
    lines = [name + "," + ",".join(repr(value) for value in values) for name, values in EXPECTED.items()]
    (FOLDER / "expected.csv").write_text("name,values\n" + "\n".join(lines) + "\n")
    print(sum(path.stat().st_size for path in FOLDER.iterdir()), "bytes")


if __name__ == "__main__":
    main()
