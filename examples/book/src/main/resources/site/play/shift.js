// A head that looks Δ tokens back: its query is a position that R(-Δ) has moved.
var shift = {
    /**
     * Returns the products of the moved query and each of T keys. R(-Δ) turns each pair by -Δ times its frequency, so
     * the product of a pair is the cosine of what is left.
     */
    products: (pairs, base, length, query, distance) => play.each(length, key =>
        play.each(pairs, m => Math.cos((query - distance - key) * base ** (-m / pairs)))
            .reduce((sum, cosine) => sum + cosine, 0)),

    /** Returns the weights of the keys: the gain multiplies the scores, which are the products divided by sqrt(d). */
    weights: (pairs, base, length, query, distance, gain) => play.softmax(
        shift.products(pairs, base, length, query, distance).map(product => gain * product / Math.sqrt(2 * pairs)))
};

play.start("shift", {
    title: "A head that looks Δ tokens back",
    hint: "move the gain from 1 to 16. The largest weight, 0.04 at key 22, becomes 0.79: the head looks three tokens back.",
    fields: {
        gain: { label: "gain", values: [0, 0.5, 1, 2, 4, 8, 16, 32], start: 1 },
        distance: { label: "distance Δ", min: 0, max: 20, start: 3 },
        length: { label: "keys T", values: [10, 20, 50, 100, 200, 600], start: 50 },
        query: { label: "query at t", min: 0, max: 599, start: 25 },
        pairs: { label: "pairs d/2", min: 1, max: 64, start: 8 },
        base: { label: "base", values: play.bases, start: 10000 }
    },

    view: `
        <figure>
            <div class="plot">
                <span class="rows"><span class="top"></span><span>0</span></span>
                <div class="frame bars" role="img" aria-label="The weight of each key"></div>
                <span></span><span>0 <span>position of the key</span> <span class="last"></span></span>
            </div>
            <p role="status" class="score"></p>
            <figcaption>The weights of T keys for one query that R(-Δ) has moved; the gain 1 is R(-Δ) itself. With a small
                gain the head looks at everything; as the gain grows it looks at one token, Δ back. The vertical line is
                the query.</figcaption>
        </figure>`,

    draw({ gain, distance, length, query, pairs, base }, find) {
        const keys = Math.round(length);
        const at = Math.min(query, keys - 1);
        const products = shift.products(pairs, base, keys, at, distance);
        const weights = shift.weights(pairs, base, keys, at, distance, gain);
        const top = play.largest(weights);
        find(".bars").innerHTML = `<svg viewBox="0 -1 ${keys} 1" preserveAspectRatio="none" style="height: 9rem">
            ${play.bars(weights.map(weight => weight / top))}<path d="M${at + 0.5} 0v-1"/></svg>`;
        find(".top").textContent = play.number(top, 2);
        find(".last").textContent = keys - 1;
        const most = weights.indexOf(top);
        find(".score").innerHTML = `Query at <b>${at}</b>: the largest weight is <b>${play.number(top, 4)}</b>, at key
            <b>${most}</b>.`;
        const near = play.each(7, i => most - 3 + i).filter(key => key >= 0 && key < keys);
        find("table").innerHTML = play.table(["key", "product", "weight"],
            near.map(key => [key, play.number(products[key], 4), play.number(weights[key], 4)]));
    }
});
