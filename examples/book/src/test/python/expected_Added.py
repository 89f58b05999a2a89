"""Prints the rows of expected/Added.txt; the random numbers are those of nextGaussian of java.util.Random."""
import numpy as np

row = lambda text, *numbers: print(text, "|", *numbers, "| numpy")


def gaussians(seed, count):
    state, numbers = (seed ^ 0x5DEECE66D) & (1 << 48) - 1, []
    while len(numbers) < count:
        bits = []
        for size in (26, 27, 26, 27):
            state = state * 0x5DEECE66D + 0xB & (1 << 48) - 1
            bits.append(state >> 48 - size)
        pair = [2 * ((bits[i] << 27) + bits[i + 1]) / (1 << 53) - 1 for i in (0, 2)]
        s = pair[0] ** 2 + pair[1] ** 2
        if 0 < s < 1:
            numbers += [x * np.sqrt(-2 * np.log(s) / s) for x in pair]
    return np.array(numbers[:count])


def directions(rows, share=0.001):
    basis, rest = [rows[0] / np.linalg.norm(rows[0])], rows
    while True:
        rest = rest - np.outer(rest @ basis[-1], basis[-1])
        if (rest**2).sum() <= share * (rows**2).sum():
            return np.array(basis)
        longest = rest[np.argmax(np.round(1000 * np.linalg.norm(rest, axis=1)))]
        basis.append(longest / np.linalg.norm(longest))


angles = np.arange(1000)[:, None] / 10000 ** (np.arange(256) / 256)
p = np.stack([np.sin(angles), np.cos(angles)], 2).reshape(1000, 512)
norms = np.linalg.norm(p, axis=1)
row("that is √{} = {}.", "%.0f" % norms[0] ** 2, "%g" % round(norms[0], 9))
long = gaussians(1, 512000).reshape(1000, 512)
basis, word, shares = directions(p[:100]), np.arange(1000), []
for name, words in (("long", long), ("short", long / 16)):
    units = (words + p[5]) / np.linalg.norm(words + p[5], axis=1, keepdims=True)
    cosine, norm = (units.sum(0) @ units.sum(0) - 1000) / 999000, np.linalg.norm(words, axis=1).mean()
    row("mean norm of words {}, mean cosine {}", "%.3f" % norm, "%.3f" % cosine)
    sums = words + p[word % 100]
    found = np.argmax(sums @ p[:100].T, 1)
    share = lambda rows: "%.3f" % (np.argmax(rows @ words.T, 1) == word).mean()
    shares += [("position, from the sum: {}", "%.3f" % (found == word % 100).mean()),
               ("word, from the sum: {}", share(sums)), ("word, position subtracted: {}", share(sums - p[found])),
               ("word, positions projected: {}", share(sums - sums @ basis.T @ basis))]
row("short words have {}:", "%.3f" % cosine)
for length in (10, 100, 1000): row("{} positions fill {} of {} dimensions", length, len(directions(p[:length])), 512)
row("the {} directions", len(basis))
for share in shares[4:]: row(*share)
for name, rows in (("words", long[[0, 1, 2, 3, 0, 4, 5, 0, 6, 7, 8, 0, 4]]), ("positions", p[:13])):
    share = ((rows @ basis.T) ** 2).sum() / (rows**2).sum()
    row("{} of the squares of the " + name + " remain", "%.3f" % share)
row("· {} ≈ {} positions", format(10000 ** (255 / 256), ",.0f"), format(round(2 * np.pi * 10000 ** (255 / 256), -2), ",.0f"))
row("itself is about {}. The position's", "%.0f" % ((long / 16) ** 2).sum(1).mean())
row("largest of so many is about {}.", "%.1f" % np.random.default_rng(1).normal(size=(2000, 1000)).max(1).mean())
others = [np.random.default_rng(seed).normal(size=(1000, 512)) / 16 for seed in range(10)]
found = [(np.argmax((words + p[word % 100]) @ words.T, 1) == word).mean() for words in others]
row("give shares from {} to {}.)", "%.2f" % min(found), "%.2f" % max(found))
