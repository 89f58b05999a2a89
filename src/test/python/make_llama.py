#!/usr/bin/env python3
"""Writes the small random models of the Llama family that the tests of this module load.

    python3 src/test/python/make_llama.py        (made with torch 1.13)

Each model is a folder as Hugging Face publishes it: config.json, the weights as safetensors in one file or several, and for
some models a tokenizer.json. Beside the folder, a JSON file has a prompt, the logits of all its tokens, and the greedy
continuation, computed with a forward over the whole sequence for each token, and with a cache. The forward is written in float64 from
the papers that it names. The weights are random: the first ones whose choices are not close. The script fails if a setting that
a model is there to test does not change the logits. It writes the same bytes each time.
"""

import itertools
import json
import math
import pathlib
import struct

import torch

FOLDER = pathlib.Path(__file__).parents[1] / "resources" / "llama"

CONTINUATION_LENGTH = 12
STORED_TYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}

torch.set_default_dtype(torch.float64)


# ---------------------------------------------------------------------------------------------------------- the forward

def rms_norm(x, weight, epsilon):
    """Zhang and Sennrich, Root Mean Square Layer Normalization (2019), equation 4."""
    return x / torch.sqrt((x ** 2).mean(-1, keepdim=True) + epsilon) * weight


def frequencies(config, size, length):
    """The angles per position of a head's pairs for a sequence of a length, and the factor of the rotated vectors.

    Su et al., RoFormer (2021), section 3.2.2, with a scaling.
    """
    base = config.get("rope_theta", 10000.0)
    pairs = torch.arange(size // 2)
    angles = base ** (-2 * pairs / size)
    rope = config.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type"))
    longest = config["max_position_embeddings"]
    if kind is None:
        return angles, 1.0
    if kind == "linear":  # Chen et al., Extending Context Window of Large Language Models via Positional Interpolation (2023)
        return angles / rope["factor"], 1.0
    if kind == "dynamic":  # Peng et al., YaRN (2023), section 3.3, with the base of section 3.1
        scale = max(1.0, rope["factor"] * length / longest - (rope["factor"] - 1))
        return (base * scale ** (size / (size - 2))) ** (-2 * pairs / size), 1.0
    if kind == "yarn":  # the same, sections 3.2 and 3.4, with the bounds rounded to whole pairs as in the authors' code
        original, factor = rope["original_max_position_embeddings"], rope["factor"]

        def pair_with(rotations):
            return size * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))

        low, high = max(math.floor(pair_with(32)), 0), min(math.ceil(pair_with(1)), size - 1)
        slow = ((pairs - low) / (high - low)).clamp(0, 1)
        return angles / factor * slow + angles * (1 - slow), 0.1 * math.log(factor) + 1
    if kind == "llama3":  # Llama Team, The Llama 3 Herd of Models (2024), and apply_scaling in the published code
        original, factor = rope["original_max_position_embeddings"], rope["factor"]
        rotations = original * angles / (2 * math.pi)
        fast = (rotations - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
        fast = fast.clamp(0, 1)
        assert {0.0, 1.0} < set(fast.tolist()), "this does not have pairs of all three kinds"
        return angles / factor * (1 - fast) + angles * fast, 1.0
    if kind == "longrope":  # Ding et al., LongRoPE (2024)
        original = config["original_max_position_embeddings"]
        factors = torch.tensor(rope["long_factor" if length > original else "short_factor"])
        return angles / factors, math.sqrt(1 + math.log(longest / original) / math.log(original))
    raise ValueError(kind)


def rotated(x, config, first=0):
    """Turns dimension i of each head (N, T, H) with dimension i + H/2, the order of Hugging Face's weights.

    The last of the T tokens is the last of the sequence.
    """
    size = x.shape[2]
    positions = torch.arange(first, first + x.shape[1])
    angles, factor = frequencies(config, size, first + len(positions))
    angles = positions[:, None] * angles
    cos, sin = factor * torch.cos(angles), factor * torch.sin(angles)
    first, second = x[..., :size // 2], x[..., size // 2:]
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


def window(config, layer):
    """The number of tokens that a token sees, up to and including itself; None for all."""
    if config["model_type"] == "mistral":
        return config["sliding_window"]
    if config.get("use_sliding_window") and layer >= config["max_window_layers"]:
        return config["sliding_window"]
    return None


def attention(x, config, w, layer, cache):
    """Ainslie et al., GQA (2023): heads of queries share heads of keys and values."""
    heads, shared = config["num_attention_heads"], config["num_key_value_heads"]
    size = config.get("head_dim", config["hidden_size"] // heads)
    epsilon = config["rms_norm_eps"]

    def project(name, count):
        y = x @ w[name + "_proj.weight"].T + w.get(name + "_proj.bias", 0)
        return y.reshape(len(x), count, size)

    q, k, v = project("q", heads), project("k", shared), project("v", shared)
    if "q_norm.weight" in w:  # Qwen Team, Qwen3 Technical Report (2025), section 2
        q, k = rms_norm(q, w["q_norm.weight"], epsilon), rms_norm(k, w["k_norm.weight"], epsilon)
    if layer in cache:
        k, v = (torch.cat(each) for each in zip(cache[layer], (k, v)))
    cache[layer] = k, v
    first = len(k) - len(x)
    q, k = rotated(q.transpose(0, 1), config, first), rotated(k.transpose(0, 1), config)
    k, v = (each.repeat_interleave(heads // shared, 0) for each in (k, v.transpose(0, 1)))
    distance = torch.arange(first, first + len(x))[:, None] - torch.arange(first + len(x))
    hidden = (distance < 0) | (distance >= (window(config, layer) or first + len(x)))
    scores = (q @ k.transpose(1, 2) / math.sqrt(size)).masked_fill(hidden, -math.inf)
    mixed = (torch.softmax(scores, -1) @ v).transpose(0, 1).reshape(len(x), heads * size)
    return mixed @ w["o_proj.weight"].T


def feed_forward(x, w):
    """Shazeer, GLU Variants Improve Transformer (2020), SwiGLU."""
    gate = x @ w["gate_proj.weight"].T
    return (gate * torch.sigmoid(gate) * (x @ w["up_proj.weight"].T)) @ w["down_proj.weight"].T


def part(w, prefix):
    return {key[len(prefix):]: value for key, value in w.items() if key.startswith(prefix)}


def logits(config, w, ids, cache=None):
    """Touvron et al., LLaMA (2023), section 2.2: the logits (T, V) of the tokens that follow each of ids (T).

    A cache is a dictionary with the keys and values of the tokens before ids. As YaRN says in section 3.3, keys are not
    rotated in it, so that they can be rotated for each length.
    """
    cache = {} if cache is None else cache
    epsilon = config["rms_norm_eps"]
    x = w["model.embed_tokens.weight"][ids]
    for i in range(config["num_hidden_layers"]):
        layer = part(w, f"model.layers.{i}.")
        x = x + attention(rms_norm(x, layer["input_layernorm.weight"], epsilon), config, part(layer, "self_attn."), i,
                          cache)
        x = x + feed_forward(rms_norm(x, layer["post_attention_layernorm.weight"], epsilon), part(layer, "mlp."))
    tied = config["tie_word_embeddings"]
    return rms_norm(x, w["model.norm.weight"], epsilon) @ w["model.embed_tokens.weight" if tied else "lm_head.weight"].T


def continuation(config, w, ids, with_cache=False):
    """The greedy continuation; None if two tokens are about as good, or if it says little.

    With a cache, the tokens before have the hidden states of the lengths that they were computed for. LongRoPE changes all
    frequencies at one length, so there the cache is emptied, as in the published code of Phi-3.
    """
    ids = list(ids)
    cache, count = {}, 0
    for _ in range(CONTINUATION_LENGTH):
        if not with_cache or count == config.get("original_max_position_embeddings"):
            cache, count = {}, 0
        last = logits(config, w, ids[count:], cache)[-1]
        count = len(ids)
        best, second = last.topk(2).values
        if best - second < 0.01:
            return None
        ids.append(int(last.argmax()))
    following = ids[-CONTINUATION_LENGTH:]
    ends = config["eos_token_id"] if isinstance(config["eos_token_id"], list) else [config["eos_token_id"]]
    return following if len(set(following)) > 3 and not set(following) & set(ends) else None


# ---------------------------------------------------------------------------------------------------------- the folders

def random_weights(config, types, quiet=()):
    """Weights in the types that are stored, by name; tokens that are quiet have small logits."""
    width, hidden = config["hidden_size"], config["intermediate_size"]
    heads, shared = config["num_attention_heads"], config["num_key_value_heads"]
    size = config.get("head_dim", width // heads)
    matrices = {"q": (heads * size, width), "k": (shared * size, width), "v": (shared * size, width),
                "o": (width, heads * size)}
    w = {"model.embed_tokens.weight": torch.randn(config["vocab_size"], width)}
    for i in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{i}."
        for name, (rows, columns) in matrices.items():
            w[f"{prefix}self_attn.{name}_proj.weight"] = torch.randn(rows, columns) * 1.5 / math.sqrt(columns)
            if config["model_type"] == "qwen2" and name != "o":
                w[f"{prefix}self_attn.{name}_proj.bias"] = torch.randn(rows) / 2
        if config["model_type"] == "qwen3":
            for name in "qk":
                w[f"{prefix}self_attn.{name}_norm.weight"] = 1.5 + torch.randn(size) / 3
        for name, (rows, columns) in {"gate": (hidden, width), "up": (hidden, width), "down": (width, hidden)}.items():
            w[f"{prefix}mlp.{name}_proj.weight"] = torch.randn(rows, columns) * 1.5 / math.sqrt(columns)
        for name in "input_layernorm", "post_attention_layernorm":
            w[f"{prefix}{name}.weight"] = 1 + torch.randn(width) / 4
    w["model.norm.weight"] = 1 + torch.randn(width) / 4
    if not config["tie_word_embeddings"]:
        w["lm_head.weight"] = torch.randn(config["vocab_size"], width) / 2
    w["model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"][list(quiet)] /= 8
    return {name: tensor.to(types[min(tensor.dim(), len(types)) - 1]) for name, tensor in w.items()}


def save_safetensors(path, tensors):
    """After https://github.com/huggingface/safetensors#format."""
    header, data = {}, b""
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        # torch has no numpy type for bfloat16
        content = (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy().tobytes()
        header[name] = {"dtype": STORED_TYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def save_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")


def save_sharded(folder, tensors, count):
    names = sorted(tensors)
    files = [f"model-{i + 1:05}-of-{count:05}.safetensors" for i in range(count)]
    places = {name: files[i * count // len(names)] for i, name in enumerate(names)}
    for file in files:
        save_safetensors(folder / file, {name: tensors[name] for name in names if places[name] == file})
    total = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    save_json(folder / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": places})


def save_model(name, config, prompt, types=(torch.bfloat16,), shards=1, without=None, expected=None, **options):
    """Writes a folder; `without` has settings with other logits."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    for seed in itertools.count():
        torch.manual_seed(seed)
        stored = random_weights(config, types, **options)
        w = {key: tensor.double() for key, tensor in stored.items()}
        following, cached = (continuation(config, w, prompt, with_cache) for with_cache in (False, True))
        # with dynamic NTK, each length has other frequencies; the weights are some with which that shows
        differs = (config.get("rope_scaling") or {}).get("type") == "dynamic"
        if following and cached and (following != cached) == differs:
            break
        assert differs or following == cached or not (following and cached), "the cache changes the continuation"
    if shards == 1:
        save_safetensors(folder / "model.safetensors", stored)
    else:
        save_sharded(folder, stored, shards)
    save_json(folder / "config.json", config)
    all_logits = logits(config, w, prompt)
    if without is not None:
        assert (all_logits - logits({**config, **without}, w, prompt)).abs().max() > 0.1, "this changes nothing"
    (FOLDER / (name + ".json")).write_text(json.dumps({
        **(expected(following) if expected else {}),
        "prompt": prompt,
        "logits": [[round(number, 6) for number in row] for row in all_logits.tolist()],
        "continuation": following,
    }, ensure_ascii=False) + "\n", "utf-8")


def config_of(model_type, **values):
    """The keys of published configurations; a value None leaves a key out."""
    config = {
        "architectures": [{"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}[model_type]
                          + "ForCausalLM"],
        "bos_token_id": 1,
        "eos_token_id": 2,
        "hidden_act": "silu",
        "hidden_size": 32,
        "initializer_range": 0.02,
        "intermediate_size": 48,
        "max_position_embeddings": 256,
        "model_type": model_type,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "use_cache": True,
        "vocab_size": 64,
        **values,
    }
    return {key: value for key, value in sorted(config.items()) if value is not None}


# ------------------------------------------------------------------------------------------------------- the tokenizers

def merged(symbols, merges):
    """Sennrich et al., Neural Machine Translation of Rare Words with Subword Units (2016), section 3.2."""
    symbols = list(symbols)
    for left, right in merges:
        i = 0
        while i < len(symbols) - 1:
            if (symbols[i], symbols[i + 1]) == (left, right):
                symbols[i:i + 2] = [left + right]
            i += 1
    return symbols


MERGES = [("t", "h"), ("th", "e"), ("c", "a"), ("ca", "t"), ("o", "n"), ("_", "the"), ("_", "cat"), ("_", "on"), ("i", "n"),
          ("a", "t"), ("_", "s"), ("_s", "at"), ("m", "at"), ("_", "mat"), ("e", "r"), ("_", "in")]


def with_space(merges, space):
    return [(left.replace("_", space), right) for left, right in merges]


def added_token(number, content):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True}


def begin_template(token, number):
    """Puts a token before the text, as the published tokenizers of Llama do."""
    special = {"SpecialToken": {"id": token, "type_id": 0}}

    def sequence(name):
        return {"Sequence": {"id": name, "type_id": 0}}

    return {"type": "TemplateProcessing", "single": [special, sequence("A")],
            "pair": [special, sequence("A"), special, sequence("B")],
            "special_tokens": {token: {"id": token, "ids": [number], "tokens": [token]}}}


def byte_characters():
    """The characters that stand for bytes in GPT-2's tokenizer: itself if it is visible, otherwise one from U+0100 on."""
    visible = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte if byte in visible else 0x100 + hidden.index(byte)) for byte in range(256)}


class ByteLevelTokenizer:
    """The kind of Llama 3 and Qwen: BPE of bytes, words apart with the space before them."""

    def __init__(self):
        self.characters = byte_characters()
        self.merges = with_space(MERGES, self.characters[0x20])
        tokens = [*self.characters.values(), *(left + right for left, right in self.merges)]
        self.ids = {token: i for i, token in enumerate(tokens)}
        self.begin, self.end = len(tokens), len(tokens) + 1
        self.size = len(tokens) + 2

    def save(self, folder):
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        save_json(folder / "tokenizer.json", {
            "version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [added_token(self.begin, "<|begin_of_text|>"), added_token(self.end, "<|end_of_text|>")],
            "normalizer": None,
            "pre_tokenizer": byte_level,
            "post_processor": begin_template("<|begin_of_text|>", self.begin),
            "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": self.ids,
                      "merges": [" ".join(pair) for pair in self.merges]},
        })

    def encode(self, text):
        """The ids of a text of letters and single spaces."""
        words = [word if i == 0 else " " + word for i, word in enumerate(text.split(" "))]
        return [self.begin, *(self.ids[token] for word in words
                              for token in merged((self.characters[byte] for byte in word.encode()), self.merges))]

    def decode(self, ids):
        bytes_of = {character: byte for byte, character in self.characters.items()}
        tokens = {number: token for token, number in self.ids.items()}
        return bytes(bytes_of[c] for number in ids for c in tokens.get(number, "")).decode("utf-8", "replace")

    def quiet(self):
        """All but letters, the space, and words."""
        loud = "aeinorst" + self.characters[0x20]
        return [self.begin, self.end, *(i for token, i in self.ids.items() if len(token) == 1 and token not in loud)]


class SentencePieceTokenizer:
    """The kind of Llama 2 and Mistral: BPE of characters, with U+2581 for spaces and before the text; other characters as bytes."""

    def __init__(self):
        self.merges = with_space(MERGES, "\u2581")
        pieces = [*"\u2581abcdefghijklmnopqrstuvwxyz", *(left + right for left, right in self.merges)]
        tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
        self.ids = {token: i for i, token in enumerate(tokens)}
        self.size = len(tokens)

    def save(self, folder):
        save_json(folder / "tokenizer.json", {
            "version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [added_token(i, token) for i, token in enumerate(["<unk>", "<s>", "</s>"])],
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": "\u2581"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
            "pre_tokenizer": None,
            "post_processor": begin_template("<s>", 1),
            "decoder": {"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
            "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "vocab": self.ids,
                      "merges": [" ".join(pair) for pair in self.merges]},
        })

    def encode(self, text):
        """The ids of a text of small letters and spaces."""
        return [1, *(self.ids[token] for token in merged("\u2581" + text.replace(" ", "\u2581"), self.merges))]

    def decode(self, ids):
        tokens = {number: token for token, number in self.ids.items()}
        return "".join(tokens[number] for number in ids).replace("\u2581", " ")

    def quiet(self):
        return range(259)


def save_with_tokenizer(name, tokenizer, text, config, **options):
    save_model(name, {**config, "vocab_size": tokenizer.size}, tokenizer.encode(text), quiet=tokenizer.quiet(),
               expected=lambda ids: {"text": text, "continuedText": tokenizer.decode(ids)}, **options)
    tokenizer.save(FOLDER / name)


PROMPT = [5, 17, 3, 41, 8, 8, 29, 60, 11, 2]


def save_scaled(name, rope, **values):
    """A model that is there for the scaling of its rotary encoding."""
    config = config_of("llama", hidden_size=16, intermediate_size=32, num_attention_heads=2, num_key_value_heads=1,
                       rope_scaling=rope, **values)
    save_model(name, config, PROMPT, without={"rope_scaling": None})


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    save_with_tokenizer(
        "llama_2", SentencePieceTokenizer(), "the cat sat on the mat",
        config_of("llama", num_key_value_heads=4, pretraining_tp=1, torch_dtype="float16"),
        types=(torch.float16,), shards=3)
    bytes_tokenizer = ByteLevelTokenizer()
    save_with_tokenizer(
        "llama_3", bytes_tokenizer, "the cat sat on the mat",
        config_of("llama", rope_theta=100.0, tie_word_embeddings=True, mlp_bias=False, attention_bias=False, head_dim=8,
                  eos_token_id=[bytes_tokenizer.end, bytes_tokenizer.begin],
                  rope_scaling={"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                "original_max_position_embeddings": 32, "rope_type": "llama3"}),
        without={"rope_scaling": None})
    save_model("mistral", config_of("mistral", sliding_window=4), PROMPT, without={"sliding_window": None})
    save_model(
        "qwen_2",
        config_of("qwen2", hidden_size=16, intermediate_size=32, num_attention_heads=2, num_key_value_heads=1,
                  tie_word_embeddings=True, rope_theta=1000000.0, sliding_window=4, use_sliding_window=True,
                  max_window_layers=1, rms_norm_eps=1e-6, torch_dtype="float32"),
        PROMPT, types=(torch.float32,), without={"use_sliding_window": False})
    save_model(
        "qwen_3",
        config_of("qwen3", head_dim=16, rope_theta=1000000.0, rms_norm_eps=1e-6, attention_bias=False, max_window_layers=2,
                  sliding_window=None, use_sliding_window=False, rope_scaling=None),
        PROMPT, types=(torch.float32, torch.bfloat16))
    save_scaled("rope_linear", {"type": "linear", "factor": 4.0})
    save_scaled("rope_dynamic", {"type": "dynamic", "factor": 4.0}, max_position_embeddings=8)
    save_scaled("rope_yarn", {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64})
    # the continuation crosses the original length
    save_scaled("rope_longrope",
                {"type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.5], "long_factor": [1.5, 2.0, 3.0, 4.0]},
                max_position_embeddings=64, original_max_position_embeddings=14)
