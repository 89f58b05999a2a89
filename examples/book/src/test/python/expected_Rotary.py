"""Prints the rows of expected/Rotary.txt whose source is numpy."""
import numpy as np


def row(text, *numbers):
    print(text, "|", " ".join(f"{number:.12g}" for number in numbers), "| numpy")


def frequencies(d, base):
    return base ** (-2 * np.arange(d // 2) / d)


def turned(x, t, base=10_000):
    pairs = x[0::2] + 1j * x[1::2]
    return pairs * np.exp(1j * t * frequencies(len(x), base))


def score(q, k):
    return (q * k.conj()).real.sum()


for m in range(4):
    one = turned(np.array([1.0, 0] * 4), 1)[m]
    row("pair {} at t = {}: ({}, {})", m, 1, one.real, one.imag)

i = np.arange(64)
q, k = np.sin(5.0 * i * i), np.sin(7.0 * i * i)
row("without rotation: {}", q @ k)
for delta in 0, 3, 50:
    for t in 50, 4000:
        row("Δ = {}, t = {}: {}", delta, t, score(turned(q, t), turned(k, t - delta)))
for m in 0, 8, 16, 24, 31:
    row("pair {}: a full turn in {} tokens", m, 2 * np.pi / frequencies(64, 10_000)[m])
for base in 10_000, 500_000:
    at = [score(turned(np.ones(64), d, base), turned(np.ones(64), 0, base)) / 64 for d in (1, 10, 100, 999)]
    row("base {} {} {} {} {}", base, *at)
key = np.stack([turned(q, 1).real, turned(q, 1).imag], 1).ravel()
for delta in range(-1, 4):
    row("Δ = {}: {}", delta, score(turned(q, 10), turned(key, 10 - delta)))
row("four pairs with the frequencies {}, {}, {} and {}", *frequencies(8, 10_000))
print("last pair at 4,096: %.0f" % np.degrees(4096 * frequencies(64, 10_000)[31]))
q, k = 1 + 2j, 3 + 1j  # a quarter turn is a multiplication by i
for t, s in (2, 1), (3, 2):
    print("by hand", q * 1j ** t, k * 1j ** s, (q * 1j ** t * (k * 1j ** s).conjugate()).real)
print("without rotation", (q * k.conjugate()).real)
print("head of 4:", *frequencies(4, 10_000))
slow = [(8192 * frequencies(128, base) < 2 * np.pi).sum() for base in (10_000, 500_000)]
row("In a text of {} tokens, with {} pairs, there are {} such pairs with the base {} and {} with", 8192, 64, slow[0], 10_000, slow[1])
