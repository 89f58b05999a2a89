"""Biases and vectors of the cells of windows: Swin, BEiT, ViTDet, and what follows them."""

import math
import types

import torch

from multi_head import HEADS, SIZE, additive, bias, case, eager, randomize, randomize_keras, split
from peer import Part, normal

part = Part("windows")


def hidden_pairs(windows, cells):
    """What the cells of shifted windows see of each other, (windows, cells, cells): random, and themselves."""
    return (torch.rand(windows, cells, cells) < 0.7) | torch.eye(cells).bool()


def attention_cases(attend, window, projections, encoding, tokens=0, masked=True, **arguments):
    """Cases of an attention to the cells of a window: attend(x, what is added to the scores or None)."""
    cells = math.prod(window) + tokens
    for mask in (None, hidden_pairs(3, cells)) if masked else (None,):
        x = normal(3, cells, SIZE)
        y = attend(x, None if mask is None else additive(mask))
        yield case(x, y, projections, encoding, mask=mask, window_size=window, class_token=tokens > 0, **arguments)


def window_bias(y, table, window, tokens=0, **arguments):
    parameters = table if isinstance(table, dict) else {"biases": table}
    return bias(y, parameters, heads=HEADS, window_size=window, class_token=tokens > 0, **arguments)


WINDOWS = (3, 5), (4, 4), (4, 2), (1, 4)
SQUARES = (3, 3), (4, 4)


@part.kind("Swin's bias", "WindowBiasBlock", "transformers")
def swin():
    from transformers.models.swin.modeling_swin import SwinRelativePositionBias

    for window in (*WINDOWS, (7, 7)):
        module = randomize(SwinRelativePositionBias(HEADS, window))
        yield window_bias(module(), module.relative_position_bias_table, window)


@part.kind("Swin's attention", "WindowBiasBlock", "transformers")
def swin_attention():
    from transformers.models.swin.modeling_swin import SwinAttention, SwinConfig

    for size in (3, 4):
        module = randomize(SwinAttention(eager(SwinConfig()), SIZE, HEADS, size))
        encoding = {"biases": module.relative_position_bias.relative_position_bias_table}
        projections = module.q_proj, module.k_proj, module.v_proj, module.o_proj
        yield from attention_cases(lambda x, mask: module(x, mask)[0], (size, size), projections, encoding)


@part.kind("Swin's attention", "WindowBiasBlock", "timm")
def timm_swin():
    from timm.models.swin_transformer import WindowAttention

    for window in WINDOWS:
        module = randomize(WindowAttention(SIZE, HEADS, window_size=window))
        encoding = {"biases": module.relative_position_bias_table}
        yield from attention_cases(module, window, (*split(module.qkv), module.proj), encoding)


@part.kind("Swin's attention", "WindowBiasBlock", "keras-hub")
def keras_swin():
    from keras_hub.src.models.swin_transformer.swin_transformer_layers import WindowAttention

    for window in SQUARES:  # others read wrong rows; see "Differences"
        module = WindowAttention(SIZE, HEADS, window_size=window)
        module(torch.zeros(3, window[0] * window[1], SIZE))  # builds it
        randomize_keras(module)
        weights = module.qkv.kernel.value.T.chunk(3), module.qkv.bias.value.chunk(3)
        projections = [*zip(*weights), (module.proj.kernel.value.T, module.proj.bias.value)]
        encoding = {"biases": module.relative_position_bias_table.value}
        yield from attention_cases(lambda x, mask: module(x, mask=mask), window, projections, encoding)


VOLUMES = (2, 3, 4), (3, 2, 2), (1, 4, 3), (4, 1, 1)


@part.kind("Swin's bias", "WindowBiasBlock", "torchvision")
def torchvision_video_biases():
    from torchvision.models.video.swin_transformer import ShiftedWindowAttention3d

    for window in (*VOLUMES, (8, 7, 7)):
        module = randomize(ShiftedWindowAttention3d(SIZE, list(window), [0, 0, 0], HEADS))
        yield window_bias(module.get_relative_position_bias(list(window)), module.relative_position_bias_table, window)
    # fewer frames than the window
    module = randomize(ShiftedWindowAttention3d(SIZE, [4, 2, 3], [0, 0, 0], HEADS))
    yield window_bias(module.get_relative_position_bias([3, 2, 3]), module.relative_position_bias_table, (4, 2, 3))


