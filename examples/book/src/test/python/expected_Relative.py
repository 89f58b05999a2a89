"""Prints the lines of expected/Relative.txt, computed from the formulas of the papers."""
import re

import numpy as np

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")

def row(line, source="numpy"):
    line = " ".join(line.split())
    print(NUMBER.sub("{}", line), "|", " ".join(NUMBER.findall(line)), "|", source)

def weights(bias):
    powers = np.exp(bias - np.max(bias))
    return powers / powers.sum()

def bucket(relative, both, buckets, farthest):  # of T5, relative = key - query
    first = 0
    if both:
        buckets //= 2
        first = buckets if relative > 0 else 0
    distance = abs(relative) if both else max(-relative, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    return first + min(exact + int(np.log(distance / exact) / np.log(farthest / exact) * (buckets - exact)), buckets - 1)

d = np.arange(24.0)
steep, flat = weights(-d), weights(-d / 4)
assert np.allclose(steep, weights(23 - d))
row("both give the weights %.4f, %.4f and %.4f" % tuple(steep[[0, 1, 4]]))
row("gives %.4f, %.4f and %.4f" % tuple(flat[[0, 1, 4]]))
at = np.array([0, 1, 2, 4, 16])
row("Δ 0 1 2 4 16", "count")
omega = 10000.0 ** (-2 * np.arange(64) / 128)
cosines = np.cos(np.outer(at, omega)).sum(1)
for name, bias in ("ALiBi", -at / 2), ("Sandwich", cosines - 64), ("KERPLE", -np.log(1 + at)), ("Gaussian", -at**2 / 18):
    row(name + " %.3f %.3f %.3f %.3f %.3f" % tuple(bias + 0.0))
row("$e^{%.3f} = %.0f$, ALiBi's first head by $e^8 = %.0f$" % (np.log(17), 17, np.exp(8)))
psi = lambda x: np.log(1 + 0.1 * x)
row("has the input %.3f at *t* = 16 and" % (psi(4) / psi(16)))
row("%.3f at *t* = 256" % (psi(4) / psi(256)))
for i in 0, 1, 7, 8, 12, 16, 32, 58, 112, 113, 1000:
    row("%d %d %d %d" % (i, bucket(-i, 1, 32, 128), bucket(i, 1, 32, 128), bucket(-i, 0, 32, 128)))
row("last bucket of the decoder begins at %d" % min(i for i in range(200) if bucket(-i, 0, 32, 128) == 31))
H, D, E = 64, 512, 32
answers = ("ALiBi, Sandwich", 0, "no no no"), ("KERPLE", 2 * 8, "no no no"), ("Gaussian", 8, "no no no"), \
    ("T5", 32 * 8, "yes no no"), ("network of the distance", 2 * E + E * E + E + 8 * E + 8, "yes no no"), \
    ("FIRE", 10 * E + 8 + 2, "no yes no"), ("Shaw", 2 * 17 * H, "yes no yes"), \
    ("Transformer-XL", D * D + 2 * D, "yes no yes"), ("DeBERTa", 2 * 256 * D + 2 * D * D + 2 * D, "yes no yes"), ("rotary", 0, "yes no yes")
for name, numbers, rest in answers:
    row("| %s | %s | %s |" % (name, format(numbers, ","), " | ".join(rest.split())), "count")
