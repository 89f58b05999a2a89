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
for letter in "ABCDEF":
    products = [conventions(t, 512)["A"] @ conventions(t, 512)[letter] / 256 for t in range(100)]
    print("A and %s: %.3f" % (letter, np.mean(products)))
print("slowest: 1/%.0f 1/%.0f, %.1f %%" % (10000.0 ** (3 / 4), 10000.0 ** (255 / 256), 100 - 10000.0 ** (255 / 256) / 100))


def rotated(x, t, halves):
    n = len(x) // 2
    a = t * 10000.0 ** (-np.arange(n) / n)
    first, second = (x[:n], x[n:]) if halves else (x[0::2], x[1::2])
    y, z = first * np.cos(a) - second * np.sin(a), first * np.sin(a) + second * np.cos(a)
    return np.concatenate([y, z]) if halves else np.stack([y, z], axis=1).ravel()


for numbers, halves in ([1, 2, 3, 4], False), ([1, 2, 3, 4], True), ([1, 3, 2, 4], False):
    print("halves" if halves else "neighbors", *numbers, *["%.4f" % x for x in rotated(np.array(numbers), 1, halves)])
i = np.arange(64.0)
q, k = np.sin(5 * i * i), np.sin(7 * i * i)
for delta in 0, 1, 3, 10, 50:
    print("mixed %d: %.3f %.3f" % (delta, rotated(q, delta, False) @ k, rotated(q, delta, True) @ k))
