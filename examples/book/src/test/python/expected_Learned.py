import pathlib
import numpy as np
import minilm
from expected import row

MAIN = pathlib.Path(__file__).parents[2] / "main/resources"


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


learned, formula = minilm.weights()["embeddings.position_embeddings.weight"], sinusoids(512, 384)
norms = np.linalg.norm(learned, axis=1)
for t in (0, 1, 2, 100, 511):
    row(f"t = {t}: norm {norms[t]:.3f} learned, {np.linalg.norm(formula[t]):.3f} sinusoids")
row(f"√(384 / 2) = {(384 / 2) ** 0.5:.3f}")
for k in (1, 3, 6, 9, 12, 17, 25, 52, 100):
    each, other = cosines(learned, k), cosines(formula, k).mean()
    row(f"{k} {each.mean():.3f} {quantile(0.1, each):.3f} {quantile(0.9, each):.3f} {other:.3f}")
closer = cosines(learned, 3)[:505] < cosines(learned, 6)
row(f"{closer.sum()} of {len(closer)} are closer to the sixth after it")
row(f"{closer.sum()} of {len(closer)} positions are closer to the sixth")
row(f"at distance 25 some pairs are as close as {quantile(0.9, cosines(learned, 25)):.1f}")
shares, others, lengths = 100 * waves(learned), 100 * waves(formula), 511 / np.arange(1, 256)
row("511, " + ", ".join(f"{511 / j:.1f}" for j in (2, 3, 4)))
bands = [(255, 511), (127, 171), (46, 64), (16, 21), (5.4, 6.7)]
inside = [(lengths >= low) & (lengths <= high) for low, high in bands]
for (low, high), i in zip(bands, inside):
    row(f"{low:.1f} to {high:.1f}: {shares[i].sum():.1f} %, sinusoids {others[i].sum():.1f} %")
row(f"Five ranges, {np.sum(inside)} of the 255 waves, hold {shares[sum(inside) > 0].sum():.0f} % of the learned table; "
    f"spread evenly they would hold {np.sum(inside) / 2.55:.0f} %")
middles = [np.exp(np.average(np.log(lengths[i]), weights=shares[i])) for i in inside]
row("are at {:.0f}, {:.0f}, {:.0f} and {:.0f} positions".format(*middles[:0:-1]))
row(f"The shortest holds the most, {shares[inside[-1]].sum():.0f} %")
own = np.loadtxt(MAIN / "trained/positions.csv", delimiter=",")
norms = np.linalg.norm(own, axis=1)
next_one = (own[1:] * own[:-1]).sum(1) / norms[1:] / norms[:-1]
for t in (0, 1, 2, 3, 5, 7, 11, 14):
    row(f"t = {t}: norm {norms[t]:.3f}, cosine to the next {next_one[t]:.3f}", "trained")
row(f"cosines from {next_one[5:].min():.2f} to {next_one[5:].max():.2f} to their neighbor", "trained")
row(f"0.02 · √64 = {0.02 * 8:.2f}")
row(f"4,096² ≈ {4096 ** 2 / 1e6:.1f} million")
row("with four lengths instead of 192", "count")
