#!/usr/bin/env python3
"""Writes the attentions that StoredAttentionTest compares with, with numpy in float64, from the formulas of the papers.

    python3 src/test/python/make_attention.py        (made with numpy 1.24)

cases.json has the arguments of each block. The npz file of a case has its weights and its input x, as int8 in units of
1/16, so that every data type holds them exactly; positions (T), (B, T) and a mask (B, F) or (B, T, F), if there are any;
the output, and the probabilities of a case without positions. It writes the same bytes each time.
"""

import json
import math
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parents[1] / "resources" / "attention"

UNIT = 16

BATCH, LENGTH = 2, 9

IRREGULAR = np.array([0, 1, 3, 4, 9, 10, 11, 17, 18])
RAGGED = np.array([[0, 1, 2, 3, 4, 5, 6, 7, 8], [5, 6, 7, 8, 9, 20, 21, 22, 40]])
# three and two documents in one sequence
PACKED = np.array([[0, 1, 2, 0, 1, 2, 3, 0, 1], [0, 1, 2, 3, 4, 0, 1, 2, 3]])
# the second sequence has three tokens of padding before it
PADDED = np.array([[0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 1, 2, 3, 4, 5]])
IS_TOKEN = np.array([[1] * 9, [0] * 3 + [1] * 6], dtype=bool)
# the second sequence has two tokens of padding behind a prompt of three
GAPS = np.array([[0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 2, 2, 2, 3, 4, 5, 6]])
IS_NO_GAP = np.array([[1] * 9, [1] * 3 + [0] * 2 + [1] * 4], dtype=bool)


def documents():
    """True for the keys of the query's document, (B, T, T)."""
    numbers = np.cumsum(PACKED == 0, axis=1)
    return numbers[:, :, None] == numbers[:, None, :]


# Encodings: what each adds to an attention or changes in it, for one query at position i and one key at position j.


