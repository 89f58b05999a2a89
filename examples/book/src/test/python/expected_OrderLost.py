"""Prints the rows of expected/OrderLost.txt, from the formulas of Vaswani et al. (2017)."""
import numpy as np


def row(text, *numbers):
    print(text, "|", *numbers, "| numpy")


def attend(x, causal=False):
    scores = x @ x.T / np.sqrt(x.shape[1])
    if causal:
        scores[np.triu_indices(len(x), 1)] = -np.inf
    powers = np.exp(scores)
    return powers / powers.sum(1, keepdims=True) @ x


def three(numbers):
    return ["%.3f" % (number + 0.0) for number in numbers]


words = np.eye(4)
sentences = {"the dog bites the man": words[[0, 1, 2, 0, 3]], "the man bites the dog": words[[0, 3, 2, 0, 1]]}
x, other = sentences.values()
for word, numbers in zip("the dog bites the man".split(), attend(x)):
    row(word + " {} {} {} {}", *three(numbers))
angles = np.arange(5)[:, None] / np.array([1, 100])
p = np.stack([np.sin(angles), np.cos(angles)], 2).reshape(5, 4)
y, z = attend(x + p), attend(other + p)
for word, t, numbers in (("dog", 1, y[1]), ("dog", 4, z[4])):
    row(word + ", t = {} {} {} {} {}", t, *three(numbers))
for text in ("largest difference of the means: {}", "by up to {} in one of the four numbers"):
    row(text, "%.3f" % abs(y.mean(0) - z.mean(0)).max())
prefix = x[[2, 0, 3, 1, 4]]
once, once_other = attend(x, True), attend(prefix, True)
row("dog {} {} {} {}", *three(once[1]))
row("dog {} {} {} {}", *three(attend(other, True)[4]))
for one, two in ((once, once_other), (attend(once, True), attend(once_other, True))):
    row("man {} {} {} {}", *three(one[4]))
    row("man {} {} {} {}", *three(two[4]))
row("both {}, {}, {}, {}", *three(attend(x)[1]))
row("causal)[{}]) # {}, {}, {}, {}", 4, *three(attend(once, True)[4]))
weight = np.exp(0.5) / (np.exp(0.5) + 4)
row("+ 4) = {}$, and {} for each other word", "%.3f" % weight, "%.3f" % (1 / (np.exp(0.5) + 4)))
row("so its share is {}.", "%.3f" % (2 / (np.exp(0.5) + 4)))
row("numbers, ({}, {}, {}, {}) for position {}", *("%g" % number for number in p[0]), 0)
row("and ({}, {}, {}, {}) for position {}", *three(p[1]), 1)


def hashed(text):
    """A number from -1 to 1 that depends on a text only, as in playground.js."""
    bits = 0x811C9DC5
    for letter in text.encode():
        bits = (bits ^ letter) * 0x01000193 & 0xFFFFFFFF
    bits = (bits ^ bits >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    bits = (bits ^ bits >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    bits ^= bits >> 16
    return (bits - (bits >> 31 << 32)) / 2**31


def percent(sentence, rotary):
    """The weight that bites gives dog, by 16 numbers a word, as pairs that are rotated by the position."""
    x = np.sqrt(3) * np.array([[hashed(f"{word}/{i}") for i in range(16)] for word in sentence.split()])
    pairs = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * rotary * np.arange(5)[:, None] / 10000 ** (np.arange(8) / 8))
    powers = np.exp((pairs @ pairs[2].conj()).real / 4)
    return "%.0f" % (100 * powers[sentence.split().index("dog")] / powers.sum())


none, rotary = ([percent(sentence, turned) for sentence in sentences] for turned in (0, 1))
assert none[0] == none[1]
row("gives *dog* {} % of its weight in both; with *rotary*, {} % in the first sentence and {} % in the second", none[0], *rotary)
