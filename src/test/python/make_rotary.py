#!/usr/bin/env python3
"""Writes what RotaryPresetsTest and RotaryEmbeddingBlockTest compare with, in float64, with torch and numpy.

    python3 src/test/python/make_rotary.py        (made with torch 1.13 and numpy 1.24)

Every function follows the way of a model's published code, on tensors of cosines and sines of all dimensions, which is
not that of the library. It writes presets.npz in src/test/resources/rotary: for each case "<name>.input" (B, N, T, H),
"<name>.positions" (axes, 1 or B, T) and "<name>.output".
"""

import math
import pathlib

import numpy as np
import torch

FOLDER = pathlib.Path(__file__).parents[1] / "resources" / "rotary"
torch.set_default_dtype(torch.float64)
torch.manual_seed(16)
arrays = {}


def inverse(size, base):
    """base^(-2i / size) for i = 0 ... size / 2 - 1."""
    return base ** (-torch.arange(0, size, 2) / size)


def rotate_half(x):
    """Pairs (i, i + H/2): Hugging Face's Llama, Qwen, Pixtral, DINOv3."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


def rotate_complex(x, angles):
    """Pairs (2i, 2i + 1) as complex numbers: Meta's code. angles (..., T, H/2)."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


def halves(x, angles):
    """angles (..., T, H/2), the same for both halves."""
    both = torch.cat([angles, angles], dim=-1)
    return x * both.cos() + rotate_half(x) * both.sin()


def save(name, x, positions, output):
    arrays[name + ".input"] = x.numpy()
    arrays[name + ".positions"] = np.asarray(positions, dtype=np.float64)
    arrays[name + ".output"] = output.numpy()


def grid(rows, columns):
    """The row and the column of each cell."""
    row, column = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    return row.flatten().double(), column.flatten().double()


def qwen2_vl():
    """apply_multimodal_rotary_pos_emb: chunks of the doubled cosines, chunk i of axis i % 3."""
    sections = [16, 24, 24]
    x = torch.randn(2, 2, 6, 128)
    positions = torch.randint(0, 200, (3, 2, 6)).double()
    angles = positions[..., None] * inverse(128, 1e6)
    both = torch.cat([angles, angles], dim=-1)
    mixed = [torch.cat([chunk[i % 3] for i, chunk in enumerate(f(both).split(sections * 2, dim=-1))], dim=-1)
             for f in (torch.cos, torch.sin)]
    save("qwen2Vl", x, positions, x * mixed[0][:, None] + rotate_half(x) * mixed[1][:, None])


def qwen3_vl():
    """apply_interleaved_mrope: starts from time, and overwrites every third frequency with rows and columns."""
    sections = [24, 20, 20]
    x = torch.randn(2, 2, 6, 128)
    positions = torch.randint(0, 200, (3, 2, 6)).double()
    angles = positions[..., None] * inverse(128, 5e6)
    mixed = angles[0].clone()
    for axis in (1, 2):
        places = slice(axis, 3 * sections[axis], 3)
        mixed[..., places] = angles[axis][..., places]
    save("qwen3Vl", x, positions, halves(x, mixed[:, None]))


def flux():
    """EmbedND: matrices [[cos, -sin], [sin, cos]] of each axis, one after another, times pairs (2i, 2i + 1)."""
    row, column = grid(3, 4)
    text = torch.zeros(3, 2)
    positions = torch.cat([text, torch.stack([torch.zeros(12), row, column])], dim=-1)[:, None]
    x = torch.randn(1, 2, 14, 128)
    matrices = []
    for axis, size in enumerate([16, 56, 56]):
        angles = positions[axis][..., None] * inverse(size, 1e4)
        matrices.append(torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], dim=-1)
                        .reshape(*angles.shape, 2, 2))
    matrix = torch.cat(matrices, dim=-3)[:, None]
    pairs = x.reshape(*x.shape[:-1], -1, 1, 2)
    save("flux", x, positions, (matrix[..., 0] * pairs[..., 0] + matrix[..., 1] * pairs[..., 1]).reshape(x.shape))


