"""Reference values that the tests compare with, computed with mpmath and by none of the project's code.

Run with Python 3 and mpmath (Debian: python3-mpmath), from the repository root:

    python3 src/test/python/reference_values.py

It writes frequencies.csv, zero_crossings.csv, conventions.csv, grids.csv, grid_coordinates.csv, rotary_scalings.csv, rotary_rows.csv,
xpos_rows.csv, query_scales.csv, kerple_biases.csv, kerple_powers.csv, sandwich_biases.csv, gaussian_biases.csv, disentangled_buckets.csv,
gaussians.csv, fourier_features.csv and cope.csv in src/test/resources/goldens. The other files beside them come from the published formulas too,
with 50-digit arithmetic.
"""

from mpmath import mp, mpf, nstr, pi, sin, cos, exp, log, floor, ceil

mp.dps = 60
FOLDER = "src/test/resources/goldens/"


def vaswani(k, base, size):
    return mpf(base) ** (-mpf(2 * k) / size)


def timescale(k, count, shortest, longest):
    return shortest * exp(-k * log(mpf(longest) / shortest) / max(count - 1, 1))


with open(FOLDER + "frequencies.csv", "w") as out:
    out.write("kind,parameters,pair,frequency\n")
    for base, size in [("10000", 512), ("10000", 7), ("500000", 128), ("10000.5", 64), ("3", 64), ("1e9", 1024)]:
        for k in range((size + 1) // 2):
            out.write(f"vaswani,{base} {size},{k},{nstr(vaswani(k, base, size), 45)}\n")
    for count, shortest, longest in [(256, "1", "10000"), (8, "2", "5000"), (5, "0.5", "123.25"), (1, "1", "10000")]:
        for k in range(count):
            value = timescale(k, count, mpf(shortest), mpf(longest))
            out.write(f"timescales,{count} {shortest} {longest},{k},{nstr(value, 45)}\n")
    for size, share, base, factor in [(512, "0.25", "1000000", "8"), (32, "0.3", "10000", "1")]:
        for k in range(int(mpf(share) * size / 2)):
            value = nstr(vaswani(k, base, size) / mpf(factor), 45)
            out.write(f"proportional,{size} {share} {base} {factor},{k},{value}\n")


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


def rows(convention, size, position, values):
    assert len(values) == size
    return [f"{convention},{size},{position},{i},{nstr(v, 30)}\n" for i, v in enumerate(values)]


def timestep_embedding(t, size, shift, scale, flip):
    """Hugging Face diffusers, get_timestep_embedding; DDPM's is the case shift 1, scale 1, no flip."""
    half = size // 2
    angles = [scale * t * exp(-log(mpf(10000)) * k / (half - mpf(shift))) for k in range(half)]
    sines, cosines = [sin(a) for a in angles], [cos(a) for a in angles]
    return (cosines + sines if flip else sines + cosines) + [mpf(0)] * (size % 2)


def bert4keras(t, size, base):
    """bert4keras, sinusoidal_embeddings."""
    angles = [t * mpf(base) ** (-mpf(2 * k) / size) for k in range(size // 2)]
    return [f(a) for a in angles for f in (sin, cos)]


def x_transformers(t, size):
    """x-transformers, ScaledSinusoidalEmbedding before its scale."""
    angles = [t * mpf(10000) ** (-mpf(k) / (size // 2)) for k in range(size // 2)]
    return [sin(a) for a in angles] + [cos(a) for a in angles]


with open(FOLDER + "conventions.csv", "w") as out:
    out.write("convention,size,position,dimension,value\n")
    for t in ["0", "1", "3", "999", "0.125", "517.75"]:
        for size in (8, 9, 128):
            out.writelines(rows("ddpm", size, t, timestep_embedding(mpf(t), size, 1, 1, False)))
            out.writelines(rows("improved-diffusion", size, t, timestep_embedding(mpf(t), size, 0, 1, True)))
            out.writelines(rows("diffusers flipped", size, t, timestep_embedding(mpf(t), size, 1, 1, True)))
            out.writelines(rows("diffusers scale 1000", size, t, timestep_embedding(mpf(t), size, 0, 1000, False)))
        for size in (8, 64):
            out.writelines(rows("bert4keras 10000", size, t, bert4keras(mpf(t), size, 10000)))
            out.writelines(rows("bert4keras 500", size, t, bert4keras(mpf(t), size, 500)))
            out.writelines(rows("x-transformers", size, t, x_transformers(mpf(t), size)))


def axis_t2t(position, pairs):
    """One axis of tensor2tensor's add_timing_signal_nd, min_timescale 1, max_timescale 10000."""
    step = log(mpf(10000)) / max(pairs - 1, 1)
    angles = [position * exp(-k * step) for k in range(pairs)]
    return [sin(a) for a in angles] + [cos(a) for a in angles]


def grid_t2t(place, channels):
    pairs = channels // (2 * len(place))
    signal = [v for position in place for v in axis_t2t(mpf(position), pairs)]
    return signal + [mpf(0)] * (channels - len(signal))


def grid_multidim(place, channels):
    """multidim-positional-encoding, PositionalEncoding2D and 3D: sine and cosine interleaved, cropped."""
    per_axis = -(-channels // (2 * len(place))) * 2
    return [v for position in place for v in bert4keras(mpf(position), per_axis, 10000)][:channels]


def grid_mae(place, channels):
    """MAE, get_2d_sincos_pos_embed: its meshgrid has the column first."""
    row, column = place
    return x_transformers(mpf(column), channels // 2) + x_transformers(mpf(row), channels // 2)


def grid_simple_vit(place, channels):
    """big_vision and vit-pytorch, posemb_sincos_2d: omega = arange(C / 4) / (C / 4 - 1), x before y."""
    count = channels // 4
    row, column = place
    omega = [mpf(10000) ** (-mpf(k) / (count - 1)) for k in range(count)]
    signal = []
    for position in (column, row):
        signal += [sin(position * w) for w in omega] + [cos(position * w) for w in omega]
    return signal


def cells(*sizes):
    """The places of a grid, the last axis fastest."""
    places = [()]
    for size in sizes:
        places = [place + (i,) for place in places for i in range(size)]
    return places


with open(FOLDER + "grids.csv", "w") as out:
    out.write("convention,axes,channels,place,channel,value\n")
    for name, function, cases in [
        ("tensor2tensor", grid_t2t, [((3, 4), 10), ((2, 3), 16), ((2, 3, 2), 13), ((2, 2, 3), 12)]),
        ("multidim", grid_multidim, [((3, 4), 10), ((2, 3), 8), ((2, 3, 2), 10), ((2, 2, 3), 12)]),
        ("visionTransformer", grid_mae, [((3, 4), 8), ((14, 14), 16)]),
        ("simpleVit", grid_simple_vit, [((3, 4), 8), ((5, 3), 32)]),
    ]:
        for sizes, channels in cases:
            for cell in cells(*sizes):
                for channel, value in enumerate(function(cell, channels)):
                    place = " ".join(map(str, cell))
                    out.write(f"{name},{len(sizes)},{channels},{place},{channel},{nstr(value, 30)}\n")


def sin_cos(coordinate, size):
    """get_1d_sincos_pos_embed_from_grid of MAE and diffusers."""
    return x_transformers(mpf(coordinate), size)


def grid_detr(mask, place, channels, offset):
    """PositionEmbeddingSine of DETR: cumulative sums of the visible cells along y and x, divided by the last ones."""
    y, x = place
    column, row = [line[x] for line in mask], mask[y]
    signal = []
    for line, i in [(column, y), (row, x)]:
        count = sum(line[: i + 1]) - 1 + mpf(offset)
        signal += bert4keras(2 * pi * count / (sum(line) + mpf("1e-6")), channels // 2, 10000)
    return signal


def grid_pixart(sizes, place, channels):
    """diffusers, get_2d_sincos_pos_embed with base_size 4 and interpolation_scale 2: the column first."""
    y, x = [mpf(i) / (mpf(size) / 4) / 2 for i, size in zip(place, sizes)]
    return sin_cos(x, channels // 2) + sin_cos(y, channels // 2)


def grid_sd3(sizes, place, channels):
    """Stable Diffusion 3: the middle of a table of 9 by 9 with base_size 4."""
    y, x = [mpf(i + (9 - size) // 2) / (mpf(9) / 4) for i, size in zip(place, sizes)]
    return sin_cos(x, channels // 2) + sin_cos(y, channels // 2)


def grid_timm(place, channels):
    """timm, build_sincos2d_pos_embed without interleave_sin_cos: stacked over sine and cosine, then over the axes."""
    angles = [[i * mpf(10000) ** (-mpf(k) / (channels // 4)) for k in range(channels // 4)] for i in place]
    return [f(a) for f in (sin, cos) for axis in angles for a in axis]


def grid_diffusers_3d(place, channels):
    """diffusers, get_3d_sincos_pos_embed: [time, column, row]; a quarter of the channels is the time's."""
    t, y, x = place
    return sin_cos(t, channels // 4) + sin_cos(x, channels * 3 // 8) + sin_cos(y, channels * 3 // 8)


def grid_monai_3d(place, channels):
    """MONAI, build_sincos_position_embedding of (H, W, D): w, h, d."""
    h, w, d = place
    return sin_cos(w, channels // 3) + sin_cos(h, channels // 3) + sin_cos(d, channels // 3)


# whole grids, row-major with the channels last; of a padded grid also the mask, row-major
with open(FOLDER + "grid_coordinates.csv", "w") as out:
    out.write("convention,channels,sizes,mask,values\n")
    cases = [(name, function, channels, sizes, None) for name, function, channels, sizes in [
        ("pixart", grid_pixart, 8, (3, 5)),
        ("sd3", grid_sd3, 8, (3, 4)),
        ("timm", grid_timm, 8, (2, 3)),
        ("diffusers3d", grid_diffusers_3d, 16, (2, 3, 2)),
        ("monai3d", grid_monai_3d, 12, (2, 3, 2)),
    ]]
    for name, offset in [("detr", "1"), ("deformable", "0.5")]:
        for mask in [[[1, 1, 1]] * 2, [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 1]]]:
            function = lambda place, channels, mask=mask, offset=offset: grid_detr(mask, place, channels, offset)
            cases.append((name, function, 8, (len(mask), len(mask[0])), mask))
    for name, function, channels, sizes, mask in cases:
        if name in ("pixart", "sd3"):
            signal = [value for place in cells(*sizes) for value in function(sizes, place, channels)]
        else:
            signal = [value for place in cells(*sizes) for value in function(place, channels)]
        visible = " ".join(str(cell) for line in mask or [] for cell in line)
        values = " ".join(nstr(value, 20) for value in signal)
        out.write(f"{name},{channels},{' '.join(map(str, sizes))},{visible},{values}\n")


# the rotary scalings that rotary_frequencies.csv has not: LongRoPE, YaRN with bounds between the pairs, and others' settings
def yarn(k, size, base, factor, original, fast, slow):
    def turning(turns):
        return size * log(original / (turns * 2 * pi)) / (2 * log(mpf(base)))

    low, high = max(turning(mpf(fast)), 0), min(turning(mpf(slow)), size - 1)
    divided = min(max((k - low) / (high - low), 0), 1)
    return vaswani(k, base, size) * (1 - divided + divided / mpf(factor))


def llama3(k, size, base, factor, low, high, original):
    frequency = vaswani(k, base, size)
    turns = original * frequency / (2 * pi)
    fast = min(max((turns - low) / (mpf(high) - low), 0), 1)
    return frequency * (fast + (1 - fast) / mpf(factor))


def magnitude(factor, mscale):
    """YaRN's g(s, m)."""
    return mpf(mscale) * log(mpf(factor)) / 10 + 1 if factor > 1 else mpf(1)


def scout(k):
    """Llama 4 Scout: low = high = 1, so only wavelengths above 8192 are divided by 16."""
    frequency = vaswani(k, 500000, 128)
    return frequency / 16 if 2 * pi / frequency > 8192 else frequency


with open(FOLDER + "rotary_scalings.csv", "w") as out:
    out.write("scaling,parameters,pair,frequency,attention_factor\n")
    for k in range(64):
        out.write(f"llama3,128 500000 16 1 1 8192,{k},{nstr(scout(k), 45)},1\n")
    for k in range(16):
        base = 10000 * mpf(4) ** (mpf(32) / 30)
        out.write(f"ntk,32 10000 4,{k},{nstr(base ** (-mpf(2 * k) / 32), 45)},1\n")
    for k in range(32):
        ratio = magnitude(40, "0.707") / magnitude(40, "1")
        value = nstr(yarn(k, 64, 10000, 40, 4096, 32, 1), 45)
        out.write(f"yarn_mscale,64 10000 40 4096 0.707 1,{k},{value},{nstr(ratio, 30)}\n")
    # Phi-3.5-MoE's numbers; the factors follow the length, or the maximum length
    for k in range(8):
        for length, slope, attention in [(4096, 1, "1.243163121016122"), (4097, 3, "1.3")]:
            value = nstr(vaswani(k, 10000, 16) / (1 + slope * mpf(k) / 4), 45)
            out.write(f"longrope_mscale,16 10000 4096 131072 {length} 1.243163121016122 1.3,{k},{value},{attention}\n")
        for maximum, slope in [(131072, 3), (4096, 1)]:
            attention = nstr((1 + log(mpf(maximum) / 4096) / log(mpf(4096))) ** mpf("0.5"), 30)
            value = nstr(vaswani(k, 10000, 16) / (1 + slope * mpf(k) / 4), 45)
            out.write(f"longrope_by_max,16 10000 4096 {maximum},{k},{value},{attention}\n")
    for k in range(32):
        value = nstr(yarn(k, 64, 150000, 32, 4096, 32, 1), 45)
        out.write(f"yarn_untruncated,64 150000 32 4096 32 1,{k},{value},{nstr(mpf('0.1') * log(mpf(32)) + 1, 30)}\n")
    for k in range(16):
        value = nstr(llama3(k, 32, 10000, 3, 2, 5, 1000), 45)
        out.write(f"llama3,32 10000 3 2 5 1000,{k},{value},1\n")
    for length, slope in [(4096, 1), (4097, 3)]:
        attention = nstr((1 + log(mpf(131072) / 4096) / log(mpf(4096))) ** mpf("0.5"), 30)
        for k in range(8):
            value = nstr(vaswani(k, 10000, 16) / (1 + slope * mpf(k) / 4), 45)
            out.write(f"longrope,16 10000 4096 131072 {length},{k},{value},{attention}\n")

# rows of rotary tables: cosine and sine of a position's angle, times the attention factor
with open(FOLDER + "rotary_rows.csv", "w") as out:
    out.write("rotary_size,base,factor,position,pair,cosine,sine\n")
    for position in [0, 1, 7, 4095, 131071]:
        for k in range(8):
            angle = position * vaswani(k, 10000, 16)
            for factor in ["1", "1.25"]:
                cosine, sine = nstr(cos(angle) * mpf(factor), 30), nstr(sin(angle) * mpf(factor), 30)
                out.write(f"16,10000,{factor},{position},{k},{cosine},{sine}\n")


with open(FOLDER + "xpos_rows.csv", "w") as out:
    out.write("rotary_size,scale_base,position,pair,cosine,sine\n")
    for scale_base in ["512", "-512", "2.5"]:
        for position in ["0", "1", "-3", "17.5", "35694", "283286"]:
            for k in range(8):
                zeta = (mpf(2 * k) / 16 + mpf("0.4")) / mpf("1.4")
                angle, scale = mpf(position) * vaswani(k, 10000, 16), zeta ** (mpf(position) / mpf(scale_base))
                row = f"{nstr(cos(angle) * scale, 30)},{nstr(sin(angle) * scale, 30)}"
                if abs(log(scale, 2)) < 1000:
                    out.write(f"16,{scale_base},{position},{k},{row}\n")

with open(FOLDER + "query_scales.csv", "w") as out:
    out.write("kind,parameters,position,factor\n")
    for p in ["0", "8190", "8191", "16384", "100000.5"]:
        value = log(floor((mpf(p) + 1) / 8192) + 1) * mpf("0.1") + 1
        out.write(f"floorLogarithm,0.1 8192,{p},{nstr(value, 30)}\n")
    for p in ["0", "511", "2047", "2048", "8191", "32767.25"]:
        out.write(f"logN,2048,{p},{nstr(max(mpf(1), log(mpf(p) + 1) / log(mpf(2048))), 30)}\n")
    for p in ["0", "1", "2047", "32767.25"]:
        out.write(f"learnedLogN,0.43,{p},{nstr(log(mpf(p) + 1), 30)}\n")


def kerple(log_a, log_b, distance):
    """The logarithmic KERPLE bias, -b ln(1 + a |i - j|), from the logarithms of a and b."""
    return -exp(mpf(log_b)) * log(1 + exp(mpf(log_a)) * distance)


with open(FOLDER + "kerple_biases.csv", "w") as out:
    out.write("log_a,log_b,distance,bias\n")
    for log_a, log_b in [("0", "0"), ("-4.5", "0.5"), ("2.25", "-3"), ("-0.75", "0.625")]:
        for distance in [0, 1, 2, 3, 10, 511, 512, 2049, 100003]:
            out.write(f"{log_a},{log_b},{distance},{nstr(kerple(log_a, log_b, distance), 30)}\n")


with open(FOLDER + "kerple_powers.csv", "w") as out:
    out.write("log_a,logit_p,distance,bias\n")
    for log_a, logit_p in [("0", "0"), ("-4.5", "0.5"), ("1.25", "-3"), ("-0.75", "2.625")]:
        for distance in [0, 1, 2, 3, 10, 511, 512, 2049, 100003]:
            bias = -exp(mpf(log_a)) * mpf(distance) ** (2 / (1 + exp(-mpf(logit_p))))
            out.write(f"{log_a},{logit_p},{distance},{nstr(bias, 30)}\n")

with open(FOLDER + "gaussian_biases.csv", "w") as out:
    out.write("log_sigma,distance,bias\n")
    for log_sigma in ["0", "-0.75", "2.25", "9.5"]:
        for distance in [0, 1, 2, 3, 10, 511, 512, 2049, 100003]:
            bias = -mpf(distance) ** 2 / (2 * exp(mpf(log_sigma)) ** 2)
            out.write(f"{log_sigma},{distance},{nstr(bias, 30)}\n")

with open(FOLDER + "sandwich_biases.csv", "w") as out:
    out.write("heads,head,distance,bias\n")
    for distance in [0, 1, 2, 3, 10, 511, 512, 2049, 100003]:
        # the sum of the products of sines and of cosines, with 64 frequencies
        similarity = sum(cos(distance * vaswani(k, 10000, 128)) for k in range(64))
        for heads in (1, 12):
            for head in range(heads):
                out.write(f"{heads},{head},{distance},{nstr(similarity * heads / (8 * (head + 1)), 30)}\n")


def java_gaussians(seed, count):
    """nextGaussian of java.util.Random, from its documentation: a linear congruential generator, and the polar method."""
    mask = (1 << 48) - 1
    state = (seed ^ 0x5DEECE66D) & mask

    def bits(number):
        nonlocal state
        state = (state * 0x5DEECE66D + 0xB) & mask
        return state >> (48 - number)

    def uniform():
        return mpf((bits(26) << 27) + bits(27)) / 2**53

    numbers = []
    while len(numbers) < count:
        v1, v2 = 2 * uniform() - 1, 2 * uniform() - 1
        s = v1 * v1 + v2 * v2
        if 0 < s < 1:
            factor = (-2 * log(s) / s) ** mpf("0.5")
            numbers += [v1 * factor, v2 * factor]
    return numbers[:count]


with open(FOLDER + "gaussians.csv", "w") as out:
    out.write("seed,index,value\n")
    for seed in [0, 42, -7]:
        for i, value in enumerate(java_gaussians(seed & ((1 << 64) - 1), 6)):
            out.write(f"{seed},{i},{nstr(value, 30)}\n")


def random_features(x, matrix, functions):
    """Tancik et al. (2020), equation 4; functions are (cos, sin), or (sin, cos) in diffusers."""
    angles = [2 * pi * sum(b * v for b, v in zip(row, x)) for row in matrix]
    return [f(angle) for f in functions for angle in angles]


def nerf(x, frequencies, unit, include_input):
    """The embedder of NeRF's published code: x, then for each frequency the sines and the cosines of all coordinates."""
    features = list(x) if include_input else []
    for k in range(frequencies):
        for f in (sin, cos):
            features += [f(2**k * unit * v) for v in x]
    return features


def time2vec(x, omega, phi):
    """Kazemi et al. (2019), equation 1."""
    angles = [w * x[0] + p for w, p in zip(omega, phi)]
    return [angles[0]] + [sin(angle) for angle in angles[1:]]


def sixty_fourths(rows, columns):
    """The numbers i * 37 mod 101 - 50 in units of 1/64."""
    return [[mpf((i * columns + j) * 37 % 101 - 50) / 64 for j in range(columns)] for i in range(rows)]


def timestep(time, size, hidden):
    """TimestepEmbedding of diffusers on Timesteps(flip_sin_to_cos=True, downscale_freq_shift=0)."""
    vector = timestep_embedding(time, size, 0, 1, True)
    vector = [sum(w * v for w, v in zip(row, vector)) + row[0] for row in sixty_fourths(hidden, size)]
    vector = [v / (1 + exp(-v)) for v in vector]
    return [sum(w * v for w, v in zip(row, vector)) + row[0] for row in sixty_fourths(hidden, hidden)]


with open(FOLDER + "fourier_features.csv", "w") as out:
    out.write("convention,x,values\n")
    matrix = sixty_fourths(3, 2)
    column = [[row[0] * 16] for row in sixty_fourths(4, 1)]
    omega, phi = sixty_fourths(2, 5)
    cases = []
    for x in [["0", "0"], ["0.5", "-0.25"], ["3", "1.75"]]:
        point = list(map(mpf, x))
        cases.append(("random", x, random_features(point, matrix, (cos, sin))))
        cases.append(("nerf", x, nerf(point, 4, pi, False)))
        cases.append(("nerf code", x, nerf(point, 4, 1, True)))
    for x in ["0.125", "1", "80"]:
        cases.append(("logarithm", [x], random_features([log(mpf(x))], column, (sin, cos))))
    for x in ["0", "-1.5", "20.25"]:
        cases.append(("time2vec", [x], time2vec([mpf(x)], omega, phi)))
    for name, x, values in cases:
        out.write(f"{name},{' '.join(x)},{' '.join(nstr(value, 20) for value in values)}\n")

with open(FOLDER + "timesteps.csv", "w") as out:
    out.write("time,values\n")
    for time in ["0", "1", "37.5", "999"]:
        out.write(f"{time},{' '.join(nstr(value, 20) for value in timestep(mpf(time), 8, 6))}\n")


def disentangled_bucket(relative, buckets, max_distance):
    """DeBERTa V2, make_log_bucket_position."""
    middle = buckets // 2
    if abs(relative) <= middle:
        return relative
    if abs(relative) == max_distance - 1:
        grown = middle - 1  # the logarithms are the same
    else:
        grown = int(ceil(log(mpf(abs(relative)) / middle) / log(mpf(max_distance - 1) / middle) * (middle - 1)))
    return (grown + middle) * (1 if relative > 0 else -1)


with open(FOLDER + "disentangled_buckets.csv", "w") as out:
    out.write("buckets,max_distance,difference,row\n")
    for buckets, max_distance in [(256, 512), (32, 128)]:
        for difference in range(-max_distance - 5, max_distance + 6):
            row = min(max(disentangled_bucket(difference, buckets, max_distance) + buckets, 0), 2 * buckets - 1)
            out.write(f"{buckets},{max_distance},{difference},{row}\n")


def cope(queries, keys, vectors):
    """Golovneva et al. (2024), equations 3 to 6, for a scale of 1: the positions of keys are sums of the gates up to the query."""
    dot = lambda a, b: sum(x * y for x, y in zip(a, b))
    for i, q in enumerate(queries):
        gates = [1 / (1 + exp(-dot(q, keys[j]))) for j in range(i + 1)]
        for j in range(i + 1):
            position = min(sum(gates[j:]), mpf(len(vectors) - 1))
            below, above = vectors[int(floor(position))], vectors[int(ceil(position))]
            share = position - floor(position)
            yield i, j, share * dot(q, above) + (1 - share) * dot(q, below)


with open(FOLDER + "cope.csv", "w") as out:
    out.write("head,query,key,value\n")
    # 2 heads, 6 tokens, heads of size 4, 4 positions
    numbers = [mpf(i * 37 % 101 - 50) / 64 for i in range(2 * 2 * 6 * 4 + 4 * 4)]
    rows = [numbers[i:i + 4] for i in range(0, len(numbers), 4)]
    for head in range(2):
        first = 6 * head
        for i, j, value in cope(rows[first:first + 6], rows[12 + first:18 + first], rows[24:]):
            out.write(f"{head},{i},{j},{nstr(value, 20)}\n")
