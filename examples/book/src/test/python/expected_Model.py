"""The numbers of the chapter Model, from the formula of the sinusoids."""
import numpy as np


def rows(t, d):
    angle = t * 10000.0 ** (-np.arange(d // 2) / (d // 2))
    return np.stack([np.sin(angle), np.cos(angle)], axis=1).ravel()


for a, b in ((0, 1), (8, 9), (0, 9)):
    print("rows %d and %d: %.4f" % (a, b, np.linalg.norm(rows(a, 512) - rows(b, 512))))
print(*["%.4f" % x for x in rows(1, 64)[:4]])
