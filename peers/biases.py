"""Biases of the attention that depend on the distance of query and key."""

import itertools

import torch
import torch.nn.functional as F

from multi_head import (
    HEADS, SIZE, additive, bias, case, eager, in_steps, masks, randomize, randomize_keras, seeing, split, visible, ways,
    x_transformers, x_transformers_case,
)
from peer import Part, normal

part = Part("biases")


LENGTHS = (9, 9), (3, 9), (1, 9)


@part.kind("ALiBi", "AlibiBiasBlock", "x-transformers")
def alibi():
    from x_transformers.x_transformers import AlibiPositionalBias

    for heads in (1, 2, 3, 6, 8, 12, 40, 71):
        yield bias(AlibiPositionalBias(heads)(9, 9), heads=heads)
    for lengths in LENGTHS[1:]:
        yield bias(AlibiPositionalBias(4)(*lengths), heads=4)


@part.kind("ALiBi", "AlibiBiasBlock", "keras-hub")
def keras_alibi():
    from keras_hub.layers import AlibiBias

    # of the last query for all keys
    for heads in (1, 4, 6, 12):
        yield bias(AlibiBias()(torch.zeros(1, heads, 1, 9)), heads=heads)


@part.kind("ALiBi with slopes", "AlibiBiasBlock", "x-transformers")
def alibi_slopes():
    from x_transformers.x_transformers import AlibiPositionalBias

    slopes = [0.5, 0.25, 3.0, 1.0]
    yield bias(AlibiPositionalBias(4, slopes=slopes)(9, 9), slopes=slopes)
    # two more heads have no bias
    yield bias(AlibiPositionalBias(4, 6)(9, 9), slopes=[2.0**-h for h in (2, 4, 6, 8)] + [0, 0])


@part.kind("trained ALiBi", "AlibiBiasBlock", "x-transformers")
def alibi_learned():
    from x_transformers.x_transformers import AlibiPositionalBias

    module = AlibiPositionalBias(4, slopes=normal(4).exp().tolist())
    for lengths in LENGTHS:
        yield bias(module(*lengths), {"logSlopes": module.slopes.flatten().log()}, heads=4)


@part.kind("ALiBi at positions", "AlibiBiasBlock", "x-transformers")
def alibi_positions():
    from x_transformers.x_transformers import AlibiPositionalBias

    for positions in (torch.tensor([[0, 1.5, 4, 4.25, 9]]), normal(3, 7, scale=100)):
        yield dict(heads=4), {"positions": positions}, AlibiPositionalBias(4).forward_custom_pos(positions)


@part.kind("attention with ALiBi", "AlibiBiasBlock", "x-transformers")
def alibi_attention():
    from x_transformers.x_transformers import AlibiPositionalBias

    for options in (dict(causal=False), dict(causal=True, one_kv_head=True), dict(causal=True, head_size=4, heads=6)):
        module = x_transformers(**options)
        for mask, steps in ways():
            if module.causal or not steps:
                yield x_transformers_case(module, None, AlibiPositionalBias(module.heads), mask, steps)


def causal_cases(attend, projections, lengths=(9,), **arguments):
    """Cases of a causal attention of transformers: attend(piece, what it sees, the mask of the keys, the cache)."""
    from transformers import DynamicCache

    for length in lengths:
        for mask, steps in ways(length) if length == 9 else [(None, None)]:
            x = normal(2, length, SIZE)
            cache = DynamicCache() if steps else None

            def forward(piece, end):
                keys = torch.ones(2, end).long() if mask is None else mask[:, :end]
                return attend(piece, visible(end, piece.shape[1], True, keys), keys, cache)

            y = seeing(in_steps(x, steps, forward), mask)
            yield case(x, y, projections, mask=mask, causal=True, steps=steps, **arguments)


@part.kind("BLOOM", "AlibiBiasBlock", "transformers")
def bloom():
    from transformers.models.bloom.modeling_bloom import BloomAttention, BloomConfig, build_alibi_tensor

    for heads in (4, 6):
        module = randomize(BloomAttention(BloomConfig(hidden_size=SIZE, n_head=heads), 0))

        def attend(x, seen, mask, cache):
            slopes = build_alibi_tensor(mask, heads, torch.float32)
            return module(x, torch.zeros_like(x), slopes, additive(seen), cache)[0]

        yield from causal_cases(attend, (*split(module.query_key_value, heads), module.dense), heads=heads)


