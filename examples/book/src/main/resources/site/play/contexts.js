// Longer contexts to play with: which angles of each rotary pair training has met, and which are new.
var contexts = {
    base: 10000,

    /** The scalings for longer contexts: what each makes of rope, the unscaled frequency of pair m. */
    scalings: {
        none: { label: "none", frequency: rope => rope }, // Su et al., RoFormer (2021)
        linear: { label: "linear", frequency: (rope, { factor }) => rope / factor }, // Chen et al. (2023)
        // bloc97 (2023): the larger base base * factor^(d / (d - 2))
        ntk: { label: "NTK-aware", frequency: (rope, { m, d, factor }) => rope * factor ** (-2 * m / (d - 2)) },
        yarn: {
            label: "YaRN", // Peng et al. (2023), section 3; as its code, with bounds rounded outwards to whole pairs
            frequency(rope, { m, d, factor, length }) {
                const pairWithTurns = turns => d * Math.log(length / (2 * Math.PI * turns)) / (2 * Math.log(contexts.base));
                const low = Math.max(Math.floor(pairWithTurns(32)), 0);
                const high = Math.min(Math.ceil(pairWithTurns(1)), d - 1);
                return contexts.mixed(rope, (m - low) / (high === low ? 0.001 : high - low), factor);
            }
        },
        llama3: {
            label: "Llama 3.1", // Meta (2024): pairs with up to 1 turn are slowed, with 4 or more unchanged
            frequency: (rope, { factor, length }) => contexts.mixed(rope, (4 - rope * length / (2 * Math.PI)) / 3, factor)
        }
    },

    /** A frequency of which a part, limited to 0 to 1, is divided by the factor, and the rest unchanged. */
    mixed(frequency, part, factor) {
        const slowed = Math.min(Math.max(part, 0), 1);
        return frequency * (1 - slowed + slowed / factor);
    },

    /** Returns the angle per position of each pair, in radians: base^(-2m / d), scaled. */
    frequencies: (scaling, d, factor, length) => play.each(d / 2, m =>
        contexts.scalings[scaling].frequency(contexts.base ** (-2 * m / d), { m, d, factor, length })),

    /** Returns the factor of cosines and sines, which only YaRN has. */
    attentionFactor: (scaling, factor) => scaling === "yarn" ? 0.1 * Math.log(factor) + 1 : 1,

    /** Returns the turns of each pair over a text. */
    turns: (frequencies, length) => frequencies.map(frequency => frequency * length / (2 * Math.PI)),

    /** Whether each pair makes less than a turn in training, and turns further in the longer text; 1 or 0. */
    beyond(scaling, d, factor, length) {
        const trained = contexts.turns(contexts.frequencies("none", d), length);
        // the frequencies are rounded
        return contexts.turns(contexts.frequencies(scaling, d, factor, length), factor * length)
            .map((turns, m) => trained[m] < 1 && turns > trained[m] * (1 + 1e-12) ? 1 : 0);
    }
};

play.start("contexts", {
    title: "A longer context than in training",
    fields: {
        scaling: { label: "scaling", options: contexts.scalings },
        factor: { label: "times the length", values: [1, 2, 4, 8, 16, 32], start: 8 },
        length: { label: "T in training", values: play.each(11, i => 32 * 2 ** i), start: 4096 },
        d: { label: "d of the head", min: 4, max: 128, step: 2, start: 128 }
    },

    view: `
        <figure>
            <div class="clocks" role="img" aria-label="The angles of each pair"></div>
            <p role="status" class="score"></p>
            <figcaption>One circle for each pair <i>m</i>, the fastest first, from the right counterclockwise. The
                angles met in training are blue; those that only the longer text reaches are red.</figcaption>
        </figure>`,

    draw({ scaling, factor, length, d }, find) {
        const unscaled = contexts.frequencies("none", d);
        const frequencies = contexts.frequencies(scaling, d, factor, length);
        const trained = contexts.turns(unscaled, length);
        const turns = contexts.turns(frequencies, factor * length);
        const beyond = contexts.beyond(scaling, d, factor, length);
        const arc = (kind, from, to) => play.curve(kind, play.each(61, i => {
            const angle = 2 * Math.PI * (from + (to - from) * i / 60);
            return [Math.cos(angle), -Math.sin(angle)];
        }));
        find(".clocks").innerHTML = frequencies.map((_, m) => `<div><svg viewBox="-1.2 -1.2 2.4 2.4">
            <circle class="dial" r="1"/>${arc("met", 0, Math.min(trained[m], 1))}
            ${beyond[m] ? arc("unmet", trained[m], Math.min(turns[m], 1)) : ""}</svg>${m}</div>`).join("");
        find(".score").innerHTML = `<b>${beyond.filter(is => is).length}</b> of <b>${d / 2}</b> pairs reach angles that
            training has not met.${scaling === "yarn" ? ` Cosines and sines are multiplied by
            <b>${play.number(contexts.attentionFactor(scaling, factor), 4)}</b>.` : ""}`;
        find("table").innerHTML = play.table(
            ["m", "ω divided by", "turns in training", "turns now", "new angles"],
            frequencies.map((frequency, m) => [m, play.number(unscaled[m] / frequency, 3), play.number(trained[m], 3),
                play.number(turns[m], 3), play.number(beyond[m] * 360 * (Math.min(turns[m], 1) - trained[m]), 1) + "°"]));
    }
});
