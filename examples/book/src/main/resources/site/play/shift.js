// A head that looks Δ tokens back: its queries are positions that a matrix has shifted by Δ.
var shift = {
    /**
     * Returns the products of the shifted query and each key. The matrix turns each pair by -Δ times its frequency, so
     * the product of a pair is the cosine of what is left.
     */
    products: (length, pairs, base, query, back) => play.each(length, key =>
        play.each(pairs, m => Math.cos((query - back - key) * base ** (-m / pairs)))
            .reduce((sum, cosine) => sum + cosine, 0)),

    /** Returns the weights of the keys: the gain multiplies the scores, which are the products divided by sqrt(d). */
    weights: (length, pairs, base, query, back, gain) => play.softmax(
        shift.products(length, pairs, base, query, back).map(product => gain * product / Math.sqrt(2 * pairs)))
};

play.start("shift", {
    title: "A head that looks Δ tokens back",
    fields: {
        gain: { label: "gain", values: [0, 0.5, 1, 2, 5, 10, 20, 50], start: 1 },
        back: { label: "Δ, tokens back", min: 0, max: 20, start: 3 },
        length: { label: "T, keys", values: [50, 100, 200, 600], start: 50 },
        query: { label: "t of the query", min: 0, max: 599, start: 25 },
        pairs: { label: "pairs, d/2", min: 1, max: 64, start: 8 },
        base: { label: "base", values: play.bases, start: 10000 }
    },

    view: `
        <figure>
            <div class="plot">
                <span class="rows">1 <span>0</span></span>
                <div class="frame bars" role="img" aria-label="The weight of each key"></div>
                <span></span><span>0 <span>position of the key</span> <span class="last"></span></span>
            </div>
            <p role="status" class="score"></p>
            <figcaption>The weights of the keys for one query that was shifted back by Δ; the gain 1 is the rotation itself. With a
                small gain the head looks at everything; as the gain grows it looks at one token, Δ back.</figcaption>
        </figure>`,

    draw({ gain, back, length, query: chosen, pairs, base }, find) {
        const query = Math.min(chosen, length - 1);
        find(".last").textContent = length - 1;
        const products = shift.products(length, pairs, base, query, back);
        const weights = shift.weights(length, pairs, base, query, back, gain);
        find(".bars").innerHTML = `<svg viewBox="0 -1 ${length} 1" preserveAspectRatio="none" style="height: 9rem">
            ${play.bars(weights)}<path d="M${query + 0.5} 0v-1"/></svg>`;
        const most = weights.indexOf(play.largest(weights));
        find(".score").innerHTML = `Largest weight: <b>${play.number(weights[most], 4)}</b> at key <b>${most}</b>.
            The vertical line is the query.`;
        const near = play.each(7, i => most - 3 + i).filter(key => key >= 0 && key < length);
        find("table").innerHTML = play.table(["key", "product", "weight"],
            near.map(key => [key, play.number(products[key], 4), play.number(weights[key], 4)]));
    }
});
