// Biases of the distance: ALiBi's line and another curve, as weights of keys with equal scores.
play.figures.biases = {
    title: "Biases of the distance",
    caption: `The weights of keys whose scores are equal, by their distance Δ: ALiBi (blue), and the chosen bias (orange,
        dashed). Each bias is the formula in the menu times minus the strength, which is ALiBi's slope, KERPLE's
        <i>b</i>, and 1 / (2σ²) of the Gaussian. T5 learns its numbers; those of the menu are only an example.`,
    inputs: {
        encoding: {
            label: "compared with ALiBi",
            options: { kerple: "KERPLE: ln(1 + Δ)", sandwich: "Sandwich: 64 - Σ cos(ωΔ)", gaussian: "Gaussian: Δ²",
                t5: "T5: number of the bucket" }
        },
        strength: { label: "strength", values: play.each(13, i => 2 ** (i - 10)), value: 0.125 },
        buckets: { label: "T5's buckets", min: 2, max: 64, value: 32 },
        largest: { label: "T5's largest Δ", min: 33, max: 512, value: 128 }
    },

    /** What each encoding multiplies by minus the strength. */
    formulas: {
        alibi: distance => distance, // Press et al. (2022), section 3
        kerple: distance => Math.log(1 + distance), // Chi et al. (2022), a = 1
        // Chi et al. (2023), 128 dimensions
        sandwich: distance => play.sum(play.each(64, m => 1 - Math.cos(distance * play.frequency(m, 128)))),
        gaussian: distance => distance * distance, // Sperber et al. (2018)
        // in a decoder: Raffel et al. (2020), section 2.1; half have one distance each, the others widen up to the largest
        t5(distance, buckets, largest) {
            const exact = Math.floor(buckets / 2);
            // the relative error of a power is far below 1e-12
            const first = step => exact * (largest / exact) ** (step / (buckets - exact)) * (1 - 1e-12);
            return distance < exact ? distance
                : exact + play.each(buckets - exact - 1, i => i + 1).filter(step => distance >= first(step)).length;
        }
    },

    rows({ encoding, strength, buckets, largest }) {
        const [alibi, chosen] = ["alibi", encoding].map(name =>
            play.each(129, distance => -strength * this.formulas[name](distance, buckets, largest)));
        const weights = [alibi, chosen].map(play.softmax);
        return play.each(129, i => ({ "Δ": i, "ALiBi's bias": alibi[i], "ALiBi's weight": weights[0][i],
            "chosen bias": chosen[i], "chosen weight": weights[1][i] }));
    },

    plots: rows => [{
        label: "The weight by distance", height: 240, y: { label: null },
        marks: [Plot.ruleY([0]), Plot.line(rows, { x: "Δ", y: "ALiBi's weight", ...play.blue }),
            Plot.line(rows, { x: "Δ", y: "chosen weight", ...play.orange })]
    }],

    text(rows) {
        const weight = name => `<b>${play.cell(rows[128][name])}</b>`;
        return `Weight of the key at distance 128: ALiBi ${weight("ALiBi's weight")}, the chosen bias
            ${weight("chosen weight")}.`;
    }
};
