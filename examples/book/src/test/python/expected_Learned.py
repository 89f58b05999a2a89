import pathlib
import numpy as np
import minilm
from expected import row

def sinusoids(count, size):
    angles = np.arange(count)[:, None] * 10000.0 ** (-np.arange(size // 2) * 2 / size)
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)

def cosines(table, distance):
    units = table[1:] / np.linalg.norm(table[1:], axis=1, keepdims=True)
    return (units[:-distance] * units[distance:]).sum(1)

def quantile(share, numbers):
    return np.sort(numbers)[int(share * len(numbers))]

def waves(table):
    squares = (np.abs(np.fft.fft(table[1:], axis=0)) ** 2).sum(1)[1:256]
    return squares / squares.sum()

def share(shares, low, high):
    lengths = 511 / np.arange(1, 256)
    return 100 * shares[(lengths >= low) & (lengths <= high)].sum()

learned, formula = minilm.weights()["embeddings.position_embeddings.weight"], sinusoids(512, 384)
norms = np.linalg.norm(learned, axis=1)
for t in (0, 1, 2, 100, 511):
    row(f"t = {t}: {norms[t]:.3f}, sinusoids {np.linalg.norm(formula[t]):.3f}")
row(f"√(384 / 2) = {(384 / 2) ** 0.5:.3f}")
for k in (1, 3, 6, 9, 12, 17, 25, 52, 100):
    each, other = cosines(learned, k), cosines(formula, k).mean()
    row(f"{k} {each.mean():.3f} {quantile(0.1, each):.3f} {quantile(0.9, each):.3f} {other:.3f}")
closer = cosines(learned, 3)[:505] < cosines(learned, 6)
for some in "", " positions":
    row(f"{closer.sum()} of {len(closer)}{some} are closer to the sixth")
row(f"at distance 25 some have a cosine of {quantile(0.9, cosines(learned, 25)):.1f}")
shares, others = waves(learned), waves(formula)
bands = [(255, 511), (127, 171), (46, 64), (16, 21), (5.4, 6.7)]
for low, high in bands:
    row(f"{low:.1f} to {high:.1f}: {share(shares, low, high):.1f} %, sinusoids {share(others, low, high):.1f} %")
row("511, " + ", ".join(f"{511 / j:.1f}" for j in (2, 3, 4)))
lengths = 511 / np.arange(1, 256)
inside = [(lengths >= low) & (lengths <= high) for low, high in bands]
count = np.sum(inside)
hold = sum(share(shares, *band) for band in bands)
row(f"are {count} of the 255 waves. They hold {hold:.0f} % of the learned table; spread evenly they would hold {count / 2.55:.0f} %")
middles = [np.exp(np.average(np.log(lengths[i]), weights=shares[i])) for i in inside]
row("are at {:.0f}, {:.0f} and {:.0f} positions".format(*middles[:1:-1]))
line = np.arange(512.0)[:, None] - 256
flat = learned - line * (line[1:] * learned[1:]).sum(0) / (line[1:] ** 2).sum()  # without a straight drift
row(f"first, its share is still {100 * waves(flat)[2]:.0f} %")
row(f"The shortest holds the most, {share(shares, *bands[-1]):.0f} %")
own = np.loadtxt(pathlib.Path(__file__).parents[2] / "main/resources/trained/positions.csv", delimiter=",")
norms = np.linalg.norm(own, axis=1)
next_one = (own[1:] * own[:-1]).sum(1) / norms[1:] / norms[:-1]
for t in (0, 1, 2, 3, 5, 7, 11, 14):
    row(f"t = {t}: norm {norms[t]:.3f}, next {next_one[t]:.3f}", "trained")
row(f"cosines from {next_one[5:].min():.2f} to {next_one[5:].max():.2f} to their neighbor", "trained")
cosines = own @ own.T / norms / norms[:, None]
row(f"with cosines of at most {cosines[:4, 4:].max():.2f}. The fifth is only half like the later ones, "
    f"from {cosines[4, 5:].min():.2f} to {cosines[4, 5:].max():.2f}.", "trained")
row(f"0.02 · √64 = {0.02 * 8:.2f}")
row(f"4,096² ≈ {4096 ** 2 / 1e6:.1f} million")
row("Sinusoids of this size have 192 lengths", "count")
