"""The numbers of the chapter TwoDimensions, from the formulas and the pixels. Needs numpy and PIL."""
import os
import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
pixels = np.asarray(Image.open(HERE + "/../../main/resources/site/cat.png").convert("RGB"), dtype=float)
light = pixels.mean(axis=2).reshape(16, 14, 16, 14).mean(axis=(1, 3)).ravel()
light = light - light.mean()


def omega(pairs, base=10000.0):
    return base ** (-np.arange(pairs) / pairs)


def cosines(distance, pairs):
    return np.cos(distance * omega(pairs)).sum()


for n in (1, 6, 8, 16, 32):
    correlation = (light[:-n] * light[n:]).mean() / (light**2).mean()
    print("%d numbers on: %.3f %.3f" % (n, correlation, cosines(n, 32) / 32))

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
