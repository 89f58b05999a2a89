"""The rows of expected/Heads.txt on the small encoder and the decoder, from their tables in resources/trained."""
import csv, pathlib
import numpy as np
from expected import row

TRAINED = pathlib.Path(__file__).parents[2] / "main/resources/trained"

encoder = {}
for words, layer, head, *numbers in csv.reader(open(TRAINED / "attention.csv")):
    weights = np.array(numbers, float).reshape(2 * [len(words.split())])
    encoder.setdefault((int(layer) + 1, int(head) + 1), []).append(weights)
by_distance = {h: [np.concatenate([m.diagonal(-k) for m in maps]).mean() for k in range(-4, 5)]
               for h, maps in encoder.items()}
top = sorted(encoder, key=lambda h: -max(by_distance[h]))[:3]
for h in top:
    after4, before, before4 = (by_distance[h][i] for i in (0, 5, 8))
    first, last = (np.concatenate([m[:, i] for m in encoder[h]]).mean() for i in (0, -1))
    row(f"layer {h[0]}, head {h[1]} {first:.3f} {last:.3f} {before:.3f} {before4:.3f} {after4:.3f}", "trained")
    if h == top[0]:
        row(f"{before:.3f} for the word before (Δ = 1), {before4:.3f} for the fourth before", "trained")
        row(f"from everywhere, with {first:.3f} of its weight", "trained")
sizes = np.array([len(m) for m in encoder[top[0]]])
row(f"six definitions of {sizes.min()} to {sizes.max()} words", "count")
for far, phrase in ((1, "Of the {} words that have"), (4, "of the {} with a fourth")):
    row(phrase.format((sizes - far).sum()), "count")
    row(f"6/{(sizes - far).sum()} = {6 / (sizes - far).sum():.3f}")
row("*a* stands at 0 and at 8", "count")

decoder = {tuple(line[:4]): np.array(line[4:], float) for line in csv.reader(open(TRAINED / "decoder.csv"))}
heads = sorted((k for k in decoder if k[0] == "rotary" and k[3] == "mean"), key=lambda k: -decoder[k][1])[:4]
assert {layer for _, layer, _, _ in heads} == {"2"}
table = np.array([[decoder[k][1], decoder[(*k[:3], "10 %")][1], decoder[(*k[:3], "90 %")][1], decoder[k][:4].sum(),
                   decoder[("none", *k[1:])][1]] for k in heads])
for (_, layer, head, _), numbers in zip(heads, table):
    row(f"layer {layer}, head {head} " + " ".join(f"{x:.3f}" for x in numbers), "trained")
near, without = table[:, 3], table[:, 4]
row(f"{100 * near.min():.0f} to {100 * near.max():.0f} % of their weight", "trained")
row(f"from {without.min():.3f} to {without.max():.3f}, and equal weights would give {np.mean(1 / np.arange(33, 65)):.3f}",
    "trained")
row("the character before {:.3f} on average, but for one character in ten less than {:.3f}, and for one in ten more than "
    "{:.3f}".format(*table[0]), "trained")
row("and 108,481 parameters", "trained")
row("the 64 weights have at most 9 different values", "count")