def cog_video_x():
    """get_3d_rotary_pos_embed: cosines and sines of each axis repeated for both dimensions of a pair."""
    frames, rows, columns, size = 2, 3, 2, 64
    cosines, sines = [], []
    for axis, (count, dims) in enumerate([(frames, size // 4), (rows, size // 8 * 3), (columns, size // 8 * 3)]):
        angles = torch.outer(torch.arange(count).double(), inverse(dims, 1e4)).repeat_interleave(2, dim=1)
        shape = [1, 1, 1, dims]
        shape[axis] = count
        spread = angles.reshape(shape).expand(frames, rows, columns, dims)
        cosines.append(spread.cos())
        sines.append(spread.sin())
    cosine = torch.cat(cosines, dim=-1).reshape(-1, size)
    sine = torch.cat(sines, dim=-1).reshape(-1, size)
    x = torch.randn(2, 2, frames * rows * columns, size)
    real, imaginary = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
    turned = torch.stack([-imaginary, real], dim=-1).flatten(3)
    cells = np.indices((frames, rows, columns)).reshape(3, 1, -1)
    save("cogVideoX", x, cells, x * cosine + turned * sine)


def pixtral():
    """PixtralRotaryEmbedding: a table of the whole image, rows from the even frequencies, columns from the odd ones."""
    side, size = 5, 64
    frequencies = inverse(size, 1e4)
    of_rows = torch.outer(torch.arange(side).double(), frequencies[::2])
    of_columns = torch.outer(torch.arange(side).double(), frequencies[1::2])
    table = torch.cat([of_rows[:, None, :].repeat(1, side, 1), of_columns[None, :, :].repeat(side, 1, 1)], dim=-1)
    row, column = grid(3, 5)
    x = torch.randn(1, 2, 15, size)
    angles = table.reshape(-1, size // 2)[(row * side + column).long()]
    save("pixtral", x, torch.stack([row, column])[:, None], halves(x, angles))


def qwen_vision():
    """Qwen2VisionTransformer.rot_pos_emb: a row of the table for the row of a patch, then one for its column."""
    row, column = grid(4, 3)
    table = torch.outer(torch.arange(4).double(), inverse(40, 1e4))
    angles = table[torch.stack([row, column], dim=-1).long()].flatten(1)
    x = torch.randn(1, 2, 12, 80)
    save("qwenVision", x, torch.stack([row, column])[:, None], halves(x, angles))


def eva():
    """VisionRotaryEmbeddingFast: pairs (2i, 2i + 1), coordinates of a pretraining of 16 patches; class token first."""
    rows, columns, pretrained, size = 3, 5, 16, 64
    frequencies = inverse(size // 2, 1e4)

    def of_axis(count):
        return torch.einsum("t,f->tf", torch.arange(count) / count * pretrained, frequencies).repeat_interleave(2, dim=-1)

    angles = torch.cat([of_axis(rows)[:, None].expand(rows, columns, size // 2),
                        of_axis(columns)[None].expand(rows, columns, size // 2)], dim=-1).reshape(-1, size)
    x = torch.randn(1, 1, 1 + rows * columns, size)
    patches = x[:, :, 1:]
    pairs = patches.reshape(*patches.shape[:-1], -1, 2)
    turned = torch.stack([-pairs[..., 1], pairs[..., 0]], dim=-1).flatten(-2)
    output = torch.cat([x[:, :, :1], patches * angles.cos() + turned * angles.sin()], dim=2)
    row, column = grid(rows, columns)
    coordinates = torch.stack([row / rows * pretrained, column / columns * pretrained])
    save("eva", x, torch.cat([torch.zeros(2, 1), coordinates], dim=1)[:, None], output)


def dinov3():
    """RopePositionEmbedding, base 100, "separate": periods instead of frequencies; 5 tokens before the patches."""
    rows, columns, size = 3, 5, 64
    periods = 100.0 ** (2 * torch.arange(size // 4) / (size // 2))
    centers = [torch.arange(0.5, count) / count for count in (rows, columns)]
    coordinates = torch.stack(torch.meshgrid(*centers, indexing="ij"), dim=-1).flatten(0, 1) * 2 - 1
    angles = (2 * math.pi * coordinates[:, :, None] / periods).flatten(1, 2).tile(2)
    x = torch.randn(2, 2, 5 + rows * columns, size)
    patches = x[:, :, 5:]
    output = torch.cat([x[:, :, :5], patches * angles.cos() + rotate_half(patches) * angles.sin()], dim=2)
    save("dinov3", x, torch.cat([torch.zeros(2, 5), coordinates.T], dim=1)[:, None], output)


def llama4_vision():
    """Llama4VisionRotaryEmbedding: the class token's index is -2, its angles are 0; x before y, counted from 1."""
    side, size = 3, 88
    index = torch.arange(side**2).reshape(-1, 1)
    index = torch.cat([index, index[:1]], dim=0)
    index[-1, -1] = -2
    x_of, y_of = index % side, index // side
    frequencies = inverse(size // 2, 1e4)
    of_x = ((x_of + 1)[..., None] * frequencies).repeat_interleave(2, dim=-1)
    of_y = ((y_of + 1)[..., None] * frequencies).repeat_interleave(2, dim=-1)
    angles = torch.cat([of_x, of_y], dim=-1)[..., ::2].masked_fill(index.reshape(-1, 1, 1) < 0, 0)[:, 0]
    x = torch.randn(1, 2, side**2 + 1, size)
    row, column = grid(side, side)
    positions = torch.cat([torch.stack([row, column]) + 1, torch.zeros(2, 1)], dim=1)[:, None]
    save("llama4Vision", x, positions, rotate_complex(x, angles))


def deepseek():
    """The last 64 of 192 dimensions, in pairs (2i, 2i + 1), with YaRN's ratio of magnitudes 1."""
    x = torch.randn(1, 2, 5, 192)
    angles = torch.arange(5).double()[:, None] * inverse(64, 1e4)
    save("deepseek", x, torch.arange(5)[None, None], torch.cat([x[..., :128], rotate_complex(x[..., 128:], angles)], -1))


def proportional():
    """Gemma 4's full attention: a quarter of the pairs of 32 turn, with the frequencies of the whole head."""
    size, share, factor = 32, 0.25, 8
    turning = int(share * size // 2)
    frequencies = torch.cat([1e6 ** (-torch.arange(0, 2 * turning, 2) / size), torch.zeros(size // 2 - turning)]) / factor
    x = torch.randn(1, 2, 5, size)
    save("proportional", x, torch.arange(5)[None, None], halves(x, torch.arange(5).double()[:, None] * frequencies))


def xpos():
    """torchscale's XPOS and apply_rotary_pos_emb, whose positions are counted from the middle: only scores are equal."""
    length, size, base = 7, 16, 5.0
    queries, keys = torch.randn(1, 2, length, size), torch.randn(1, 2, length, size)
    scale = (torch.arange(0, size, 2) + 0.4 * size) / (1.4 * size)
    centered = torch.arange(-(length // 2), length - length // 2).double()
    power = scale ** (centered[:, None] / base)
    angles = torch.arange(length).double()[:, None] * inverse(size, 1e4)

    def turned(x, scales):
        sine, cosine = ((f(angles) * scales).repeat_interleave(2, dim=-1) for f in (torch.sin, torch.cos))
        pairs = x.reshape(*x.shape[:-1], -1, 2)
        return x * cosine + torch.stack([-pairs[..., 1], pairs[..., 0]], dim=-1).flatten(-2) * sine

    arrays["xpos.queries"], arrays["xpos.keys"] = queries.numpy(), keys.numpy()
    arrays["xpos.scores"] = (turned(queries, power) @ turned(keys, 1 / power).transpose(2, 3)).numpy()


def ernie45_vl():
    """Ernie4_5_VLMoeTextRotaryEmbedding: even and odd frequencies apart for rows and columns, then in turn; last time."""
    x = torch.randn(2, 2, 6, 128)
    positions = torch.randint(0, 200, (3, 2, 6)).double()
    frequencies = inverse(128, 5e5)
    fast, slow = frequencies[:44], frequencies[44:]
    time, row, column = (positions[axis][..., None] for axis in range(3))
    both = torch.stack([row * fast[0::2], column * fast[1::2]], dim=-1).flatten(-2)
    angles = torch.cat([both, time * slow], dim=-1).repeat_interleave(2, dim=-1)[:, None]
    turned = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    save("ernie45Vl", x, positions, x * angles.cos() + turned * angles.sin())


def axial(name, size, axes, *sizes):
    """compute_axial_rope_parameters and recomposition_frequencies: as many dimensions for each axis; the rest stays."""
    part = 2 * (size // axes // 2)
    cells = torch.from_numpy(np.indices(sizes).reshape(len(sizes), -1)).double()
    angles = torch.cat([coordinate[:, None] * inverse(part, 1e4) for coordinate in cells], dim=-1)
    x = torch.randn(1, 2, cells.shape[1], size)
    rotated, rest = x[..., : axes * part], x[..., axes * part :]
    save(name, x, cells[:, None], torch.cat([halves(rotated, angles), rest], dim=-1))


def gemma4_vision():
    """apply_multidimensional_rope: columns rotate the first half of a head, rows the second, each with rotate_half."""
    row, column = grid(3, 5)
    x = torch.randn(1, 2, 15, 72)
    parts = [halves(part, coordinate[:, None] * inverse(36, 100.0))
             for part, coordinate in zip(x.split(36, dim=-1), (column, row))]
    save("gemma4Vision", x, torch.stack([row, column])[:, None], torch.cat(parts, dim=-1))


def rope_mixed():
    """timm's init_random_2d_freqs, get_mixed_grid with "xy" and get_mixed_freqs; the class token is not rotated."""
    rows, columns, heads, size, base = 3, 5, 2, 16, 10.0
    magnitude = 1 / base ** (torch.arange(0, size, 4) / size)
    direction = torch.rand(heads, 1) * 2 * torch.pi
    quarter = torch.pi / 2
    frequencies = torch.stack([
        torch.cat([magnitude * f(direction), magnitude * f(direction + quarter)], dim=-1) for f in (torch.cos, torch.sin)])
    x_of, y_of = torch.meshgrid(torch.arange(columns).double(), torch.arange(rows).double(), indexing="xy")
    x_of, y_of = x_of.flatten(), y_of.flatten()
    angles = (x_of[:, None] @ frequencies[0][:, None] + y_of[:, None] @ frequencies[1][:, None])
    sine, cosine = angles.sin().repeat_interleave(2, -1), angles.cos().repeat_interleave(2, -1)
    x = torch.randn(2, heads, 1 + rows * columns, size)
    patches = x[:, :, 1:]
    turned = torch.stack([-patches[..., 1::2], patches[..., ::2]], -1).reshape(patches.shape)
    output = torch.cat([x[:, :, :1], patches * cosine + turned * sine], dim=2)
    save("ropeMixed", x, torch.cat([torch.zeros(2, 1), torch.stack([x_of, y_of])], dim=1)[:, None], output)
    arrays["ropeMixed.frequencies"] = frequencies.numpy()


for case in (qwen2_vl, qwen3_vl, flux, cog_video_x, pixtral, qwen_vision, eva, dinov3, llama4_vision, deepseek,
             proportional, xpos, ernie45_vl, gemma4_vision):
    case()
axial("axial", 72, 2, 3, 5)
axial("axialOfThree", 80, 3, 2, 3, 4)
rope_mixed()
FOLDER.mkdir(exist_ok=True)
np.savez(FOLDER / "presets.npz", **{key: np.ascontiguousarray(value) for key, value in sorted(arrays.items())})
