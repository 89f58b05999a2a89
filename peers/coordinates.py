"""Fourier features of points, boxes and noise levels."""

import math
from types import SimpleNamespace

import numpy as np
import torch

from peer import Part, angles_up_to, normal

part = Part("coordinates")
BLOCK = "FourierFeaturesBlock"


def of_matrix(x, matrix, y, cosine_first=False, **arguments):
    """A case of sines and cosines of 2π · matrix · x, where the library computes angles in FLOAT32, too."""
    largest = 2 * math.pi * (x.abs().max() * matrix.abs().sum(1).max())
    return dict(cosine_first=cosine_first, **arguments, limit=angles_up_to(largest)), dict(x=x, matrix=matrix.double()), y


@part.kind("of", BLOCK, "diffusers")
def noise_levels():
    from diffusers.models.embeddings import GaussianFourierProjection

    levels = torch.tensor([0.002, 0.1, 1.0, 7.5, 80.0])
    for logarithm in (False, True):
        for flip in (False, True):
            module = GaussianFourierProjection(6, scale=4.0, log=logarithm, flip_sin_to_cos=flip)
            yield of_matrix(levels[:, None], module.weight[:, None], module(levels), flip, logarithm=logarithm)


@part.kind("of", BLOCK, "transformers")
def points():
    from transformers.models.sam2.modeling_sam2 import Sam2PositionalEmbedding
    from transformers.models.sam.modeling_sam import SamPositionalEmbedding

    for module in (SamPositionalEmbedding(SimpleNamespace(scale=4.0, num_pos_feats=6)),
                   Sam2PositionalEmbedding(SimpleNamespace(scale=4.0, hidden_size=12))):
        size = torch.tensor([64.0, 48.0])
        x = torch.rand(1, 2, 3, 2) * 2 - 1
        y = module((x + 1) / 2 * size, (48, 64))
        yield of_matrix(x, module.positional_embedding.T, y, logarithm=False, model=type(module).__name__)


def custom(x, y, features, linear=0, **arguments):
    """A case of given features: for each its coordinate, its frequency, and whether it is a cosine. The first are linear."""
    rows = np.zeros((x.shape[-1] + 1, len(features)))
    for column, (coordinate, frequency, is_cosine) in enumerate(features):
        rows[coordinate, column] = frequency
        rows[-1, column] = math.pi / 2 * is_cosine
    limit = angles_up_to(np.abs(rows[:-1]).max() * x.abs().max())
    return dict(linear=linear, **arguments, limit=limit), dict(x=x, rows=rows), y


def sines_then_cosines(bands):
    """The sines of the bands of each coordinate, then the cosines."""
    return [(axis, band, cosine) for cosine in (0, 1) for axis in range(len(bands)) for band in bands[axis]]


def grid(*sizes, **arguments):
    from timm.layers.pos_embed_sincos import _build_grid

    return _build_grid(list(sizes), **arguments).reshape(1, -1, len(sizes))


@part.kind("custom", BLOCK, "timm")
def timm():
    from timm.layers.pos_embed_sincos import FourierEmbed, build_fourier_pos_embed, freq_bands, pixel_freq_bands

    def features(*outputs):
        return torch.cat([output.flatten(-2) for output in outputs], -1).reshape(1, 15, -1)

    pixels = grid(3, 5, grid_type="pixel")
    for linear_bands in (True, False):
        _, *outputs = build_fourier_pos_embed([3, 5], num_bands=4, max_res=32, linear_bands=linear_bands, include_grid=True)
        bands = 2 * [pixel_freq_bands(4, 32.0, linear_bands=linear_bands)]
        y = torch.cat([pixels, features(*outputs)], -1)
        yield custom(pixels, y, [(0, 1, 0), (1, 1, 0)] + sines_then_cosines(bands), linear=2, linear_bands=linear_bands)
    for offset in (0.0, 1.5):
        outputs = build_fourier_pos_embed([3, 5], num_bands=4, temperature=100.0, in_pixels=False, grid_offset=offset)
        x = grid(3, 5, grid_type="index", grid_offset=offset)
        yield custom(x, features(*outputs), sines_then_cosines(2 * [freq_bands(4, 100.0, 1)]), offset=offset)
    # both coordinates of each sine, then of each cosine, behind the three channels of the image
    module = FourierEmbed(max_res=32, num_bands=4, concat_grid=True, keep_spatial=False)
    order = [(0, 1, 0), (1, 1, 0)]
    order += [(axis, band, cosine) for cosine in (0, 1) for band in pixel_freq_bands(4, 32) for axis in (0, 1)]
    yield custom(pixels, module(normal(1, 3, 3, 5))[..., 3:], order, linear=2, module="FourierEmbed")


