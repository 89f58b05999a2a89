"""Rotary encodings on one axis: layouts, scalings, XPos, learned frequencies."""

import math
from types import SimpleNamespace

import numpy as np
import torch

from peer import Part, angles_up_to, normal

part = Part("rotary")
BLOCK = "RotaryEmbeddingBlock"
POSITIONS = torch.tensor([[0, 1, 2, 0, 1, 2, 3, 4, 0], [3, 2, 1, 0, 5, 6, 7, 100, 9]])


def heads(size=8, tokens=9):
    """Queries or keys (B, N, T, H)."""
    return normal(2, 3, tokens, size)


# x-transformers


def x_transformers(x, positions=None, size=8, are_keys=False, **options):
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    module = RotaryEmbedding(size, **options)
    angles, scale = module.forward_from_seq_len(x.shape[2]) if positions is None else module(positions)
    return apply_rotary_pos_emb(x, angles, scale**-1 if are_keys else scale)


@part.kind("rotation", BLOCK, "x-transformers")
def rotation_of_x_transformers():
    x = heads()
    for size, base in ((8, 10000), (6, 10000), (4, 500)):
        yield dict(size=size, base=base), dict(x=x), x_transformers(x, size=size, base=base)
    for positions in (POSITIONS, -POSITIONS, POSITIONS - 4):
        yield {}, dict(x=x, positions=positions), x_transformers(x, positions)


@part.kind("linear", BLOCK, "x-transformers")
def linear_of_x_transformers():
    x = heads()
    yield dict(factor=4), dict(x=x), x_transformers(x, interpolation_factor=4.0)


@part.kind("ntkAware", BLOCK, "x-transformers")
def ntk_of_x_transformers():
    x = heads()
    for size in (8, 4):
        yield dict(size=size, factor=3), dict(x=x), x_transformers(x, size=size, base_rescale_factor=3.0)


@part.kind("products with XPos", BLOCK, "x-transformers")
def xpos_of_x_transformers():
    for size, scale_base, factor in ((8, 512, 1.0), (8, 64, 1.0), (4, 512, 1.0), (8, 512, 2.0)):
        queries, keys = heads(), heads()
        options = dict(size=size, use_xpos=True, scale_base=scale_base, interpolation_factor=factor)
        y = x_transformers(queries, **options) @ x_transformers(keys, are_keys=True, **options).mT
        yield dict(size=size, scale_base=scale_base, factor=factor), dict(queries=queries, keys=keys), y


# rotary-embedding-torch


def lucidrains(size, **options):
    from rotary_embedding_torch import RotaryEmbedding

    return RotaryEmbedding(size, **options)


@part.kind("rotation", BLOCK, "rotary-embedding-torch")
def rotation_of_rotary_embedding_torch():
    from rotary_embedding_torch import apply_rotary_emb

    x = heads()
    for size, base, start in ((8, 10000, 0), (6, 10000, 100), (4, 300, 3)):
        y = lucidrains(size, theta=base).rotate_queries_or_keys(x, offset=start)
        yield dict(size=size, base=base, start=start, limit=angles_up_to(start + 9)), dict(x=x), y
    y = apply_rotary_emb(lucidrains(4)(torch.arange(9.0)), x, start_index=2)
    yield dict(first=2, size=4), dict(x=x), y
    x = x.transpose(1, 2)
    yield dict(sequence_axis=1), dict(x=x), lucidrains(8, seq_before_head_dim=True).rotate_queries_or_keys(x)
    queries, keys = heads(tokens=2), heads()
    rotated_queries, rotated_keys = lucidrains(8).rotate_queries_with_cached_keys(queries, keys)
    yield dict(start=7), dict(x=queries), rotated_queries
    yield dict(start=0), dict(x=keys), rotated_keys


@part.kind("linear", BLOCK, "rotary-embedding-torch")
def linear_of_rotary_embedding_torch():
    x = heads()
    for start in (0, 6):
        y = lucidrains(8, interpolate_factor=2.0).rotate_queries_or_keys(x, offset=start)
        yield dict(factor=2, start=start), dict(x=x), y


@part.kind("ntkAware", BLOCK, "rotary-embedding-torch")
def ntk_of_rotary_embedding_torch():
    x = heads()
    yield dict(factor=2.5), dict(x=x), lucidrains(8, theta_rescale_factor=2.5).rotate_queries_or_keys(x)


