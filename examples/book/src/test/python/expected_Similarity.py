import numpy as np
from expected import row


def frequencies(d):
    return 10000.0 ** (-np.arange(d // 2) * 2 / d)


def encoding(t, d):
    return np.concatenate([np.sin(t * frequencies(d)), np.cos(t * frequencies(d))])


def product(distance, d):
    return np.cos(distance * frequencies(d)).sum()


def limit(distance):
    return 1 - (np.log(distance) + np.euler_gamma) / np.log(10000)


row("Δ near 100 near 1000", "count")
for k in (0, 1, 2, 5, 10, 50):
    early, late = (encoding(t + k, 64) @ encoding(t, 64) for t in (100, 1000 - k))
    row(f"{k} {early:.4f} {late:.4f}")
row(f"the same norm, √32 = {np.linalg.norm(encoding(7, 64)):.3f}")
for k in (5, 6, 30, 96, 101):
    row(f"Δ = {k}: {product(k, 64):.3f} of {product(0, 64):.0f}")
assert max(product(k, 64) for k in range(1, 100_000)) < 32 and product(101, 64) > product(30, 64)
row("no other distance reaches 32 again")
row("it rises from distance 5 to 6, and at distance 101 it is larger than at 30")
for m in range(4):
    angle = 101 * frequencies(64)[m]
    row(f"pair {m}: {angle / 2 / np.pi:.2f} turns, cosine {np.cos(angle):.3f}")
row(f"Pair 0 makes {101 / 2 / np.pi:.2f} full turns in 101 positions")
row("would give the word 101 positions back more weight than the word 30 back")
many = 2 ** 15
row(f"is lower by {np.euler_gamma:.3f}/ln 10000 = {np.euler_gamma / np.log(10000):.3f}")
row(f"turned by ωΔ = {100 / 1000:.1f} radian, and its cosine is still {np.cos(100 / 1000):.3f}")
row(f"has turned by {100 / 2:.0f} radians")
assert 7.9 < 100 / 2 / (2 * np.pi) < 8
row(f"that is 1 - {np.log(100):.3f}/{np.log(10000):.3f} = {1 - np.log(100) / np.log(10000):.1f}")
row(f"since 100 · 100 = {100 * 100:,}")
row(f"where {np.euler_gamma:.3f} is Euler's constant")
off = {d: max(abs(product(k, d) / d * 2 - limit(k)) for k in range(10, 3001)) for d in (64, 512, many)}
assert off[many] < 0.01
row("Between the distances 10 and 3,000 the integral is within 0.01")
row(f"by up to {off[512]:.3f} with 512 dimensions, and by up to {off[64]:.3f} with 64")
row("Δ d = 64 d = 512 formula", "count")
for k in (10, 20, 40, 80, 160):
    small, large = product(k, 64) / 32, product(k, 512) / 256
    row(f"{k} {small:.3f} {large:.3f} {limit(k):.3f}")
rises = (np.diff([product(k, 512) for k in range(101)]) > 0).sum()
assert max(np.diff([product(k, 512) for k in range(101)])) / 256 < 0.001
row(f"rises at {rises} of the first 100 steps")
row(f"ln 2 / ln 10000 = {np.log(2) / np.log(10000):.3f}")
row(f"2π = {np.floor(2 * np.pi * 1000) / 1000:.3f}")
row(f"cos 44 = {np.cos(44):.5f}")
