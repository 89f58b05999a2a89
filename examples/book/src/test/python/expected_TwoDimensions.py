"""The numbers of the chapter TwoDimensions, from the formulas and the photograph."""
import os

import numpy as np
from PIL import Image


def omega(pairs, base=10000.0):
    return base ** (-np.arange(pairs) / pairs)


def cosines(distance, pairs):
    return np.cos(distance * omega(pairs)).sum()


for patch in (75, 90, 80, 79, 255):
    row, column = patch // 16 - 74 // 16, patch % 16 - 74 % 16
    print("74 and %d: %.3f" % (patch, (cosines(row, 16) + cosines(column, 16)) / 32))


def turned(x, row, column):
    angle = np.concatenate([row * omega(16), column * omega(16)])
    a, b = x[:32], x[32:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)])


q, k = np.sin(np.arange(64)), np.cos(np.arange(64))
for a, b in (((2, 3), (4, 8)), ((9, 6), (11, 11)), ((2, 3), (7, 5))):
    print("%s to %s: %.10f" % (a, b, turned(q, *a) @ turned(k, *b)))

words = [[t] * 3 for t in range(3)]
image = [[3, 3 + row, 3 + column] for row in range(2) for column in range(3)]
after = 1 + max(max(token) for token in image)
for axis in np.array(words + image + [[after] * 3, [after + 1] * 3]).T:
    print(*axis)
for m in (0, 15, 16, 39, 40, 63):
    print("pair %d: %.1f" % (m, 2 * np.pi * 1e6 ** (m / 64)))
print("share of a turn: %.5f" % (30 / (2 * np.pi * 1e6 ** (40 / 64))))

for query in range(4):
    print(*[(query // 2 - key // 2 + 1) * 3 + query % 2 - key % 2 + 1 for key in range(4)])
for side in (4, 7):
    print((2 * side - 1) ** 2, side**4)

photo = os.path.dirname(os.path.abspath(__file__)) + "/../../main/resources/site/cat.png"
light = np.asarray(Image.open(photo).convert("RGB"), dtype=float).reshape(16, 14, 16, 14, 3).sum((1, 3, 4)).ravel()
x = light - light.mean()
for n in (16, 1, 8, 32, 48):
    print("correlation at %d: %.3f" % (n, (x[:-n] * x[n:]).mean() / (x * x).mean()))