@part.kind("custom", BLOCK, "transformers")
def custom_of_transformers():
    from transformers.models.conditional_detr.modeling_conditional_detr import encode_sinusoidal_position_embedding
    from transformers.models.perceiver.modeling_perceiver import build_linear_positions, generate_fourier_features

    x = build_linear_positions((3, 5)).reshape(1, 15, 2)
    bands = [np.linspace(1, size / 2, 4) * math.pi for size in (32, 64)]
    for concat_pos in (True, False):
        for sine_only in (True, False):
            features = sines_then_cosines(bands)[: 8 if sine_only else 16]
            features = concat_pos * [(0, 1, 0), (1, 1, 0)] + features
            y = generate_fourier_features(x, 4, (32, 64), concat_pos, sine_only).reshape(1, 15, -1)
            yield custom(x, y, features, linear=2 * concat_pos, model="Perceiver", sine_only=sine_only)
    for order in ((1, 0), (1, 0, 2, 3)):
        boxes = torch.rand(2, 3, len(order))
        features = [(axis, 2 * math.pi * 10000 ** (-i / 4), cosine) for axis in order for i in range(4) for cosine in (0, 1)]
        yield custom(boxes, encode_sinusoidal_position_embedding(boxes, 8), features, model="Conditional DETR")


@part.kind("custom", BLOCK, "diffusers")
def custom_of_diffusers():
    from diffusers.models.embeddings import get_fourier_embeds_from_boundingbox

    boxes = torch.rand(2, 3, 4)
    features = [(side, 100 ** (i / 8), cosine) for i in range(8) for cosine in (0, 1) for side in range(4)]
    yield custom(boxes, get_fourier_embeds_from_boundingbox(8, boxes), features, model="GLIGEN")


@part.kind("learned", BLOCK, "transformers")
def learned():
    from transformers.models.perceiver.modeling_perceiver import build_linear_positions, generate_fourier_features

    x = build_linear_positions((3, 5)).reshape(1, 15, 2)
    bands = [np.linspace(1, size / 2, 4) * math.pi for size in (32, 64)]
    y = generate_fourier_features(x, 4, (32, 64), concat_pos=False)[None]
    arguments, arrays, y = custom(x, y, sines_then_cosines(bands))
    yield arguments | dict(model="Perceiver"), {"x": x, "p.features": torch.tensor(arrays["rows"]).float()}, y


@part.kind("sinusoids", BLOCK, "diffusers")
def sinusoids():
    from diffusers.models.embeddings import get_timestep_embedding

    times = torch.tensor([0.0, 1, 2.5, 37.25, 999])
    y = get_timestep_embedding(times, 9, True, 1)
    yield dict(size=9, limit=angles_up_to(999)), dict(x=times[:, None]), y


@part.kind("powersOfTwo", BLOCK, "diffusers")
def nerf():
    from diffusers.pipelines.shap_e.renderer import posenc_nerf

    for frequencies in (1, 4, 8):
        for times_pi in (False, True):
            x = normal(5, 3, scale=0.3)
            y = posenc_nerf(x * math.pi if times_pi else x, 0, frequencies)
            # all sines, then all cosines; NeRF and the library have both of each frequency in turn
            encoded = y[:, 3:].reshape(5, 2, frequencies, 3).transpose(1, 2).flatten(1)
            if not times_pi:
                encoded = torch.cat([x, encoded], 1)
            limit = angles_up_to(2**frequencies * math.pi / 2 * x.abs().max())
            yield dict(frequencies=frequencies, times_pi=times_pi, limit=limit), dict(x=x), encoded
