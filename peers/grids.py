"""Sinusoids of the cells of images and volumes."""

import importlib
import math
from types import SimpleNamespace

import numpy as np
import torch

from peer import Part, normal

part = Part("grids")
BLOCK = "GridPositionalEncodingBlock"


def added(encodings, *grid, prefix=None, **arguments):
    """A case that adds a package's encodings to a grid, or to the tokens before and in it."""
    encodings = torch.as_tensor(np.asarray(encodings)).float()
    size = encodings.shape[-1]
    if prefix is None:
        encodings = encodings.reshape(1, *grid, size)
    else:
        encodings = encodings.reshape(1, -1, size)
        arguments |= dict(prefix=prefix, grid=grid)
    x = normal(*encodings.shape)
    return dict(size=size, axes=len(grid), **arguments), dict(x=x), x + encodings


@part.kind("multidim", BLOCK, "positional-encodings")
def multidim():
    from positional_encodings import torch_encodings as encodings

    for size in (8, 10, 7, 3, 1, 2, 5, 13):
        for grid in ((3, 4), (3, 4, 2)):
            encoding = getattr(encodings, f"PositionalEncoding{len(grid)}D")(size)
            yield added(encoding(torch.zeros(1, *grid, size)), *grid)
    for size, grid in ((10, (3, 4)), (14, (2, 3, 4))):
        x = normal(2, size, *grid)
        encoding = getattr(encodings, f"PositionalEncodingPermute{len(grid)}D")(size)
        yield dict(size=size, axes=len(grid), channels_first=True), dict(x=x), x + encoding(x)


@part.kind("visionTransformer", BLOCK, "diffusers")
def vision_transformer_of_diffusers():
    from diffusers.models.embeddings import CogView3PlusPatchEmbed

    module = CogView3PlusPatchEmbed(hidden_size=16, text_hidden_size=4, in_channels=4, pos_embed_max_size=8)
    for grid in ((3, 5), (8, 8)):
        yield added(module.pos_embed[: grid[0], : grid[1]], *grid, model="CogView3Plus")


@part.kind("visionTransformer", BLOCK, "transformers")
def vision_transformer_of_transformers():
    from transformers import ViTMAEConfig
    from transformers.models.vit_mae.modeling_vit_mae import ViTMAEEmbeddings

    module = ViTMAEEmbeddings(ViTMAEConfig(hidden_size=16, image_size=32, patch_size=8))
    module.initialize_weights()
    yield added(module.position_embeddings, 4, 4, prefix=1, model="MAE")


@part.kind("rows, then columns, concatenated", BLOCK, "transformers")
def rows_first():
    from transformers.models.rt_detr.modeling_rt_detr import RTDetrSinePositionEmbedding
    from transformers.models.vit_mae.modeling_vit_mae import build_2d_sinusoidal_position_embedding

    y = RTDetrSinePositionEmbedding(16)(5, 3, torch.device("cpu"), torch.float32)
    yield added(y, 3, 5, model="RT-DETR")
    yield added(build_2d_sinusoidal_position_embedding(3, 5, 16, cls_token=True), 3, 5, prefix=1, model="AIMv2")


@part.kind("timm", BLOCK, "timm")
def timm():
    from timm.layers.pos_embed_sincos import build_sincos2d_pos_embed

    for base in (10000, 100):
        for interleaved in (False, True):
            yield added(build_sincos2d_pos_embed([3, 5], 16, base, False, interleaved), 3, 5,
                        base=base, interleaved=interleaved, order=(0, 1))
            # the cells of the reversed grid are in the order of the transposed image
            y = build_sincos2d_pos_embed([3, 5], 16, base, True, interleaved).reshape(5, 3, 16).transpose(0, 1)
            yield added(y, 3, 5, base=base, interleaved=interleaved, order=(1, 0))


