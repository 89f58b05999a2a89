// A head that looks Δ tokens back: its query is a position that R(-Δ) has moved.
play.figures.shift = {
    title: "A head that looks Δ tokens back",
    hint: `move the gain from 1 to 16. The largest weight, 0.04 at key 22, becomes 0.79: the head looks three tokens
        back.`,
    caption: `The gain 1 is R(-Δ) itself. With a small gain the head looks at everything; as the gain grows it looks at
        one token, Δ back. The vertical line is the query.`,
    inputs: {
        gain: { label: "gain", values: [0, 0.5, 1, 2, 4, 8, 16, 32], value: 1 },
        distance: { label: "distance Δ", max: 20, value: 3 },
        length: { label: "keys T", values: [10, 20, 50, 100, 200, 600], value: 50 },
        query: { label: "query at t", max: 599, limit: ({ length }) => length - 1, value: 25 },
        pairs: { label: "pairs d/2", min: 1, max: 64, value: 8 },
        base: { label: "base", values: play.bases, value: 10000 }
    },

    /** R(-Δ) turns each pair by -Δ times its frequency, so the product of a pair is the cosine of what is left. */
    rows({ gain, distance, length, query, pairs, base }) {
        const moved = Math.min(query, length - 1) - distance;
        const frequencies = play.each(pairs, m => play.frequency(m, 2 * pairs, base));
        const products = play.each(length, key => play.sum(frequencies.map(each => Math.cos((moved - key) * each))));
        const weights = play.softmax(products.map(product => gain * product / Math.sqrt(2 * pairs)));
        return products.map((product, key) => ({ key, product, weight: weights[key] }));
    },

    plots: (rows, { length, query }) => [{
        label: "The weight of each key", height: 200, x: { label: "position of the key" }, y: { label: null },
        marks: [play.bars(rows, "key", "weight", play.blue.stroke), Plot.ruleX([Math.min(query, length - 1)])]
    }],

    text(rows, { length, query }) {
        const { key, weight } = rows.reduce((a, b) => b.weight > a.weight ? b : a);
        return `Query at <b>${Math.min(query, length - 1)}</b>: the largest weight is <b>${play.number(weight, 4)}</b>,
            at key <b>${key}</b>.`;
    }
};