@part.kind("shifted windows of videos", "WindowBiasBlock", "torchvision")
def torchvision_video():
    from torchvision.models.video.swin_transformer import ShiftedWindowAttention3d

    grids = ((4, 6, 8), (2, 3, 4)), ((2, 6, 8), (2, 3, 4)), ((6, 4, 4), (3, 2, 2)), ((4, 3, 4), (2, 3, 2)), ((3, 3, 3), (1, 1, 3))
    for grid, window in grids:
        for shift in ([0, 0, 0], [size // 2 for size in window]):
            module = randomize(ShiftedWindowAttention3d(SIZE, list(window), shift, HEADS))
            x = normal(2, *grid, SIZE)
            moved = [0 if all_cells == size else s for all_cells, size, s in zip(grid, window, shift)]
            encoding = {"biases": module.relative_position_bias_table}
            projections = *split(module.qkv), module.proj
            yield case(x.flatten(1, 3), module(x).flatten(1, 3), projections, encoding, window_size=window, grid=grid, moved=moved)


@part.kind("Swin's attention", "WindowBiasBlock", "monai")
def monai_swin():
    from monai.networks.nets.swin_unetr import WindowAttention

    for window in (*VOLUMES, *WINDOWS[:2]):
        module = randomize(WindowAttention(SIZE, HEADS, window, qkv_bias=True))
        encoding = {"biases": module.relative_position_bias_table}
        yield from attention_cases(module, window, (*split(module.qkv), module.proj), encoding)


@part.kind("Swin's bias", "WindowBiasBlock", "timm")
def timm_biases():
    from timm.layers.pos_embed_rel import RelPosBias

    for window in WINDOWS:
        for tokens in (0, 1):
            module = randomize(RelPosBias(window, HEADS, prefix_tokens=tokens))
            yield window_bias(module.get_bias(), module.relative_position_bias_table, window, tokens)


@part.kind("MaxViT of TensorFlow", "WindowBiasBlock", "timm")
def timm_maxvit():
    from timm.layers.pos_embed_rel import RelPosBiasTf

    for window in WINDOWS[:3]:
        module = randomize(RelPosBiasTf(window, HEADS))
        # key minus query, and the heads first
        yield window_bias(module.get_bias(), {"reversed biases": module.relative_position_bias_table}, window)


@part.kind("LeViT", "WindowBiasBlock", "timm")
def timm_levit():
    from timm.models.levit import Attention

    height, width = 3, 4
    module = randomize(Attention(SIZE, 6, num_heads=HEADS, resolution=(height, width)))
    # one bias for (dy, dx) and (-dy, -dx), (-dy, dx), (dy, -dx)
    rows = [abs(dy) * width + abs(dx) for dy in range(1 - height, height) for dx in range(1 - width, width)]
    biases = module.attention_biases[:, module.attention_bias_idxs]
    yield window_bias(biases, module.attention_biases[:, rows].T, (height, width))


@part.kind("BEiT", "WindowBiasBlock", "transformers")
def beit():
    for size in (3, 4):
        module = beit_biases(size)
        yield window_bias(module((size, size)), module.relative_position_bias_table, (size, size), 1)


def beit_biases(size):
    from transformers.models.beit.modeling_beit import BeitConfig, BeitRelativePositionBias

    config = BeitConfig(image_size=8 * size, patch_size=8, num_attention_heads=HEADS)
    return randomize(BeitRelativePositionBias(config))


@part.kind("BEiT in another window", "WindowBiasBlock", "transformers")
def beit_resampled():
    for size, window in ((4, (5, 6)), (4, (3, 3)), (3, (7, 2)), (2, (3, 3))):
        module = beit_biases(size)
        options = dict(trained=(size, size), method="BILINEAR")
        yield window_bias(module(window), module.relative_position_bias_table, window, 1, **options)


@part.kind("Swin in another window", "WindowBiasBlock", "timm")
def timm_resampled():
    from timm.layers.pos_embed_rel import RelPosBias, resize_rel_pos_bias_table_simple

    for window in ((7, 7), (3, 3), (6, 5)):
        table = normal(49, HEADS)
        module = RelPosBias(window, HEADS)
        rows = len(module.relative_position_bias_table)
        module.relative_position_bias_table.data = resize_rel_pos_bias_table_simple(table, window, (rows, HEADS))
        yield window_bias(module.get_bias(), table, window, trained=(4, 4), method="BICUBIC")


@part.kind("a window's bias in another window", "WindowBiasBlock", "timm")
def timm_geometric():
    from timm.layers.pos_embed_rel import RelPosBias

    # an axis of the same size is resampled too if the other one is not
    windows = ((4, 4), (7, 7)), ((7, 7), (4, 4)), ((3, 5), (6, 5)), ((2, 3), (2, 9)), ((14, 14), (24, 24)), ((5, 4), (3, 8))
    for trained, window in windows:
        for tokens in (0, 1):
            module = randomize(RelPosBias(trained, HEADS, prefix_tokens=tokens))
            table = module.relative_position_bias_table.clone()
            module.set_window_size(window)
            yield window_bias(module.get_bias(), table, window, tokens, trained=trained, method="GEOMETRIC")


@part.kind("BEiT's attention", "WindowBiasBlock", "transformers")
def beit_attention():
    from transformers.models.beit.modeling_beit import BeitAttention, BeitConfig

    for size in (3, 4):
        module = randomize(BeitAttention(eager(BeitConfig(hidden_size=SIZE, num_attention_heads=HEADS))))
        biases = beit_biases(size)
        encoding = {"biases": biases.relative_position_bias_table}
        projections = module.q_proj, module.k_proj, module.v_proj, module.o_proj
        attend = lambda x, _: module(x, biases((size, size)))[0]
        yield from attention_cases(attend, (size, size), projections, encoding, 1, masked=False)


@part.kind("BEiT's attention", "WindowBiasBlock", "timm")
def timm_beit():
    from timm.models.beit import Attention

    for window in WINDOWS[:2]:
        module = randomize(Attention(SIZE, HEADS, qkv_bias=True, window_size=window))
        encoding = {"biases": module.relative_position_bias_table}
        projections = *without_key_bias(module), module.proj
        yield from attention_cases(lambda x, _: module(x), window, projections, encoding, 1, masked=False)


def without_key_bias(module):
    return list(zip(module.qkv.weight.chunk(3), (module.q_bias, None, module.v_bias)))


def network(first, last):
    return {"weight1": first.weight, "bias1": first.bias, "weight2": last.weight}


def network_options(hidden, trained=(0, 0)):
    return dict(hidden=hidden, trained=trained) if trained[0] else dict(hidden=hidden)


@part.kind("Swin V2", "WindowNetworkBiasBlock", "transformers")
def swinv2():
    from transformers.models.swinv2.modeling_swinv2 import Swinv2Config, Swinv2SelfAttention

    for window, trained in (((4, 4), (0, 0)), ((4, 4), (8, 8)), ((3, 5), (0, 0)), ((6, 6), (4, 5))):
        module = randomize(Swinv2SelfAttention(Swinv2Config(qkv_bias=True), SIZE, HEADS, window, trained))
        perceptron = module.continuous_position_bias_mlp
        own = {"temperature": module.logit_scale.flatten()}
        projections = module.query, module.key, module.value, None
        options = dict(own=own, cosine=True, **network_options(512, trained))
        encoding = network(perceptron[0], perceptron[2])
        yield from attention_cases(lambda x, mask: module(x, mask)[0], window, projections, encoding, **options)


@part.kind("Swin V2", "WindowNetworkBiasBlock", "timm")
def timm_swinv2():
    from timm.models.swin_transformer_v2 import WindowAttention

    for window, trained in (((3, 5), (0, 0)), ((4, 4), (8, 6)), ((1, 4), (0, 0))):
        module = randomize(WindowAttention(SIZE, window, HEADS, pretrained_window_size=trained))
        own = {"temperature": module.logit_scale.flatten()}
        options = dict(own=own, cosine=True, **network_options(512, trained))
        encoding = network(module.cpb_mlp[0], module.cpb_mlp[2])
        projections = *without_key_bias(module), module.proj
        yield from attention_cases(module, window, projections, encoding, **options)


@part.kind("network of Swin V2", "WindowNetworkBiasBlock", "timm")
def timm_network():
    from timm.layers.pos_embed_rel import RelPosMlp

    for window, trained in (((3, 5), (0, 0)), ((6, 6), (4, 4))):
        options = dict(hidden_dim=16, mode="swin", pretrained_window_size=trained)
        module = randomize(RelPosMlp(window, HEADS, **options))
        options = dict(heads=HEADS, window_size=window, **network_options(16, trained))
        yield bias(module.get_bias(), network(module.mlp.fc1, module.mlp.fc2), **options)


@part.kind("network of Swin V2 CR", "WindowNetworkBiasBlock", "timm")
def timm_logarithmic():
    from timm.layers.pos_embed_rel import RelPosMlp

    for window in WINDOWS:
        for tokens in (0, 1):
            module = randomize(RelPosMlp(window, HEADS, hidden_dim=16, prefix_tokens=tokens, mode="cr"))
            parameters = network(module.mlp.fc1, module.mlp.fc2) | {"bias2": module.mlp.fc2.bias}
            options = dict(hidden=16, form="LOGARITHMIC", class_token=tokens > 0)
            yield bias(module.get_bias(), parameters, heads=HEADS, window_size=window, **options)


@part.kind("Swin V2 CR", "WindowNetworkBiasBlock", "timm")
def timm_swinv2_cr():
    from timm.models.swin_transformer_v2_cr import WindowMultiHeadAttention

    for window in WINDOWS[:2]:
        module = randomize(WindowMultiHeadAttention(SIZE, HEADS, window, meta_hidden_dim=16))
        perceptron = module.meta_mlp
        encoding = network(perceptron.fc1, perceptron.fc2) | {"bias2": perceptron.fc2.bias}
        options = dict(own={"temperature": module.logit_scale}, cosine=True, hidden=16, form="LOGARITHMIC")
        yield from attention_cases(module, window, (*split(module.qkv), module.proj), encoding, **options)


@part.kind("CrossFormer", "WindowNetworkBiasBlock", "vit-pytorch")
def crossformer():
    from vit_pytorch.crossformer import DynamicPositionBias

    for window in WINDOWS:
        module = randomize(DynamicPositionBias(6))
        rows, columns = torch.meshgrid(*map(torch.arange, window), indexing="ij")
        cells = torch.stack([rows.flatten(), columns.flatten()], 1)
        # its attention reads other rows; see "Differences"
        y = module((cells[:, None] - cells).float())
        layers = {"weight": module[::3], "bias": module[::3], "scale": module[1::3], "offset": module[1::3]}
        parameters = {}
        for name, modules in layers.items():
            for i, layer in enumerate(modules, 1):
                if hasattr(layer, "weight"):
                    parameters[f"{name}{i}"] = layer.weight if name in ("weight", "scale") else layer.bias
        options = dict(hidden=6, layers=3, normalized=True, form="LINEAR")
        yield bias(y[None], parameters, heads=1, window_size=window, **options)


def vectors(rows, columns):
    return {"rows": rows, "columns": columns}


def image(attend, window):
    """An attention to an image (B, h, w, C) as one to its cells."""
    return lambda x, _: attend(x.unflatten(1, window)).flatten(1, 2)


@part.kind("SAM", "WindowVectorsBlock", "transformers")
def sam():
    from transformers.models.sam.modeling_sam import SamVisionAttention

    for size in (3, 4):
        options = dict(image_size=8 * size, patch_size=8, num_attention_heads=HEADS, hidden_size=SIZE)
        config = types.SimpleNamespace(**options, attention_dropout=0.0, qkv_bias=True, use_rel_pos=True)
        module = randomize(SamVisionAttention(config, 0))
        encoding = vectors(module.rel_pos_h, module.rel_pos_w)
        attend = image(lambda x: module(x)[0], (size, size))
        projections = *split(module.qkv), module.proj
        yield from attention_cases(attend, (size, size), projections, encoding, masked=False)


@part.kind("ViTDet", "WindowVectorsBlock", "transformers")
def vitdet():
    from transformers.models.vitdet.modeling_vitdet import VitDetAttention, VitDetConfig

    for window in WINDOWS:
        config = VitDetConfig(hidden_size=SIZE, num_attention_heads=HEADS, use_relative_position_embeddings=True)
        module = randomize(VitDetAttention(config, window))
        encoding = vectors(module.rel_pos_h, module.rel_pos_w)
        attend = image(lambda x: module(x)[0], window)
        projections = *split(module.qkv), module.proj
        yield from attention_cases(attend, window, projections, encoding, masked=False)


@part.kind("ViTDet in another window", "WindowVectorsBlock", "transformers")
def vitdet_resampled():
    from transformers.models.vitdet.modeling_vitdet import add_decomposed_relative_positions

    for trained, window in (((4, 5), (5, 4)), ((7, 7), (3, 2)), ((2, 3), (6, 6))):
        cells = window[0] * window[1]
        rows, columns = (normal(2 * size - 1, 8) for size in trained)
        queries = normal(2, cells, 8)
        scores = torch.zeros(2, cells, cells)
        y = add_decomposed_relative_positions(scores, queries, rows, columns, window, window)
        arrays = {"q": queries[:, None], "p.rows": rows, "p.columns": columns}
        yield dict(head_size=8, window_size=window, trained=trained), arrays, y[:, None]


def of_video(frames, rows, columns):
    return {"frames": frames} | vectors(rows, columns)


@part.kind("MViTv2", "WindowVectorsBlock", "torchvision")
def torchvision_mvitv2():
    from torchvision.models.video.mvit import MultiscaleAttention

    for window in ((2, 3, 3), (3, 2, 2), (1, 4, 4)):
        # no pooling
        options = dict(kernel_q=[], kernel_kv=[], stride_q=[], stride_kv=[], residual_pool=False)
        options |= dict(residual_with_cls_embed=False, rel_pos_embed=True)
        module = randomize(MultiscaleAttention(list(window), SIZE, SIZE, HEADS, **options))
        encoding = of_video(module.rel_pos_t, module.rel_pos_h, module.rel_pos_w)
        attend = lambda x, _: module(x, window)[0]
        yield from attention_cases(attend, window, (*split(module.qkv), module.project[0]), encoding, 1, masked=False)


@part.kind("ViTDet in another window", "WindowVectorsBlock", "torchvision")
def torchvision_resampled():
    from torchvision.models.video.mvit import _add_rel_pos

    for trained, window in (((4, 3, 3), (2, 4, 5)), ((1, 7, 7), (3, 2, 2))):
        cells = math.prod(window) + 1
        queries = normal(2, 3, cells, 8)
        frames, rows, columns = (normal(2 * size - 1, 8) for size in trained)
        y = _add_rel_pos(torch.zeros(2, 3, cells, cells), queries, window, window, rows, columns, frames)
        arrays = {"q": queries} | {f"p.{name}": each for name, each in of_video(frames, rows, columns).items()}
        yield dict(head_size=8, window_size=window, trained=trained, class_token=True), arrays, y


@part.kind("ViTDet", "WindowVectorsBlock", "keras-hub")
def keras_vitdet():
    from keras_hub.src.models.vit_det.vit_layers import MultiHeadAttentionWithRelativePE

    for window in WINDOWS[:2]:
        options = dict(use_bias=True, use_rel_pos=True, input_size=window)
        module = MultiHeadAttentionWithRelativePE(HEADS, SIZE // HEADS, **options)
        module(torch.zeros(1, *window, SIZE))  # builds it
        randomize_keras(module)
        weights = module.qkv.kernel.value.T.chunk(3), module.qkv.bias.value.chunk(3)
        projections = [*zip(*weights), (module.projection.kernel.value.T, module.projection.bias.value)]
        positions = module.add_decomposed_relative_pe
        encoding = vectors(positions.rel_pos_h.value, positions.rel_pos_w.value)
        yield from attention_cases(image(module, window), window, projections, encoding, masked=False)


@part.kind("MViTv2", "WindowVectorsBlock", "timm")
def timm_mvitv2():
    from timm.models.mvitv2 import MultiScaleAttention

    for window in SQUARES:
        # neither pooling nor a class token
        options = dict(num_heads=HEADS, has_cls_token=False, residual_pooling=False)
        module = randomize(MultiScaleAttention(SIZE, SIZE, window, **options))
        encoding = vectors(module.rel_pos_h, module.rel_pos_w)
        attend = lambda x, _: module(x, list(window))[0]
        projections = *split(module.qkv), module.proj
        yield from attention_cases(attend, window, projections, encoding, masked=False)


@part.kind("BoTNet", "WindowVectorsBlock", "timm")
def timm_botnet():
    from timm.layers.bottleneck_attn import BottleneckAttn

    for window in WINDOWS[:3]:
        module = randomize(BottleneckAttn(SIZE, num_heads=HEADS, feat_size=window, qkv_bias=True))
        # key minus query
        encoding = {"reversed rows": module.pos_embed.height_rel, "reversed columns": module.pos_embed.width_rel}
        attend = image(lambda x: module(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1), window)
        qkv = types.SimpleNamespace(weight=module.qkv.weight.flatten(1), bias=module.qkv.bias)
        yield from attention_cases(attend, window, (*split(qkv), None), encoding, masked=False)
