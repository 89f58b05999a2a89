"""Prints the lines of expected/Longer.txt, computed from the formulas of the papers and from the measured tables."""
import csv
import os
import re

import numpy as np

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")
FOLDER = os.path.dirname(os.path.abspath(__file__)) + "/../../main/resources/"

def row(line, source="numpy"):
    line = " ".join(line.split())
    print(NUMBER.sub("{}", line), "|", " ".join(NUMBER.findall(line)), "|", source)

def divisors(size, s, T=4096):
    omega, m = 10000.0 ** (-2 * np.arange(size // 2) / size), np.arange(size // 2)
    pair = lambda turns: size * np.log(T / (2 * np.pi * turns)) / (2 * np.log(10000))
    low, high = max(np.floor(pair(32)), 0), np.ceil(pair(1))
    mix = lambda part: 1 / (1 - np.clip(part, 0, 1) * (1 - 1 / s))
    return omega, {"none": m * 0 + 1.0, "linear": m * 0 + s, "NTK-aware": s ** (2 * m / (size - 2)),
                   "YaRN": mix((m - low) / (high - low)), "Llama 3.1's rule": mix((4 - omega * T / (2 * np.pi)) / 3)}

def beyond(omega, divisor, s, T=4096):
    farther = (s / divisor)[omega * T < 2 * np.pi]  # the last angle relative to that of the trained length
    return "%d %.2f" % ((farther > 1 + 1e-9).sum(), farther.max())

omega, _ = divisors(128, 8)
turns = omega * 4096 / (2 * np.pi)
[row("pair %d: %.5f full turns" % (m, turns[m])) for m in (0, 20, 45, 46, 63)]
row("%d pairs make a full turn, %d do not" % ((turns >= 1).sum(), (turns < 1).sum()))
[row("%s %s %.3f" % (n, beyond(omega, divisor, 8), 1 / divisor[0])) for n, divisor in divisors(128, 8)[1].items()]
[row(line, "count") for line in ("characters change 33–64 225–256", "words 5–16 25–40")]
row("%.5f full turns instead of %.5f" % (2 * turns[63], turns[63]))
bounds = lambda d, T: (max(d * np.log(T / 64 / np.pi) / np.log(1e8), 0) // 1, np.ceil(d * np.log(T / 2 / np.pi) / np.log(1e8)))
for text in ("so the scores by its square, %.3f for the factor 8" % (0.1 * np.log(8) + 1) ** 2,
             "*low* = %d, *high* = %d" % bounds(128, 4096), "so the bounds are low = %d and high = %d:" % bounds(16, 64),
             "divided by %.3f and %.0f, and the others by %.0f." % tuple(divisors(16, 4, 64)[1]["YaRN"][1:4]),
             "print(low, high, divisors[[20, 33, 46]]) # 20 46 [%.4f, %.4f, %.4f]" % tuple(divisors(128, 8)[1]["YaRN"][[20, 33, 46]]),
             "Pair 33 makes %.4f turns, so the paper's γ is %.4f and not %.1f." % (turns[33], (turns[33] - 1) / 31, (46 - 33) / 26),
             "it makes %.4f turns, is halfway" % turns[33],
             "√(1 + ln 32 / ln 4,096) = %.4f, and texts up to 4,096" % np.sqrt(1 + np.log(32) / np.log(4096)),
             "pair 45 completes its turn at distance %.1f." % (2 * np.pi / omega[45])):
    row(text)
small = divisors(16, 4, 64)[0] * 64 / (2 * np.pi)
row("Only %d of its 8 pairs make a full turn in 64 characters, against %d of 64 in" % ((small >= 1).sum(), (turns >= 1).sum()))
row("like a guess among %.2f equally" % np.exp(3.32))
title = dict(zip("t5 alibi kerple kerple_power disentangled sandwich gaussian shaw fire transformer_xl rotary_linear rotary_ntk "
                 "rotary_yarn sinusoidal_unit sinusoidal_scaled distance_network".split(), (
                     "T5;ALiBi;KERPLE;KERPLE, power;DeBERTa;Sandwich;Gaussian;Shaw;FIRE;Transformer-XL;rotary, linear;"
                     "rotary, NTK-aware;rotary, YaRN;sine, N(0, 1);sine, scaled;network").split(";")))
table = lambda file: {r[0]: np.array(r[1:-1], float).reshape(-1, 3) + 1e-9 for r in list(csv.reader(open(FOLDER + file)))[1:]}
text, words = table("comparison-text.csv"), table("comparison.csv")
numbers = lambda rows, at: " ".join("%.2f" % rows[i, 0] for i in at) + " %.2f–%.2f" % tuple(rows[at[-1], 1:])
four = [text[kind] for kind in ("rotary", "rotary_linear", "rotary_ntk", "rotary_yarn")]
[row("%d–%d " % (32 * i + 1, 32 * i + 32) + " ".join("%.2f" % r[i, 0] for r in four), "trained") for i in range(1, 8)]
[row(name + " " + " ".join("%.2f" % r[7, i] for r in four), "trained") for i, name in ((1, "smallest"), (2, "largest"))]
for kind, r in text.items():
    if not kind.startswith("rotary_"):
        row("%s %.2f %s" % (title.get(kind, kind), r[7, 0] - r[1, 0], numbers(r, [1, 7])), "trained")
[row("%s %s" % (title.get(kind, kind), numbers(r, [0, 2])), "trained") for kind, r in words.items()]
bias = [np.exp(np.array(r[3:], float)) for r in csv.reader(open(FOLDER + "biases-text.csv")) if r[0] == "t5"]
row("more %.2f of the attention, almost" % np.mean([b[64:].sum() / b.sum() for b in bias]), "trained")
