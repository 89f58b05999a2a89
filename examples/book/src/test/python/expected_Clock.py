"""Prints the rows of expected/Clock.txt, from the formula of Vaswani et al. (2017), section 3.5."""
import numpy as np


def row(text, *numbers):
    print(text, "|", *numbers, "| numpy")


def frequencies(d):
    return 10000.0 ** (-2 * np.arange(d // 2) / d)


def rows(positions, d):
    angles = np.asarray(positions)[:, None] * frequencies(d)
    return np.stack([np.sin(angles), np.cos(angles)], 2).reshape(-1, d)


for m, frequency in enumerate(frequencies(8)):
    row("pair {}: ω = {}, one turn in {} positions", m, "%.3f" % frequency, "%.1f" % (2 * np.pi / frequency))
row("pair {} pair {} pair {} pair {}", 0, 1, 2, 3)
for t, numbers in zip((25, 26, 250), rows((25, 26, 250), 8)):
    row("t = {}:" + 8 * " {}", t, *("%.2f" % number for number in numbers))
row("about {} radians", "%.2f" % (2 * np.pi))
row("From {} to {}, pair {} turns by {} degrees", 25, 26, 0, "%.0f" % np.degrees(1))
by_hand = ["%.7f" % number for number in rows([3], 4)[0]]
row("by hand: {}, {}, {}, {}", *by_hand)
row("library: {}, {}, {}, {}", *by_hand)
row("frequency {} and the angle {}", 1, 3)
row("1/{}, and the angle {}", "%g" % 10000**0.5, "%.2f" % (3 * 10000**-0.5))
for m in (0, 4, 8, 9, 10, 16, 24, 31):
    row("pair {}: one turn in {} positions", m, "%.1f" % (2 * np.pi / frequencies(64)[m]))
table = rows(np.arange(2000), 64)
distances = np.sqrt(((table - table[0]) ** 2).sum(1))
row("distance of positions {} and {}: {}", 0, 1, "%.4f" % distances[1])
row("distance of positions {} and {}: {}", 0, 1000, "%.4f" % distances[1000])
row("smallest distance of {} from {} to {}: {}", 0, 1, 1999, "%.4f" % distances[1:].min())
products = table @ table.T
assert np.sqrt(np.maximum(64 - 2 * products[~np.eye(2000, dtype=bool)].max(), 0)) > distances[1] - 1e-9
row("· {} = {} positions. Of the {} pairs, ten", 100, "%.1f" % (2 * np.pi * 100), 32)
assert (100 * frequencies(64) >= 2 * np.pi).sum() == 10
row("pair {} needs {} positions, pair {} already {}.", 9, "%.1f" % (2 * np.pi / frequencies(64)[9]), 10, "%.1f" % (2 * np.pi / frequencies(64)[10]))
row("From pair {} on, a wave is longer than the {} rows", (100 * frequencies(64) >= 2 * np.pi).sum(), 100)
