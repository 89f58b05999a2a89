"""The numbers of the chapter Conventions, from the published formulas."""
import numpy as np


def row(t, d, halves, cosine_first, divisor):
    angle = t * 10000.0 ** (-np.arange(d // 2) / divisor)
    pair = [np.cos(angle), np.sin(angle)] if cosine_first else [np.sin(angle), np.cos(angle)]
    return np.concatenate(pair) if halves else np.stack(pair, axis=1).ravel()


def conventions(t, d):
    n = d / 2
    return {
        "A": row(t, d, False, False, n),
        "B": row(t, d, True, False, n - 1),
        "C": row(t, d, True, False, n),
        "D": row(t, d, True, True, n),
        "E": row(t, d, True, True, n - 1),
        "F": row(t, d, False, True, n),
    }


for letter, numbers in conventions(1, 8).items():
    print(letter, *["%.4f" % x for x in numbers])
exponents = {"kept in exponent": 5.0, "rounded up": 6.0, "zero padded": 4.0}
for name, d in exponents.items():
    w = 10000.0 ** (-2 * np.arange(3) / d)
    numbers = [np.sin(1), np.cos(1), np.sin(w[1]), np.cos(w[1]), 0 if name == "zero padded" else np.sin(w[2])]
    print(name, *["%.4f" % x for x in numbers])
for letter in "ABCDEF":
    products = [conventions(t, 512)["A"] @ conventions(t, 512)[letter] / 256 for t in range(100)]
    print("A and %s: %.3f" % (letter, np.mean(products)))
print("slowest: 1/%.0f 1/%.0f" % (10000.0 ** (3 / 4), 10000.0 ** (255 / 256)))
