// Biases of the distance to play with: ALiBi's line and T5's buckets, as weights of keys with equal scores.
var biases = {
    /** The number of keys, the query's own token among them. */
    keys: 129,

    /** ALiBi: Press et al. (2022), section 3. */
    alibi: (slope, distance) => -slope * distance,

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

    /** Returns the weights of the keys at the distances 0, 1 ... by their biases. */
    weights: (kind, slope, buckets, largest) => play.softmax(play.each(biases.keys, distance => kind === "alibi"
        ? biases.alibi(slope, distance) : biases.alibi(slope, biases.bucket(distance, buckets, largest))))
};

play.start("biases", {
    title: "Biases of the distance",
    fields: {
        slope: { label: "slope", values: play.each(9, i => 2 ** (i - 8)), start: 0.125 },
        buckets: { label: "buckets", min: 2, max: 64, start: 32 },
        largest: { label: "largest Δ", min: 33, max: 512, start: 128 }
    },

    view: `
        <figure>
            <div class="plot">
                <span class="rows"><span class="most"></span><span>0</span></span>
                <div class="frame lines" role="img" aria-label="The weights by distance Δ"></div>
                <span></span><span>0 <span>Δ</span> 128</span>
            </div>
            <figcaption>The weights of keys whose scores are equal, by their distance Δ: ALiBi (blue), and T5 (orange,
                dashed) with biases that fall by the slope from bucket to bucket. T5 learns a number for each
                bucket; a slope is one example.</figcaption>
        </figure>`,

    draw({ slope, buckets, largest }, find) {
        const alibi = biases.weights("alibi", slope, buckets, largest);
        const t5 = biases.weights("t5", slope, buckets, largest);
        const most = play.largest([...alibi, ...t5]);
        const points = weights => weights.map((weight, distance) => [distance, -weight / most]);
        find(".most").textContent = play.number(most, 2);
        find(".lines").innerHTML = `<svg viewBox="0 -1 128 1" preserveAspectRatio="none" style="height: 12rem">
            ${play.curve("curve", points(alibi))}${play.curve("curve1 trained", points(t5))}</svg>`;
        find("table").innerHTML = play.table(["Δ", "ALiBi's bias", "weight", "T5's bucket", "weight"],
            [0, 1, 2, 4, 8, 16, 32, 64, 128].map(distance => [distance,
                play.number(biases.alibi(slope, distance), 4), play.number(alibi[distance], 5),
                biases.bucket(distance, buckets, largest), play.number(t5[distance], 5)]));
    }
});
