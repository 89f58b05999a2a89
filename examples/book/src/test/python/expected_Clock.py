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
    row("pair {}: ω = {}, full turn in {}", m, "%.3f" % frequency, "%.1f" % (2 * np.pi / frequency))
row("pair t = {} t = {} t = {}", 25, 26, 250)
for m in range(4): row("{}:" + 6 * " {}", m, *("%.2f" % number for number in rows((25, 26, 250), 8)[:, 2 * m:2 * m + 2].ravel()))
angles, turns = [], []
for m, (sine, cosine) in enumerate(np.round(rows([250], 8).reshape(4, 2), 2)):
    angles.append(np.arctan2(sine, cosine))
    turns.append(round((250 * 10.0**-m - angles[m]) / (2 * np.pi)))
position = (np.array(angles) + 2 * np.pi * np.array(turns)) * 10.0 ** np.arange(4)
# half a unit of the last digit of the sine and of the cosine, at the worst angle of each
error = 0.005 * (np.abs(np.cos(angles)) + np.abs(np.sin(angles))) * 10.0 ** np.arange(4)
row("Pair {} has {} and {}, so its angle is {}.", 3, 0.25, 0.97, "%.3f" % angles[3])
row("that is position {}, give or take {},", "%.0f" % position[3], "%.0f" % error[3])
row("Pair {} has the angle {}, which is position {}, or {} more or less.", 2, "%.3f" % angles[2], "%.1f" % position[2], "%.1f" % (200 * np.pi))
row("It is accurate to within {}.", "%.1f" % error[2])
row("atan2({}, {}) = {}.", "0.60", "-0.80", "%.3f" % angles[2])
row("the next faster hand: {} against {} for pair {}.", "%.0f" % error[3], "%.0f" % (np.pi * 100), 3)
row("Pair {} has the angle {}, which is position {}, and each full turn adds {}.", 1, "%.3f" % angles[1], "%.1f" % (angles[1] * 10), "%.2f" % (20 * np.pi))
assert turns == [40, 4, 0, 0]
row("With four of them it is {},", "%.1f" % position[1])
row("its angle is {}, and with {} full turns of {} it is {}.", "%.3f" % angles[0], turns[0], "%.3f" % (2 * np.pi), "%.2f" % position[0])
row("about {} radians", "%.2f" % (2 * np.pi))
row("From {} to {}, pair {} turns by {} degrees", 25, 26, 0, "%.0f" % np.degrees(1))
by_hand = ["%.7f" % number for number in rows([3], 4)[0]]
row("{} {} {} {}", *by_hand)
row("frequency {} and the angle {}", 1, 3)
row("1/{}, and the angle {}", "%g" % 10000**0.5, "%.2f" % (3 * 10000**-0.5))
for m in (0, 4, 8, 9, 10, 16, 24, 31):
    row("pair {}: full turn in {} positions", m, "%.1f" % (2 * np.pi / frequencies(64)[m]))
table = rows(np.arange(2000), 64)
distances = np.sqrt(((table - table[0]) ** 2).sum(1))
for t in (1, 1000): row("from row {} to row {}: {}", 0, t, "%.4f" % distances[t])
row("smallest, rows {} to {}: {}", 1, 1999, "%.4f" % distances[1:].min())
products = table @ table.T
assert np.sqrt(np.maximum(64 - 2 * products[~np.eye(2000, dtype=bool)].max(), 0)) > distances[1] - 1e-9
row("· {} = {} positions. Of the {} pairs, ten", 100, "%.1f" % (2 * np.pi * 100), 32)
assert (100 * frequencies(64) >= 2 * np.pi).sum() == 10
row("pair {} needs {} positions, pair {} already {}.", 9, "%.1f" % (2 * np.pi / frequencies(64)[9]), 10, "%.1f" % (2 * np.pi / frequencies(64)[10]))
row("From pair {} on, a wave is longer than the {} rows", (100 * frequencies(64) >= 2 * np.pi).sum(), 100)
row("torch.tensor([{}]), {})) # {}, {}, {}, {}", "3.0", 4, *("%.4f" % number for number in rows([3], 4)[0]))
row("p[{}])) # {}, {}", 1000, "%.4f" % distances[1], "%.4f" % distances[1000])
row("by {} in {} dimensions", "%.0f" % 10000 ** (2 / 8), 8)
row("In {} dimensions it takes {} positions", 64, "{:,.0f}".format(2 * np.pi / frequencies(64)[31]))