@part.kind("products with XPos", BLOCK, "rotary-embedding-torch")
def xpos_of_rotary_embedding_torch():
    for scale_base, factor in ((512, 1.0), (64, 1.0), (512, 2.0)):
        queries, keys = heads(), heads()
        module = lucidrains(8, use_xpos=True, xpos_scale_base=scale_base, interpolate_factor=factor)
        rotated_queries, rotated_keys = module.rotate_queries_and_keys(queries, keys)
        # here products decay with the interpolated distance
        arguments = dict(scale_base=scale_base * factor, factor=factor)
        yield arguments, dict(queries=queries, keys=keys), rotated_queries @ rotated_keys.mT


@part.kind("frequencies", BLOCK, "rotary-embedding-torch")
def frequencies_of_rotary_embedding_torch():
    from rotary_embedding_torch import apply_rotary_emb

    x = heads()
    frequencies = torch.tensor([0.5, 0.25, 2, 0])
    y = lucidrains(8, custom_freqs=frequencies).rotate_queries_or_keys(x)
    yield dict(of="custom_freqs"), dict(x=x, frequencies=frequencies.double()), y
    y = apply_rotary_emb(lucidrains(8, freqs_for="constant", num_freqs=3)(torch.arange(9.0)), x)
    yield dict(of="constant"), dict(x=x, frequencies=np.ones(3)), y
    arrays = dict(x=x, positions=np.linspace(-1, 1, 9), frequencies=np.linspace(1, 10, 4) * math.pi)
    y = apply_rotary_emb(lucidrains(8, freqs_for="pixel", max_freq=20).get_axial_freqs(9), x)
    yield dict(of="pixel", limit=angles_up_to(10 * math.pi)), arrays, y


@part.kind("learned", "LearnedRotaryEmbeddingBlock", "rotary-embedding-torch")
def learned():
    module, x = lucidrains(8, learned_freq=True), heads()
    module.freqs.data = normal(4).abs()
    yield dict(heads=3), {"x": x, "p.frequencies": module.freqs.expand(1, 3, 4)}, module.rotate_queries_or_keys(x)


# KerasHub, whose inputs are (B, T, N, H)


def keras(x, positions=None, start=0, **options):
    from keras_hub.layers import RotaryEmbedding

    return RotaryEmbedding(**options)(x.numpy(), start_index=start, positions=positions)


@part.kind("rotation", BLOCK, "keras-hub")
def rotation_of_keras():
    x = heads().transpose(1, 2)
    for base, start in ((10000, 0), (500, 7), (10000, 4000)):
        arguments = dict(halves=True, sequence_axis=1, base=base, start=start, limit=angles_up_to(start + 9))
        yield arguments, dict(x=x), keras(x, max_wavelength=base, start=start)
    arrays = dict(x=x, positions=POSITIONS)
    yield dict(halves=True, sequence_axis=1, limit=angles_up_to(100)), arrays, keras(x, positions=POSITIONS.numpy())
    x = heads()
    yield dict(halves=True), dict(x=x), keras(x, sequence_axis=2)


@part.kind("linear", BLOCK, "keras-hub")
def linear_of_keras():
    x = heads().transpose(1, 2)
    yield dict(halves=True, sequence_axis=1, factor=4), dict(x=x), keras(x, scaling_factor=4.0)
    # KerasHub's own "dynamic" divides all frequencies by a power of the factor
    y = keras(x, scaling_factor=4.0, rope_type="dynamic")
    yield dict(halves=True, sequence_axis=1, factor=4 ** (8 / 6), rope_type="dynamic"), dict(x=x), y


def yarn(factor, original, fast=32, slow=1, truncate=True, attention=None):
    """The library's arguments; without an attention factor, the paper's applies."""
    return dict(factor=factor, original=original, fast=fast, slow=slow, truncate=truncate, attention=attention)


