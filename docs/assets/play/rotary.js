// Rotary pairs: one of them as a query and a key on a circle, and the sum of all of them as the score.
play.figures.rotary = {
    title: "Rotary pairs",
    caption: `On the circle, the query (blue) and the key (orange, dashed) of the pair <i>m</i> after the rotation; gray
        lines show where they start. When <i>t</i> moves, both rotate, and the angle between them stays. Below, the score
        divided by the number of pairs (blue), and the pair <i>m</i> (orange, dashed); gray, if there are at most 8, all
        pairs. The dots are the distances that words can have, the integers.`,
    inputs: {
        t: { label: "t of the query", max: 200, value: 20 },
        distance: { label: "Δ, query minus key", min: -20, max: 100, value: 3 },
        m: { label: "m, pair on the circle", max: 63, limit: ({ d }) => d / 2 - 1, value: 8 },
        d: { label: "d, dimensions", min: 2, max: 128, step: 2, value: 64 },
        phi: { label: "φ, from query to key (°)", min: -180, max: 180, value: 40 }
    },

    /** What each pair adds to the score of a query and a key of norm 1 in each pair: Su et al., RoFormer (2021). */
    rows: ({ distance, d, phi }) => play.each(d / 2, pair => {
        const frequency = play.frequency(pair, d);
        return { pair, "ω": frequency, "period in tokens": 2 * Math.PI / frequency,
            "ωΔ (°)": frequency * distance * 180 / Math.PI, added: Math.cos(phi * Math.PI / 180 - frequency * distance) };
    }),

    plots(rows, values) {
        const starts = [20, 20 + values.phi].map(degrees => degrees * Math.PI / 180);
        const angles = starts.map((start, i) => start + (values.t - i * values.distance) * rows[values.m]["ω"]);
        // a fast pair rotates far from one integer to the next
        const points = play.each(1201, i => i / 10 - 20).map(distance => {
            const added = this.rows({ ...values, distance }).map(row => row.added);
            return { distance, added, mean: play.sum(added) / added.length };
        });
        const curve = (y, options) => Plot.line(points, { x: "distance", y, ...options });
        const dots = (y, { stroke }) =>
            Plot.dot(points.filter((_, i) => i % 10 === 0), { x: "distance", y, r: 2, fill: stroke });
        const chosen = point => point.added[values.m];
        return [
            play.circle(`Query and key of the pair ${values.m}`, angles, starts),
            {
                label: "The score by distance", height: 220, x: { label: "Δ" }, y: { domain: [-1, 1], label: null },
                marks: [
                    Plot.ruleY([0]), Plot.ruleX([values.distance]),
                    rows.length > 8 ? [] : rows.map(({ pair }) => curve(point => point.added[pair], { strokeOpacity: 0.3 })),
                    curve(chosen, play.orange), dots(chosen, play.orange), curve("mean", play.blue), dots("mean", play.blue)
                ]
            }
        ];
    },

    text(rows, { distance, m }) {
        const score = play.sum(rows.map(row => row.added));
        return `Score at Δ = ${distance}: <b>${play.number(score, 4)}</b>, divided by ${rows.length} pairs
            <b>${play.number(score / rows.length, 4)}</b>. Pair ${m} adds <b>${play.number(rows[m].added, 4)}</b>.`;
    }
};
