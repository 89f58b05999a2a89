// What a number format makes of a rotary angle: the position, the angle, its cosine and the score, each rounded.
play.figures.formats = {
    title: "Positions in a number format",
    caption: `The pair (1, 0), rotated by the angle of <i>t</i>: exactly (blue), and with position, angle, cosine and sine
        rounded (orange, dashed). The score of two such pairs should be cos(ωΔ) at every <i>t</i>.`,
    inputs: {
        format: {
            label: "format",
            options: { bfloat16: "bfloat16: 8 bits", float16: "float16: 11 bits, up to 65,504", float32: "float32: 24 bits" }
        },
        t: {
            label: "t of the query", value: 999,
            values: [1, 10, 100, ...play.each(11, i => 250 + i), 500, 512, 513, ...play.each(7, i => 996 + i),
                ...play.each(8, i => 2045 + i), 4001, 10000, 30001, 65504, 65519, 65520, 131071]
        },
        distance: { label: "Δ, query minus key", min: -20, max: 200, value: 1 },
        frequency: { label: "ω, frequency", values: [0.0001, 0.001, 0.01, 0.1, 0.5, 1], value: 1 }
    },

    /** The significant bits, the smallest exponent and the largest number of each format. */
    formats: {
        float32: [24, -126, 2 ** 128 - 2 ** 104],
        bfloat16: [8, -126, 2 ** 128 - 2 ** 120],
        float16: [11, -14, 65504]
    },

    /** Returns the nearest number of a format, the one with an even last digit of two. */
    round(format, value) {
        const [bits, smallest, largest] = this.formats[format];
        const size = Math.abs(value);
        const unit = 2 ** (Math.max(Math.floor(Math.log2(size || 1)), smallest) - bits + 1);
        const units = Math.round(size / unit);
        const rounded = unit * (units - (units - size / unit === 0.5 && units % 2));
        return Math.sign(value) * (rounded > largest ? Infinity : rounded);
    },

    rows({ format, t, frequency }) {
        const round = value => this.round(format, value);
        const angle = round(round(t) * round(frequency));
        return [
            ["t", t, round(t)],
            ["angle ωt", t * frequency, angle],
            ["cosine", Math.cos(t * frequency), round(Math.cos(angle))],
            ["sine", Math.sin(t * frequency), round(Math.sin(angle))]
        ].map(([name, exact, rounded]) => ({ "of the query": name, exact, rounded, error: Math.abs(rounded - exact) }));
    },

    /**
     * Returns the scores of two such pairs, cos(ωΔ) if nothing were rounded: with angles in the format, and with angles
     * in double precision, of which only cosine and sine are rounded.
     */
    scores(values) {
        const round = value => this.round(values.format, value);
        const [query, key] = [values.t, values.t - values.distance].map(t => this.rows({ ...values, t }).slice(2));
        const score = number => round(play.sum(query.map((row, i) => round(number(row) * number(key[i])))));
        return [score(row => row.rounded), score(row => round(row.exact))];
    },

    plots: (rows, { t, frequency }) => [play.circle("The pair, exact and rounded",
        [t * frequency, Math.atan2(rows[3].rounded, rows[2].rounded)].filter(Number.isFinite))],

    text(rows, values) {
        const exact = Math.cos(values.frequency * values.distance);
        const [rounded, once] = this.scores(values).map(value => !Number.isFinite(value) ? "<b>not finite</b>"
            : `<b>${play.cell(value)}</b> (error <b>${Math.abs(value - exact).toExponential(1)}</b>)`);
        return `Score at Δ = ${values.distance}: exact <b>${play.number(exact, 6)}</b>, with rounded angles ${rounded}, with
            exact angles whose cosine and sine are rounded ${once}.`;
    }
};