def rotated(x, position, size, layout, base):
    """Su et al. (2021), equation 34: pair p turns by position · base^(-2p / size)."""
    y = x.copy()
    for pair in range(size // 2):
        angle = position * base ** (-2 * pair / size)
        first, second = (pair, pair + size // 2) if layout == "CONCATENATED" else (2 * pair, 2 * pair + 1)
        y[first] = x[first] * math.cos(angle) - x[second] * math.sin(angle)
        y[second] = x[second] * math.cos(angle) + x[first] * math.sin(angle)
    return y


def t5_bucket(relative, bidirectional, buckets, max_distance):
    """Raffel et al. (2020): half of the buckets are exact, the others grow with the logarithm."""
    bucket = 0
    if bidirectional:
        buckets //= 2
        bucket = buckets if relative > 0 else 0
        distance = abs(relative)
    else:
        distance = max(0, -relative)
    exact = buckets // 2
    if distance < exact:
        return bucket + distance
    grown = math.log(distance / exact) / math.log(max_distance / exact) * (buckets - exact)
    return bucket + min(buckets - 1, exact + int(grown))


class Plain:
    """No relative encoding; also what the others leave as it is."""

    def __init__(self, arguments, weights):
        self.arguments, self.weights = arguments, weights

    def tokens(self, x):
        """Called with the inputs of a sequence, (T, D), before the terms of its tokens."""

    def token_term(self, head, i, j, position_i, position_j):
        """Added after the scale, for the tokens i and j."""
        return 0

    def query(self, q, head, i):
        return q

    def key(self, k, head, j):
        return k

    def scaled_term(self, q, head, i, j):
        """Multiplied by the scale."""
        return 0

    def term(self, head, i, j):
        """Added after the scale."""
        return 0

    def content_term(self, q, k, head, i, j):
        """Added after the scale."""
        return 0

    def scaled_content_term(self, q, k, head, i, j):
        return 0

    def value(self, i, j):
        return 0


class Rotary(Plain):
    def rotated(self, x, position):
        a = self.arguments
        return rotated(x, position, a.get("rotarySize", a["headSize"]), a.get("layout"), a.get("base", 10000))

    def query(self, q, head, i):
        return self.rotated(q, i)

    def key(self, k, head, j):
        return self.rotated(k, j)


class LearnedRotary(Plain):
    """Heo et al. (2024), section 3.2: here the position is the same on every axis. Heads in groups share frequencies."""

    def query(self, q, head, i):
        y = q.copy()
        group = head * self.arguments["headCount"] // self.arguments["heads"]
        pairs = len(q) // 2
        for pair in range(pairs):
            angle = sum(i * axis[group][pair] for axis in self.weights["frequencies"])
            a, b = (pair, pair + pairs) if self.arguments["layout"] == "CONCATENATED" else (2 * pair, 2 * pair + 1)
            y[a] = q[a] * math.cos(angle) - q[b] * math.sin(angle)
            y[b] = q[b] * math.cos(angle) + q[a] * math.sin(angle)
        return y

    def key(self, k, head, j):
        return self.query(k, head, j)


class Alibi(Plain):
    """Press et al. (2022): slopes 2^(-8 h / N), h from 1, for N a power of two; or learned ones."""

    def term(self, head, i, j):
        if "logSlopes" in self.weights:
            return -math.exp(self.weights["logSlopes"][head]) * abs(i - j)
        return -(2 ** (-8 * (head + 1) / self.arguments["headCount"])) * abs(i - j)


class T5(Plain):
    def term(self, head, i, j):
        a = self.arguments
        return self.weights["biases"][t5_bucket(j - i, a["bidirectional"], a["buckets"], a["maxDistance"])][head]


class Kerple(Plain):
    """Chi et al. (2022): -b ln(1 + a |i - j|), or -a |i - j|^p."""

    def term(self, head, i, j):
        if self.arguments.get("form") == "POWER":
            power = 2 / (1 + math.exp(-self.weights["logitP"][head]))
            return -math.exp(self.weights["logA"][head]) * abs(i - j) ** power
        return -math.exp(self.weights["logB"][head]) * math.log1p(math.exp(self.weights["logA"][head]) * abs(i - j))


class Sandwich(Plain):
    """Chi et al. (2023), appendix: P Pᵀ of the sinusoids of positions, divided by 8 h / N, h from 1."""

    def sinusoids(self, position):
        angles = position / 1e4 ** (np.arange(64) / 64)
        return np.concatenate([np.sin(angles), np.cos(angles)])

    def term(self, head, i, j):
        return self.sinusoids(i) @ self.sinusoids(j) / (8 * (head + 1) / self.arguments["headCount"])


def network(weights, activation, x):
    """Fully connected layers with an activation between them."""
    for layer in range(1, 100):
        if f"weight{layer}" not in weights:
            return x
        x = weights[f"weight{layer}"] @ (x if layer == 1 else activation(x)) + weights.get(f"bias{layer}", 0)


class Kink(Exception):
    """A number is so near 0 that differences of an output with ReLU are not its derivative."""


def relu(x):
    if np.abs(x).min() < 1e-4:
        raise Kink
    return np.maximum(x, 0)


def silu(x):
    return x / (1 + np.exp(-x))


class Fire(Plain):
    """Li et al. (2024), section 4 and the listing in the appendix."""

    def psi(self, x):
        return math.log(abs(self.weights["c"][0] * x) + 1)

    def term(self, head, i, j):
        threshold = abs(self.weights["multiplier"][0] * self.arguments["threshold"])
        share = self.psi(i - j) / (self.psi(max(i, threshold)) + 1e-6)
        return network(self.weights, relu, np.array([share]))[head]


class DistanceNetwork(Plain):
    """x-transformers, DynamicPositionBias without normalization: its input is the query's position less the key's."""

    def term(self, head, i, j):
        x = i - j
        if self.arguments["logarithmic"]:
            x = math.copysign(math.log(abs(x) + 1), x)
        return network(self.weights, silu, np.array([x]))[head]


class Window(Plain):
    """Liu et al. (2021) with BEiT's class token, and Liu et al. (2022) with a network."""

    def term(self, head, i, j):
        a = self.arguments
        height, width = a["window"]
        if a.get("classToken"):
            rows = (2 * height - 1) * (2 * width - 1)
            if i == 0 or j == 0:
                return self.weights["biases"][rows + (2 if i == j else 0 if i == 0 else 1)][head]
            i, j = i - 1, j - 1
        y, x = i // width - j // width, i % width - j % width
        if "biases" in self.weights:
            return self.weights["biases"][(y + height - 1) * (2 * width - 1) + x + width - 1][head]
        shares = np.array([y, x]) / (np.array(a["trainedWindow"]) - 1) * 8
        logits = network(self.weights, relu, np.sign(shares) * np.log2(np.abs(shares) + 1) / 3)
        return 16 / (1 + np.exp(-logits[head]))


class WindowVectors(Plain):
    """ViTDet and SAM, add_decomposed_rel_pos: not scaled."""

    def content_term(self, q, k, head, i, j):
        height, width = self.arguments["window"]
        row = self.weights["rows"][i // width - j // width + height - 1]
        return q @ row + q @ self.weights["columns"][i % width - j % width + width - 1]


class Disentangled(Plain):
    """He et al. (2021), equation 4, with the buckets of V2: gathered as in its code, content to position by the row i and
    position to content by the row j."""

    def bucket(self, relative):
        a = self.arguments
        middle = a["buckets"] // 2
        if abs(relative) <= middle:
            return relative
        grown = math.log(abs(relative) / middle) / math.log((a["maxDistance"] - 1) / middle) * (middle - 1)
        return int(math.copysign(math.ceil(grown) + middle, relative))

    def projected(self, name, head, row, size):
        w = self.weights
        projected = w[name + "Weight"] @ w["vectors"][row] + w[name + "Bias"]
        return projected[head * size:(head + 1) * size]

    def scaled_content_term(self, q, k, head, i, j):
        span = self.arguments["buckets"]
        to_position = min(max(self.bucket(i - j) + span, 0), 2 * span - 1)
        to_content = min(max(-self.bucket(j - i) + span, 0), 2 * span - 1)
        return (q @ self.projected("key", head, to_position, len(q))
                + k @ self.projected("query", head, to_content, len(k)))


class Shaw(Plain):
    """Shaw et al. (2018), equations 3 and 4."""

    def vector(self, name, i, j):
        most = self.arguments["maxDistance"]
        return self.weights[name][max(-most, min(most, j - i)) + most]

    def scaled_term(self, q, head, i, j):
        return q @ self.vector("keys", i, j)

    def value(self, i, j):
        return self.vector("values", i, j) if self.arguments.get("values", True) else 0


class TransformerXl(Plain):
    """Dai et al. (2019), section 3.3; the sinusoids are all sines, then all cosines, as in the published code."""

    def query(self, q, head, i):
        return q + self.weights["contentBias"][head]

    def scaled_term(self, q, head, i, j):
        size = self.weights["projection"].shape[1]
        angles = (i - j) * 10000.0 ** (-np.arange(0, size, 2) / size)
        sinusoids = np.concatenate([np.sin(angles), np.cos(angles)])
        head_size = len(q)
        projected = self.weights["projection"][head * head_size:(head + 1) * head_size] @ sinusoids
        return (q + self.weights["positionBias"][head]) @ projected


class Forgetting(Plain):
    """Lin et al. (2025), equations 2 and 10: the sum of the logarithms of the gates of the tokens j + 1 to i."""

    def tokens(self, x):
        logits = x @ self.weights["weight"].T + self.weights["bias"]
        self.logarithms = -np.log1p(np.exp(-logits))

    def token_term(self, head, i, j, position_i, position_j):
        return self.logarithms[min(i, j) + 1:max(i, j) + 1, head].sum()


class ProjectedDistance(Plain):
    """x-transformers, RelativeProjPositionalBias: 0 outside of the distances 0 to maxDistance - 1."""

    def tokens(self, x):
        self.mixed = (x @ self.weights["weight"].T + self.weights["bias"]).reshape(
            len(x), -1, self.arguments["curves"]) @ self.weights["curves"]

    def token_term(self, head, i, j, position_i, position_j):
        distance = position_i - position_j
        return self.mixed[i, head, distance] if 0 <= distance < self.arguments["maxDistance"] else 0


ENCODINGS = {
    None: Plain, "RotaryEmbeddingBlock": Rotary, "LearnedRotaryEmbeddingBlock": LearnedRotary,
    "AlibiBiasBlock": Alibi, "RelativePositionBiasBlock": T5,
    "KerpleBiasBlock": Kerple, "SandwichBiasBlock": Sandwich, "FireBiasBlock": Fire,
    "DisentangledPositionBlock": Disentangled, "DistanceNetworkBiasBlock": DistanceNetwork,
    "WindowBiasBlock": Window, "WindowNetworkBiasBlock": Window, "WindowVectorsBlock": WindowVectors,
    "ShawRelativePositionBlock": Shaw, "TransformerXlPositionBlock": TransformerXl,
    "ForgettingBiasBlock": Forgetting, "ProjectedDistanceBiasBlock": ProjectedDistance,
}


def layer_shapes(*sizes):
    shapes = {}
    for layer in range(1, len(sizes)):
        shapes[f"weight{layer}"] = (sizes[layer], sizes[layer - 1])
        shapes[f"bias{layer}"] = (sizes[layer],)
    return shapes


def encoding_shapes(a, size, heads, head_size):
    kind = a.get("type")
    if kind == "AlibiBiasBlock" and a.get("learned"):
        return {"logSlopes": (heads,)}
    if kind == "RelativePositionBiasBlock":
        return {"biases": (a["buckets"], heads)}
    if kind == "KerpleBiasBlock":
        return {"logA": (heads,), "logitP" if a.get("form") == "POWER" else "logB": (heads,)}
    if kind == "FireBiasBlock":
        return {"c": (1,), "multiplier": (1,), **layer_shapes(1, a["hiddenSize"], heads)}
    if kind == "DistanceNetworkBiasBlock":
        return layer_shapes(1, a["hiddenSize"], a["hiddenSize"], heads)
    if kind == "WindowNetworkBiasBlock":
        shapes = layer_shapes(2, a["hiddenSize"], heads)
        shapes.pop("bias2")
        return shapes
    if kind == "WindowBiasBlock":
        height, width = a["window"]
        return {"biases": ((2 * height - 1) * (2 * width - 1) + 3 * a["classToken"], heads)}
    if kind == "WindowVectorsBlock":
        height, width = a["window"]
        return {"rows": (2 * height - 1, head_size), "columns": (2 * width - 1, head_size)}
    if kind == "DisentangledPositionBlock":
        wide = heads * head_size
        return {"vectors": (2 * a["buckets"], wide), "keyWeight": (wide, wide), "keyBias": (wide,),
                "queryWeight": (wide, wide), "queryBias": (wide,)}
    if kind == "ShawRelativePositionBlock":
        names = ["keys", "values"] if a.get("values", True) else ["keys"]
        return {name: (2 * a["maxDistance"] + 1, head_size) for name in names}
    if kind == "TransformerXlPositionBlock":
        wide = heads * head_size
        return {"contentBias": (heads, head_size), "positionBias": (heads, head_size), "projection": (wide, wide)}
    if kind == "LearnedRotaryEmbeddingBlock":
        return {"frequencies": (a["axes"], a["headCount"], head_size // 2)}
    if kind == "ForgettingBiasBlock":
        return {"weight": (heads, size), "bias": (heads,)}
    if kind == "ProjectedDistanceBiasBlock":
        wide = heads * a["curves"]
        return {"weight": (wide, size), "bias": (wide,), "curves": (a["curves"], a["maxDistance"])}
    return {}


# The attention


def query_factor(scale, position):
    if scale is None:
        return 1
    if scale["type"] == "FloorLogarithm":  # Llama 4
        return math.log(math.floor((position + 1) / scale["length"]) + 1) * scale["coefficient"] + 1
    if scale["type"] == "LearnedLogN":  # Nakanishi (2025), Scalable-Softmax
        return math.log(position + 1)
    return max(1, math.log(position + 1) / math.log(scale["trainedLength"]))  # Qwen 1


def sees(a, i, j, position_i, position_j):
    """i and j are indices."""
    causal, window = a.get("causal", False), a.get("window")
    if causal and j > i:
        return False
    if window is not None and (i - j >= window if causal else abs(i - j) > window // 2):
        return False
    chunk = a.get("chunkSize")
    return chunk is None or position_i // chunk == position_j // chunk


def normalized(x, weight, epsilon):
    """Zhang and Sennrich (2019), equation 4."""
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + epsilon) * weight


def attention(a, w, x, positions, mask):
    """The output (B, T, D) and the probabilities (B, N, T, F)."""
    heads = a["headCount"]
    key_heads = a.get("keyValueHeadCount", heads)
    head_size = a.get("headSize", a["embeddingSize"] // heads)
    # three products instead of one in disentangled attention
    products = 3 if a.get("relativeEncoding", {}).get("type") == "DisentangledPositionBlock" else 1
    scale = a.get("scale", 1 if a.get("cosine") else 1 / math.sqrt(products * head_size))
    encoding = ENCODINGS[a.get("relativeEncoding", {}).get("type")](
        {**a.get("relativeEncoding", {}), "heads": heads}, {key.split(".")[1]: value for key, value in w.items() if key[:8] == "relative"})
    batch, length, _ = x.shape

    def projected(name, count, norm):
        y = x @ w[name + ".weight"].T + w.get(name + ".bias", 0)
        y = y if a.get("normOfAllHeads") else y.reshape(batch, length, count, head_size)
        y = normalized(y, w[norm + ".gamma"], a[norm].get("epsilon", 1e-6)) if norm in a else y
        y = y.reshape(batch, length, count, head_size)
        return y / np.linalg.norm(y, axis=-1, keepdims=True) if a.get("cosine") and norm else y

    q = projected("queryProjection", heads, "queryNorm")
    k = projected("keyProjection", key_heads, "keyNorm")
    v = projected("valueProjection", key_heads, None)
    together = np.zeros((batch, length, heads, head_size))
    weights = np.zeros((batch, heads, length, length))
    for b in range(batch):
        p = np.broadcast_to(positions, (batch, length))[b]
        encoding.tokens(x[b])
        for h in range(heads):
            temperature = w.get("temperature", [1] * heads)[h]
            temperature = min(math.exp(temperature), 100) if a.get("cosine") else temperature
            shared = h * key_heads // heads
            for i in range(length):
                visible = [j for j in range(length)
                           if sees(a, i, j, p[i], p[j]) and (mask is None or np.broadcast_to(
                               mask if mask.ndim == 3 else mask[:, None], (batch, length, length))[b, i, j])]
                if not visible:
                    continue
                logits = []
                for j in visible:
                    product = encoding.query(q[b, i, h], h, p[i]) @ encoding.key(k[b, j, shared], h, p[j])
                    score = product * scale * temperature * query_factor(a.get("queryScale"), p[i])
                    score += scale * encoding.scaled_term(q[b, i, h], h, p[i], p[j]) + encoding.term(h, p[i], p[j])
                    score += scale * encoding.scaled_content_term(q[b, i, h], k[b, j, shared], h, p[i], p[j])
                    score += encoding.content_term(q[b, i, h], k[b, j, shared], h, p[i], p[j])
                    score += encoding.token_term(h, i, j, p[i], p[j])
                    cap = a.get("scoreCap")
                    logits.append(score if cap is None else cap * math.tanh(score / cap))
                powers = np.exp(logits)
                sink = math.exp(w["sinks"][h]) if a.get("sinks") else 0
                weights[b, h, i, visible] = powers / (powers.sum() + sink)
                together[b, i, h] = sum(
                    weights[b, h, i, j] * (v[b, j, shared] + encoding.value(p[i], p[j])) for j in visible)
    flat = together.reshape(batch, length, heads * head_size)
    return flat @ w["resultProjection.weight"].T + w.get("resultProjection.bias", 0), weights


# The cases


def shapes(a):
    size, heads = a["embeddingSize"], a["headCount"]
    key_heads, head_size = a.get("keyValueHeadCount", heads), a.get("headSize", size // heads)
    bias = a.get("bias", True)
    found = {}
    for name, count in (("keyProjection", key_heads), ("queryProjection", heads), ("valueProjection", key_heads)):
        found[name + ".weight"] = (count * head_size, size)
        if bias:
            found[name + ".bias"] = (count * head_size,)
    found["resultProjection.weight"] = (size, heads * head_size)
    if a.get("resultBias", bias):
        found["resultProjection.bias"] = (size,)
    for norm, count in (("queryNorm", heads), ("keyNorm", key_heads)):
        if norm in a:
            found[norm + ".gamma"] = (head_size * (count if a.get("normOfAllHeads") else 1),)
    if a.get("cosine") or a.get("queryScale", {}).get("type") == "LearnedLogN":
        found["temperature"] = (heads,)
    if a.get("sinks"):
        found["sinks"] = (heads,)
    for name, shape in encoding_shapes(a.get("relativeEncoding", {}), size, heads, head_size).items():
        found["relativeEncoding." + name] = shape
    return found


CASES = {}


def case(name, arguments, positions=None, mask=None, draw=0):
    random = np.random.default_rng([16, len(CASES)] + [draw] * (draw > 0))
    stored = {key: random.integers(-12, 13, shape).astype(np.int8) for key, shape in shapes(arguments).items()}
    stored["x"] = random.integers(-24, 25, (BATCH, LENGTH, arguments["embeddingSize"])).astype(np.int8)
    w = {key: value.astype(np.float64) / UNIT for key, value in stored.items()}
    try:
        output, probabilities = attention(
            arguments, w, w["x"], np.arange(LENGTH) if positions is None else positions, mask)
    except Kink:
        case(name, arguments, positions, mask, draw + 1)
        return
    stored["output"] = output
    if positions is None:
        stored["probabilities"] = probabilities
    else:
        stored["positions"] = positions.astype(np.int64)
    if mask is not None:
        stored["mask"] = mask
    np.savez(FOLDER / (name + ".npz"), **dict(sorted(stored.items())))
    CASES[name] = arguments


NORM = {"type": "RmsNormBlock", "embeddingSize": 4, "epsilon": 1e-5}
ROTARY = {"type": "RotaryEmbeddingBlock", "headSize": 4, "layout": "CONCATENATED", "base": 500.0}


def grouped(**options):
    """Four heads of size 4 that share two key heads; D is 6."""
    return {"embeddingSize": 6, "headCount": 4, "keyValueHeadCount": 2, "headSize": 4, "causal": True, **options}


def heads_and_projections():
    case("grouped", {"embeddingSize": 12, "headCount": 6, "keyValueHeadCount": 2, "causal": True})
    case("multi_query", {"embeddingSize": 8, "headCount": 4, "keyValueHeadCount": 1}, mask=IS_TOKEN)
    case("head_size", {"embeddingSize": 6, "headCount": 2, "headSize": 5, "causal": True})
    case("qwen_2", grouped(resultBias=False, relativeEncoding=ROTARY))
    case("result_bias_only", grouped(bias=False, resultBias=True))
    case("norms", grouped(queryNorm=NORM, keyNorm=NORM, relativeEncoding=ROTARY, bias=False))
    case("key_norm", {"embeddingSize": 8, "headCount": 2, "keyNorm": NORM})


def windows():
    for window in (1, 4):
        case(f"window_{window}", grouped(window=window))
    for window in (4, 5):
        case(f"window_both_ways_{window}", grouped(window=window, causal=False))
    case("window_padded", grouped(window=4), mask=IS_TOKEN)
    case("chunks", grouped(chunkSize=4))
    case("chunks_both_ways", grouped(chunkSize=4, causal=False))
    case("chunks_of_positions", grouped(chunkSize=4), positions=RAGGED)
    case("chunks_padded", grouped(chunkSize=4), positions=PADDED, mask=IS_TOKEN)
    # a key of the same chunk is more tokens back than the chunk has positions
    case("chunks_with_gaps", grouped(chunkSize=5), positions=GAPS, mask=IS_NO_GAP)


def scores():
    case("score_cap", grouped(scoreCap=0.75))
    case("sinks", grouped(sinks=True))
    case("floor_logarithm", grouped(queryScale={"type": "FloorLogarithm", "coefficient": 0.5, "length": 3.0}))
    case("log_n", grouped(queryScale={"type": "LogN", "trainedLength": 4}))
    case("query_scale_of_positions", grouped(queryScale={"type": "LogN", "trainedLength": 4}), positions=RAGGED)
    case("gpt_oss", grouped(window=4, sinks=True, relativeEncoding=ROTARY))
    case("gemma_2", grouped(window=4, scoreCap=2.0, scale=0.3, bias=False, relativeEncoding=ROTARY))
    case("llama_4_rotary", grouped(chunkSize=4, bias=False, relativeEncoding={**ROTARY, "layout": "INTERLEAVED"}))
    case("llama_4_no_rotary", grouped(
        bias=False, queryScale={"type": "FloorLogarithm", "coefficient": 0.1, "length": 2.0}))


def irregular_positions():
    heads = {"headCount": 4}
    encodings = {
        "none": None,
        "rotary": {**ROTARY, "rotarySize": 2},
        "alibi": {"type": "AlibiBiasBlock", **heads},
        "learned_alibi": {"type": "AlibiBiasBlock", **heads, "learned": True},
        "t5": {"type": "RelativePositionBiasBlock", **heads, "bidirectional": True, "buckets": 8, "maxDistance": 20},
        "kerple": {"type": "KerpleBiasBlock", **heads},
        "shaw": {"type": "ShawRelativePositionBlock", "headSize": 4, "maxDistance": 3},
        "transformer_xl": {"type": "TransformerXlPositionBlock", "embeddingSize": 16, **heads},
    }
    of_positions(encodings)


def research():
    """Cases that are added later come last: the random numbers of a case depend on its number."""
    heads = {"headCount": 4}
    of_positions({
        "kerple_power": {"type": "KerpleBiasBlock", **heads, "form": "POWER"},
        "sandwich": {"type": "SandwichBiasBlock", **heads},
        "fire": {"type": "FireBiasBlock", **heads, "hiddenSize": 5, "threshold": 7.3},
        "distance_network": {
            "type": "DistanceNetworkBiasBlock", **heads, "hiddenSize": 3, "logarithmic": False},
    })
    # positions up to 40
    window = {"window": [7, 6]}
    of_positions({
        "swin": {"type": "WindowBiasBlock", **heads, **window, "classToken": False},
        "beit": {"type": "WindowBiasBlock", **heads, **window, "classToken": True},
        "swin_v2": {
            "type": "WindowNetworkBiasBlock", **heads, **window, "hiddenSize": 5, "trainedWindow": [4, 5]},
        "vit_det": {"type": "WindowVectorsBlock", "headSize": 4, **window},
    })
    of_positions({"disentangled": {
        "type": "DisentangledPositionBlock", "embeddingSize": 16, **heads, "buckets": 8, "maxDistance": 20}})
    # these see the attention's input, whose size D is not N · H
    of_positions({
        "forgetting": {"type": "ForgettingBiasBlock", "embeddingSize": 6, **heads},
        "projected_distance": {
            "type": "ProjectedDistanceBiasBlock", "embeddingSize": 6, **heads, "curves": 3, "maxDistance": 5},
    })


def published_layers():
    """OLMo 2, the cosines of Liu et al. (2022), section 3.2, and Scalable-Softmax."""
    of_all = {"queryNorm": {**NORM, "embeddingSize": 16}, "keyNorm": {**NORM, "embeddingSize": 8}}
    case("norms_of_all_heads", grouped(**of_all, normOfAllHeads=True, relativeEncoding=ROTARY, bias=False))
    case("cosine", grouped(cosine=True, relativeEncoding=ROTARY))
    case("scalable_softmax", grouped(queryScale={"type": "LearnedLogN", "initialTemperature": 0.43}))


def learned_rotations():
    of_positions({
        "learned_rotary": {
            "type": "LearnedRotaryEmbeddingBlock", "headCount": 2, "headSize": 4, "axes": 1, "layout": "INTERLEAVED"},
        "rope_mixed": {
            "type": "LearnedRotaryEmbeddingBlock", "headCount": 2, "headSize": 4, "axes": 2, "layout": "CONCATENATED"},
    })


def of_positions(encodings):
    for name, arguments in encodings.items():
        some = {"relativeEncoding": arguments} if arguments else {}
        # such an encoding expects N · H for D
        if name in ("transformer_xl", "disentangled"):
            some = {**some, "embeddingSize": 16}
        case(f"{name}_irregular", grouped(causal=False, **some), positions=IRREGULAR)
        case(f"{name}_ragged", grouped(window=5, **some), positions=RAGGED)
        case(f"{name}_packed", grouped(**some), positions=PACKED, mask=documents())
        case(f"{name}_padded", grouped(**some), positions=PADDED, mask=IS_TOKEN)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    heads_and_projections()
    windows()
    scores()
    irregular_positions()
    research()
    published_layers()
    learned_rotations()
    (FOLDER / "cases.json").write_text(json.dumps(CASES, indent=2) + "\n")