@part.kind("yarn", BLOCK, "keras-hub")
def yarn_of_keras():
    x = heads(64).transpose(1, 2)
    for truncate in (True, False):
        for factor, original in ((4.0, 64), (40.0, 4096)):
            y = keras(x, scaling_factor=factor, rope_type="yarn", original_max_position_embeddings=original, truncate=truncate)
            yield dict(halves=True, sequence_axis=1, **yarn(factor, original, truncate=truncate)), dict(x=x), y
    options = dict(scaling_factor=8.0, original_max_position_embeddings=512)
    y = keras(x, rope_type="yarn", beta_fast=16.0, beta_slow=2.0, **options)
    yield dict(halves=True, sequence_axis=1, **yarn(8.0, 512, fast=16, slow=2)), dict(x=x), y


@part.kind("frequencies", BLOCK, "keras-hub")
def frequencies_of_keras():
    x = heads().transpose(1, 2)
    arrays = dict(x=x, frequencies=10000.0 ** (-np.arange(4) / 8))
    yield dict(halves=True, sequence_axis=1, of="denominator_dim"), arrays, keras(x, denominator_dim=16)


# diffusers


@part.kind("rotation", BLOCK, "diffusers")
def rotation_of_diffusers():
    from diffusers.models.embeddings import apply_rotary_emb, get_1d_rotary_pos_embed

    for halves in (False, True):
        for base in (10000, 500):
            x = heads(16)
            rows = get_1d_rotary_pos_embed(16, 9, base, use_real=True, repeat_interleave_real=not halves)
            arguments = dict(base=base) | (dict(halves=True) if halves else {})
            yield arguments, dict(x=x), apply_rotary_emb(x, rows, use_real_unbind_dim=-2 if halves else -1)


# transformers


