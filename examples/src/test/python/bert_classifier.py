"""Classifies token ids with a BERT encoder in a safetensors file, computed with NumPy in float64.

bert_classifier.py FILE HEADS < one JSON list of token ids for each text, one per line

Written from Devlin et al. (2019) and the description of safetensors. The names of the tensors are those of Hugging
Face's BertModel, and classifier.weight and classifier.bias for a linear layer on the mean of the tokens' vectors.
Prints the scores of each text as a JSON list.
"""

import json
import math
import struct
import sys

import numpy as np


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert header.pop("__metadata__") == {"format": "pt"}
    tensors = {}
    for name, info in header.items():
        assert info["dtype"] == "F32", name
        begin, end = info["data_offsets"]
        numbers = np.frombuffer(data[8 + length + begin : 8 + length + end], "<f4")
        tensors[name] = numbers.reshape(info["shape"]).astype(np.float64)
    return tensors


def main(path, heads):
    weights = read(path)
    erf = np.vectorize(math.erf)

    def linear(name, x):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def norm(name, x):
        centered = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-12)
        return centered / deviation * weights[name + ".weight"] + weights[name + ".bias"]

    def attention(name, x):
        length, size = x.shape
        queries, keys, values = (
            linear(f"{name}.self.{part}", x).reshape(length, heads, size // heads).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = queries @ keys.transpose(0, 2, 1) / math.sqrt(size // heads)
        exponentials = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = exponentials / exponentials.sum(-1, keepdims=True) @ values
        return norm(f"{name}.output.LayerNorm", x + linear(f"{name}.output.dense", mixed.transpose(1, 0, 2).reshape(length, size)))

    def layer(name, x):
        x = attention(f"{name}.attention", x)
        hidden = linear(f"{name}.intermediate.dense", x)
        hidden = hidden * (1 + erf(hidden / math.sqrt(2))) / 2
        return norm(f"{name}.output.LayerNorm", x + linear(f"{name}.output.dense", hidden))

    for line in sys.stdin:
        ids = json.loads(line)
        x = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][: len(ids)]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        x = norm("embeddings.LayerNorm", x)
        number = 0
        while f"encoder.layer.{number}.output.dense.weight" in weights:
            x = layer(f"encoder.layer.{number}", x)
            number += 1
        print(json.dumps(linear("classifier", x.mean(0)).tolist()))


main(sys.argv[1], int(sys.argv[2]))
