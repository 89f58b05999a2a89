"""The numbers of the chapter Precision: numpy's own float16 and float32, and bfloat16 by the bits of a float32."""
import numpy as np

D = 64
W = 10000.0 ** (-np.arange(D // 2) / (D // 2))


def bfloat16(x):
    bits = np.asarray(x, dtype=np.float32).view(np.uint32).astype(np.int64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(float)


ROUND = {
    "bfloat16": bfloat16,
    "float16": lambda x: np.asarray(x, dtype=np.float16).astype(float),
    "float32": lambda x: np.asarray(x, dtype=np.float32).astype(float),
    "exact": lambda x: np.asarray(x, dtype=float),
}


def angles(r, t):
    w = r(np.exp(r(-np.log(10000) / D * 2 * np.arange(D // 2))))
    return r(r(np.asarray(t, dtype=float))[..., None] * w)


def row(r, t, once=False):
    a = np.asarray(t, dtype=float)[..., None] * W if once else angles(r, t)
    return np.stack([r(np.sin(a)), r(np.cos(a))], axis=-1).reshape(np.shape(t) + (D,))


def exact(t):
    return row(ROUND["exact"], t, True)


for t in (1, 100, 10000, 999999):
    print("position %d: %.8f %.8f" % (t, row(ROUND["float32"], t)[2], exact(t)[2]))
for way in ("usual", "once"):
    for name in ("bfloat16", "float16", "float32"):
        errors = [np.abs(row(ROUND[name], t, way == "once") - exact(t)).max() for t in (1, 5000, 50000)]
        print(way, name, *["%.1e" % e for e in errors])
for t in (255, 256, 257, 258, 2047, 2048, 2049, 2050, 5001):
    print("%d: %d %d" % (t, bfloat16(t), ROUND["float16"](t)))

def score(angle, table, result, first):
    def vectors(t):
        a = angles(ROUND[angle], t)
        c, s = ROUND[table](np.cos(a)), ROUND[table](np.sin(a))
        return ROUND[result](np.concatenate([c - s, s + c], axis=-1))
    t = first + np.arange(97)
    return np.abs((vectors(t) * vectors(t - 3)).sum(axis=-1) / D - np.cos(3 * W).sum() / 32).max()


for f in ("bfloat16", "float16", "float32"):
    print(f, *["%.0e" % score(f, f, f, t) for t in (100, 1000, 10000, 50000)])
    print(f, "float32 angles", *["%.0e" % score("float32", f, f, t) for t in (100, 1000, 10000, 50000)])
for delta in (10, 100, 1000, 10000):
    print("Δ = %d: %.3f, exact %.3f" % (delta, np.cos(bfloat16(W) * delta).mean(), np.cos(W * delta).mean()))
print("999 in bfloat16: %d, cos %.4f %.4f" % (bfloat16(999), np.cos(999), np.cos(bfloat16(999))))
print("%.1f %.6f %.6f" % (1e4 * W[1], 1e4 * W[1] / 2**24, abs(row(ROUND["float32"], 10000)[2] - exact(10000)[2])))
print("bfloat16, float32 angles:", *["%.4f" % score("float32", "bfloat16", "bfloat16", t) for t in (100, 1000, 10000, 50000)])
print("%.4f %.4f" % (np.cos(bfloat16(W) * 1000).mean(), np.cos(W * 1000).mean()))
print("%.1f %d" % (257, bfloat16(257)))