def llama(rope, base=10000.0, tokens=40, start=0, length=128, **options):
    """A case with heads of 64: the rotation with rope_parameters, and options for the library."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    rope = dict(rope_theta=base) | rope
    config = LlamaConfig(hidden_size=128, num_attention_heads=2, max_position_embeddings=length, rope_parameters=rope)
    x = normal(1, 2, tokens, 64)
    positions = torch.arange(start, start + tokens)
    cosines, sines = LlamaRotaryEmbedding(config)(x, positions[None])
    arguments = dict(halves=True, base=base, **options, limit=angles_up_to(abs(start) + tokens))
    arrays = dict(x=x, positions=positions) if start < 0 else dict(x=x)
    return arguments | ({} if start < 0 else dict(start=start)), arrays, apply_rotary_pos_emb(x, x, cosines, sines)[0]


@part.kind("rotation", BLOCK, "transformers")
def rotation_of_transformers():
    from transformers import GlmConfig, GPTNeoXConfig
    from transformers.models.glm import modeling_glm as glm
    from transformers.models.gpt_neox import modeling_gpt_neox as neox
    from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb, create_sinusoidal_positions
    from transformers.models.roformer.modeling_roformer import RoFormerSelfAttention, RoFormerSinusoidalPositionalEmbedding
    from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as conformer

    yield llama({"rope_type": "default"}, start=77)
    yield llama({"rope_type": "default"}, base=500000.0, start=4000)
    yield llama({"rope_type": "default"}, start=-37)
    x = heads(16)
    sines, cosines = create_sinusoidal_positions(9, 16)[None].chunk(2, -1)
    y = apply_rotary_pos_emb(x.transpose(1, 2), sines, cosines)
    yield dict(sequence_axis=1, model="GPT-J"), dict(x=x.transpose(1, 2)), y
    rows = RoFormerSinusoidalPositionalEmbedding(9, 16).create_weight()
    rotated = RoFormerSelfAttention.apply_rotary_position_embeddings(rows, x, x)[0]
    yield dict(model="RoFormer"), dict(x=x), rotated
    # the input is rotated before the projections: a function of tokens (B, T, D)
    config = SimpleNamespace(hidden_size=48, num_attention_heads=3, rotary_embedding_base=500)
    tokens = x.transpose(1, 2).flatten(2)
    rows = conformer.Wav2Vec2ConformerRotaryPositionalEmbedding(config)(tokens)
    attention = SimpleNamespace(num_heads=3, head_size=16)
    y = conformer.Wav2Vec2ConformerSelfAttention._apply_rotary_embedding(attention, tokens, rows)
    arguments = dict(model="Wav2Vec2-Conformer", halves=True, sequence_axis=1, base=500)
    yield arguments, dict(x=tokens.unflatten(2, (3, 16))), y.unflatten(2, (3, 16))
    rope = dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)
    for model, module, config, rotary in (("GLM", glm, GlmConfig, "GlmRotaryEmbedding"),
                                          ("GPT-NeoX", neox, GPTNeoXConfig, "GPTNeoXRotaryEmbedding")):
        config = config(hidden_size=48, num_attention_heads=3, rope_parameters=rope)
        config.head_dim = 16
        rows = getattr(module, rotary)(config)(x, torch.arange(9)[None])
        arguments = dict(size=8, model=model) | (dict(halves=True) if model == "GPT-NeoX" else {})
        yield arguments, dict(x=x), module.apply_rotary_pos_emb(x, x, *rows)[0]


@part.kind("linear", BLOCK, "transformers")
def linear_of_transformers():
    for start in (77, -37):
        yield llama({"rope_type": "linear", "factor": 4.0}, start=start, factor=4)


@part.kind("dynamicNtk", BLOCK, "transformers")
def dynamic():
    for tokens in (40, 128, 129, 400):
        yield llama({"rope_type": "dynamic", "factor": 2.0}, tokens=tokens, factor=2, original=128, length_served=tokens)
    yield llama({"rope_type": "dynamic", "factor": 2.0}, tokens=300, start=-99, factor=2, original=128, length_served=201)


@part.kind("yarn", BLOCK, "transformers")
def yarn_of_transformers():
    def yarn_case(options, base=10000.0, start=33, **more):
        rope = {"rope_type": "yarn", "factor": options["factor"], "original_max_position_embeddings": options["original"]}
        length = int(options["factor"] * options["original"])
        return llama(rope | more, base=base, start=start, length=length, **options)

    for factor, original in ((4.0, 64), (40.0, 4096), (1.0, 128), (16.0, 256)):
        for start in (33, -37):
            yield yarn_case(yarn(factor, original), start=start)
    yield yarn_case(yarn(8.0, 512, fast=16, slow=2), beta_fast=16, beta_slow=2)
    yield yarn_case(yarn(4.0, 64, fast=1, truncate=False), beta_fast=1.0, beta_slow=1.0, truncate=False)
    yield yarn_case(yarn(32.0, 4096, truncate=False), base=150000.0, truncate=False)
    yield yarn_case(yarn(8.0, 512, attention=1.5), attention_factor=1.5)
    attention = (0.1 * 0.7 * math.log(40) + 1) / (0.1 * 1.2 * math.log(40) + 1)
    yield yarn_case(yarn(40.0, 4096, attention=attention), mscale=0.7, mscale_all_dim=1.2)


@part.kind("llama3", BLOCK, "transformers")
def llama3():
    for base, factor, high in ((500000.0, 8, 4), (10000.0, 8, 4), (500000.0, 16, 1)):
        rope = {"rope_type": "llama3", "factor": float(factor), "low_freq_factor": 1.0, "high_freq_factor": float(high),
                "original_max_position_embeddings": 256}
        for start in (21, -37):
            yield llama(rope, base=base, start=start, length=256 * factor, factor=factor, low=1, high=high, original=256)


@part.kind("longRope", BLOCK, "transformers")
def long_rope():
    short, long = [1 + 0.05 * i for i in range(32)], [1.5 + 0.7 * i for i in range(32)]
    for tokens, start, attention in ((40, 0, None), (100, 0, None), (100, 0, 1.3), (100, -37, 1.3), (100, -3, None)):
        rope = {"rope_type": "longrope", "short_factor": short, "long_factor": long, "factor": 4.0,
                "original_max_position_embeddings": 64} | ({"attention_factor": attention} if attention else {})
        yield llama(rope, tokens=tokens, start=start, length=256, short=short, long=long, original=64, maximum=256,
                    attention=attention, length_served=tokens + start)


@part.kind("proportional", BLOCK, "transformers")
def proportional():
    for share, factor in ((0.25, 2.0), (0.5, 1.0)):
        rope = {"rope_type": "proportional", "partial_rotary_factor": share, "factor": factor}
        arguments, arrays, y = llama(rope, base=1000000.0, share=share, factor=factor)
        # its base is among the frequencies
        yield {name: value for name, value in arguments.items() if name != "base"}, arrays, y