@part.kind("PixArt", BLOCK, "diffusers")
def pixart():
    from diffusers.models.embeddings import get_2d_sincos_pos_embed

    for grid, base, scale in (((4, 4), 16, 1.0), ((3, 5), 16, 2.0), ((5, 2), 8, 0.5)):
        y = get_2d_sincos_pos_embed(16, grid, interpolation_scale=scale, base_size=base)
        yield added(y, *grid, scale=base / scale)
    yield added(get_2d_sincos_pos_embed(16, 4, cls_token=True, extra_tokens=3), 4, 4, prefix=3, scale=16)


@part.kind("Stable Diffusion 3", BLOCK, "diffusers")
def stable_diffusion_3():
    from diffusers.models.embeddings import PatchEmbed

    module = PatchEmbed(height=16, width=16, patch_size=2, in_channels=4, embed_dim=16, pos_embed_max_size=12)
    for grid in ((8, 8), (6, 10), (5, 7)):
        yield added(module.cropped_pos_embed(2 * grid[0], 2 * grid[1]), *grid, base=8, maximum=12)


@part.kind("get_3d_sincos_pos_embed", BLOCK, "diffusers")
def volumes():
    from diffusers.models.embeddings import get_3d_sincos_pos_embed

    for scale, time_scale in ((1.0, 1.0), (1.875, 2.0)):
        for width, height in ((3, 3), (4, 3)):
            y = get_3d_sincos_pos_embed(16, (width, height), 2, scale, time_scale)
            yield added(y, 2, height, width, scale=scale, time_scale=time_scale)


# images of different sizes: the whole, its beginning, its end
MASK = torch.zeros(3, 5, 6)
MASK[0] = 1
MASK[1, :3, :4] = 1
MASK[2, 1:, 2:] = 1


def masked(y, mask=MASK, **arguments):
    """A case of images with their masks. No attention sees padding, where coordinates may be divided by about 0."""
    x = normal(3, y.shape[1], 5, 6)
    y = torch.where(mask[:, None].bool(), x + y, torch.nan)
    return dict(size=y.shape[1], channels_first=True, **arguments), dict(x=x, mask=mask), y


@part.kind("detr", BLOCK, "transformers")
def detr():
    for model, offset in (("Detr", 1), ("ConditionalDetr", 1), ("DeformableDetr", 0.5), ("MaskFormer", 1), ("Sam2", 1)):
        module = sine_embedding(model)(num_position_features=8, normalize=True)
        yield masked(module((3, 16, 5, 6), "cpu", torch.float32, MASK), model=model, offset=offset)
        y = module((1, 16, 5, 6), "cpu", torch.float32, None)
        yield added(y.permute(0, 2, 3, 1), 5, 6, model=model, offset=offset)


@part.kind("rows, then columns, interleaved", BLOCK, "transformers")
def detr_with_options():
    from transformers.models.dab_detr.modeling_dab_detr import DabDetrSinePositionEmbedding
    from transformers.models.grounding_dino.modeling_grounding_dino import GroundingDinoSinePositionEmbedding

    shape = (3, 16, 5, 6), "cpu", torch.float32
    for model in ("Detr", "DeformableDetr"):
        module = sine_embedding(model)(num_position_features=8)
        yield masked(module(*shape, MASK), model=model, bases=(10000, 10000))
    module = sine_embedding("Detr")(num_position_features=8, normalize=True, scale=1.5, temperature=20)
    yield masked(module(*shape, MASK), model="DETR, scale and temperature", bases=(20, 20), scale=1.5)
    x = torch.zeros(3, 16, 5, 6)
    module = GroundingDinoSinePositionEmbedding(SimpleNamespace(d_model=16, positional_embedding_temperature=20))
    yield masked(module(x, MASK), model="Grounding DINO", bases=(20, 20), scale=2 * math.pi)
    module = DabDetrSinePositionEmbedding(
        SimpleNamespace(hidden_size=16, temperature_height=20, temperature_width=30, sine_position_embedding_scale=None))
    yield masked(module(x, MASK), model="DAB-DETR", bases=(20, 30), scale=2 * math.pi)


def sine_embedding(model):
    name = {"ConditionalDetr": "conditional_detr", "DeformableDetr": "deformable_detr"}.get(model, model.lower())
    module = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
    return getattr(module, f"{model}SinePositionEmbedding")
