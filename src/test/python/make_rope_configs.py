#!/usr/bin/env python3
"""Writes src/test/resources/configurations/expected.csv: the rotary encodings of published models.

Written from the papers in float64. The numbers of each model are written out here and not read from its configuration,
which is the file of the same name beside the output; so the test also compares how the configuration is read.

Run: python3 src/test/python/make_rope_configs.py
"""
import json
import math
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "resources" / "configurations"
ROWS = []


def rope(size, base):
    """Su et al., RoFormer (2021)."""
    return [base ** (-2 * k / size) for k in range(size // 2)]


def llama3(frequencies, factor, low, high, length):
    """Llama 3.1 (Meta, 2024): by the number of turns over the original length."""
    scaled = []
    for f in frequencies:
        turns = length * f / (2 * math.pi)
        if turns < low:
            fast = 0.0
        elif turns > high:
            fast = 1.0
        else:
            fast = (turns - low) / (high - low)
        scaled.append(f * (fast + (1 - fast) / factor))
    return scaled


def yarn(size, base, factor, length, truncate=True):
    """Peng et al., YaRN (2023), section 3.2, with 32 and 1 turns."""
    low, high = (size * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base)) for turns in (32, 1))
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, size - 1)
    scaled = []
    for k, f in enumerate(rope(size, base)):
        divided = min(max((k - low) / (high - low), 0), 1)
        scaled.append(f * (1 - divided) + f / factor * divided)
    return scaled


def yarn_factor(factor):
    """YaRN, section 3.4: the root of the factor of the scores."""
    return 0.1 * math.log(factor) + 1


def row(model, frequencies, layout="concatenated", layer_type="", head=None, start=0, factor=1.0, length=0, axes=()):
    """length: that of the sequence, if the frequencies depend on it; axes: the axis of each pair."""
    head = head or 2 * len(frequencies)
    ROWS.append([model, layer_type, length, layout, head, start, "".join(map(str, axes)), repr(factor),
                 " ".join(map(repr, frequencies))])


def main():
    row("Llama-2-7b-hf", rope(128, 1e4))
    row("Meta-Llama-3-8B", rope(128, 5e5))
    row("Llama-3.1-8B", llama3(rope(128, 5e5), 8, 1, 4, 8192))
    row("Llama-3.2-1B", llama3(rope(64, 5e5), 32, 1, 4, 8192))
    row("vicuna-7b-v1.5-16k", [f / 4 for f in rope(128, 1e4)])
    row("Yarn-Llama-2-7b-128k", yarn(128, 1e4, 32, 4096), factor=yarn_factor(32))
    # low and high are the same: nothing is mixed
    row("Llama-4-Scout-17B-16E-Instruct", [f if 8192 * f / (2 * math.pi) >= 1 else f / 16 for f in rope(128, 5e5)],
        "interleaved", "chunked_attention")
    row("Llama-4-Maverick-17B-128E-Instruct", rope(128, 5e5), "interleaved")
    row("Mistral-7B-v0.1", rope(128, 1e4))
    row("Mistral-7B-v0.3", rope(128, 1e6))
    row("Mixtral-8x7B-v0.1", rope(128, 1e6))
    row("Qwen-7B", rope(128, 1e4))
    row("Qwen2-7B", rope(128, 1e6))
    row("Qwen2.5-7B-Instruct-with-YaRN", yarn(128, 1e6, 4, 32768), factor=yarn_factor(4))
    row("Qwen3-8B", rope(128, 1e6))
    row("Qwen3-30B-A3B", rope(128, 1e6))
    row("Qwen2-VL-7B-Instruct", rope(128, 1e6), axes=[0] * 16 + [1] * 24 + [2] * 24)
    row("Qwen3-VL-8B-Instruct", rope(128, 5e6), axes=[0, 1, 2] * 20 + [0] * 4)
    row("gemma-2b", rope(256, 1e4))
    row("gemma-2-27b", rope(128, 1e4))
    row("gemma-3-4b-pt", [f / 8 for f in rope(256, 1e6)], layer_type="full_attention")
    row("gemma-3-4b-pt", rope(256, 1e4), layer_type="sliding_attention")
    row("gemma-3-1b-pt", rope(256, 1e6), layer_type="full_attention")
    row("gemma-3-1b-pt", rope(256, 1e4), layer_type="sliding_attention")
    # a quarter of the 256 pairs of the whole head turns
    row("gemma-4-26B-A4B", rope(512, 1e6)[:64] + [0.0] * 192, layer_type="full_attention")
    row("gemma-4-26B-A4B", rope(256, 1e4), layer_type="sliding_attention")
    row("phi-2", rope(32, 1e4), head=80)
    phi3 = json.loads((FOLDER / "Phi-3-vision-128k-instruct.json").read_text())["rope_scaling"]
    stretched = math.sqrt(1 + math.log(131072 / 4096) / math.log(4096))
    for key, length in (("short_factor", 4096), ("long_factor", 4097)):
        row("Phi-3-vision-128k-instruct", [f / divisor for f, divisor in zip(rope(96, 1e4), phi3[key])], length=length,
            factor=stretched)
    row("gpt-neox-20b", rope(24, 1e4), head=96)
    row("gpt-j-6b", rope(64, 1e4), "interleaved", head=256)
    row("stablelm-2-1_6b", rope(16, 1e4), head=64)
    row("falcon-7b", rope(64, 1e4))
    row("falcon-40b", rope(64, 1e4))
    row("roformer_chinese_base", rope(64, 1e4), "interleaved")
    row("c4ai-command-r-v01", rope(128, 8e6), "interleaved")
    row("c4ai-command-r7b-12-2024", rope(128, 5e4), "interleaved", "sliding_attention")
    row("glm-4-9b-hf", rope(64, 1e4), "interleaved", head=128)
    row("GLM-4-9B-0414", rope(64, 1e4), "interleaved", head=128)
    row("GLM-4.5", rope(64, 1e6), head=128)
    # the attention factor is the ratio of two equal numbers
    for model in ("DeepSeek-V2", "DeepSeek-V3"):
        row(model, yarn(64, 1e4, 40, 4096), "interleaved", head=192, start=128)
    row("gpt-oss-20b", yarn(64, 1.5e5, 32, 4096, truncate=False), factor=yarn_factor(32))
    row("OLMo-2-1124-7B", rope(128, 5e5))
    row("SmolLM3-3B", rope(128, 5e6))
    # a larger base, 10,000 * 1000^(128/126), at any length
    row("HunyuanImage-2.1-reprompt", rope(128, 1e4 * 1000 ** (128 / 126)))
    row("Hy3", rope(128, 11158840.0))
    row("ModernBERT-base", rope(64, 1.6e5), layer_type="full_attention")
    row("ModernBERT-base", rope(64, 1e4), layer_type="sliding_attention")
    header = "model,layer_type,length,layout,head_size,start,axes,factor,frequencies"
    lines = [",".join(map(str, values)) for values in ROWS]
    (FOLDER / "expected.csv").write_text("\n".join([header, *lines]) + "\n")


if __name__ == "__main__":
    main()
