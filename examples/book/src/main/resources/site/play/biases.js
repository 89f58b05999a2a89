// Biases of the distance to play with: ALiBi's line and another curve, as weights of keys with equal scores.
var biases = {
    /** The number of keys, the query's own token among them. */
    keys: 129,

    /** What each encoding multiplies by the strength, and subtracts from the score. */
    encodings: {
        kerple: { label: "KERPLE: ln(1 + Δ)", of: distance => Math.log(1 + distance) }, // Chi et al. (2022), a = 1
        sandwich: { // Chi et al. (2023), 128 dimensions
            label: "Sandwich: 64 - Σ cos(ωΔ)",
            of: distance => play.each(64, m => 1 - Math.cos(distance * 10000 ** (-m / 64))).reduce((a, b) => a + b)
        },
        gaussian: { label: "Gaussian: Δ²", of: distance => distance * distance }, // Sperber et al. (2018)
        t5: { label: "T5: number of the bucket" }, // an example: these numbers are learned
        alibi: { label: "ALiBi: Δ", of: distance => distance } // Press et al. (2022), section 3
    },

    /**
     * T5's bucket of a key before the query, in a decoder: Raffel et al. (2020), section 2.1. The first half has one
     * distance each; the others widen up to the largest distance.
     */
    bucket(distance, buckets, largest) {
        const exact = Math.floor(buckets / 2);
        // the relative error of a power is far below 1e-12
        const first = step => exact * (largest / exact) ** (step / (buckets - exact)) * (1 - 1e-12);
        return distance < exact ? distance
            : exact + play.each(buckets - exact - 1, i => i + 1).filter(step => distance >= first(step)).length;
    },

    /** Returns the bias of a distance. */
    bias: (encoding, strength, distance, buckets, largest) => -strength * (encoding === "t5"
        ? biases.bucket(distance, buckets, largest) : biases.encodings[encoding].of(distance)),

    /** Returns the weights of the keys at the distances 0, 1 ... by their biases. */
    weights: (encoding, strength, buckets, largest) => play.softmax(play.each(biases.keys,
        distance => biases.bias(encoding, strength, distance, buckets, largest)))
};

play.start("biases", {
    title: "Biases of the distance",
    fields: {
        encoding: { label: "compared with ALiBi", options: biases.encodings },
        slope: { label: "strength", values: play.each(13, i => 2 ** (i - 10)), start: 0.125 },
        buckets: { label: "T5's buckets", min: 2, max: 64, start: 32 },
        largest: { label: "T5's largest Δ", min: 33, max: 512, start: 128 }
    },

    view: `
        <figure>
            <div class="plot">
                <span class="rows"><span class="most"></span><span>0</span></span>
                <div class="frame lines" role="img" aria-label="The weights by distance Δ"></div>
                <span></span><span>0 <span>Δ</span> 128</span>
            </div>
            <figcaption>The weights of keys whose scores are equal, by their distance Δ: ALiBi (blue), and the chosen bias (orange,
                dashed). Each bias is the formula in the menu times minus the strength, which is ALiBi's slope, KERPLE's
                <i>b</i>, and 1 / (2σ²) of the Gaussian. T5 learns its numbers; those of the menu are only an example.</figcaption>
        </figure>`,

    draw({ encoding, slope, buckets, largest }, find) {
        const alibi = biases.weights("alibi", slope);
        const chosen = biases.weights(encoding, slope, buckets, largest);
        const most = play.largest([...alibi, ...chosen]);
        const points = weights => weights.map((weight, distance) => [distance, -weight / most]);
        find(".most").textContent = play.number(most, 2);
        find(".lines").innerHTML = `<svg viewBox="0 -1 128 1" preserveAspectRatio="none" style="height: 12rem">
            ${play.curve("curve", points(alibi))}${play.curve("curve1 trained", points(chosen))}</svg>`;
        find("table").innerHTML = play.table(["Δ", "ALiBi's bias", "weight", "chosen bias", "weight"],
            [0, 1, 2, 4, 8, 16, 32, 64, 128].map(distance => [distance,
                play.number(biases.bias("alibi", slope, distance), 3), play.number(alibi[distance], 5),
                play.number(biases.bias(encoding, slope, distance, buckets, largest), 3), play.number(chosen[distance], 5)]));
    }
});
