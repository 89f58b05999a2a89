"""Prints the lines of expected/Longer.txt, computed from the formulas of the papers and from the measured tables."""
import csv
import os
import re

import numpy as np

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")
FOLDER = os.path.dirname(os.path.abspath(__file__)) + "/../../main/resources/"
CODE = open(FOLDER + "../java/io/github/djlpositional/examples/book/Longer.java").read()

def row(line, source="numpy"):
    line = " ".join(line.split())
    print(NUMBER.sub("{}", line), "|", " ".join(NUMBER.findall(line)), "|", source)

def divisors(size, s, T=4096):
    omega, m = 10000.0 ** (-2 * np.arange(size // 2) / size), np.arange(size // 2)
    pair = lambda turns: size * np.log(T / (2 * np.pi * turns)) / (2 * np.log(10000))
    low, high = np.floor(pair(32)), np.ceil(pair(1))
    mix = lambda part: 1 / (1 - np.clip(part, 0, 1) * (1 - 1 / s))
    return omega, {"none": m * 0 + 1.0, "linear": m * 0 + s, "NTK-aware": s ** (2 * m / (size - 2)),
                   "YaRN": mix((m - low) / (high - low)), "Llama 3.1": mix((4 - omega * T / (2 * np.pi)) / 3)}

def beyond(omega, divisor, s, T=4096):
    farther = (s / divisor)[omega * T < 2 * np.pi]  # the last angle relative to that of the trained length
    return "%d %.2f" % ((farther > 1 + 1e-9).sum(), farther.max())

omega, _ = divisors(128, 8)
turns = omega * 4096 / (2 * np.pi)
[row("pair %d: %.5f turns in 4,096 tokens" % (m, turns[m])) for m in (0, 20, 45, 46, 63)]
row("%d pairs make a full turn, %d do not" % ((turns >= 1).sum(), (turns < 1).sum()))
for s in 2, 8:
    row("%d times beyond farthest first pair" % s, "count")
    for name, divisor in divisors(128, s)[1].items():
        row("%s %s %.3f" % (name, beyond(omega, divisor, s), 1 / divisor[0]))
for line in ("tokens from 33 65 97 129 225 trainings",
             "tokens from 33 225 three trainings change far", "words from 5 17 25 three trainings"):
    row(line, "count")
omega, by = divisors(96, 32)
row("the %d pairs without a full turn begin with pair %d" % ((omega * 4096 < 2 * np.pi).sum(), (omega * 4096 >= 2 * np.pi).sum()))
row("ln 32 / ln 4,096) = %.4f" % np.sqrt(1 + np.log(32) / np.log(4096)))
row("YaRN would divide pair 24 by %.2f only" % by["YaRN"][24])
row("further than 32/59.92 = %.2f" % (32 / 59.92))
row("%.5f turns instead of %.5f" % (2 * turns[63], turns[63]))
row("so the scores by its square, %.3f for *s* = 8" % (0.1 * np.log(8) + 1) ** 2)
bounds = lambda d, T: (max(d * np.log(T / 64 / np.pi) / np.log(1e8), 0) // 1, np.ceil(d * np.log(T / 2 / np.pi) / np.log(1e8)))
row("rounded outwards to whole pairs: %d and %d for" % bounds(128, 4096))
row("half a turn is enough: %d pairs make less" % (turns < 0.5).sum())
small = divisors(16, 4, 64)[0] * 64 / (2 * np.pi)
row("Only %d of its 8 pairs make a full turn in 64 characters, against %d of 64 in" % ((small >= 1).sum(), (turns >= 1).sum()))
row("like a guess among %.2f equally" % np.exp(3.32))
part = np.clip((small[0] - 1) / 31, 0, 1)
row("bounds are the pairs %d and %d. Pair 0 makes only %.4f turns, and the formula above would divide it by %.4f"
    % (*bounds(16, 64), small[0], 1 / (part + (1 - part) / 4)))
row("Not as it is: %d of the 64 pairs" % (turns < 1).sum())
title = dict(zip("t5 alibi kerple kerple_power disentangled sandwich gaussian shaw fire transformer_xl rotary_linear rotary_ntk "
                 "rotary_yarn sinusoidal_unit sinusoidal_scaled distance_network".split(), (
                     "T5;ALiBi;KERPLE;KERPLE, power;DeBERTa;Sandwich;Gaussian;Shaw;FIRE;Transformer-XL;rotary, linear;"
                     "rotary, NTK-aware;rotary, YaRN;sinusoidal, N(0, 1);sinusoidal, scaled;distance network").split(";")))
table = lambda file: {r[0]: np.array(r[1:-1], float).reshape(-1, 3) + 1e-9 for r in list(csv.reader(open(FOLDER + file)))[1:]}
text, words = table("comparison-text.csv"), table("comparison.csv")
numbers = lambda rows, at: " ".join("%.2f" % rows[i, 0] for i in at) + " %.2f to %.2f" % tuple(rows[at[-1], 1:])
bias = {}
for r in csv.reader(open(FOLDER + "biases-text.csv")):
    bias.setdefault(r[0], []).append(np.exp(np.array(r[67:], float)).sum() / np.exp(np.array(r[3:], float)).sum())
for kind, r in text.items():
    far = " %.2f" % np.mean(bias[kind]) if kind in bias else ""
    if kind.startswith("rotary"):
        row("%s %s" % (title.get(kind, kind), numbers(r, [1, 2, 3, 4, 7])), "trained")
    if not kind.startswith("rotary_"):
        row("%s %s %.2f%s" % (title.get(kind, kind), numbers(r, [1, 7]), r[7, 0] - r[1, 0], far), "trained")
[row("%s %s" % (title.get(kind, kind), numbers(r, [0, 1, 2])), "trained") for kind, r in words.items()]
for name, kinds in re.findall(r'"([a-z, ]+)", "([a-z_ 5]+)"', CODE.split("GROUPS = ")[1].split(";")[0]):
    row(name + " %.2f %.2f %.2f" % tuple(np.mean([words[kind][:, 0] for kind in kinds.split()], 0)), "trained")
