#!/usr/bin/env python3
"""Writes src/test/resources/goldens/grid_resampling.csv with torch's interpolate, in float64.

    python3 src/test/python/make_grids.py        (made with torch 2.15)

Each row has a method, the sizes of a grid, those of the new one, the new table of two channels, and the gradient of the
old table for weights of the new one. The values of the old table and the weights are in units of 1/64, which floats hold
exactly.
"""

import pathlib

import torch
from torch.nn.functional import interpolate

FOLDER = pathlib.Path(__file__).parents[1] / "resources" / "goldens"
CHANNELS = 2

# torch's mode by the number of axes
CUBIC, LINEAR = {2: "bicubic"}, {1: "linear", 2: "bilinear", 3: "trilinear"}
PLANE = {2: "bilinear"}  # the only one that torch antialiases

METHODS = {
    "BICUBIC_ANTIALIASED": (CUBIC, {"antialias": True, "align_corners": False}),
    "BICUBIC": (CUBIC, {"align_corners": False}),
    "BILINEAR_ANTIALIASED": (PLANE, {"antialias": True, "align_corners": False}),
    "BILINEAR": (LINEAR, {"align_corners": False}),
    "BILINEAR_ALIGNED": (LINEAR, {"align_corners": True}),
}

GRIDS = [
    ((4, 4), (7, 5)),  # larger
    ((7, 5), (3, 4)),  # smaller
    ((2, 9), (5, 3)),  # both
    ((1, 4), (3, 4)),
    ((6, 3), (1, 1)),
    ((3, 14), (3, 14)),
    ((3, 13), (2, 2)),  # more than four cells under the kernel
    ((5,), (8,)),
    ((2, 3, 4), (3, 2, 5)),
]


def values(count):
    return torch.tensor([(i * 37 % 101 - 50) / 64 for i in range(count)], dtype=torch.float64)


def text(numbers):
    return " ".join(map(str, numbers))


with open(FOLDER / "grid_resampling.csv", "w") as out:
    out.write("method,from,to,values,gradient\n")
    for method, (modes, options) in METHODS.items():
        for old, new in GRIDS:
            if len(old) in modes:
                table = values(torch.tensor(old).prod().item() * CHANNELS).reshape(*old, CHANNELS).requires_grad_()
                resampled = interpolate(table.movedim(-1, 0)[None], size=new, mode=modes[len(old)], **options)
                flat = resampled[0].movedim(0, -1).flatten()
                (gradient,) = torch.autograd.grad((flat * values(flat.numel())).sum(), table)
                columns = [text(old), text(new), text(flat.tolist()), text(gradient.flatten().tolist())]
                out.write(f"{method},{','.join(columns)}\n")
