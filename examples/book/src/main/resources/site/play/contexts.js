// Longer contexts to play with: which angles of each rotary pair training has met, and which are new.
var contexts = {
    /** The scalings for longer contexts: what each makes of rope, the unscaled frequency of pair k. */
    scalings: {
        none: { label: "none", frequency: rope => rope }, // Su et al., RoFormer (2021)
        linear: { label: "linear", frequency: (rope, { factor }) => rope / factor }, // Chen et al. (2023)
        // bloc97 (2023): the greater base base * factor^(size / (size - 2))
        ntk: { label: "NTK-aware", frequency: (rope, { k, size, factor }) => rope * factor ** (-2 * k / (size - 2)) },
        yarn: {
            label: "YaRN", // Peng et al. (2023), section 3; as its code, with bounds rounded outwards to whole pairs
            frequency(rope, { k, size, base, factor, length }) {
                const pairWithTurns = turns => size * Math.log(length / (2 * Math.PI * turns)) / (2 * Math.log(base));
                const low = Math.max(Math.floor(pairWithTurns(32)), 0);
                const high = Math.min(Math.ceil(pairWithTurns(1)), size - 1);
                return contexts.mixed(rope, (k - low) / (high === low ? 0.001 : high - low), factor);
            }
        },
        llama3: {
            label: "Llama 3", // Meta, Llama 3.1 (2024): pairs with up to 1 turn are slowed, with 4 or more kept
            frequency: (rope, { factor, length }) => contexts.mixed(rope, (4 - rope * length / (2 * Math.PI)) / 3, factor)
        }
    },

    /** A frequency of which a part, limited to 0 to 1, is divided by the factor, and the rest kept. */
    mixed(frequency, part, factor) {
        const slowed = Math.min(Math.max(part, 0), 1);
        return frequency * (1 - slowed + slowed / factor);
    },

    /** Returns the angle per position of each pair, in radians: base^(-2k / size), scaled. */
    frequencies: (scaling, size, base, factor, length) => play.each(size / 2, k =>
        contexts.scalings[scaling].frequency(base ** (-2 * k / size), { k, size, base, factor, length })),

    /** Returns the factor of cosines and sines, which only YaRN has. */
    attentionFactor: (scaling, factor) => scaling === "yarn" ? 0.1 * Math.log(factor) + 1 : 1,

    /** Returns the greatest angle of each pair in a text, at most a full turn, in radians. */
    reached: (frequencies, length) => frequencies.map(frequency => Math.min(frequency * (length - 1), 2 * Math.PI))
};

play.start("contexts", {
    title: "A longer context than in training",
    fields: {
        scaling: { label: "scaling", options: contexts.scalings },
        factor: { label: "times the length", values: [1, 2, 4, 8, 16, 32], start: 4 },
        length: { label: "trained length", values: play.each(9, i => 32 * 2 ** i), start: 1024 },
        size: { label: "head size", min: 4, max: 128, step: 2, start: 32 }
    },

    view: `
        <figure>
            <div class="clocks" role="img" aria-label="The angles of each pair"></div>
            <p role="status" class="score"></p>
            <figcaption>One circle for each pair, the fastest first, from the right counterclockwise. Blue are the angles
                that training has met, red those that only the longer context reaches.</figcaption>
        </figure>`,

    draw({ scaling, factor, length, size }, find) {
        const base = 10000;
        const unscaled = contexts.frequencies("none", size, base);
        const frequencies = contexts.frequencies(scaling, size, base, factor, length);
        const met = contexts.reached(unscaled, length);
        const reached = contexts.reached(frequencies, factor * length);
        const arc = (kind, from, to) => to - from < 1e-9 ? "" : play.curve(kind, play.each(61, i => {
            const angle = from + (to - from) * i / 60;
            return [Math.cos(angle), -Math.sin(angle)];
        }));
        find(".clocks").innerHTML = frequencies.map((_, k) => `<div><svg viewBox="-1.2 -1.2 2.4 2.4">
            <circle class="dial" r="1"/>${arc("met", 0, met[k])}${arc("unmet", met[k], reached[k])}</svg>${k}</div>`).join("");
        const beyond = reached.filter((angle, k) => angle - met[k] > 1e-9).length;
        find(".score").innerHTML = `<b>${beyond}</b> of <b>${size / 2}</b> pairs reach angles that training has not met.
            Attention factor: <b>${play.number(contexts.attentionFactor(scaling, factor), 4)}</b>.`;
        find("table").innerHTML = play.table(
            ["pair", "slowed by", "turns in training", "turns now", "new angles"],
            frequencies.map((frequency, k) => [k, play.number(unscaled[k] / frequency, 3),
                play.number(unscaled[k] * (length - 1) / (2 * Math.PI), 3),
                play.number(frequency * (factor * length - 1) / (2 * Math.PI), 3),
                play.number(Math.max(reached[k] - met[k], 0) / Math.PI * 180, 1) + "°"]));
    }
});
