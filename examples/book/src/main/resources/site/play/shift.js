// A head that looks k tokens back: its queries are positions that T(-k) has shifted.
var shift = {
    /** The number of keys. */
    keys: 50,

    /**
     * Returns the products of the shifted query and each key. T(-k) turns each pair by -k times its frequency, so the
     * product of a pair is the cosine of what is left.
     */
    products: (pairs, base, query, back) => play.each(shift.keys, key =>
        play.each(pairs, k => Math.cos((query - back - key) * base ** (-k / pairs)))
            .reduce((sum, cosine) => sum + cosine, 0)),

    /** Returns the weights of the keys: the gain multiplies the scores, which are the products divided by sqrt(D). */
    weights: (pairs, base, query, back, gain) =>
        play.softmax(shift.products(pairs, base, query, back).map(product => gain * product / Math.sqrt(2 * pairs)))
};

play.start("shift", {
    title: "A head that looks k tokens back",
    fields: {
        gain: { label: "gain", values: [0, 0.5, 1, 2, 5, 10, 20, 50], start: 1 },
        back: { label: "k tokens back", min: 0, max: 20, start: 3 },
        query: { label: "query at", min: 0, max: 49, start: 25 },
        pairs: { label: "pairs D/2", min: 1, max: 64, start: 8 },
        base: { label: "base", values: play.bases, start: 10000 }
    },

    view: `
        <figure>
            <div class="plot">
                <span class="rows">1 <span>0</span></span>
                <div class="frame bars" role="img" aria-label="The weight of each key"></div>
                <span></span><span>0 <span>position of the key</span> 49</span>
            </div>
            <p role="status" class="score"></p>
            <figcaption>The weights of the keys for one query that T(-k) has shifted; the gain 1 is T(-k) itself. With a
                small gain the head looks at everything; as the gain grows it looks at one token, k back.</figcaption>
        </figure>`,

    draw({ gain, back, query, pairs, base }, find) {
        const products = shift.products(pairs, base, query, back);
        const weights = shift.weights(pairs, base, query, back, gain);
        find(".bars").innerHTML = `<svg viewBox="0 -1 50 1" preserveAspectRatio="none" style="height: 9rem">
            ${play.bars(weights)}<path d="M${query + 0.5} 0v-1"/></svg>`;
        const most = weights.indexOf(play.greatest(weights));
        find(".score").innerHTML = `Greatest weight: <b>${play.number(weights[most], 4)}</b> at key <b>${most}</b>.
            The vertical line is the query.`;
        const near = play.each(7, i => most - 3 + i).filter(key => key >= 0 && key < shift.keys);
        find("table").innerHTML = play.table(["key", "product", "weight"],
            near.map(key => [key, play.number(products[key], 4), play.number(weights[key], 4)]));
    }
});