@part.kind("MPT", "AlibiBiasBlock", "transformers")
def mpt():
    from transformers.models.mpt.modeling_mpt import MptAttention, MptConfig, build_mpt_alibi_tensor

    for heads, maximum in ((4, 8), (6, 16)):
        module = randomize(MptAttention(MptConfig(d_model=SIZE, n_heads=heads), 0))

        def attend(x, seen, mask, cache):
            biases = build_mpt_alibi_tensor(heads, 32, maximum)
            return module(x, biases, cache, ~seen)[0]

        projections = *split(module.Wqkv), module.out_proj
        yield from causal_cases(attend, projections, heads=heads, maximum=maximum)


@part.kind("MPT's slopes", "AlibiBiasBlock", "transformers")
def mpt_slopes():
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    for heads, maximum in ((71, 8), (40, 8), (12, 6)):
        # of a causal query: the keys before it, as from the last one
        yield bias(build_mpt_alibi_tensor(heads, 9, maximum), heads=heads, maximum=maximum)


@part.kind("Falcon", "AlibiBiasBlock", "transformers")
def falcon():
    from transformers.models.falcon.modeling_falcon import FalconAttention, FalconConfig, build_alibi_tensor

    for multi_query in (False, True):
        config = eager(FalconConfig(hidden_size=SIZE, num_attention_heads=HEADS, alibi=True, multi_query=multi_query))
        module = randomize(FalconAttention(config, 0))

        def attend(x, seen, mask, cache):
            return module(x, build_alibi_tensor(mask, HEADS, torch.float32), additive(seen), layer_past=cache)[0]

        qkv = module.query_key_value
        if multi_query:
            query, key, value = qkv.weight.split([SIZE, SIZE // HEADS, SIZE // HEADS])
            projections = [(query, None), (key, None), (value, None), module.dense]
        else:
            projections = *split(qkv, HEADS), module.dense
        # positions are BFLOAT16 there, which is exact up to 256; see "Differences"
        yield from causal_cases(attend, projections, lengths=(9, 257))


@part.kind("T5's buckets", "RelativePositionBiasBlock", "transformers")
def buckets():
    from transformers.models.layoutlmv3.modeling_layoutlmv3 import LayoutLMv3Encoder
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder
    from transformers.models.prophetnet.modeling_prophetnet import compute_relative_buckets
    from transformers.models.t5.modeling_t5 import T5Attention
    from transformers.models.wavlm.modeling_wavlm import WavLMAttention

    distances = torch.arange(2048)[None] - 1024

    def each(rows, bidirectional, count, maximum, of="T5"):
        # bias n of a head is n: of a query in the middle of the keys, the bucket of each distance
        options = dict(heads=1, bidirectional=bidirectional, buckets=count, maximum=maximum, of=of)
        return bias(rows.float()[None], {"biases": torch.arange(count)[:, None].float()}, 1024, **options)

    for sizes in ((32, 128), (16, 64), (64, 256), (320, 800), (32, 20), (8, 16), (100, 1000), (12, 50)):
        for bidirectional in (True, False):
            if sizes[1] > sizes[0] // (4 if bidirectional else 2):
                rows = T5Attention._relative_position_bucket(distances, bidirectional, *sizes)
                yield each(rows, bidirectional, *sizes)
    yield each(MPNetEncoder.relative_position_bucket(distances), True, 32, 128, "MPNet")
    yield each(WavLMAttention(24, 4)._relative_positions_bucket(distances), True, 320, 800, "WavLM")
    yield each(LayoutLMv3Encoder.relative_position_bucket(None, distances), True, 32, 128, "LayoutLMv3")
    yield each(compute_relative_buckets(32, 128, distances), False, 32, 128, "ProphetNet")


@part.kind("T5's bias", "RelativePositionBiasBlock", "x-transformers")
def x_transformers_t5():
    for causal in (True, False):
        module = x_transformers_bias(causal)
        for lengths in ((200, 200), (5, 200)):
            yield bias(module(*lengths), x_transformers_table(module), heads=HEADS, **t5(not causal))


def x_transformers_bias(causal):
    from x_transformers.x_transformers import RelativePositionBias

    # the factor is that of its attention layers
    return randomize(RelativePositionBias(6**0.5, causal=causal, heads=HEADS))


def x_transformers_table(module):
    return {"biases": module.relative_attention_bias.weight * module.scale}


def t5(bidirectional):
    return dict(bidirectional=bidirectional, buckets=32, maximum=128)


@part.kind("attention with T5", "RelativePositionBiasBlock", "x-transformers")
def x_transformers_t5_attention():
    for causal in (True, False):
        module, biases = x_transformers(causal=causal, one_kv_head=causal), x_transformers_bias(causal)
        for mask, steps in ways():
            if causal or not steps:
                table = x_transformers_table(biases)
                yield x_transformers_case(module, table, biases, mask, steps, **t5(not causal))


@part.kind("attention with T5", "RelativePositionBiasBlock", "transformers")
def t5_attention():
    from transformers.models.t5.modeling_t5 import T5Attention, T5Config

    for decoder, head_size in ((False, 6), (False, 5), (True, 6)):
        config = eager(T5Config(d_model=SIZE, d_kv=head_size, num_heads=HEADS, is_decoder=decoder))
        module = randomize(T5Attention(config, True, 0))

        def attend(x, seen, mask, cache):
            return module(x, additive(seen), past_key_values=cache)[0]

        projections = module.q, module.k, module.v, module.o
        table = {"biases": module.relative_attention_bias.weight}
        if decoder:
            yield from causal_cases(attend, projections, encoding=table, lengths=(9, 150), scale=1, **t5(False))
        else:
            for length in (9, 150):
                x = normal(2, length, SIZE)
                yield case(x, attend(x, visible(length), None, None), projections, table, scale=1, **t5(True))


@part.kind("WavLM", "RelativePositionBiasBlock", "transformers")
def wavlm():
    from transformers.models.wavlm.modeling_wavlm import WavLMAttention

    for buckets, maximum in ((320, 800), (8, 16)):
        module = randomize(WavLMAttention(SIZE, HEADS, num_buckets=buckets, max_distance=maximum))
        gates = module.gru_rel_pos_linear
        encoding = {"biases": module.rel_attn_embed.weight, "gateWeight": gates.weight, "gateBias": gates.bias}
        encoding["gateScale"] = module.gru_rel_pos_const.flatten()
        projections = module.q_proj, module.k_proj, module.v_proj, module.out_proj
        options = dict(bidirectional=True, buckets=buckets, maximum=maximum, gated=SIZE)
        for length, mask in [(9, mask) for mask in masks()] + [(1, None), (300, None)]:
            x = normal(2, length, SIZE)
            yield case(x, module(x, mask)[0], projections, encoding, mask=mask, **options)


def page(length, largest):
    """Boxes of tokens of two pages, (2, length, 4): left, top, right and bottom, from 0 to the largest coordinate."""
    corners = torch.randint(0, largest + 1, (2, length, 2, 2)).sort(2).values
    return corners.flatten(2)


def layout_encoder(version):
    """The encoder of LayoutLMv2 or v3 without layers, which computes the biases; its tables have other sizes."""
    import importlib

    name = f"LayoutLMv{version}"
    module = importlib.import_module(f"transformers.models.layoutlmv{version}.modeling_layoutlmv{version}")
    config = getattr(importlib.import_module("transformers"), f"{name}Config")(
        hidden_size=SIZE, num_attention_heads=HEADS, num_hidden_layers=0, intermediate_size=8, rel_2d_pos_bins=64,
        fast_qkv=False, has_relative_attention_bias=True, has_spatial_attention_bias=True)
    encoder = randomize(getattr(module, f"{name}Encoder")(config))
    return config, getattr(module, f"{name}SelfAttention"), encoder, encoder.rel_pos_bias, encoder.rel_pos_x_bias, encoder.rel_pos_y_bias


def layout_biases(encoder, index, boxes):
    """The bias of distances, and the sum of those of the left and the lower borders."""
    old = hasattr(encoder, "_calculate_1d_position_embeddings")
    one = encoder._calculate_1d_position_embeddings if old else encoder._cal_1d_pos_emb
    two = encoder._calculate_2d_position_embeddings if old else encoder._cal_2d_pos_emb
    return one(index), two(boxes)


def layout_positions(index, boxes):
    return torch.stack([index, boxes[..., 0], boxes[..., 3]])


@part.kind("T5 on an axis", "RelativePositionBiasBlock", "transformers")
def t5_on_axes():
    from transformers.models.udop import modeling_udop as udop

    def each(y, positions, axis, table, buckets, maximum, bidirectional=True, **arguments):
        options = dict(heads=table.shape[1], axis=axis, bidirectional=bidirectional, buckets=buckets, maximum=maximum)
        return options | arguments, {"positions": positions, "p.biases": table}, y

    index, boxes = torch.arange(40).expand(2, 40), page(40, 1000)
    for version in (2, 3):
        _, _, encoder, _, x, y = layout_encoder(version)
        positions = layout_positions(index, boxes)
        for axis, table, other in ((1, x, y), (2, y, x)):
            kept = other.weight.clone()
            other.weight.zero_()
            yield each(layout_biases(encoder, index, boxes)[1], positions, axis, table.weight.T, 64, 256, version=version)
            other.weight.copy_(kept)
    # a page of 128 by 128 units, whose coordinates are exact in FLOAT32
    boxes = page(40, 128) / 128
    positions = torch.stack([index.double(), *(100 * boxes.double()[..., [i, i + 2]].mean(-1) for i in (0, 1))])
    for axis, module in enumerate((udop.RelativePositionBias1D, udop.RelativePositionBiasHorizontal,
                                   udop.RelativePositionBiasVertical)):
        for bidirectional in (True, False):
            biases = randomize(module(num_heads=HEADS, bidirectional=bidirectional))
            y = biases(torch.ones(2, 40), boxes).expand(2, -1, -1, -1)
            table = biases.relative_attention_bias.weight
            yield each(y, positions, axis, table, 32, biases.max_distance, bidirectional, truncated=True)


@part.kind("attention with T5 on axes", "RelativePositionBiasBlock", "transformers")
def attention_on_axes():
    index, boxes = torch.arange(9).expand(2, 9), page(9, 1000)
    for version in (2, 3):
        config, attention, encoder, *linears = layout_encoder(version)
        module = randomize(attention(config))
        for mask in masks():
            x, seen = normal(2, 9, SIZE), visible(9, mask=mask)
            hidden = ~seen if version == 2 else additive(seen)
            y = module(x, hidden, *layout_biases(encoder, index, boxes))[0]
            y = y if mask is None else y.masked_fill(mask[..., None] == 0, torch.nan)
            arguments, arrays, y = case(x, y, (module.query, module.key, module.value, None), mask=mask,
                                        scaled=version == 3, version=version)
            tables = {f"table{axis}": linear.weight.T for axis, linear in enumerate(linears)}
            yield arguments, arrays | tables | {"positions": layout_positions(index, boxes)}, y


@part.kind("attention with T5", "RelativePositionBiasBlock", "keras-hub")
def keras_t5():
    from keras_hub.src.models.t5.t5_multi_head_attention import T5MultiHeadAttention

    for decoder in (False, True):
        module = T5MultiHeadAttention(decoder, SIZE, SIZE // HEADS, HEADS, 0, use_relative_attention_bias=True)
        x = normal(2, 150, SIZE)
        module(x)  # builds it
        y = randomize_keras(module)(x, mask=visible(150, causal=decoder)[0])[0]
        dense = module.query_projector, module.key_projector, module.value_projector, module.output_projector
        projections = [(each.kernel.value.T, None) for each in dense]
        table = {"biases": module.relative_attention_bias.value}
        yield case(x, y, projections, table, causal=decoder, scale=1, **t5(not decoder))


@part.kind("distance network", "DistanceNetworkBiasBlock", "x-transformers")
def distance_network():
    for options, module, parameters in distance_networks():
        for lengths in ((20, 20), (3, 20)):
            yield bias(module(*lengths), parameters, heads=HEADS, **options)


@part.kind("attention with a distance network", "DistanceNetworkBiasBlock", "x-transformers")
def distance_network_attention():
    *_, (options, module, parameters) = distance_networks()
    attention = x_transformers(causal=True)
    for mask, steps in ways():
        yield x_transformers_case(attention, parameters, module, mask, steps, **options)


def distance_networks():
    """Options, module and parameters of the networks."""
    from x_transformers.x_transformers import DynamicPositionBias

    for logarithmic, normalized, depth in itertools.product((False, True), (False, True), (1, 3, 2)):
        module = randomize(DynamicPositionBias(6, heads=HEADS, depth=depth, log_distance=logarithmic, norm=normalized))
        linear = [each for each in module.modules() if isinstance(each, torch.nn.Linear)]
        parameters = {f"weight{i}": each.weight for i, each in enumerate(linear, 1)}
        parameters |= {f"bias{i}": each.bias for i, each in enumerate(linear, 1)}
        if normalized:
            first, *others = (layer[1] for layer in module.mlp[:depth])
            parameters |= {"scale1": first.gamma + float(first.unit_offset), "offset1": torch.zeros(6)}
            for i, each in enumerate(others, 2):
                parameters |= {f"scale{i}": each.weight, f"offset{i}": each.bias}
        yield dict(hidden=6, layers=depth, logarithmic=logarithmic, normalized=normalized), module, parameters


@part.kind("FoX", "ForgettingBiasBlock", "x-transformers")
def forgetting():
    from x_transformers.x_transformers import DataDependentAlibi

    for heads in (1, 4):
        module = randomize(DataDependentAlibi(SIZE, heads))
        x = normal(2, 11, SIZE)
        # later keys are hidden
        y = module(x).masked_fill(~visible(11, causal=True), torch.nan)
        yield dict(heads=heads), {"x": x, "p.weight": forget_gates(module).weight, "p.bias": forget_gates(module).bias}, y


def forget_gates(module):
    return module.to_forget_gates[0]


@part.kind("attention with FoX", "ForgettingBiasBlock", "x-transformers")
def forgetting_attention():
    for heads in (4, 1):
        module = x_transformers(causal=True, data_dependent_alibi=True, kv_heads=heads)
        linear = forget_gates(module.data_dependent_alibi)
        yield x_transformers_case(module, {"weight": linear.weight, "bias": linear.bias})


@part.kind("attention with FoX", "ForgettingBiasBlock", "flash-linear-attention")
def fla_forgetting():
    from fla.ops.forgetting_attn.naive import naive_forgetting_attn

    for key_heads, window in ((4, None), (2, None), (4, 4), (1, 4)):
        projections = [
            (normal(6 * heads, SIZE, scale=0.3), normal(6 * heads)) for heads in (HEADS, key_heads, key_heads, HEADS)
        ]
        weight, offset = normal(HEADS, SIZE), normal(HEADS)
        x = normal(2, 11, SIZE)
        queries, keys, values = (F.linear(x, *each).unflatten(2, (-1, 6)) for each in projections[:3])
        gates = F.logsigmoid(F.linear(x, weight, offset))
        y = naive_forgetting_attn(queries, keys, values, gates, window_size=window)
        y = F.linear(y.flatten(2), *projections[3])
        yield case(x, y, projections, {"weight": weight, "bias": offset}, causal=True, window=window)


@part.kind("Inkling's bias", "ProjectedDistanceBiasBlock", "x-transformers")
def x_transformers_inkling():
    from x_transformers.x_transformers import RelativeProjPositionalBias

    for curves, maximum in ((5, 7), (16, 100)):
        module = randomize(RelativeProjPositionalBias(SIZE, HEADS, curves, maximum))
        x = normal(2, 11, SIZE)
        arrays = {"x": x} | {f"p.{name}": value for name, value in projected(module).items()}
        yield dict(heads=HEADS, curves=curves, maximum=maximum), arrays, module(x)


def projected(module):
    linear = module.to_distance_weights[0]
    return {"weight": linear.weight, "bias": linear.bias, "curves": module.distance_bank}


@part.kind("attention as in Inkling", "ProjectedDistanceBiasBlock", "x-transformers")
def x_transformers_inkling_attention():
    for causal in (False, True):
        options = dict(use_rel_proj_pos_bias=True, rel_proj_num_distance_basis=5, rel_proj_max_dist=4)
        module = x_transformers(causal=causal, **options)
        for mask, steps in ways():
            if causal or not steps:
                encoding = projected(module.rel_proj_pos_bias)
                yield x_transformers_case(module, encoding, None, mask, steps, curves=5, maximum=4)


@part.kind("Inkling", "ProjectedDistanceBiasBlock", "transformers")
def inkling():
    from transformers.models.inkling.modeling_inkling import InklingAttention, InklingTextConfig

    options = dict(hidden_size=SIZE, num_attention_heads=HEADS, num_key_value_heads=2, head_dim=6, d_rel=5)
    config = InklingTextConfig(**options, rel_extent=4, log_scaling_n_floor=None)
    module = randomize(InklingAttention(eager(config), config.layer_types.index("hybrid")))
    for convolution in (module.k_sconv, module.v_sconv):
        # its input is added to it
        convolution.conv1d.weight.zero_()
    encoding = {"weight": module.r_proj.weight, "bias": torch.zeros(len(module.r_proj.weight))}
    encoding["curves"] = module.rel_logits_proj.proj
    norms = {"queryNorm_gamma": module.q_norm.weight, "keyNorm_gamma": module.k_norm.weight}
    options = dict(encoding=encoding, own=norms, scale=1 / 6, curves=5, maximum=4, epsilon=config.rms_norm_eps)
    projections = module.q_proj, module.k_proj, module.v_proj, module.o_proj
    for mask in masks():
        x = normal(2, 9, SIZE)
        y = seeing(module(x, additive(visible(9, None, True, mask)))[0], mask)
        yield case(x, y, projections, mask=mask, causal=True, **options)
