"""Reference values that the tests compare with, computed with mpmath and by none of the project's code.

Run with Python 3 and mpmath (Debian: python3-mpmath), from the repository root:

    python3 src/test/python/reference_values.py

It writes src/test/resources/goldens/frequencies.csv and zero_crossings.csv. The other files beside them come from the
published formulas too, with 50-digit arithmetic.
"""

from mpmath import mp, mpf, nstr, pi, sin, cos, exp, log, floor

mp.dps = 60
FOLDER = "src/test/resources/goldens/"


def vaswani(k, base, size):
    return mpf(base) ** (-mpf(2 * k) / size)


def timescale(k, count, least, most):
    return least * exp(-k * log(mpf(most) / least) / max(count - 1, 1))


with open(FOLDER + "frequencies.csv", "w") as out:
    out.write("kind,parameters,pair,frequency\n")
    for base, size in [("10000", 512), ("10000", 7), ("500000", 128), ("10000.5", 64), ("3", 64), ("1e9", 1024)]:
        for k in range((size + 1) // 2):
            out.write(f"vaswani,{base} {size},{k},{nstr(vaswani(k, base, size), 45)}\n")
    for count, least, most in [(256, "1", "10000"), (8, "2", "5000"), (5, "0.5", "123.25"), (1, "1", "10000")]:
        for k in range(count):
            value = timescale(k, count, mpf(least), mpf(most))
            out.write(f"timescales,{count} {least} {most},{k},{nstr(value, 45)}\n")


def convergents(ratio, limit):
    """Denominators q of the continued fraction of ratio: where q * ratio is nearest to an integer."""
    numerators, denominators, rest = [0, 1], [1, 0], ratio
    while True:
        whole = int(floor(rest))
        numerators.append(whole * numerators[-1] + numerators[-2])
        denominators.append(whole * denominators[-1] + denominators[-2])
        if denominators[-1] > limit:
            return denominators[2:-1]
        fraction = rest - whole
        if fraction == 0:
            return denominators[2:]
        rest = 1 / fraction


# the positions below 2^24 at which the sine or the cosine comes closest to zero: the hardest to get right
with open(FOLDER + "zero_crossings.csv", "w") as out:
    out.write("embedding_size,base,position,dimension,value\n")
    for size, base in [(64, 10000), (512, 10000)]:
        for k in range(0, size // 2, size // 32):
            frequency = vaswani(k, base, size)
            for q in convergents(frequency / pi, 2**24 - 1):
                if q > 100_000:
                    out.write(f"{size},{base},{q},{2 * k},{nstr(sin(q * frequency), 30)}\n")
            for q in convergents(2 * frequency / pi, 2**24 - 1):
                if q > 100_000:
                    out.write(f"{size},{base},{q},{2 * k + 1},{nstr(cos(q * frequency), 30)}\n")
