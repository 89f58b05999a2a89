// The dot product of two positions by their distance, and the cosine that each pair adds to it.
play.figures.similarity = {
    title: "The dot product of two positions",
    hint: `move Δ from 0 to 10. The product falls from 32 to 21, because the fast pairs on the left turn. The next section
        looks at 101.`,
    caption: "The vertical line is Δ. In the bars the fast pairs are on the left, the slow ones on the right.",
    inputs: {
        distance: { label: "distance Δ", min: -200, max: 200, value: 0 },
        pairs: { label: "pairs d/2", min: 1, max: 256, value: 32 },
        base: { label: "base", values: play.bases, value: 10000 }
    },

    rows: ({ distance, pairs, base }) => play.each(pairs, pair => {
        const angle = distance * play.frequency(pair, 2 * pairs, base);
        return { pair, turns: angle / (2 * Math.PI), cosine: Math.cos(angle) };
    }),

    product(values) {
        return play.sum(this.rows(values).map(row => row.cosine));
    },

    plots(rows, values) {
        const curve = play.each(401, i => i - 200).map(distance => [distance, this.product({ ...values, distance })]);
        return [
            {
                label: "The dot product by distance", height: 200, x: { label: "distance Δ" }, y: { label: null },
                marks: [Plot.ruleY([0]), Plot.ruleX([values.distance]), Plot.line(curve, play.blue)]
            },
            {
                label: "The cosine of each pair at the distance Δ", height: 130,
                x: { label: "pair m" }, y: { domain: [-1, 1], ticks: 3, label: null }, marks: play.bars(rows, "pair", "cosine")
            }
        ];
    },

    text(rows, values) {
        return `Dot product: <b>${play.number(this.product(values), 3)}</b> of <b>${values.pairs}</b>.`;
    }
};
