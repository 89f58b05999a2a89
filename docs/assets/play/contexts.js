// Longer contexts: which angles of each rotary pair training has met, and which are new.
play.figures.contexts = {
    title: "A longer context than in training",
    caption: `Each bar is the part of its circle that a pair <i>m</i> passes, the fastest pair first. The angles met in
        training are blue; those that only the longer text reaches are red.`,
    inputs: {
        scaling: {
            label: "scaling",
            options: { none: "none", linear: "linear", ntk: "NTK-aware", yarn: "YaRN", llama3: "Llama 3.1" }
        },
        factor: { label: "times the length", values: [1, 2, 4, 8, 16, 32], value: 8 },
        length: { label: "T in training", values: play.each(11, i => 32 * 2 ** i), value: 4096 },
        d: { label: "d of the head", min: 4, max: 128, step: 2, value: 128 }
    },

    /** What each scaling divides the frequency of a pair by. */
    divisors: {
        none: () => 1, // Su et al., RoFormer (2021)
        linear: ({ factor }) => factor, // Chen et al. (2023)
        // bloc97 (2023): the larger base base * factor^(d / (d - 2))
        ntk: ({ pair, d, factor }) => factor ** (2 * pair / (d - 2)),
        // Peng et al. (2023), section 3; as its code, with bounds rounded outwards to whole pairs
        yarn({ pair, d, factor, length }) {
            const pairWithTurns = turns => d * Math.log(length / (2 * Math.PI * turns)) / (2 * Math.log(10000));
            const low = Math.max(Math.floor(pairWithTurns(32)), 0);
            const high = Math.min(Math.ceil(pairWithTurns(1)), d - 1);
            return this.partly((pair - low) / (high === low ? 0.001 : high - low), factor);
        },
        // Meta (2024): pairs with up to 1 turn are slowed, with 4 or more unchanged
        llama3({ trained, factor }) {
            return this.partly((4 - trained) / 3, factor);
        },
        /** If a part of the frequency, limited to 0 to 1, is divided by the factor. */
        partly(part, factor) {
            const slowed = Math.min(Math.max(part, 0), 1);
            return 1 / (1 - slowed + slowed / factor);
        }
    },

    rows({ scaling, factor, length, d }) {
        return play.each(d / 2, pair => {
            const trained = length * play.frequency(pair, d) / (2 * Math.PI);
            const divisor = this.divisors[scaling]({ pair, d, factor, length, trained });
            const turns = factor * trained / divisor;
            // the divisors are rounded
            const isNew = trained < 1 && turns > trained * (1 + 1e-12);
            return { pair, "divided by": divisor, "turns in training": trained, "turns now": turns,
                "new turns": isNew ? Math.min(turns, 1) - trained : 0 };
        });
    },

    plots(rows) {
        const bars = (from, to, fill) =>
            Plot.rect(rows, { x1: row => row.pair - 0.4, x2: row => row.pair + 0.4, y1: from, y2: to, fill });
        const trained = row => Math.min(row["turns in training"], 1);
        return [{
            label: "The angles of each pair", height: 220, x: { label: "pair m" }, y: { label: "turns", domain: [0, 1] },
            marks: [bars(0, trained, play.blue.stroke), bars(trained, row => trained(row) + row["new turns"], play.color(1))]
        }];
    },

    text: (rows, { scaling, factor, d }) =>
        `<b>${rows.filter(row => row["new turns"] > 0).length}</b> of <b>${d / 2}</b> pairs reach angles that training has
        not met. Neighbors are <b>${play.cell(1 / rows[0]["divided by"])}</b> rad apart in
        pair 0 (in training: 1).${scaling === "yarn"
            ? ` Cosines and sines are multiplied by <b>${play.number(0.1 * Math.log(factor) + 1, 4)}</b>.` : ""}`
};
