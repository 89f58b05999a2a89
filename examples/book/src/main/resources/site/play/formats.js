// What a number format makes of a rotary angle: the position, the angle, its cosine and the score, each rounded.
var formats = {
    /** The significant bits, the smallest exponent and the largest number of each format. */
    formats: {
        float32: { label: "float32: 24 bits", bits: 24, smallest: -126, largest: 2 ** 128 - 2 ** 104 },
        bfloat16: { label: "bfloat16: 8 bits", bits: 8, smallest: -126, largest: 2 ** 128 - 2 ** 120 },
        float16: { label: "float16: 11 bits, up to 65,504", bits: 11, smallest: -14, largest: 65504 }
    },

    /** Returns the nearest number of a format, that with an even last digit of two. */
    round(format, value) {
        const { bits, smallest, largest } = formats.formats[format];
        let exponent = Math.floor(Math.log2(Math.abs(value) || 1));
        exponent += 2 ** (exponent + 1) <= Math.abs(value) ? 1 : 2 ** exponent > Math.abs(value) && value ? -1 : 0;
        const unit = 2 ** (Math.max(exponent, smallest) - bits + 1);
        const units = Math.abs(value) / unit;
        const floor = Math.floor(units);
        const rest = units - floor;
        const rounded = unit * (floor + (rest > 0.5 || rest === 0.5 && floor % 2 === 1 ? 1 : 0));
        return Math.sign(value) * (rounded > largest ? Infinity : rounded);
    },

    /** Returns the rounded position, the rounded product of it and the rounded frequency, and its rounded cosine and sine. */
    steps(format, t, frequency) {
        const round = value => formats.round(format, value);
        const angle = round(round(t) * round(frequency));
        return [round(t), angle, round(Math.cos(angle)), round(Math.sin(angle))];
    },

    /**
     * Returns the score of a pair (1, 0) for the query and the key, cos(ωΔ) if nothing were rounded: first with angles in
     * the format, then with angles in double precision, of which only cosine and sine are rounded.
     */
    scores(format, t, distance, frequency) {
        const round = value => formats.round(format, value);
        const score = ([queryCosine, querySine], [keyCosine, keySine]) =>
            round(round(queryCosine * keyCosine) + round(querySine * keySine));
        const exact = at => [round(Math.cos(at * frequency)), round(Math.sin(at * frequency))];
        return [score(formats.steps(format, t, frequency).slice(2), formats.steps(format, t - distance, frequency).slice(2)),
            score(exact(t), exact(t - distance))];
    }
};

play.start("formats", {
    title: "Positions in a number format",
    fields: {
        format: { label: "format", options: { bfloat16: formats.formats.bfloat16, float16: formats.formats.float16,
            float32: formats.formats.float32 } },
        t: { label: "t of the query", min: 0, max: 131071, start: 999 },
        distance: { label: "Δ, query minus key", min: -20, max: 200, start: 1 },
        frequency: { label: "ω, frequency", values: [0.0001, 0.001, 0.01, 0.1, 0.5, 1], start: 1 }
    },

    view: `
        <figure>
            <div class="one" role="img" aria-label="The query on a circle, exact and rounded"></div>
            <p role="status" class="score"></p>
            <figcaption>The pair (1, 0), rotated by the angle of <i>t</i>: exactly (blue, filled tip), and with position, angle, cosine
                and sine rounded (orange, dashed). The score of two such pairs should be cos(ωΔ) at every <i>t</i>.</figcaption>
        </figure>`,

    draw({ format, t, distance, frequency }, find) {
        const steps = formats.steps(format, t, frequency);
        const [rounded, once] = formats.scores(format, t, distance, frequency);
        const score = Math.cos(frequency * distance);
        const shown = value => Number.isFinite(value) ? value.toLocaleString("en", { maximumFractionDigits: 6 }) : "not finite";
        const error = value => Number.isFinite(value) ? Math.abs(value - score).toExponential(1) : "not finite";
        find(".one").innerHTML = `<svg viewBox="-1.2 -1.2 2.4 2.4"><circle class="dial" r="1"/>
            ${[t * frequency, Math.atan2(steps[3], steps[2])].filter(Number.isFinite).map(play.hand).join("")}</svg>`;
        find(".score").innerHTML = `Score at Δ = ${distance}: exact <b>${play.number(score, 6)}</b>, with rounded angles
            <b>${shown(rounded)}</b> (error <b>${error(rounded)}</b>), with exact angles whose cosine and sine are
            rounded <b>${shown(once)}</b> (error <b>${error(once)}</b>).`;
        const exact = [t, t * frequency, Math.cos(t * frequency), Math.sin(t * frequency)];
        find("table").innerHTML = play.table(["of the query", "exact", "rounded", "error"],
            ["t", "angle ωt", "cosine", "sine"].map((name, i) => [name, shown(exact[i]), shown(steps[i]),
                Number.isFinite(steps[i]) ? Math.abs(steps[i] - exact[i]).toExponential(1) : "not finite"]));
    }
});
