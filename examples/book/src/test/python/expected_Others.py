"""The numbers of the chapter Others, from the formulas."""
import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


stops = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0.0])
gates = sigmoid(12 * stops - 6)
terms = np.array([2, 0, -1, -1.0])
for j in range(9):
    p = gates[j:].sum()
    low = int(np.floor(p))
    print("CoPE %d: %.3f %.3f" % (j, p, (1 - p + low) * terms[low] + (p - low) * terms[low + 1]))
gates = sigmoid(5 - 10 * stops)
print("gates: %.4f %.4f" % (gates[0], gates[3]))
print("a word: %.4f, a stop: %.4f, six words: %.3f" % (np.log(gates[0]), np.log(gates[3]), 6 * np.log(gates[0])))
print("weights divided by %.0f; gate of a word in CoPE %.4f" % (1 / gates[3], sigmoid(-6)))
