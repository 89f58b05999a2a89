import numpy as np
from expected import row

FREQUENCIES = 10000.0 ** (-np.arange(8) * 2 / 16)


def encoding(t):
    return np.stack([np.sin(t * FREQUENCIES), np.cos(t * FREQUENCIES)], 1).ravel()


def rotation(distance):
    matrix = np.zeros((16, 16))
    for m, angle in enumerate(distance * FREQUENCIES):
        c, s = np.cos(angle), np.sin(angle)
        matrix[2 * m:2 * m + 2, 2 * m:2 * m + 2] = [[c, s], [-s, c]]
    return matrix


def weight(keys, query, gain):
    scores = np.array([rotation(-3) @ encoding(query) @ encoding(key) / 4 for key in range(keys)])
    assert scores.argmax() == query - 3
    return 1 / np.exp(gain * (scores - scores[query - 3])).sum()


def squares(positions):  # of the singular values of a table with 512 dimensions, as shares
    angles = np.arange(positions)[:, None] * 10000.0 ** (-np.arange(256) * 2 / 512)
    squares = np.linalg.svd(np.concatenate([np.sin(angles), np.cos(angles)], 1), compute_uv=False) ** 2
    return squares / squares.sum()


row(f"whose frequencies are {FREQUENCIES[0]:.0f} and {FREQUENCIES[1]:.3f}")
for line in rotation(3)[:4]:
    row(" ".join(f"{x + 0.0:.4f}" for x in line[:4]))
for distance in (1, 3, 100, -7, 0.5):
    matrix = rotation(distance)
    same = all(np.allclose(matrix @ encoding(t), encoding(t + distance), 0, 1e-12) for t in range(1000))
    row(f"Δ = {distance:.1f}: same at 1000 positions: {str(same).lower()}")
for t in (5, 50, 500):
    weight(600, t, 1)
    row(f"t = {t}: largest score for key {t - 3}")
row(f"50 keys, t = 25: key 22 gets {weight(50, 25, 1):.4f}")
row(f"600 keys, t = 500: key 497 gets {weight(600, 500, 1):.4f}")
few, many = (np.array([encoding(t) @ encoding(s) / 4 for s in range(n)]) for t, n in ((22, 50), (497, 600)))
row(f"target: {few[21]:.2f} against {few[22]:.0f}")
row(f"only {few[22] - few.min():.2f} below the target's, and that of the 600 keys only {many[497] - many.min():.2f}")
for gain in (1, 2, 4, 8, 16):
    row(f"gain {gain}: {weight(50, 25, gain):.4f} of 50 keys, {weight(600, 500, gain):.4f} of 600")
assert f"{weight(50, 25, 16):.2f}" == f"{weight(600, 500, 16):.2f}"
row(f"With a gain of 16 the key three places back gets {100 * weight(50, 25, 16):.0f} % in both cases")
few, many = squares(100), squares(1000)
row(f"The rows of 100 positions keep 99.9 % of their squares in the {(few.cumsum() > 0.999).argmax() + 1} directions")
row(f"The rows of 1,000 positions keep only {100 * many[:64].sum():.0f} % of their squares in the best 64")
row("rotates all 256 pairs, thus 512 directions", "count")
row(f"With ψ = 0.1, cos ψ = {np.cos(0.1):.3f} and sin ψ = {np.sin(0.1):.3f}.")
row(f"(sin 0.2, cos 0.2) = ({np.sin(0.2):.3f}, {np.cos(0.2):.3f}) becomes")
row(f"= ({np.sin(0.3):.3f}, {np.cos(0.3):.3f}), which is (sin 0.3, cos 0.3).")
row(f"is ln *n*: {np.log(49):.1f} for 49 other keys, {np.log(599):.1f} for 599.")
row(f"gain 16: {weight(50, 25, 16):.4f}")
half = [next(g for g in np.arange(8, 10, 0.01) if weight(n, t, g) >= 0.5) for n, t in ((50, 25), (600, 500))]
row(f"a gain of {half[0]:.1f} gives it half of 50 keys, {half[1]:.1f} half of 600")
