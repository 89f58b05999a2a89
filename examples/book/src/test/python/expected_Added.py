"""Prints the rows of expected/Added.txt; the random numbers are those of nextGaussian of java.util.Random."""
import minilm
import numpy as np

row = lambda text, *numbers: print(text, "|", *numbers, "| numpy")
MASK = (1 << 48) - 1


def gaussians(seed, count):
    states = np.full(6 * count, ((seed ^ 0x5DEECE66D) * 0x5DEECE66D + 11) & MASK, np.uint64)
    factor, term, known = 0x5DEECE66D, 11, 1
    while known < len(states):  # as many steps at once as states are known
        more = states[:len(states) - known] if known > len(states) - known else states[:known]
        states[known:known + len(more)] = more * np.uint64(factor) + np.uint64(term) & np.uint64(MASK)
        factor, term, known = factor * factor & MASK, (factor + 1) * term & MASK, known + len(more)
    high, low = (states[0::2] >> np.uint64(22)) << np.uint64(27), states[1::2] >> np.uint64(21)
    pairs = (2 * ((high + low) / 2.0**53) - 1).reshape(-1, 2)
    s = (pairs**2).sum(1, keepdims=True)
    pairs, s = pairs[(0 < s[:, 0]) & (s[:, 0] < 1)], s[(0 < s) & (s < 1)][:, None]
    return (pairs * np.sqrt(-2 * np.log(s) / s)).ravel()[:count]


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
row("norm is √{} = {}.", "%.0f" % (p[0] @ p[0]), "%g" % round(np.linalg.norm(p[7]), 9))
row("about √{} = {},", 512, "%.1f" % np.sqrt(512))
row("each embedding by √*d*, here {}.", "%.1f" % np.sqrt(512))
sets = gaussians(1, 5120000).reshape(10, 1000, 512)
large, basis, word = sets[0], directions(p[:100]), np.arange(1000)
for words in (large, large / 16):
    units = (words + p[5]) / np.linalg.norm(words + p[5], axis=1, keepdims=True)
    cosine, norm = (units.sum(0) @ units.sum(0) - 1000) / 999000, np.linalg.norm(words, axis=1).mean()
    row("norm {}, cosine {}", "%.3f" % norm, "%.3f" % cosine)
row("words now have {}:", "%.3f" % cosine)
for length in (10, 100, 1000): row("{} positions: {} of {} dimensions", length, len(directions(p[:length])), 512)
row("fill only {} of {} dimensions, and leave {}", len(basis), 512, 512 - len(basis))
shares = []
for words in sets / 16:
    sums = words + p[word % 100]
    found = np.argmax(sums @ p[:100].T, 1)
    right = lambda rows: (np.argmax(rows @ words.T, 1) == word).mean()
    shares.append([(found == word % 100).mean(), right(sums), right(sums - p[found]), right(sums - sums @ basis.T @ basis)])
for text, share in zip(("position, from the sum:", "word, from the sum:", "word, subtracted:", "word, projected:"), np.mean(shares, 0)):
    row(text + " {}", "%.3f" % share)
row("from {} to {} in these ten sets", "%.2f" % np.min(shares, 0)[1], "%.2f" % np.max(shares, 0)[1])
for name, rows in (("words", large[[0, 1, 2, 3, 0, 4, 5, 0, 6, 7, 8, 0, 4]]), ("positions", p[:13])):
    row(name + ": {}", "%.3f" % (((rows @ basis.T) ** 2).sum() / (rows**2).sum()))
row("a random word has about {}/{} = {}", len(basis), 512, "%.3f" % (len(basis) / 512))
row("· {} ≈ {} positions", format(10000 ** (255 / 256), ",.0f"), format(round(2 * np.pi * 10000 ** (255 / 256), -2), ",.0f"))
waves = np.arange(256) / 256 * np.log(10000)
waves = np.concatenate([np.exp(-waves), -np.exp(-waves)])
gaps = waves - waves[:, None] + np.eye(512)  # the diagonal is filled below
million = (1 - np.exp(1e6j * gaps)) / (1 - np.exp(1j * gaps))  # the products of the waves over a million positions
np.fill_diagonal(million, 1e6)
rest = np.cumsum(np.linalg.eigvalsh(million)) / 512e6  # the smallest squares first
row("the best {} hold all but a thousandth", 512 - (rest <= 0.001).sum())
row("with itself is about {}.", "%.0f" % ((large / 16) ** 2).sum(1).mean())
row("largest of {} is about {}.", "1,000", "%.1f" % np.random.default_rng(1).normal(size=(2000, 1000)).max(1).mean())
w = minilm.weights()
size, squares, axes = len(w["embeddings.position_embeddings.weight"]), *np.linalg.svd(w["embeddings.position_embeddings.weight"])[1:]
held, trained = (squares[:20] ** 2).sum() / (squares**2).sum(), w["embeddings.word_embeddings.weight"]
row("best {} of {} directions hold {} %", 20, 384, "%.0f" % (100 * held))
words = ((trained @ axes[:20].T) ** 2).sum() / (trained**2).sum()
row("of {} positions, and only {} %", size, "%.1f" % (100 * words))
row("{}/{} = {} % of their squares", 20, 384, "%.1f" % (100 * 20 / 384))
