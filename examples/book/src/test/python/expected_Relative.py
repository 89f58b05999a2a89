"""Prints the lines of expected/Relative.txt, computed from the formulas of the papers and from the measured table."""
import csv
import pathlib

import numpy as np
from expected import row

def weights(bias):
    powers = np.exp(bias - np.max(bias))
    return powers / powers.sum()

def bucket(relative, both=0, buckets=32, farthest=128):  # of T5, relative = key - query
    first = 0
    if both:
        buckets //= 2
        first = buckets if relative > 0 else 0
    distance = abs(relative) if both else max(-relative, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    return first + min(exact + int(np.log(distance / exact) / np.log(farthest / exact) * (buckets - exact)), buckets - 1)

three = np.array([0, -1 / 2, -1])
row("$e^0 = 1$, $e^{-1/2} = %.3f$ and $e^{-1} = %.3f$, and divides them by their sum, %.3f" % (*np.exp(three[1:]), np.exp(three).sum()))
row("The weights are now %.3f, %.3f and %.3f" % tuple(weights(three)))
assert np.allclose(weights(three), weights(three + 100))
row("The query *q* = (1, 2) has the dot product 1 · 2 + 2 · 0 = %d" % np.dot([1, 2], [2, 0]))
row("Another query, (-1, 2), gets %d" % np.dot([-1, 2], [2, 0]))
at = np.array([1, 2, 4, 16])
row("Δ 1 2 4 16", "count")
cosines = np.cos(np.outer([0, *at], 10000.0 ** (-2 * np.arange(64) / 128))).sum(1)
wave = cosines[1:] - cosines[0]
for name, bias in ("ALiBi", -at / 2), ("Sandwich", wave), ("KERPLE", -np.log(1 + at)), ("Gaussian", -at**2 / 18):
    row(name + " %.3f %.3f %.3f %.3f" % tuple(bias))
row("With 8 heads the slopes are 1/2, 1/4, … 1/%d" % 2**8)
row("at Δ = 16 the first head adds %d. This divides the weight of the key by $e^8 = %.0f$" % (-16 / 2, np.exp(8)))
row("The last head adds only %.4f" % (-16 / 256))
row("falls by %.3f from Δ = 0 to 2, that is %.1f for each position, and by %.3f from 4 to 16, only %.1f for each"
    % (-wave[1], -wave[1] / 2, wave[2] - wave[3], (wave[2] - wave[3]) / 12))
row("at Δ = 16 it adds -ln 17 = %.3f, which divides the weight by 17" % -np.log(17))
row("by the factor 61/51 = %.1f" % (61 / 51))
row("it adds %.1f at Δ = 3, and %.3f at 16" % (-9 / 18, -256 / 18))
assert np.exp(256 / 18) > 1e6 and bucket(-60) == bucket(-61)
row("distinguish 60 words back from 61: both are in bucket %d" % bucket(-60))
row("bucket, %d, begins at %d" % (bucket(-999), min(i for i in range(200) if bucket(-i) == 31)))
row("%d + %s + %d = %s numbers" % (32 + 32, format(32 * 32 + 32, ","), 32 * 8 + 8, format(64 + 1056 + 264, ",")), "count")
row("These are %d + %d + 2 = %d numbers" % (32 + 32, 32 * 8 + 8, 64 + 264 + 2), "count")
row("its input is ln 17 = %.3f for the key 16 before, and %.3f for the key 16 after" % (np.log(17), -np.log(17)))
row("the word 4 back has the share ln 1.4 / ln 2.6 = %.3f for a query at *t* = 16" % (np.log(1.4) / np.log(1 + 0.1 * 16)))
row("and ln 1.4 / ln 26.6 = %.3f for one at 256" % (np.log(1.4) / np.log(1 + 0.1 * 256)))
for i in 0, 1, 7, 8, 12, 16, 32, 58, 112, 113, 1000:
    row("%d %d %d %d" % (i, bucket(-i, 1), bucket(i, 1), bucket(-i)))
row("At Δ = 1 this adds %.3f + 2 · %.3f = %.3f, and at Δ = 2 it adds %.3f - 2 · %.3f = %.3f"
    % (np.sin(1), np.cos(1), np.sin(1) + 2 * np.cos(1), np.sin(2), -np.cos(2), np.sin(2) + 2 * np.cos(2)))
row("get 2 + %d = %d. The 3 comes from the key" % (np.dot([1, 1], [0, 3]), 2 + 3))
table = list(csv.reader(open(pathlib.Path(__file__).parents[2] / "main/resources/biases-text.csv")))
near = [[weights(np.array(r[3:67], float))[:2].sum() for r in table if r[0] == name] for name in ("distance_network", "fire", "t5")]
row("The two nearest keys get %.2f to %.2f of the weight in the heads of the network and %.2f to %.2f in those of FIRE, "
    "but only %.2f to %.2f in T5's heads" % tuple(f(x) for x in near for f in (min, max)), "trained")
print([int(np.argmax(np.array(r[3:67], float))) for r in table if r[0] == "t5"])  # in seven heads the character before
