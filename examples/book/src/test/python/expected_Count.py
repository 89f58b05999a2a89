"""Prints the rows of expected/Count.txt."""
import numpy as np


def row(text, *numbers):
    print(text, "|", *numbers, "| numpy")


def cosine(a, b):
    return "%.4f" % (a @ b / np.sqrt(a @ a * (b @ b)))


def bits(t):
    return np.array([t >> i & 1 for i in range(4, -1, -1)])


def distance(a, b):
    return np.sqrt(((a - b) ** 2).sum())


def sinusoids(t):
    angles = t / 10000 ** (np.arange(32) / 32)
    return np.stack([np.sin(angles), np.cos(angles)], 1).ravel()


dog, man, first = np.tile([1, -1], 32), np.tile([1, 1, -1, -1], 16), np.eye(64)[0]
row("here √{} = {}", dog @ dog, "%g" % np.sqrt(dog @ dog))
for t in (0, 10, 100, 1000):
    row("t = {}: cosine of dog and man {}", t, cosine(dog + t * first, man + t * first))
row("that is {}/{} = {}", 11**2 - 1, 11**2 + 63, "%.4f" % ((11**2 - 1) / (11**2 + 63)))
for length in (5, 20, 50):
    row("{} words: step {}, position {}: {}", length, "%.3f" % (1 / (length - 1)), 4, "%.3f" % (4 / (length - 1)))
for t in (0, 14, 15, 17, 24):
    row("distance of {} and {}: {}", 16, t, "%.3f" % distance(bits(16), bits(t)))
row("all five bits change, from {} to {}", *("".join(map(str, bits(t))) for t in (15, 16)))
angles = 2 * np.pi * np.arange(32)[:, None] / np.array([2, 4, 8, 16, 32])
sines = np.sin(angles)
both = np.hstack([sines, np.cos(angles)])
row("sines, {} and {}: {}", 0, 16, "%.3f" % distance(sines[0], sines[16]))
row("with cosines, {} and {}: {}", 0, 16, "%.3f" % distance(both[0], both[16]))
for t in (0, 10, 100, 1000):
    p = sinusoids(t)
    row("t = {}: cosine {}, step {}", t, cosine(dog + p, man + p), "%.4f" % distance(p, sinusoids(t + 1)))
row("2π, about {} positions", "%.0f" % (2 * np.pi))
row("each pair {} times slower", "%.2f" % 10000 ** (1 / 32))
row("a period of about {} positions", format(round(2 * np.pi * 10000 ** (31 / 32), -3), ",.0f"))
gray = lambda t: bits(t ^ t // 2)
row("The distance of {} and {} is {}, as of all", 16, 15, "%g" % distance(gray(16), gray(15)))
row("But {} and {} are also only {} apart", 16, 31, "%g" % distance(gray(16), gray(31)))
row("{} steps apart: {} is {} and {} is {}", 15, 16, "".join(map(str, gray(16))), 31, "".join(map(str, gray(31))))
